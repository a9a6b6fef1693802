"""Everything on a synthetic panel."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import ClassVar

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, Options, command
from halfmask.commands.audit import Audit
from halfmask.commands.evaluate import Evaluate
from halfmask.commands.mix import MixOptions
from halfmask.commands.offer import OfferOptions
from halfmask.commands.optimize import Optimize
from halfmask.commands.profile import ProfileOptions
from halfmask.commands.report import ReportOptions
from halfmask.commands.simulate import Simulate
from halfmask.commands.synth import Synth


@Parameter(name="*")
@dataclass(frozen=True)
class Demo(Options):
    """Options of `demo`.

    Parameters
    ----------
    folder
        Where the files go.
    users
        How many users the panel has.
    days
        How many days it covers.
    seed
        The same seed gives the same files, but for the audit of the device's own noise, which has no seed.
    """

    positional: ClassVar[tuple[str, ...]] = ("folder",)

    _: KW_ONLY
    folder: AnyPath = Path("demo")
    users: int = 1000
    days: int = 120
    seed: int = 1

    def steps(self) -> list[Options]:
        """The commands, in their order."""
        at = Path(self.folder)
        panel, made, study, menu = (
            at / name for name in ("panel.parquet", "panel.profile", "study.parquet", "menu.json")
        )
        shared = at / "sharing.csv"  # fifty devices of the panel against a live service, for three days
        return [
            Synth(output=panel, users=self.users, days=self.days, seed=self.seed),
            ProfileOptions(str(panel), output=made, unit="kW"),
            Evaluate(made, output=study),
            Optimize(study, output=menu, profile=made),
            OfferOptions(made, output=at / "offer.json", study=study, panel=str(panel)),
            MixOptions(made, menu, output=at / "mix.parquet"),
            Audit(menu, profile=made, panel=str(panel), output=at / "card.json"),
            Simulate(panel=panel, menu=at / "offer.json", producers=50, days=3, budget=0, leaves=0.0, output=shared),
            ReportOptions(at, figures=("png",)),
        ]


@command(Demo)
def demo(options: Demo) -> Path:
    """Everything on a synthetic panel: readings, profile, study, menu, mixes, audit, report. Gives its path."""
    Path(options.folder).mkdir(parents=True, exist_ok=True)
    for step in options.steps():
        step.run()
    return Path(options.folder) / "report.html"
