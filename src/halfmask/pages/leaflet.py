"""The leaflet: one offline page for households, in plain words, drawn from a menu alone.

Every sentence stands in ``leaflet_texts.json``, one block a language. The day that is drawn is an example, shaped like
many households' days and scaled to the menu's typical reading; a household's own day is read by the page in the browser
and never leaves it: the page's policy forbids it to fetch or send anything.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfmask import __version__
from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.menus.menu import NONE_ID, Menu, MenuSetting
from halfmask.menus.words import noise_quantile, shown
from halfmask.pages.first_page import LARGE
from halfmask.pages.page import Markup, allowed, page_file, render
from halfmask.streams import stream
from halfmask_device.decimals import number_text

DAY = (
    *(0.45, 0.4, 0.38, 0.37, 0.38, 0.5, 0.95, 1.3, 1.1, 0.9, 0.85, 0.95),
    *(1.2, 1.0, 0.85, 0.85, 1.05, 1.7, 2.5, 2.7, 2.2, 1.6, 1.0, 0.6),
)
"""A day by the hour, over its median: an example made for this page, nobody's own."""
CHANCES = 201
SEED = 20
WIDTH, HEIGHT = 600, 160
FEWEST, MOST = 8, 288


def leaflet(menu: Menu, *, language: str = "en", rewards: Mapping[str, str] | None = None, unit: str = "") -> str:
    """The page as text; ``rewards`` by setting id, as they are to be read ("5 CHF a month")."""
    texts = _texts()
    if language not in texts:
        raise OptionError(f"the leaflet does not speak '{language[:20]}': it speaks {', '.join(texts)}")
    for id in rewards or {}:
        menu[id]
    words, asked = texts[language], menu.question
    unit = unit or (asked.unit if asked else "")
    reading = asked.change if asked else 1.0
    day = example_day(reading, asked.window if asked else 48)
    levels = [_level(each, menu, words, day, (rewards or {}).get(each.id), unit, reading) for each in menu.settings]
    data = {
        "shown": words["own_shown"],
        "bad": words["own_bad"],
        "decimal": words["decimal"],
        "unit": unit,
        "levels": [{"id": each.id, "quantiles": _quantiles(each)} for each in menu.settings],
    }
    script = page_file("leaflet.js")
    return render(
        "leaflet.html",
        language=language,
        words=words,
        levels=levels,
        width=WIDTH,
        height=HEIGHT,
        data=Markup(json.dumps(data, ensure_ascii=True).replace("<", "\\u003c")),
        script=script,
        style=page_file("page.css") + page_file("leaflet.css"),
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed(script)}; img-src data:",
        foot=words["foot"].format(version=__version__),
    )


def example_day(reading: float, count: int) -> FloatArray:
    """A day of about so many readings whose median is ``reading``."""
    count = min(max(count, FEWEST), MOST)
    hours = np.linspace(0, len(DAY), count, endpoint=False)
    values = np.interp(hours, np.arange(len(DAY)), DAY, period=len(DAY))
    return values * (reading / float(np.median(values)))


@dataclass(frozen=True)
class Told:
    """A sentence about a level; ``kind`` is how it stands out."""

    words: str
    kind: str = ""


def _level(
    entry: MenuSetting,
    menu: Menu,
    words: Mapping[str, Any],
    day: FloatArray,
    reward: str | None,
    unit: str,
    size: float,
) -> dict[str, Any]:
    """What the template says and draws of a level."""
    name = words["names"].get(entry.name, entry.name)
    seen = day if entry.id == NONE_ID else entry.setting.mask(day, stream(SEED, "pages.leaflet"))
    lines = _sentences(entry, menu, words, unit, size)
    if reward:
        lines.append(Told(words["earns"].format(amount=reward), "earns"))
    low, high = min(0.0, float(seen.min()), float(day.min())), max(float(seen.max()), float(day.max()))
    return {
        "id": entry.id,
        "head": f"{words['level']} {entry.id}" + (f": {name}" if name else ""),
        "lines": lines,
        "true": _points(day, low, high),
        "seen": _points(seen, low, high),
        "zero": f"{_height(0.0, low, high):.1f}",
        "top": f"{high:.2g}".replace(".", words["decimal"]) + f" {unit}",
    }


