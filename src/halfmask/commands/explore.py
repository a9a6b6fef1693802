"""``halfmask explore``: which levels to offer, on a page in the browser."""

from collections.abc import Callable
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, Options, Teller, command
from halfmask.commands._printing import note
from halfmask.commands._shared_options import OWN_MACHINE

if TYPE_CHECKING:
    from halfmask.commands.offer import OfferOptions
    from halfmask.pages.explore.explorer import Explorer
    from halfmask.pages.explore.wanted_levels import WantedLevels


class Explore(Options):
    """Options of `explore`.

    Parameters
    ----------
    folder
        Holds a *.profile, and study.parquet, menu.json, offer.json, card.json if they exist. Without a folder, the page
        takes a file of readings and makes them.
    host
        The address to listen on; by default only this machine can reach it.
    port
        The port to listen on; 0 takes a free one.
    browser
        Open the page in the browser; --no-browser prints its address only.
    tell
        Callback that receives the address once the server listens.
    """

    folder: AnyPath | None = field(default=None, kw_only=False)
    host: str = "127.0.0.1"
    port: int = 0
    browser: Annotated[bool, Parameter(name="--browser", negative="--no-browser")] = True
    tell: Teller = print


@command(Explore, group="Show")
def explore(options: Explore) -> None:
    """Find the levels to offer in the browser: promises, errors and all settings. Ctrl-C ends it."""
    from halfmask.commands._repeat import command_of
    from halfmask.pages.explore.explore_server import OfferMaker
    from halfmask.pages.explore.explore_server import explore as serve

    serve(
        options.folder,
        host=options.host,
        port=options.port,
        browser=options.browser,
        tell=options.tell or print,
        spell=command_of,
        offers=OfferMaker(lambda explorer, wanted: offer_options(explorer, wanted).command_line(), run_offer),
        results=make_results,
    )


def offer_options(explorer: "Explorer", wanted: "WantedLevels") -> "OfferOptions":
    """Return the options of `halfmask offer` that make the levels on the page."""
    from halfmask.commands.offer import OfferOptions

    folder, name = explorer.inputs.folder, explorer.inputs.name
    bounds: dict[str, Any] = {"low": wanted.low, "high": wanted.high} if wanted.bounded else {}
    return OfferOptions(
        folder / f"{name}.profile", output=folder / "offer.json", protect=wanted.protect, release=wanted.release,  # type: ignore[arg-type]
        within=f"{wanted.within:g}", producers=wanted.producers,
        epsilon=",".join(f"{each:g}" for each in explorer.epsilons(wanted)), **bounds,
    )  # fmt: skip


def run_offer(explorer: "Explorer", wanted: "WantedLevels") -> str:
    """Return the offer as the command makes it, as text of its file; nothing is written."""
    import json

    from halfmask.commands.offer import offer
    from halfmask.menus.menu import menu_json

    made = offer(replace(offer_options(explorer, wanted), output=None))
    return json.dumps(menu_json(made.menu), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def make_results(readings: Path, folder: Path, advance: Callable[[str, float], None]) -> None:
    """Write profile, study, menu and offer of a file of readings to a folder."""
    from halfmask.commands import evaluate, offer, optimize, profile

    made, study = folder / f"{readings.stem}.profile", folder / "study.parquet"

    def steps(words: str) -> Callable[[int, int], None]:
        return lambda done, of: advance(words, done / of if of else 0.0)

    advance("reading the readings", 0.0)
    profile.ProfileOptions(str(readings), output=made).run()
    evaluate.Evaluate(made, output=study, advance=steps("trying all settings")).run()
    advance("choosing the paper's menu", 0.0)
    optimize.Optimize(study, output=folder / "menu.json", profile=made).run()
    # The page is for the analyst alone, and a file may hold too few users for a summary under differential privacy.
    offer.OfferOptions(made, output=folder / "offer.json", private=0, advance=steps("making the offer")).run()


def main(options: Explore) -> None:
    """Find the levels to offer in the browser: promises, errors and all settings. Ctrl-C ends it."""
    if options.host not in OWN_MACHINE:
        note(f"listening on {options.host}: everyone who can reach this machine sees the results, without a password")
    explore(replace(options, tell=lambda address: print(address, flush=True)))
    note("stopped")
