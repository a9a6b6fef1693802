"""How a device stands with its campaigns."""

from dataclasses import KW_ONLY, dataclass

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, Options, command
from halfmask_device.sharing import Membership, Sharer


@Parameter(name="*")
@dataclass(frozen=True)
class Status(Options):
    """Options of `status`.

    Parameters
    ----------
    state
        Folder of this device's secret, memory and queue.
    """

    _: KW_ONLY
    state: AnyPath


@dataclass(frozen=True)
class Standing:
    """One campaign: reports and rewards by outcome, ``waiting`` for those without a receipt."""

    member: Membership
    counts: dict[str, tuple[int, int]]


@command(Status)
def status(options: Status) -> list[Standing]:
    """The campaigns of a device, with what became of its reports; from the device alone, nobody is asked."""
    sharer = Sharer(options.state)
    return [Standing(each, sharer.counts(each.campaign)) for each in sharer.memberships(left=True)]
