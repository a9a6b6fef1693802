"""An offer as a table, and notes that explain it."""

from collections.abc import Mapping
from typing import Any

from halfmask.evaluation.aggregates import averaged, noun
from halfmask.menus.menu import CALIBRATION, NONE_ID, OWN, Menu, MenuSetting
from halfmask.menus.menu_table import held_epsilons, protection_cells, protection_heads
from halfmask.menus.question import Question
from halfmask.menus.setting_protection import NO_PROMISE
from halfmask_device.decimals import number_text, upwards
from halfmask_device.setting import READING, SPLIT

MEAN, MEDIAN = "mean", "median"
"""The two statistics of the periods' errors, one of which decides how many producers a level needs."""
FEW_PERIODS = "the mean is decided by a few periods with next to nothing in them, so the median decides"


def offer_rows(menu: Menu) -> list[list[str]]:
    """Return an offer as a table, headings first."""
    if menu.provenance.get("by") == "promise" and menu.question:
        return _promise_rows(menu, menu.question)
    first = next((each.protection for each in menu.settings if each.protection), None)
    crowds = list(first.errors) if first else []
    head = ["id", "level", "setting", *protection_heads(menu)]
    rows = [[*head, *(f"{users:,}" for users in crowds), "needs", "privacy", "utility"]]
    for each in menu.settings:
        errors = each.protection.errors if each.protection else {}
        row = [each.id, each.name, str(each.setting), *protection_cells(menu, each)]
        row += [_error(errors.get(users)) for users in crowds]
        row.append("-" if each.needed is None else f"{each.needed:,}")
        rows.append([*row, *_scores(each)])
    return rows


def _error(known: float | None) -> str:
    return "-" if known is None else _percent(known)


def _scores(level: MenuSetting) -> list[str]:
    return ["outside"] * 2 if level.outside else [f"{level.privacy.median:.2f}", f"{level.utility.median:.2f}"]


def _promise_rows(menu: Menu, asked: Question) -> list[list[str]]:
    """Return the table of levels that were chosen by their epsilon."""
    made, month = menu.provenance["offer"], asked.month()
    count = made["producers"]
    rows = [
        [
            "id",
            "setting",
            f"epsilon, {asked.heading()}",
            month.heading(),
            f"error of {count:,}",
            "needs",
            "privacy",
            "utility",
        ]
    ]
    for each in menu.settings:
        held = held_epsilons(asked, each)
        errors = each.protection.errors if each.protection else {}
        error = _error(0.0 if each.setting.silent else errors.get(count))
        scores = _scores(each)
        rows.append(
            [
                each.id,
                str(each.setting),
                *(NO_PROMISE if epsilon is None else upwards(epsilon) for epsilon in held),
                error,
                "-" if each.needed is None else f"{each.needed:,}",
                *([SPLIT, scores[1]] if each.setting.release == SPLIT else scores),
            ]
        )
    return rows


def _percent(share: float) -> str:
    """Return a share in percent, to three digits and without those that mean nothing."""
    return f"{float(f'{100 * share:.3g}'):,g}%"


def promise_words(menu: Menu, asked: Question) -> str:
    """Return what the levels' epsilons are for, with the delta that they hold at, and those of a month."""
    deltas = {each.promise.delta for each in menu.settings[:-1] if each.promise}
    month, at = asked.month(), number_text(deltas.pop() if len(deltas) == 1 else asked.delta)
    told = f"for {asked.what()}, at delta {at}"
    return told if month.heading() == asked.heading() else f"{told}; {month.heading()}: {month.words()}"


def _promise_notes(menu: Menu, asked: Question) -> list[str]:
    """Return what the columns of `_promise_rows` mean, and what else could be had."""
    made, what = menu.provenance["offer"], noun(menu.provenance.get("aggregate", "sum"))
    notes = [
        *averaged(menu.provenance),
        f"epsilon: {promise_words(menu, asked)}",
        f"error: mean error of a {asked.noun}'s {what} of {made['producers']:,} producers; needs: producers for a "
        f"{decider(menu)} error of {_percent(made['within'])}",
        f"{asked.drawn()}; `step` names another",
    ]
    notes += split_notes(menu, asked)
    if (near := made.get("closest")) is not None:
        notes += _closest_notes(near, asked, made)
    if (curve := made.get("curve")) is not None:
        notes.append(
            f"a curve costs more: each of {asked.readings:,} intervals of a {asked.noun} with an error of "
            f"{_percent(made['within'])} has epsilon {upwards(curve)} {asked.words()}"
        )
    return notes


def offer_warnings(menu: Menu) -> list[str]:
    """Return what whoever signs the offer must see: promises that devices refuse, totals cut off, too few producers."""
    asked, made = menu.question, menu.provenance.get("offer", {})
    notes = [] if asked is None else [told for each in menu.settings if (told := asked.objection(each.setting))]
    if asked and (clipped := made.get("clipping")) is not None and CALIBRATION not in menu.provenance:
        bounds = f"{number_text(clipped['low'])} to {number_text(clipped['high'])} {asked.unit}".strip()
        notes.append(
            f"totals are clipped to {bounds}: {clipped['share']:.2%} of them lie outside, and clipping changes their "
            f"sum by {clipped['bias']:+.2%}"
        )
    if (why := menu.provenance.get(CALIBRATION, {}).get("unknown")) is not None:
        notes.append(f"{why}; `own` writes the analyst's own figures, from the readings")
    if made:
        short = [each.id for each in menu.settings if (each.needed or 0) > made["producers"]]
        notes += short and [
            f"{', '.join(short)}: {made['producers']:,} producers are too few for a {decider(menu)} error of "
            f"{_percent(made['within'])}; column needs says how many it takes"
        ]
    if asked and (near := made.get("closest")) is not None:
        notes.insert(0, _closest_words(near, made))
    return notes + menu.warnings()


