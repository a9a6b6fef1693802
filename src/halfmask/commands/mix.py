"""``halfmask mix``: evaluate free choice from a menu."""

from dataclasses import field, replace
from typing import TYPE_CHECKING

from halfmask.commands._options import AnyMenu, AnyProfile, Flag, Numbers, command
from halfmask.commands._printing import bar, note
from halfmask.commands._shared_options import Advances, Seeded, Writes, menu_of, profile_of

if TYPE_CHECKING:
    from halfmask.choice.mix import Mix


class MixOptions(Seeded, Writes, Advances):
    """Options of `mix`.

    Parameters
    ----------
    profile
        A file that 'halfmask profile' wrote.
    menu
        A file that 'halfmask offer' or 'halfmask optimize' wrote.
    output
        The table of mixes to write (Parquet).
    step
        The increment between shares of users.
    repeats
        Random assignments of each mix.
    seed
        The same seed gives the same table.
    shares
        Only this mix: A=0.3,B=0.2,N=0.5.
    other_data
        Accept a menu that was made on other data than the profile.
    """

    profile: AnyProfile = field(kw_only=False)
    menu: AnyMenu = field(kw_only=False)
    step: float = 0.125
    repeats: int = 10
    shares: Numbers | None = None
    other_data: Flag = False


@command(MixOptions, group="Choose")
def mix(options: MixOptions) -> "Mix":
    """Return privacy and utility of many mixes of the menu's settings, or of one mix if its shares are named."""
    from halfmask.choice.mix import mix as mix_settings
    from halfmask.choice.mix import parse_shares

    shares = parse_shares(options.shares) if isinstance(options.shares, str) else options.shares
    made = mix_settings(
        profile_of(options.profile), menu_of(options.menu), step=options.step, repeats=options.repeats,
        seed=options.seed, shares=shares, other_data=options.other_data, advance=options.advance,
    )  # fmt: skip
    return replace(made, about={**made.about, "asked": options.asked()})


def main(options: MixOptions, *, keep: float | None = None) -> None:
    """Heterogeneous sharing: privacy and utility when everyone chooses from the menu.

    Parameters
    ----------
    keep
        Also list how many mixes have a utility above this, and the most private of them.
    """
    from halfmask.choice.mix import keeping
    from halfmask.menus.menu_scale import score_words

    with bar("dealing settings", options.repeats) as advance:
        made = mix(replace(options, advance=advance))
    ends = [
        [score_words(end(made.table.column(name).to_numpy())) for end in (min, max)] for name in ("privacy", "utility")
    ]
    (low, high), (least, most) = ends
    errors = made.table.column("error").to_numpy()
    note(
        f"{made.table.num_rows:,} rows: privacy {low} to {high}, utility {least} to {most}, mean error of a total "
        f"{errors.min():.2%} to {errors.max():.2%}"
    )
    if keep is not None:
        kept = keeping(made, keep)
        best = kept.best or kept.closest
        told = ", ".join(f"{id} {share:.1%}" for id, share in best.shares.items() if share)
        what = "most private of them" if kept.best else "none does; the closest"
        note(
            f"{len(kept.blends):,} of {kept.of:,} mixes keep utility above {keep:g}; {what}: {told} "
            f"(privacy {best.privacy:.2f}, utility {best.utility:.2f})"
        )
