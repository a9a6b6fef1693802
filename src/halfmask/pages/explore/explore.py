"""``halfmask explore``: a folder's results as interactive pages in the browser, until Ctrl-C."""

import webbrowser
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from halfmask.figures.results_folder import Speller, by_name
from halfmask.pages.explore.explore_page import write_alone
from halfmask.pages.explore.explore_server import ExploreServer
from halfmask.pages.explore.explorer import Explorer


def explore(
    folder: str | Path,
    output: str | Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    browser: bool = True,
    tell: Callable[[str], None] = print,
    spell: Speller = by_name,
) -> None:
    """Serve a folder's page until interrupted, or write its figures to ``output`` and return.

    ``tell`` is called with the address when the server listens; ``spell`` puts the commands that make parts into words.
    """
    explorer = Explorer(folder, spell)
    if output is not None:
        write_alone(explorer, output)
        return
    with ExploreServer(explorer, host, port) as server:
        try:
            Thread(target=explorer.warm, daemon=True).start()
            tell(server.address)
            if browser:
                Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
            server.serve_forever()
        except KeyboardInterrupt:
            return