def split_notes(menu: Menu, asked: Question) -> list[str]:
    """Return against whom a split level's promise holds, and where its privacy lies on the paper's scale."""
    return [
        f"{each.id}: its promise holds against {each.against}. The paper's privacy is of errors of masked values, and "
        f"nobody sees any: a guess of every {asked.noun}'s total from the published one alone would score "
        f"{each.privacy.median:.2f}"
        for each in menu.settings
        if each.setting.release == SPLIT and not each.outside
    ]


def _closest_words(near: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    """Return a sentence on what comes closest to a strong promise with a small error."""
    count, epsilon, within = made["producers"], upwards(near["epsilon"]), _percent(made["within"])
    told = [f"of {count:,} producers, epsilon {epsilon} has no error of {within}"]
    if near["error"] is not None:
        told = [
            f"of {count:,} producers, epsilon {epsilon} has an error of {_percent(near['error'])}; {within} needs "
            f"{near['producers']:,}"
        ]
    if near["split"] is not None:
        told.append(f"split, it has {_percent(near['split'])}")
    return "; ".join(told)


def _closest_notes(near: Mapping[str, Any], asked: Question, made: Mapping[str, Any]) -> list[str]:
    """Return which epsilon the wished error has, masked as totals and as readings."""
    told = f"with an error of {_percent(made['within'])} epsilon is {upwards(near['reached'])}"
    if near["readings"] is not None and asked.release != READING:
        told += f", of masked readings {upwards(near['readings'])}"
    return [told]


def offer_notes(menu: Menu) -> list[str]:
    """Return notes that explain the offer's columns."""
    if menu.provenance.get("by") == "promise" and menu.question:
        return _promise_notes(menu, menu.question)
    asked, made = menu.question, menu.provenance.get("offer", {})
    what = noun(menu.provenance.get("aggregate", "sum"))
    notes = averaged(menu.provenance)
    if asked:
        notes.append(
            f"epsilon: for a change of up to {asked.size} in one reading, at delta 0; for another change it is "
            f"{asked.in_steps()}, over b of laplace:b; of {asked.window:,}: {asked.words()}"
        )
        notes.append(f"{asked.drawn()}; `step` names another")
    if made:
        notes.append(
            "hidden: the best guess of a reading from its report errs by this share of guessing without a report; the "
            f"levels have at least {', '.join(f'{each.bin[0]:.0%}' for each in menu.settings if each.id != NONE_ID)}"
        )
        if any(each.protection and each.protection.recognised is not None for each in menu.settings):
            notes.append("recognised: share of producers named from one masked day by who knows their days before")
        notes.append(
            f"columns headed by a number: mean error of a period's {what} of that many producers; needs: producers "
            f"for a {decider(menu)} error of {_percent(made['within'])}"
        )
        if usual := _usual(menu):
            notes.append(usual)
    return notes


def calibration_notes(menu: Menu) -> list[str]:
    """Return what the figures of a published offer, or of the analyst's own, rest on."""
    told = menu.provenance.get(CALIBRATION)
    if told is None:
        own = "figures are computed from readings: this offer is the analyst's own, and not for publication"
        return [own] if OWN in menu.provenance else []
    notes = [
        f"figures follow from a summary with epsilon {told['epsilon']:g} for {told['protects']}, at delta 0; each "
        "further offer of this profile is one more release"
    ]
    if "unknown" in told:
        return notes
    count = menu.provenance["offer"]["producers"]
    ends = {id: each["errors"].get(count, each["errors"].get(str(count))) for id, each in told["intervals"].items()}
    shown = ", ".join(f"{id} {_percent(low)} to {_percent(high)}" for id, (low, high) in ends.items())
    notes.append(f"error of {count:,} producers, 95 % interval: {shown}")
    if (clipped := told.get("clipping")) is not None and menu.question:
        asked, (low, high) = menu.question, clipped["share"]
        bounds = f"{number_text(asked.low)} to {number_text(asked.high)} {asked.unit}".strip()
        bias = "" if clipped["bias"] is None else ", and clipping changes the sum by {:+.0%} to {:+.0%}"
        notes.append(
            f"totals are clipped to {bounds}: {low:.1%} to {high:.1%} of them lie outside"
            f"{bias.format(*clipped['bias'] or ())}, by 95 % intervals"
        )
    return notes


def _usual(menu: Menu) -> str:
    """Return a sentence on the error of the median period, because one nearly empty period can decide the mean."""
    users, what = menu.provenance["offer"]["producers"], noun(menu.provenance.get("aggregate", "sum"))
    usual = usual_errors(menu)
    if not usual:
        return ""
    why = f"; {FEW_PERIODS}" if decider(menu) == MEDIAN else ""
    told = ", ".join(f"{name} {error:.2%}" for name, error in usual.items())
    return f"of {users:,} producers, the expected error of the median period's {what} is: {told}{why}"


def usual_errors(menu: Menu) -> dict[str, float]:
    """Return by id the median over periods of the error of a total of all producers."""
    known = {each.id: each.protection for each in menu.settings if each.protection}
    return {name: found.usual for name, found in known.items() if found.usual is not None}


def decider(menu: Menu) -> str:
    """Return which statistic decides how many producers a level needs, `MEAN` or `MEDIAN`."""
    return str(menu.provenance.get("offer", {}).get("decides", MEAN))
