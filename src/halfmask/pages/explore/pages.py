"""The page itself: alive over a server, or alone as one file that needs none."""

import base64
import hashlib
import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from halfmask import __version__
from halfmask.errors import RunError
from halfmask.figures.captions import share
from halfmask.figures.inputs import Inputs
from halfmask.figures.registry import by_place
from halfmask.figures.style import sized
from halfmask.files import whole_file
from halfmask.menus.words import TIMES_OUT_OF_TEN
from halfmask.pages.explore.explorer import Explorer, View
from halfmask.pages.first_page import epsilon, percent
from halfmask.pages.summary import words_of
from halfmask.profiles.quality import quality

KINDS = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
ASSETS = {
    "page.css": ("halfmask.pages", "page.css"),
    "explore.css": ("halfmask.pages.explore", "static/explore.css"),
    "figures.js": ("halfmask.pages.explore", "static/figures.js"),
    "explore.js": ("halfmask.pages.explore", "static/explore.js"),
    "icon.svg": ("halfmask.pages.explore", "static/icon.svg"),
    "plotly.min.js": ("plotly", "package_data/plotly.min.js"),
}
"""Everything that is served as a file, by name: no path of a request ever reaches the disk."""


def asset(name: str) -> tuple[bytes, str] | None:
    """A file of the page and its kind; None where there is none of that name."""
    if name not in ASSETS:
        return None
    package, file = ASSETS[name]
    try:
        return resources.files(package).joinpath(file).read_bytes(), KINDS[Path(file).suffix]
    except (OSError, ModuleNotFoundError) as error:
        raise RunError(f"{file} of {package} is missing ({error}): install halfmask again") from error


def live_page(explorer: Explorer) -> str:
    """The page with its controls; figures come when it asks for them."""
    view = explorer.view(None)
    return _render("live.html", _content(view) | {"mixable": _mixable(view)})


def menu_fragment(view: View) -> str:
    """The menu and its notes as they stand in the page."""
    return _render("menu.html", _menu(view))


def write_alone(explorer: Explorer, path: str | Path) -> None:
    """One file with the figures and all they need; its policy allows these very scripts and nothing else."""
    view = explorer.view(None)
    scripts = {name: _text(f"{name}.js") for name in ("plotly.min", "figures")}
    style = _text("page.css") + _text("explore.css")
    # "<" would let a setting's name end the element that holds the data.
    data = json.dumps([each.json() for each in view.figures], allow_nan=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts.values()))}; "
        "style-src 'unsafe-inline'; img-src data: blob:"
    )
    inlined = {"style": style, "plotly": scripts["plotly.min"], "script": scripts["figures"], "data": data}
    page = _render("alone.html", _content(view) | inlined | {"policy": policy})
    with whole_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _content(view: View) -> dict[str, Any]:
    by_name = {each.name: each for each in view.figures}
    places = by_place(list(by_name))
    numbered = {
        name: {"number": number, "figure": by_name[name]} for shown in places.values() for number, name in shown
    }
    inputs = view.inputs
    return _menu(view) | {
        "name": inputs.name,
        "version": __version__,
        "what": _what(inputs),
        "has": {"profile": bool(inputs.profile and inputs.profile.readings), "study": inputs.samples is not None,
                "menu": inputs.menu is not None, "mix": inputs.mix is not None,
                "card": inputs.card is not None},
        "commands": {part: inputs.command(part) for part in ("profile", "study", "menu", "mix", "card")},
        "options": view.options,
        "figures": numbered,
        "places": {place: [name for _, name in shown] for place, shown in places.items()},
        "folder": inputs.folder.name or ".",
    }  # fmt: skip


def _menu(view: View) -> dict[str, Any]:
    """What the menu's table says: scores, and in words what each setting does to a reading and to totals."""
    inputs, words = view.inputs, {each.id: each for each in words_of(view.inputs)}
    first = next(iter(words.values()), None)
    return {
        "settings": inputs.menu.settings if inputs.menu else (),
        "words": words,
        "crowds": list(first.errors) if first else [],
        "reading": first.reading if first else None,
        "times": TIMES_OUT_OF_TEN,
        "period": inputs.profile.period.text if inputs.profile else "period",
        "unit": inputs.unit,
        "question": inputs.menu.question if inputs.menu and all(e.protection for e in inputs.menu.settings) else None,
        "named": bool(inputs.menu)
        and any(
            e.protection and e.protection.recognised is not None for e in (inputs.menu.settings if inputs.menu else ())
        ),
        "notes": view.notes,
        "empty": inputs.menu.empty_bins if inputs.menu else (),
        "command": inputs.command("menu"),
    }


def _mixable(view: View) -> bool:
    return view.inputs.menu is not None and view.inputs.profile is not None


def _what(inputs: Inputs) -> str:
    if not inputs.profile or not inputs.profile.readings:
        return "What users show of their readings under each setting, and what totals of them are worth."
    found = quality(inputs.profile)
    tried = f" {len(inputs.samples.settings):,} settings were tried." if inputs.samples else ""
    return (
        f"{found['users']:,} users, {found['readings']:,} readings, {found['first'][:10]} to {found['last'][:10]}: "
        f"what users show under each setting, and what totals are worth.{tried}"
    )


def _text(name: str) -> str:
    found = asset(name)
    return found[0].decode() if found else ""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _range(low: float | None, high: float | None) -> str:
    """What a reading shows as, with a true minus."""
    if low is None or high is None:
        return "masked by a rule without a noise law"
    shown = f"{low:.3g}", f"{high:.3g}"
    return "as it is" if shown[0] == shown[1] else " to ".join(shown).replace("-", "−")


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("halfmask.pages.explore"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {"share": lambda error: "–" if error is None else share(error).replace("less than", "<")}
    made.filters |= {"percent": percent, "epsilon": epsilon}
    made.globals |= {"range_words": _range, "sized": sized}
    return made


def _render(name: str, content: dict[str, Any]) -> str:
    return _templates().get_template(name).render(content)
