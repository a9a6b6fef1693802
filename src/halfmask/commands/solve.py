"""``halfmask solve``: the least noise that keeps a promise, or the strongest promise that an error allows."""

from dataclasses import field
from typing import TYPE_CHECKING

from halfmask.commands._options import AnyMenu, AnyProfile, WholeIfAny, command
from halfmask.commands._printing import CommandAnswer
from halfmask.commands._shared_options import IN_SHORT, Display, OfProtection, menu_of, profile_of
from halfmask.errors import OptionError
from halfmask_device.decimals import number_text, upwards

if TYPE_CHECKING:
    from halfmask.menus.least_noise import Solved


class Solve(OfProtection):
    """Options of `solve`. Ask for a promise (--epsilon) or for an error (--within and --producers).

    Parameters
    ----------
    profile
        The readings' profile: it gives errors of totals, and change and window if these are not named.
    epsilon
        Find the least noise of each mechanism that keeps this epsilon.
    within
        Find the strongest promise for which the total of --producers stays within this error, such as 1%.
    producers
        With --within: how many producers add up to the total.
    menu
        A menu of the same data, whose scale gives the paper's scores.
    """

    profile: AnyProfile | None = field(default=None, kw_only=False)
    epsilon: float | None = None
    within: str | None = None
    producers: WholeIfAny = None
    menu: AnyMenu | None = None

    def check_together(self) -> None:
        """Check that exactly one question is asked."""
        if (self.epsilon is None) == (self.within is None):
            raise OptionError("ask for a promise, `epsilon`, or for an error, `within` with `producers`")
        if (self.within is None) != (self.producers is None):
            raise OptionError("an error is that of some producers' total: give `within` and `producers` together")
        if self.profile is None and (self.within is not None or self.menu is not None):
            raise OptionError("errors of totals and scores are those of some data: name its profile")


@command(Solve, group="Choose")
def solve(options: Solve) -> "Solved":
    """Return the least noise of each mechanism that keeps a promise, or the strongest promise that an error allows."""
    from halfmask.menus.least_noise import least_noise, strongest
    from halfmask.menus.menu_requirements import parse_share

    people = None if options.profile is None else profile_of(options.profile)
    menu = None if options.menu is None else menu_of(options.menu)
    question = options.question(people)
    if options.epsilon is not None:
        return least_noise(options.epsilon, question, profile=people, menu=menu)
    if people is None or options.within is None or options.producers is None:
        raise OptionError("an error is that of some producers' total: give a profile, `within` and `producers`")
    error = parse_share(str(options.within), f"within {options.within}")
    return strongest(error, options.producers, question, people, menu=menu)


def main(options: Solve, *, shown: Display = IN_SHORT) -> None:
    """Find the least noise of each mechanism that keeps a promise, or the strongest promise that keeps an error."""
    from halfmask.plain import to_plain

    found = solve(options)
    asked = found.question.words()
    best = found.solutions[0]
    change, reports = (found.question.change, 1) if found.question.spread else found.question.reports
    told = (
        f"The strongest promise with that error: {best.setting} has epsilon {upwards(best.window)} {asked}."
        if options.epsilon is None
        else f"Epsilon {options.epsilon:g} {asked}: {best.setting} does it with the least noise, of standard deviation "
        f"{best.noise_std:.3g}."
    )
    shown.show(
        CommandAnswer(
            to_plain(found),
            [("", found.rows())],
            told,
            f"halfmask audit --setting {best.setting} --sensitivity {number_text(change)}"
            + (f" --window {reports}" if reports > 1 else "")
            + (f" --step {number_text(found.question.step)}" if found.question.step else ""),
            found.objections(),
            words=found.notes(),
        )
    )
