"""``halfmask explore``: show a folder's results in the browser."""

from collections.abc import Iterator
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, Teller, command
from halfmask.commands._printing import note
from halfmask.commands._shared_options import OWN_MACHINE, MayWrite

RESULTS = (".profile", ".parquet", ".json", ".csv")


class Explore(MayWrite):
    """Options of `explore`.

    Parameters
    ----------
    folder
        Holds *.profile, study.parquet, menu.json, offer.json, mix.parquet, card.json and so on.
    output
        Write the figures to this HTML file, which opens offline, and end; it has no live controls.
    host
        The address to listen on; by default only this machine can reach it.
    port
        The port to listen on; 0 takes a free one.
    browser
        Open the page in the browser; --no-browser prints its address only.
    tell
        Callback that receives the address once the server listens.
    """

    folder: AnyPath = field(kw_only=False)
    host: str = "127.0.0.1"
    port: int = 0
    browser: Annotated[bool, Parameter(name="--browser", negative="--no-browser")] = True
    tell: Teller = print

    def read_files(self) -> Iterator[Path]:
        """Yield all results of the folder."""
        return (path for path in Path(self.folder).glob("*") if path.suffix in RESULTS)


@command(Explore, group="Show")
def explore(options: Explore) -> None:
    """Explore the results of a folder in the browser: other menus, mixes and settings. Ctrl-C ends it."""
    from halfmask.commands._repeat import command_of
    from halfmask.pages.explore.explore_server import explore as serve

    serve(
        options.folder,
        options.output,
        host=options.host,
        port=options.port,
        browser=options.browser,
        tell=options.tell or print,
        spell=command_of,
    )


def main(options: Explore) -> None:
    """Explore the results of a folder in the browser: other menus, mixes and settings. Ctrl-C ends it."""
    if options.output is None and options.host not in OWN_MACHINE:
        note(f"listening on {options.host}: everyone who can reach this machine sees the results, without a password")
    explore(replace(options, tell=lambda address: print(address, flush=True)))
    if options.output is None:
        note("stopped")
