"""A producer's limit on the epsilon of the reports in a day, week or month."""

from dataclasses import asdict, dataclass
from typing import Literal

from halfmask_device.decimals import number_text
from halfmask_device.device_state import State
from halfmask_device.errors import OptionError
from halfmask_device.lattice import exact_decimal
from halfmask_device.private_files import replace

Window = Literal["day", "week", "month"]
WINDOWS: tuple[Window, ...] = ("day", "week", "month")
WARN_FROM = 0.8
"""Share of a limit above which the user is warned."""


@dataclass(frozen=True)
class Limit:
    """At most ``epsilon`` at ``delta`` for a change of ``change`` in every reading of a window.

    ``then`` says what happens to a report that would exceed it. ``stop`` does not report it. ``coarser`` reports it
    with a coarser setting of the menu if one stays within the limit. ``warn`` reports it anyway. The user is warned
    above `WARN_FROM` of the limit.
    """

    epsilon: float
    change: str
    window: Window = "day"
    delta: float = 1e-6
    then: Literal["warn", "stop", "coarser"] = "stop"

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise OptionError("a limit's epsilon must be above 0", kind="epsilon")
        if not 0 < self.delta < 1:
            raise OptionError("a limit's delta must lie between 0 and 1", kind="delta")
        if self.window not in WINDOWS:
            raise OptionError("a limit's window is day, week or month", kind="window")
        if self.then not in ("warn", "stop", "coarser"):
            raise OptionError("what follows a limit is warn, stop or coarser", kind="then")
        if exact_decimal(self.change, "change") <= 0:
            raise OptionError("a limit's change must be above 0", kind="change")

    def words(self) -> str:
        """Return the limit in words: epsilon, change, window and delta."""
        return (
            f"epsilon {number_text(self.epsilon)} for a change of {self.change} in every reading of a {self.window}, "
            f"delta {self.delta:g}"
        )


def read_limit(state: State) -> Limit | None:
    """Return the device's limit, or None."""
    path = state.limit
    if not path.exists():  # faster than opening the file, and called with every report
        return None
    plain = state.read_sealed(path)
    return Limit(**plain) if plain else None


def write_limit(state: State, limit: Limit | None) -> None:
    """Set the device's limit, or remove it with None. It also applies to programs that are already running.

    Masking reads the limit within its transaction. Writing it within a transaction too means that no masking is under
    way with the old limit.
    """
    with state.memory():
        if limit is None:
            state.limit.unlink(missing_ok=True)
        else:
            replace(state.limit, state.sealed(asdict(limit)))
