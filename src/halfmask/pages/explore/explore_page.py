"""The explore page: live with a server, or as one file that works without a server."""

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from halfmask import __version__
from halfmask.errors import RunError
from halfmask.evaluation.aggregates import noun
from halfmask.figures.registry import by_place
from halfmask.figures.results_folder import ResultsFolder
from halfmask.figures.wording import sized
from halfmask.files import whole_file
from halfmask.menus.masked_range import TIMES_OUT_OF_TEN
from halfmask.menus.menu import Menu
from halfmask.menus.menu_scale import OUTSIDE
from halfmask.menus.setting_protection import NO_PROMISE
from halfmask.pages.explore.explorer import Explorer, View
from halfmask.pages.method_section import repeat_section
from halfmask.pages.page_numbers import epsilon, percent
from halfmask.pages.page_parts import (
    Markup,
    allowed,
    element,
    html_table,
    joined_markup,
    plotted_figure,
    render,
    score_bar,
)
from halfmask.pages.summary_section import TITLES, empty_bins, errors_of, left_out, shown_as, what, words_of

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
    """Return a file of the page and its kind; None if no file has that name."""
    if name not in ASSETS:
        return None
    package, file = ASSETS[name]
    try:
        return resources.files(package).joinpath(file).read_bytes(), KINDS[Path(file).suffix]
    except (OSError, ModuleNotFoundError) as error:
        raise RunError(f"{file} of {package} is missing ({error}): install halfmask again") from error


def live_page(explorer: Explorer) -> str:
    """Return the page with its controls; it fetches its figures."""
    view = explorer.view(None)
    mixable = view.inputs.menu is not None and view.inputs.profile is not None
    return render("live.html", **_content(view), mixable=mixable)


def menu_fragment(view: View) -> str:
    """Return the menu and its notes, as HTML for the page."""
    return render("menu.html", **_menu(view))


