"""``halfmask check``: find out whether noise cancels in an aggregate."""

import math
from typing import TYPE_CHECKING, Annotated

from halfmask.commands._options import Flag, Several, command
from halfmask.commands._printing import CommandAnswer
from halfmask.commands._shared_options import IN_SHORT, Display, Seeded
from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.evaluation.cancellation import Cancellation

PAIRS = ("laplace", "gaussian", "sine:0.9,0.3,0.6,0.6,0.3", "relative-laplace", "relative-gaussian")
"""The settings in the table of all pairs."""


CONDITIONS = (
    "recursive: the aggregate of all follows from aggregates of parts; neutral: a value of 0 changes nothing; "
    "commutes: the aggregate of masked values is that of the values and that of the noise, combined",
    "error goes with users to the power: -0.5 if the noise cancels as in a mean, 0 if it does not",
)


class Check(Seeded):
    """Options of `check`.

    Parameters
    ----------
    aggregate
        sum, mean, count, variance, variance-uncorrected, max, min, median, quantile:0.9, product, geometric-mean, or a
        function of your own: file.py:function, called with the values of one period in ascending order.
    mechanism
        A mechanism (laplace) or setting (laplace:0.5); repeat it if users choose differently, in equal shares.
    accuracy
        The mean relative error that is wanted: 0.01 is 1 %.
    all
        Every known aggregate with a choice of mechanisms, as a table.
    repeats
        How often each number of users is drawn.
    seed
        The same seed gives the same answer.
    """

    aggregate: str = "sum"
    mechanism: Annotated[tuple[str, ...], Several] = ("laplace",)
    accuracy: float = 0.01
    all: Flag = False
    repeats: int = 60


@command(Check, group="Check")
def check(options: Check) -> "list[Cancellation]":
    """Check whether noise cancels in an aggregate: test the theorem's conditions and measure how the error decays.

    The number of users needed comes from a formula for sums, means and variances, else from a measurement.
    """
    from halfmask.evaluation.cancellation import NAMES, cancellation, setting_of
    from halfmask.streams import stream

    if options.repeats < 2:
        raise OptionError(f"repeats {options.repeats} is below 2")
    pairs = [(options.aggregate, options.mechanism)]
    if options.all:
        pairs = [(name, (each,)) for name in NAMES for each in PAIRS]
    return [
        cancellation(
            name,
            [setting_of(each) for each in mechanisms],
            accuracy=options.accuracy,
            repeats=options.repeats,
            rng=stream(options.seed, "evaluation.cancellation"),
        )
        for name, mechanisms in pairs
    ]


def main(options: Check, *, shown: Display = IN_SHORT) -> None:
    """Does noise cancel? The conditions of the paper's theorem 1, tried on an aggregate and a mechanism."""
    found = check(options)
    plain = [each.to_json() for each in found]
    if not options.all:
        means = f"{found[0].aggregate} masked by {_settings(found[0])}: {found[0].verdict()}."
        then = f"halfmask check --aggregate {options.aggregate} --all"
        shown.show(CommandAnswer(plain, [("", _one(found[0]))], means, then, words=CONDITIONS))
        return
    means = f"Users needed: for a mean relative error of {options.accuracy:.2%} on values with a mean of 0.6."
    shown.show(
        CommandAnswer(plain, [("", pair_rows(found))], means, "halfmask check --all --explain", words=CONDITIONS)
    )


def pair_rows(found: "list[Cancellation]") -> list[list[str]]:
    """Return the table of all pairs of aggregate and mechanism, headings first."""
    rows = [["aggregate", "masked by", "recursive", "neutral", "commutes", "error ~ users^", "users needed", "cancels"]]
    for each in found:
        held = ["yes" if one.holds else "no" for one in (each.recursive, each.neutral, each.commutes)]
        cancels = "not shown" if each.undecided else "yes" if each.cancels else "no"
        rows.append([each.aggregate, _settings(each), *held, _exponent(each), _users(each), cancels])
    return rows


def _one(found: "Cancellation") -> list[list[str]]:
    """Return the conditions, the decay of the error and the users needed."""
    rows = [["", "", ""]]
    for name, one in (("recursive", found.recursive), ("neutral", found.neutral), ("commutes", found.commutes)):
        rows.append([name, "holds" if one.holds else "fails", one.case])
    rows.append(["error goes with users to the power", _exponent(found), ""])
    how = "by formula" if found.users == found.users_low == found.users_high else "measured, with its 95 % interval"
    wanted = f"for a mean relative error of {found.accuracy:.2%}"
    rows.append(["users needed", _users(found), wanted if found.users is None else f"{wanted}; {how}"])
    return rows


def _settings(found: "Cancellation") -> str:
    return " + ".join(map(str, found.settings))


def _exponent(found: "Cancellation") -> str:
    return "no error" if found.error == 0 else f"{found.exponent:.2f} ({found.low:.2f} to {found.high:.2f})"


def _users(found: "Cancellation") -> str:
    if found.users is None:
        return "no number suffices" if found.out_of_reach else f"more than {found.users_low:,.0f}"
    if found.users_low == found.users_high:
        return f"{found.users:,.0f}"
    high = f"to {found.users_high:,.0f}" if math.isfinite(found.users_high) else "or more"
    return f"{found.users:,.0f} ({found.users_low:,.0f} {high})"
