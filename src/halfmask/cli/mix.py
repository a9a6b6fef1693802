"""``halfmask mix``."""

from dataclasses import replace

from halfmask.cli.output import bar, note
from halfmask.commands.mix import MixOptions
from halfmask.commands.mix import mix as make_mix


def mix(options: MixOptions, *, keep: float | None = None) -> None:
    """Heterogeneous sharing: privacy and utility when everyone chooses from the menu.

    Parameters
    ----------
    keep
        Also say which mixes keep utility above this, and which of them is the most private.
    """
    from halfmask.choice.mix import keeping
    from halfmask.menus.placed import score_words

    with bar("dealing settings", options.repeats) as advance:
        made = make_mix(replace(options, advance=advance))
    ends = [
        [score_words(end(made.table.column(name).to_numpy())) for end in (min, max)] for name in ("privacy", "utility")
    ]
    (low, high), (least, most) = ends
    note(f"{made.table.num_rows:,} rows: privacy {low} to {high}, utility {least} to {most}")
    if keep is not None:
        kept = keeping(made, keep)
        best = kept.best or kept.closest
        told = ", ".join(f"{id} {share:.1%}" for id, share in best.shares.items() if share)
        what = "most private of them" if kept.best else "none does; the closest"
        note(
            f"{len(kept.blends):,} of {kept.of:,} mixes keep utility above {keep:g}; {what}: {told} "
            f"(privacy {best.privacy:.2f}, utility {best.utility:.2f})"
        )
    note(f"wrote {options.output}")
