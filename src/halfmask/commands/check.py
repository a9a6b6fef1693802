"""Does noise cancel in an aggregate?"""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from halfmask.commands._options import Flag, Options, command
from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.evaluation.cancellation import Cancellation

PAIRS = ("laplace", "gaussian", "sine:0.9,0.3,0.6,0.6,0.3", "relative-laplace", "relative-gaussian")
"""The settings of the table of all pairs."""


@Parameter(name="*")
@dataclass(frozen=True)
class Check(Options):
    """Options of `check`.

    Parameters
    ----------
    aggregate
        sum, mean, count, variance, variance-uncorrected, max, min, median, quantile:0.9, product, geometric-mean, or a
        function of your own: file.py:function, called with the values of one period in ascending order.
    mechanism
        A mechanism (laplace) or setting (laplace:0.5); repeat it for users who choose differently, in equal shares.
    accuracy
        The mean relative error that is wanted: 0.01 is 1 %.
    all
        Every known aggregate with a choice of mechanisms, as a table.
    repeats
        How often each number of users is drawn.
    seed
        The same seed gives the same answer.
    """

    _: KW_ONLY
    aggregate: str = "sum"
    mechanism: Annotated[tuple[str, ...], Parameter(negative="")] = ("laplace",)
    accuracy: float = 0.01
    all: Flag = False
    repeats: int = 60
    seed: int = 7


@command(Check)
def check(options: Check) -> "list[Cancellation]":
    """Whether noise cancels in an aggregate: the theorem's conditions tried, and the decay of the error measured.

    The users needed for the accuracy come by formula for sums, means and variances, else measured with an interval.
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
