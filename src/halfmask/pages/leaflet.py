"""The leaflet: one offline page for households, in plain words, drawn from a menu alone.

Every sentence is in ``leaflet_texts.json``, one block per language. The day that is drawn is an example, shaped like
many households' days and scaled to the menu's typical reading; a household's own day is read by the page in the browser
and never leaves it: the page's policy forbids it to fetch or send anything.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfmask import __version__
from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.menus.masked_range import few_steps, noise_quantile, one_in_print, shown
from halfmask.menus.menu import NONE_ID, Menu, MenuSetting
from halfmask.menus.promised_levels import SIGNED
from halfmask.pages.page_parts import Markup, allowed, page_file, render
from halfmask.protection.guarantees.promises import odds
from halfmask.streams import stream
from halfmask_device.decimals import number_text

DAY = (
    *(0.45, 0.4, 0.38, 0.37, 0.38, 0.5, 0.95, 1.3, 1.1, 0.9, 0.85, 0.95),
    *(1.2, 1.0, 0.85, 0.85, 1.05, 1.7, 2.5, 2.7, 2.2, 1.6, 1.0, 0.6),
)
"""A day by the hour, over its median: an example made for this page, nobody's own."""
CHANCES = 201
SEED = 20
WIDTH, HEIGHT, ROOM = 600, 240, 28
FEWEST, MOST = 8, 288
MOST_TIMES = 10**6
MINUS = "\u2212"
SENDER = ("recipient", "purpose", "keeps", "contact")
"""What a household must know about the recipient."""


def leaflet(
    menu: Menu,
    *,
    language: str = "en",
    rewards: Mapping[str, str] | None = None,
    unit: str = "",
    sender: Mapping[str, str] | None = None,
) -> str:
    """Return the page as text.

    ``rewards``  by setting id, the text of its reward ("5 CHF a month")
    ``sender``   who asks, by the names in `SENDER`; a missing name is a blank on the page
    """
    words = _words(language)
    for id in rewards or {}:
        menu[id]
    asked = menu.question
    unit = unit or (asked.unit if asked else "")
    reading = asked.change if asked else 1.0
    day = example_day(reading, asked.window if asked else 48)
    seen = {each.id: _masked(each, day) for each in menu.settings}
    scale = OneScale.of([day, *seen.values()])
    levels = [
        {
            "id": each.id,
            "head": ": ".join(filter(None, (f"{words['level']} {each.id}", words["names"].get(each.name, each.name)))),
            "lines": _sentences(each, menu, words, unit, reading, (rewards or {}).get(each.id)),
            "seen": scale.points(seen[each.id]),
        }
        for each in menu.settings
    ]
    data = {
        **{name: words[name] for name in ("own_shown", "own_bad", "day_own", "decimal", "thousands")},
        "unit": unit,
        "width": WIDTH,
        "height": HEIGHT,
        "room": ROOM,
        "levels": [{"id": each.id, "quantiles": _quantiles(each)} for each in menu.settings],
    }
    script = page_file("leaflet.js")
    return render(
        "leaflet.html",
        language=language,
        words=words,
        sender={name: (sender or {}).get(name, "") for name in SENDER},
        levels=levels,
        day=scale.points(day),
        scale=[
            (f"{scale.height(at):.1f}", _label(at, words) if scale.apart(at) else "")
            for at in (scale.high, 0.0, scale.low)
        ],
        unit=unit,
        width=WIDTH,
        height=HEIGHT,
        data=Markup(json.dumps(data, ensure_ascii=True).replace("<", "\\u003c")),
        script=script,
        style=page_file("page.css") + page_file("leaflet.css"),
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed(script)}; img-src data:",
        foot=words["foot"].format(version=__version__),
    )


def kept_words(keep_reports: str, language: str) -> str:
    """Return in words what a campaign keeps, according to its ``keep_reports``."""
    return str(_words(language)["keeps_always" if keep_reports == "always" else "keeps_until_closed"])


def example_day(reading: float, count: int) -> FloatArray:
    """Return a day of about ``count`` readings whose median is ``reading``."""
    count = min(max(count, FEWEST), MOST)
    hours = np.linspace(0, len(DAY), count, endpoint=False)
    values = np.interp(hours, np.arange(len(DAY)), DAY, period=len(DAY))
    return values * (reading / float(np.median(values)))


@dataclass(frozen=True)
class Told:
    """A sentence about a level; ``kind`` is its style."""

    words: str
    kind: str = ""


@dataclass(frozen=True)
class OneScale:
    """The vertical scale that all pictures share, so that levels can be compared."""

    low: float
    high: float

    @classmethod
    def of(cls, series: Sequence[FloatArray]) -> "OneScale":
        """Return the scale from the smallest to the largest of all values and zero."""
        return cls(min(0.0, *(float(each.min()) for each in series)), max(0.0, *(float(each.max()) for each in series)))

    def height(self, value: float) -> float:
        """Return a value's distance from the top of the picture."""
        return HEIGHT * (self.high - value) / ((self.high - self.low) or 1.0)

    def apart(self, value: float) -> bool:
        """Return whether a value's mark does not overlap that of zero, even in the large letters of a phone."""
        return value == 0 or abs(self.height(value) - self.height(0.0)) >= ROOM

    def points(self, values: FloatArray) -> str:
        """Return the points of a line through the values, as SVG writes them."""
        step = WIDTH / max(len(values) - 1, 1)
        return " ".join(f"{at * step:.1f},{self.height(float(value)):.1f}" for at, value in enumerate(values))


