"""``halfmask demo``: run all steps on a synthetic panel, from readings to a report and a live sharing."""

import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, ClassVar

from cyclopts import Parameter

from halfmask.commands import audit, evaluate, leaflet, mix, offer, optimize, profile, report, simulate, synth
from halfmask.commands._options import AnyPath, Flag, Options, command
from halfmask.commands._printing import note, print_rows
from halfmask.errors import OptionError, RunError
from halfmask.extras import need

LEAST_HOMES = 40
"""Fewest homes of the live demo: totals appear from 20 on."""
BETWEEN = 12.0
"""Seconds that the live demo waits for its button before the next day."""

MOST_OF_A_DAY = 160.0
"""Largest sum of a day's readings that is shared, in kW: a household's readings are below 3.4 kW on average."""


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
        The same seed gives the same files, except for the noise of devices and of the offer's summary.
    live
        Show both sides of sharing in the browser instead: choosing at home, and totals of simulated homes that report
        to two real services. It writes no files.
    browser
        With --live: open the page in the browser; --no-browser prints its address only.
    """

    positional: ClassVar[tuple[str, ...]] = ("folder",)

    folder: Annotated[AnyPath, Parameter(name=["--folder", "--output", "-o"])] = Path("demo")
    users: int = 1000
    days: int = 120
    seed: int = 1
    live: Flag = False
    browser: Annotated[bool, Parameter(name="--browser", negative="--no-browser")] = True

    def check(self) -> None:
        """Make the folder for all results. Raise an error if the last commands need a library that is not installed."""
        if self.live:
            need("service")
            if self.users < LEAST_HOMES:
                raise OptionError(f"--live needs {LEAST_HOMES} --users or more", kind="users", field="users")
            return
        need("pages", "service")
        at = Path(self.folder)
        try:
            at.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise OptionError(f"cannot write to {at}: it is a file, or lies in one; name a folder") from error
        except OSError as error:
            raise RunError(f"cannot make the folder {at}: {error.strerror or error}; name another") from error
        if not os.access(at, os.W_OK):
            raise RunError(f"cannot write to the folder {at}: it is not yours to write in; name another")

    def steps(self) -> list[tuple[str, Options]]:
        """Return the commands in their order, each with what it does."""
        at = Path(self.folder)
        panel, made, study, menu, offered = (
            at / name for name in ("panel.parquet", "panel.profile", "study.parquet", "menu.json", "offer.json")
        )
        audited: dict[str, Any] = {"profile": made, "panel": str(panel)}
        shared = at / "sharing.csv"
        # devices of the panel against two live services, for three days
        live = simulate.Simulate(
            panel=panel, menu=offered, producers=80, days=3, budget=0, leaves=0.0, take=3.0, output=shared
        )
        return [
            ("a panel of readings", synth.Synth(output=panel, users=self.users, days=self.days, seed=self.seed)),
            ("its profile", profile.ProfileOptions(str(panel), output=made, unit="kW")),
            ("all settings tried on it", evaluate.Evaluate(made, output=study)),
            ("the paper's menu", optimize.Optimize(study, output=menu, profile=made, unit="kW")),
            ("the offer", offer.OfferOptions(made, output=offered, split=1.0, low=0.0, high=MOST_OF_A_DAY)),
            ("mixes of the paper's menu", mix.MixOptions(made, menu, output=at / "mix.parquet")),
            ("attacks on the paper's menu", audit.Audit(menu, output=at / "card.json", **audited)),
            ("attacks on the offer", audit.Audit(offered, output=at / "offer-card.json", **audited)),
            ("the leaflet for households", leaflet.Leaflet(offered, output=at / "leaflet.html")),
            ("three days of sharing with two services", live),
            ("the report", report.ReportOptions(at, figures=("png",))),
        ]


@command(Demo, group="Start here")
def demo(options: Demo) -> Path | None:
    """Make all results on a synthetic panel, and return the path of the report; with ``live`` show both sides."""
    if options.live:
        options.check()
        _show_live(options)
        return None
    for _, step in options.steps():
        step.run()
    return Path(options.folder) / "report.html"


def _show_live(options: Demo) -> None:
    """Run the live demo: print its address, a line per day, and the last line."""
    import webbrowser

    from halfmask.simulation.live_demo import LAST_LINE, run_live_demo

    watched = sys.stdin.isatty()

    def opened(address: str) -> None:
        print(address, flush=True)
        if options.browser:
            webbrowser.open(address)

    def told(day: Mapping[str, Any]) -> None:
        low, high, truth = (options.users * each for each in (day["found"]["low"], day["found"]["high"], day["truth"]))
        print(f"{day['title']}: the town used {low:,.0f} to {high:,.0f} kWh; the truth is {truth:,.0f}", flush=True)

    def stay() -> None:
        if watched:
            note("the page stays until Ctrl-C")
        print(LAST_LINE, flush=True)
        if watched:
            with suppress(KeyboardInterrupt):
                threading.Event().wait()

    run_live_demo(options.users, options.seed, opened, told, BETWEEN if watched else 0, stay)


def main(options: Demo) -> None:
    """A synthetic panel through all steps: profile, study, menu, offer, mixes, audits, leaflet, sharing, report."""
    from halfmask.menus.offer_table import offer_rows

    options.check()
    if options.live:
        _show_live(options)
        return
    steps, menu = options.steps(), None
    for number, (words, step) in enumerate(steps, start=1):
        started = time.perf_counter()
        made = step.run()
        note(f"{number:2} of {len(steps)}: {words} ({time.perf_counter() - started:.0f} s)")
        if isinstance(step, offer.OfferOptions) and menu is None:
            menu = made.menu
    if menu is not None:
        print_rows(offer_rows(menu), "The offer")
    at = Path(options.folder).resolve()
    note("every command prints what it did; 'halfmask explore' shows the offer and all settings")
    print(f"open {at / 'report.html'}")