def _sentences(entry: MenuSetting, menu: Menu, words: Mapping[str, Any], unit: str, size: float) -> list[Told]:
    """What others could tell under a level."""
    reading = f"{_number(size, words)} {unit}".strip()
    if entry.id == NONE_ID:
        return [Told(words["open_words"])]
    told, found, asked = [], entry.protection, menu.question
    if found and found.hides_next_to_nothing:
        told.append(Told(words["nothing"], "nothing"))
    range_ = shown(entry.setting, size)
    if range_:
        low, high = (_number(each, words) for each in range_)
        key = "shows_as_is" if low == high else "shows"
        told.append(Told(words[key].format(reading=reading, low=low, high=high)))
    if found and found.guess is not None:
        told.append(Told(words["guess"].format(guess=_percent(found.guess, 0, words))))
    if found and found.recognised is not None:
        told.append(Told(words["named"].format(named=f"{100 * found.recognised:.0f}")))
    told += map(Told, _promise(entry, menu, words, unit))
    if found and found.errors and asked:
        users, error = list(found.errors.items())[-1]
        told.append(Told(words["total"].format(users=_whole(users, words), error=_percent(error, 1, words))))
    return told


def _promise(entry: MenuSetting, menu: Menu, words: Mapping[str, Any], unit: str) -> list[str]:
    found, asked = entry.protection, menu.question
    if found is None or asked is None or found.reading is None or not found.pure:
        return [words["no_promise"]]
    change = f"{_exact(asked.change, words)} {unit}".strip()
    told = [words["promise"].format(change=change, factor=_spoken(_factor(found.reading), words))]
    if found.window is not None:
        chance = math.floor(1 / asked.delta * (1 + 1e-12))
        key = "promise_window_weak" if found.window > LARGE else "promise_window"
        factor = _spoken(_factor(found.window), words)
        window = {"window": _whole(asked.window, words), "chance": _whole(chance, words)}
        told.append(words[key].format(factor=factor, **window))
    return told


def _number(value: float, words: Mapping[str, Any]) -> str:
    """Three digits, as the language writes them."""
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.translate({ord("."): words["decimal"], ord(","): words["thousands"]})


def _exact(value: float, words: Mapping[str, Any]) -> str:
    """All digits: no promise holds for a larger change than it was computed for."""
    return number_text(value).replace(".", words["decimal"])


def _whole(value: int, words: Mapping[str, Any]) -> str:
    return f"{value:,}".replace(",", words["thousands"])


def _percent(share: float, digits: int, words: Mapping[str, Any]) -> str:
    return f"{100 * share:.{digits}f} %".replace(".", words["decimal"])


def _factor(epsilon: float) -> str:
    """e^epsilon, rounded up, so that it is never said to be less; large ones as a power of ten."""
    if epsilon > math.log(1e6):
        return f"10^{math.ceil(epsilon / math.log(10))}"
    factor = math.exp(epsilon)
    step = 10.0 ** (math.floor(math.log10(factor)) - 1)
    return f"{math.ceil(factor / step - 1e-9) * step:.10g}"


def _spoken(factor: str, words: Mapping[str, Any]) -> str:
    """A factor as the language writes it."""
    return _whole(int(factor), words) if factor.isdigit() else factor.replace(".", words["decimal"])


def _quantiles(entry: MenuSetting) -> list[float] | None:
    """|psi| at equally spaced chances, for the page to draw noise from; None where there is none to draw."""
    if entry.id == NONE_ID or entry.setting.kind != "additive" or entry.setting.inner is not None:
        return None
    chances = np.linspace(0, 1, CHANCES)
    chances[-1] = 1 - 0.25 / CHANCES
    return [float(f"{noise_quantile(entry.setting, float(each)):.4g}") for each in chances]


def _height(value: float, low: float, high: float) -> float:
    return HEIGHT - (HEIGHT - 10) * (value - low) / ((high - low) or 1.0)


def _points(values: FloatArray, low: float, high: float) -> str:
    step = WIDTH / max(len(values) - 1, 1)
    return " ".join(f"{at * step:.1f},{_height(float(value), low, high):.1f}" for at, value in enumerate(values))


def _texts() -> dict[str, dict[str, Any]]:
    texts: dict[str, dict[str, Any]] = json.loads(page_file("leaflet_texts.json"))
    return texts
