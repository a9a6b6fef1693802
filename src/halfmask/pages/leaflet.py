"""The leaflet: one offline page for households, with the choice itself, drawn from a menu alone.

Every sentence is in ``leaflet_texts.json``, one block per language. The readings that are drawn are an example, scaled
to what the menu publishes. A household's own readings are read by the page in the browser and never leave it: the
page's policy forbids it to fetch or send anything.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfmask import __version__
from halfmask.errors import OptionError
from halfmask.menus.masked_range import few_steps, noise_quantile, one_in_print, shown
from halfmask.menus.menu import NONE_ID, Menu, MenuSetting
from halfmask.menus.promised_levels import SIGNED
from halfmask.pages.page_parts import Markup, allowed, page_file, render
from halfmask.pages.shown_day import example_day, example_month
from halfmask.protection.guarantees.promises import odds
from halfmask_device.decimals import number_text
from halfmask_device.setting import READING, SPLIT

CHANCES = 201
MOST_TIMES = 10**6
MINUS = "\u2212"
SENDER = ("recipient", "purpose", "keeps", "contact")
"""What a household must know about the recipient."""
MODULES = ("calendar.js", "curve.js", "readings_file.js", "leaflet.js")
"""The scripts of the page, each after those that it imports."""
EXPORTED = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
USED = ("own_shown", "own_bad_times", "own_bad_numbers", "own_bad_few", "day_own", "decimal", "thousands",
        "line_yours", "line_theirs", "line_nothing", "line_same")  # fmt: skip
"""Texts that the script needs."""


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
    ``sender``   who asks, by the names in `SENDER`; what is not known is left out
    """
    words = _words(language)
    for id in rewards or {}:
        menu[id]
    asked = menu.question
    unit = unit or (asked.unit if asked else "")
    totals = asked is not None and asked.release != READING
    size = _typical(menu)
    series = example_month(size) if totals else example_day(size, asked.window if asked else 48)
    levels = [
        {
            "id": each.id,
            "head": words["names"].get(each.name, each.name) or f"{words['level']} {each.id}",
            "lines": _sentences(each, menu, words, unit, size, (rewards or {}).get(each.id)),
        }
        for each in _from_open_to_split(menu)
    ]
    bounds = [asked.low, asked.high] if totals and asked and asked.low < asked.high else None
    data = {
        **{name: words[name] for name in USED},
        "unit": unit,
        "totals": totals,
        "bounds": bounds,
        "marks": words["marks_month" if totals else "marks_day"],
        "example": [float(f"{value:.4g}") for value in series],
        "levels": [
            {"quantiles": _quantiles(each), "split": each.setting.release == SPLIT, "open": each.id == NONE_ID}
            for each in _from_open_to_split(menu)
        ],
    }
    script = _script()
    return render(
        "leaflet.html",
        language=language,
        words=words,
        sender={name: told for name in SENDER if (told := (sender or {}).get(name, ""))},
        levels=levels,
        day=words["month" if totals else "day"],
        data=Markup(json.dumps(data, ensure_ascii=True).replace("<", "\\u003c")),
        script=script,
        style=page_file("page.css") + page_file("leaflet.css"),
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed(script)}; img-src data:",
        foot=words["foot"].format(version=__version__),
    )


def _from_open_to_split(menu: Menu) -> list[MenuSetting]:
    """Return the levels in the order of the slider: least hidden first."""
    *masked, open_ = menu.settings
    return [open_, *masked]


def _typical(menu: Menu) -> float:
    """Return the size of a typical reading, or of a period's total if totals are masked."""
    asked = menu.question
    if asked is None:
        return 1.0
    if asked.release == READING:
        return asked.change
    known = menu.public.totals if menu.public else None
    return float(known.mean) if known and known.mean > 0 else (asked.high - asked.low) / 4 or asked.change