def _masked(entry: MenuSetting, day: FloatArray) -> FloatArray:
    return day if entry.id == NONE_ID else entry.setting.mask(day, stream(SEED, "pages.leaflet"))


def _sentences(
    entry: MenuSetting, menu: Menu, words: Mapping[str, Any], unit: str, size: float, reward: str | None
) -> list[Told]:
    """Return what others could learn under a level, and what it pays."""
    reading = f"{_number(size, words)} {unit}".strip()
    earns = [Told(words["earns"].format(amount=reward), "earns")] if reward else []
    if entry.id == NONE_ID:
        return [Told(words["open_words"]), *earns]
    told, found, asked = [], entry.protection, menu.question
    if found and found.hides_next_to_nothing:
        told.append(Told(words["nothing"], "nothing"))
    step = asked.step if asked else None
    range_ = shown(entry.setting, size, step)
    if range_:
        low, high = ((_exact if few_steps(each, step) else _number)(each, words) for each in range_)
        key = "shows_as_is" if one_in_print(*range_, step) else "shows"
        told.append(Told(words[key].format(reading=reading, low=low, high=high)))
    if found and found.guess is not None:
        told.append(Told(words["guess"].format(guess=_written(f"{100 * found.guess:.0f} %", words))))
    told += map(Told, _promise(entry, menu, words, unit))
    open_ = menu.settings[-1].protection
    if found and found.recognised is not None and open_ and open_.recognised is not None:
        named, bare = (f"{1000 * each:.0f}" for each in (found.recognised, open_.recognised))
        told.append(Told(words["named"].format(named=named, open=bare)))
    if found and found.errors and asked:
        users, error = list(found.errors.items())[-1]
        told.append(
            Told(
                words["total"].format(
                    users=_written(f"{users:,}", words), error=_written(f"{100 * error:.1f} %", words)
                )
            )
        )
    return told + earns


def _promise(entry: MenuSetting, menu: Menu, words: Mapping[str, Any], unit: str) -> list[str]:
    """Return the best odds of an attacker for one report and for the question's window, or that there is no promise."""
    found, asked = entry.protection, menu.question
    if found is None or asked is None or found.reading is None or not found.pure:
        return [words["no_promise"]]
    guarantee, change = asked.asked(entry.setting), f"{_exact(asked.change, words)} {unit}".strip()
    one, many = (_times(odds(guarantee, count), words) for count in (1, asked.window))
    told = [words["promise"].format(change=change, right=one)]
    if asked.window > 1:
        key = "promise_window_weak" if found.window is None or found.window > SIGNED else "promise_window"
        told.append(words[key].format(window=_written(f"{asked.window:,}", words), right=many))
    return told


def _times(chance: float, words: Mapping[str, Any]) -> str:
    """Return how often a guess is right, rounded up as `promises.times` does; "always" only if it is certain."""
    if chance >= 1:
        return str(words["always"])
    of = 100
    while (right := math.ceil(of * chance - 1e-9)) == of and of < MOST_TIMES:
        of *= 10
    if right == of:
        return str(words["nearly_always"])
    return str(words["times"].format(right=_written(f"{right:,}", words), of=_written(f"{of:,}", words)))


def _number(value: float, words: Mapping[str, Any]) -> str:
    """Return a number as the language writes it: with three significant digits, or as a whole number from 1,000."""
    return _written(f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}", words)


def _exact(value: float, words: Mapping[str, Any]) -> str:
    """Return a number with all its digits, because a promise does not hold for a larger change."""
    return _written(number_text(value), words)


def _written(text: str, words: Mapping[str, Any]) -> str:
    """Return a number as the language writes it."""
    return text.translate({ord("."): words["decimal"], ord(","): words["thousands"], ord("-"): MINUS})


def _label(value: float, words: Mapping[str, Any]) -> str:
    """Return an axis label: two significant digits, or a whole number from 100."""
    return _written(f"{value:,.0f}" if abs(value) >= 100 or value == 0 else f"{value:.2g}", words)


def _quantiles(entry: MenuSetting) -> list[float] | None:
    """Return |psi| at equally spaced probabilities, for the page to draw noise; None if there is no noise to draw."""
    if entry.id == NONE_ID or entry.setting.kind != "additive" or entry.setting.inner is not None:
        return None
    chances = np.linspace(0, 1, CHANCES)
    chances[-1] = 1 - 0.25 / CHANCES
    return [float(f"{noise_quantile(entry.setting, float(each)):.4g}") for each in chances]


def _words(language: str) -> dict[str, Any]:
    texts: dict[str, dict[str, Any]] = json.loads(page_file("leaflet_texts.json"))
    if language not in texts:
        raise OptionError(
            f"the leaflet does not speak '{language[:20]}': it speaks {', '.join(texts)}", kind="language"
        )
    return texts[language]
