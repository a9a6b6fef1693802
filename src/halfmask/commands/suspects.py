"""Reports that do not look like what their setting claims."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from cyclopts import Parameter

from halfmask.commands._options import Options, command
from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.service.suspects import Suspicions


@Parameter(name="*")
@dataclass(frozen=True)
class Suspects(Options):
    """Options of `suspects`.

    Parameters
    ----------
    campaign
        The campaign whose reports are looked at; only those that are still kept can be.
    db
        The service's database, as for 'halfmask serve'.
    false_alarm
        The chance that a run over honest producers flags any of them with proof.
    """

    campaign: str
    _: KW_ONLY
    db: str = "sqlite:///halfmask.db"
    false_alarm: float = 1e-3

    def check(self) -> None:
        super().check()
        if not 0 < self.false_alarm < 1:
            raise OptionError(f"a false-alarm rate of {self.false_alarm} is none: name one between 0 and 1")


@command(Suspects)
def suspects(options: Suspects) -> "tuple[Suspicions, dict[int, str]]":
    """Who is flagged and why, with the chance of it for an honest producer; and the producers' names by key."""
    from halfmask.service.offline import suspicions

    return suspicions(options.db, options.campaign, options.false_alarm)
