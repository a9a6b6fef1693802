"""The levels of an offer on page one: a table of what they promise and cost, and what the promises are about."""

from halfmask.menus.menu import CALIBRATION, NONE_ID, Menu, MenuSetting
from halfmask.menus.menu_scale import score_words
from halfmask.menus.offer_table import split_notes
from halfmask.menus.question import WHOLE, Question, whole_day_of
from halfmask.pages.page_numbers import epsilon, percent
from halfmask.pages.page_parts import Markup, html_table
from halfmask.profiles.profile import Profile
from halfmask_device.decimals import number_text, upwards
from halfmask_device.setting import SPLIT


def levels_table(menu: Menu, profile: Profile | None) -> Markup:
    """Return the table of levels: what is promised of a reading, a day and a month, and what they cost."""
    crowds = _crowds(menu)
    columns = [("Level", [f"{each.id} {each.name}".strip() for each in menu.settings])]
    columns += _promise_columns(menu) if by_promise(menu) else _reading_columns(menu, profile)
    columns += [(f"Error, {users:,}", [percent(_error_of(each, users)) for each in menu.settings]) for users in crowds]
    columns.append(("Producers needed", ["–" if each.needed is None else f"{each.needed:,}" for each in menu.settings]))
    rows = [list(row) for row in zip(*(cells for _, cells in columns), strict=True)]
    told = "What is offered; every column is explained below."
    return html_table(told, [head for head, _ in columns], rows, numbers=range(1, len(columns)))


def scores_table(menu: Menu) -> Markup:
    """Return the paper's scores of the offer's levels."""
    rows = [
        [f"{each.id} {each.name}".strip(), _paper_privacy(each), score_words(each.utility.median, known=each.outside)]
        for each in menu.settings
    ]
    cost = menu.provenance.get("offer", {}).get("guarantee_costs")
    told = "The offer's levels on the paper's scale."
    if cost is not None:
        told += f" The guarantee costs at most {upwards(max(cost, 0), 2)} of utility at any level of the paper's menu."
    return html_table(told, ["Level", "Privacy", "Utility"], rows, numbers=(1, 2))


def _paper_privacy(each: MenuSetting) -> str:
    """Return the paper's privacy score; of a split level, whose masked values nobody sees, that it is split."""
    return SPLIT if each.setting.release == SPLIT else score_words(each.privacy.median, known=each.outside)


def _promise_columns(menu: Menu) -> list[tuple[str, list[str]]]:
    """Return the epsilons of what an offer promises about, and of a month of it."""
    asked = menu.question
    if asked is None:
        return []
    month = asked.month()
    held = [epsilon(each.promise.epsilon if each.promise else None) for each in menu.settings]
    months = [epsilon(None if each.setting.silent else month.epsilon(each.setting)) for each in menu.settings]
    heads = [f"Epsilon, {asked.heading()}", f"Epsilon, {month.heading()}"]
    return [(heads[0], held)] + ([(heads[1], months)] if heads[1] != heads[0] else [])


def _reading_columns(menu: Menu, profile: Profile | None) -> list[tuple[str, list[str]]]:
    """Return how much of a reading stays hidden, and the epsilons of a reading, of the window and of a whole day."""
    asked, known = menu.question, [each.protection for each in menu.settings]
    columns = [
        ("Hidden", [percent(found.guess if found else None) for found in known]),
        ("Epsilon, one reading", [epsilon(found.reading if found else None) for found in known]),
    ]
    if asked is None or asked.window > 1:
        head = f"Epsilon, {asked.window:,} readings" if asked else "Epsilon, window"
        columns.append((head, [epsilon(found.window if found else None) for found in known]))
    day = whole_day_of(menu.question, profile)
    if day is not None:
        columns.append((f"Epsilon, {day.heading()}", [epsilon(day.epsilon(e.setting)) for e in menu.settings]))
    return columns


def _error_of(each: MenuSetting, users: int) -> float | None:
    """Return the error of a total of ``producers``; 0 of unmasked ones."""
    return (each.protection.errors if each.protection else {}).get(users, 0.0 if each.id == NONE_ID else None)


def by_promise(menu: Menu) -> bool:
    """Return whether levels were chosen by what they promise, not by how much of a reading they hide."""
    return menu.provenance.get("by") == "promise"


def promised(menu: Menu, profile: Profile | None = None) -> list[str]:
    """Return the guarantee in words: change, window and delta; if the offer has no question, that it lacks one."""
    asked = menu.question
    if asked is None:
        return ["The offer does not say what its epsilons are about: make it with halfmask offer."]
    drawn = f"E{asked.drawn()[1:]}."
    if by_promise(menu):
        split = [f"{told[:1].upper()}{told[1:]}." for told in split_notes(menu, asked)]
        return [_of_promise(menu, asked), *split, f"{_beyond(asked)} {drawn}", *_clipped(menu, asked)]
    told = [
        f"One reading: one report changes the odds between two readings up to {asked.size} apart by a factor of at "
        "most e^epsilon, whoever looks and whatever else they know, at delta 0. For another change epsilon is "
        f"{asked.in_steps()}, over b of laplace:b."
    ]
    if asked.window > 1:
        told.append(f"{asked.window:,} readings: epsilon {asked.words()}.")
    day = whole_day_of(menu.question, profile)
    if day is not None:
        told.append(f"A whole {day.noun}: epsilon {day.words()}. The size of that change follows from the data.")
    return [*told, f"{_beyond(asked)} {drawn}"]


def _of_promise(menu: Menu, asked: Question) -> str:
    """Return what is promised about everything that is protected, and about a month of it."""
    deltas = {each.promise.delta for each in menu.settings[:-1] if each.promise}
    at = f"delta {number_text(min(deltas))}" if len(deltas) == 1 else f"delta {number_text(asked.delta)}"
    month, who = asked.month(), "whoever looks at a producer's reports and whatever else they know"
    if asked.release == SPLIT:
        who = "whoever sees the total, but not what both services hold"
    text = f"What is seen changes the odds between two lives by a factor of at most e^epsilon, {who}: epsilon for "
    text += f"{asked.what()}, at {at}."
    return text if month.heading() == asked.heading() else f"{text} Epsilon of {month.heading()}: {month.words()}."


def _beyond(asked: Question) -> str:
    """Return what an epsilon does not cover."""
    if asked.protect in WHOLE:
        return f"A total is counted as what lies between {_amount(asked.low, asked)} and {_amount(asked.high, asked)}."
    return "Larger changes and longer windows have larger epsilons."


def _amount(value: float, asked: Question) -> str:
    return f"{number_text(value)} {asked.unit}".strip()


def _clipped(menu: Menu, asked: Question) -> list[str]:
    """Return what clipping totals to the bounds does; empty if it does nothing.

    A published offer has it only as an interval, among what its figures rest on.
    """
    found = menu.provenance.get("offer", {}).get("clipping")
    if not found or not found["share"] or CALIBRATION in menu.provenance:
        return []
    return [
        f"{percent(found['share'])} of the {asked.noun}s' totals lie outside of these bounds and are clipped, which "
        f"changes their sum by {100 * found['bias']:+.2g} %.".replace("-", "\u2212")
    ]


def _crowds(menu: Menu) -> list[int]:
    return list(next((each.protection.errors for each in menu.settings if each.protection), {}))
