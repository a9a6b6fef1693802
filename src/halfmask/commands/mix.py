"""``halfmask mix``: evaluate free choice from a menu."""

from dataclasses import field, replace
from typing import TYPE_CHECKING

from halfmask.commands._options import AnyMenu, AnyProfile, Flag, Numbers, command
from halfmask.commands._printing import CommandAnswer, bar
from halfmask.commands._shared_options import IN_SHORT, Advances, Display, Seeded, Writes, menu_of, profile_of

if TYPE_CHECKING:
    from halfmask.choice.mix import Keeping, Mix


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


def main(options: MixOptions, *, keep: float | None = None, shown: Display = IN_SHORT) -> None:
    """Heterogeneous sharing: privacy and utility when everyone chooses from the menu.

    Parameters
    ----------
    keep
        Also list how many mixes have a utility above this, and the most private of them.
    """
    from halfmask.choice.mix import keeping
    from halfmask.menus.menu_scale import score_words
    from halfmask.plain import to_plain

    with bar("dealing settings", options.repeats) as advance:
        made = mix(replace(options, advance=advance))
    scores = {name: made.table.column(name).to_numpy() for name in ("privacy", "utility", "error")}
    rows = [["", "least", "most"]]
    rows += [[name, *(score_words(end(scores[name])) for end in (min, max))] for name in ("privacy", "utility")]
    rows.append(["mean error of a total", *(f"{end(scores['error']):.2%}" for end in (min, max))])
    shown.show(
        CommandAnswer(
            {"rows": made.table.num_rows, "ends": rows[1:], "about": to_plain(made.about)},
            [("", rows)],
            f"{made.table.num_rows:,} rows, one for each mix and each dealing of its settings to users."
            if keep is None
            else _kept_words(keeping(made, keep)),
            "halfmask report .",
            words=[
                "privacy: mean score of the users; utility: score of the total of all",
                "a mix: shares of users by setting",
            ],
        )
    )


def _kept_words(kept: "Keeping") -> str:
    """Return how many mixes keep a utility, and the most private of them."""
    best = kept.best or kept.closest
    told = ", ".join(f"{id} {share:.1%}" for id, share in best.shares.items() if share)
    what = "most private of them" if kept.best else "none does; the closest"
    return (
        f"{len(kept.blends):,} of {kept.of:,} mixes keep utility above {kept.bar:g}; {what}: {told} "
        f"(privacy {best.privacy:.2f}, utility {best.utility:.2f})"
    )