def _script() -> Markup:
    """Return all modules as one script: each is a function that returns what it exports."""
    parts = []
    for name in MODULES:
        text = re.sub(r"^import .*$", "", page_file(name), flags=re.MULTILINE)
        names = ", ".join(EXPORTED.findall(text))
        body = EXPORTED.sub("", text)
        parts.append(f"const {{ {names} }} = (() => {{\n{body}\nreturn {{ {names} }};\n}})();")
    return Markup("\n".join(parts))


def kept_words(keep_reports: str, language: str) -> str:
    """Return in words what a campaign keeps, according to its ``keep_reports``."""
    return str(_words(language)["keeps_always" if keep_reports == "always" else "keeps_until_closed"])


@dataclass(frozen=True)
class Told:
    """A sentence about a level; ``kind`` is its style."""

    words: str
    kind: str = ""


def _sentences(
    entry: MenuSetting, menu: Menu, words: Mapping[str, Any], unit: str, size: float, reward: str | None
) -> list[Told]:
    """Return what a level pays and promises, and what others could learn under it."""
    told = [Told(words["earns"].format(amount=reward), "earns")] if reward else []
    if entry.id == NONE_ID:
        return [*told, Told(words["open_words"], "nothing")]
    found, asked = entry.protection, menu.question
    if found and found.hides_next_to_nothing:
        told.append(Told(words["nothing"], "nothing"))
    elif asked and asked.release != READING and (asked.epsilon(entry.setting) or math.inf) > SIGNED:
        told.append(Told(words["hides_not_day"], "nothing"))
    told += map(Told, _promise(entry, menu, words, unit))
    if entry.setting.release == SPLIT:
        return [*told, Told(words["split_words"])]
    totals = "_total" if asked and asked.release != READING else ""
    step = asked.step if asked else None
    if range_ := shown(entry.setting, size, step):
        low, high = ((_exact if few_steps(each, step) else _number)(each, words) for each in range_)
        key = "shows_as_is" if one_in_print(*range_, step) else "shows"
        reading = f"{_number(size, words)} {unit}".strip()
        told.append(Told(words[key + totals].format(reading=reading, low=low, high=high)))
    if found and found.guess is not None:
        told.append(Told(words["guess" + totals].format(guess=_written(f"{100 * found.guess:.0f} %", words))))
    open_ = menu.settings[-1].protection
    if found and found.recognised is not None and open_ and open_.recognised is not None:
        named, bare = (f"{1000 * each:.0f}" for each in (found.recognised, open_.recognised))
        told.append(Told(words["named"].format(named=named, open=bare)))
    if found and found.errors and asked:
        users, error = list(found.errors.items())[-1]
        crowd, off = _written(f"{users:,}", words), _written(f"{100 * error:.1f} %", words)
        told.append(Told(words["total"].format(users=crowd, error=off)))
    return told


def _promise(entry: MenuSetting, menu: Menu, words: Mapping[str, Any], unit: str) -> list[str]:
    """Return the best odds of an attacker for one report and for a longer time, or that a promise is missing."""
    found, asked = entry.protection, menu.question
    if found is None or asked is None or found.reading is None or not found.pure:
        return [words["no_promise"]]
    guarantee, change = asked.asked(entry.setting), f"{_exact(asked.change, words)} {unit}".strip()
    window = asked.window if asked.release == READING else asked.month().window
    one, many = (_times(odds(guarantee, count), words) for count in (1, window))
    totals = "" if asked.release == READING else "_total"
    told = [words[f"promise{totals}"].format(change=change, right=one)]
    if window > 1:
        weak = "_weak" if not totals and (found.window is None or found.window > SIGNED) else ""
        told.append(words[f"promise_window{totals}{weak}"].format(window=_written(f"{window:,}", words), right=many))
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


def _quantiles(entry: MenuSetting) -> list[float] | None:
    """Return |psi| at equally spaced probabilities, for the page to draw noise; None without noise to draw."""
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