def write_alone(explorer: Explorer, path: str | Path) -> None:
    """Write one file with the figures and all they need. Its policy allows only the scripts that it contains."""
    view = explorer.view(None)
    plotly, script = _text("plotly.min.js"), _text("figures.js")
    # "<" would let a setting's name end the element that holds the data.
    data = json.dumps([each.json() for each in view.figures], allow_nan=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    page = render(
        "alone.html",
        **_content(view),
        style=_text("page.css") + _text("explore.css"),
        plotly=plotly,
        script=script,
        data=Markup(data),
        policy=f"default-src 'none'; script-src {allowed(plotly)} {allowed(script)}; style-src 'unsafe-inline'; "
        "img-src data: blob:",
    )
    with whole_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _content(view: View) -> dict[str, Any]:
    inputs, by_name = view.inputs, {each.name: each for each in view.figures}
    plots = {
        place: joined_markup([plotted_figure(by_name[name], number) for number, name in shown])
        for place, shown in by_place(list(by_name)).items()
    }
    titles = {"menu": "The menu", **TITLES, "data": "The readings"}
    titles["repeat"] = titles.pop("repeat")  # comes last
    return _menu(view) | {
        "name": inputs.name,
        "kind": "Explore",
        "what": what(inputs),
        "titles": {id: title for id, title in titles.items() if id != "pay" or plots["pay"]},
        "has": {part: inputs.holds(part) for part in ("study", "menu", "card")}
        | {"profile": bool(inputs.profile and inputs.profile.readings)},
        "absent": {part: left_out(inputs, part) for part in ("profile", "study", "menu", "mix", "card")},
        "command": inputs.command("menu"),
        "options": view.options,
        "plots": plots,
        "folder": inputs.folder.name or ".",
        "repeat": repeat_section(inputs),
        "foot": f"Made with halfmask {__version__}.",
    }


def _menu(view: View) -> dict[str, Any]:
    """Return the menu's table (scores, protection, effects on readings and totals) and notes; empty without a menu."""
    menu = view.inputs.menu
    if menu is None:
        return {"table": "", "told": []}
    told = [*empty_bins(menu), *(each for each in view.notes if not each.startswith("bin "))]
    columns = [*_scores(menu), *_protected(menu), *_in_words(view.inputs)]
    rows = [[each.id, *cells] for each, *cells in zip(menu.settings, *(cells for _, _, cells in columns), strict=True)]
    kinds = {place: kind for place, (_, kind, _) in enumerate(columns, start=1)}
    heads = ["Id", *(head for head, _, _ in columns)]
    return {"table": html_table(_caption(view.inputs, menu), heads, rows, kinds=kinds),
            "told": told}  # fmt: skip


Column = tuple[str, str, Sequence[str]]
"""Heading, class and a cell for each setting."""


def _scores(menu: Menu) -> list[Column]:
    return [
        ("Setting", "setting", [element("code", str(each.setting)) for each in menu.settings]),
        ("Privacy", "", [OUTSIDE if each.outside else score_bar(each.privacy.median) for each in menu.settings]),
        ("Utility", "", [OUTSIDE if each.outside else score_bar(each.utility.median) for each in menu.settings]),
    ]


def _protected(menu: Menu) -> list[Column]:
    """Return columns of guess, epsilons and, if any is known, recognition; empty if a setting lacks its protection."""
    found = [each.protection for each in menu.settings if each.protection]
    if menu.question is None or len(found) < len(menu.settings):
        return []
    guesses: list[str] = [percent(each.guess).replace("less than", "<") for each in found]
    for place, each in enumerate(found[:-1]):
        if each.hides_next_to_nothing:
            guesses[place] = element("span", guesses[place], "bad")
    reading = [epsilon(each.reading) + ("" if each.pure or each.reading is None else " *") for each in found]
    columns: list[Column] = [
        ("Guess", "number", guesses),
        ("Epsilon", "number", _broken(reading)),
        (f"of {menu.question.window:,}", "number", _broken([epsilon(each.window) for each in found])),
    ]
    if any(each.recognised is not None for each in found):
        columns.append(("Recognised", "number", [percent(each.recognised) for each in found]))
    return columns


def _broken(cells: Sequence[str]) -> list[str]:
    """Return the cells of a column of numbers, in which words may take two lines."""
    return [element("span", cell, "broken") if cell == NO_PROMISE else cell for cell in cells]


def _in_words(inputs: ResultsFolder) -> list[Column]:
    words = words_of(inputs)
    if not words:
        return []
    errors = zip(*map(errors_of, words), strict=True)
    return [
        (f"{sized(words[0].reading, inputs.unit)} shows as", "shown", [shown_as(each) for each in words]),
        *((f"error, {users:,} users", "number", column) for users, column in zip(words[0].errors, errors, strict=True)),
    ]


def _caption(inputs: ResultsFolder, menu: Menu) -> str:
    name = "The paper's menu" if inputs.offer else "The menu"
    told = f"Table 1. {name}. Privacy and utility are medians over all groups of users tried"
    words, asked = words_of(inputs), menu.question
    if words and inputs.profile:
        told += (
            f"; a typical reading is {sized(words[0].reading, inputs.unit)}, and the range is what it shows as "
            f"{TIMES_OUT_OF_TEN} times out of 10. Errors are those of a {inputs.profile.period.text}'s "
            f"{noun(inputs.aggregate)}, on average"
        )
    told += "."
    if _protected(menu) and asked:
        told += (
            " Guess: the error of the best guess of a reading from its report, over that without a report. Epsilon: "
            f"for a change of up to {asked.size} in one reading (at delta 0, or at delta {asked.delta:g} where marked "
            f"*); of {asked.window:,}: {asked.words()}."
        )
        if any(each.protection and each.protection.recognised is not None for each in menu.settings):
            told += " Recognised: producers named from one masked day."
    return told


def _text(name: str) -> Markup:
    found = asset(name)
    return Markup(found[0].decode() if found else "")
