"""The explore page: its text, and the files that it loads."""

from importlib import resources
from pathlib import Path

from halfmask import __version__
from halfmask.errors import RunError
from halfmask.figures.wording import in_unit
from halfmask.menus.question import DAY, MONTH, READING, WHOLE_DAY
from halfmask.pages.explore.explorer import NAMES, Explorer
from halfmask.pages.page_parts import render

KINDS = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
ASSETS = {
    "page.css": ("halfmask.pages", "page.css"),
    "explore.css": ("halfmask.pages.explore", "static/explore.css"),
    "explore.js": ("halfmask.pages.explore", "static/explore.js"),
    "scatter.js": ("halfmask.pages.explore", "static/scatter.js"),
    "cards.js": ("halfmask.pages.explore", "static/cards.js"),
    "drop.js": ("halfmask.pages.explore", "static/drop.js"),
    "icon.svg": ("halfmask.pages.explore", "static/icon.svg"),
}
"""Everything that is served as a file, by name: no path of a request ever reaches the disk."""
PROTECTED = {
    READING: "one reading, by a typical amount",
    DAY: "each of a day's readings, by that amount",
    WHOLE_DAY: "a whole day",
    MONTH: "a month of whole days",
}
AXES = {
    "epsilon": "epsilon",
    "error": "error of a total",
    "guess": "best guess misses",
    "noise": "noise",
    "privacy": "paper's privacy",
    "utility": "paper's utility",
}


def asset(name: str) -> tuple[bytes, str] | None:
    """Return a file of the page and its kind; None if no file has that name."""
    if name not in ASSETS:
        return None
    package, file = ASSETS[name]
    try:
        return resources.files(package).joinpath(file).read_bytes(), KINDS[Path(file).suffix]
    except (OSError, ModuleNotFoundError) as error:
        raise RunError(f"{file} of {package} is missing ({error}): install halfmask again") from error


def explore_page(explorer: Explorer, *, state: bool = False) -> str:
    """Return the page of a folder with its controls.

    It fetches what it draws, and begins so with its first line, unless its address has a ``state`` that asks for more.
    """
    inputs, scored = explorer.inputs, explorer.inputs.samples is not None
    axes = {name: words for name, words in AXES.items() if scored or name not in ("privacy", "utility")}
    axes["noise"] = in_unit("noise", inputs.unit)
    return render(
        "explore.html",
        name=inputs.name,
        kind="Explore",
        what=f"{explorer.people:,} producers, {explorer.profile.readings:,} readings",
        fetched=[] if state else ["/api/answer?", f"/api/settings?release={explorer.default.release}"],
        wanted=explorer.default,
        unit=inputs.unit,
        protected=PROTECTED,
        releases=NAMES,
        axes=axes,
        paper=inputs.menu is not None,
        limit=bool(scored and inputs.card and inputs.card.noise),
        foot=f"Made with halfmask {__version__}. Figures are computed from this folder's readings: for the analyst, "
        "not for publication.",
    )


def drop_page() -> str:
    """Return the page that takes a file of readings, if no folder was named."""
    return render("drop.html", name="Explore your readings", kind="Explore", foot=f"Made with halfmask {__version__}.")
