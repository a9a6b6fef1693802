"""The command that shows a folder's results alive."""

from pathlib import Path

from halfmask.cli.app import Flag, OutputIfAny, app
from halfmask.cli.output import note


@app.command
def explore(
    folder: Path,
    *,
    output: OutputIfAny = None,
    host: str = "127.0.0.1",
    port: int = 0,
    no_browser: Flag = False,
) -> None:
    """All results of a folder, alive in the browser: other menus, mixes and settings at a touch. Ctrl-C ends it.

    Parameters
    ----------
    folder
        Holds *.profile, study.parquet, menu.json and mix.parquet, as far as there are.
    output
        Write the figures to this one HTML file, which opens offline, and end; live controls are left out.
    host
        The address to listen on; the default is heard by this machine alone.
    port
        The port to listen on; 0 takes a free one.
    no_browser
        Print the address only.
    """
    from halfmask.pages.explore.serve import explore as show

    if output is None and host not in ("127.0.0.1", "localhost", "::1"):
        note(f"listening on {host}: whoever reaches this machine sees the folder's results, without a password")
    show(folder, output, host=host, port=port, browser=not no_browser, tell=lambda address: print(address, flush=True))
    note(f"wrote {output}" if output is not None else "stopped")
