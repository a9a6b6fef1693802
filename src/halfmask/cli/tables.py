"""Results of choosing as tables of text, headings first."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from halfmask.menus.placed import OUTSIDE, score_words

if TYPE_CHECKING:
    from halfmask.choice.held_out import HeldOutTrial
    from halfmask.choice.recommend import Recommendation
    from halfmask.choice.requirements import Assignment, Choice
    from halfmask.choice.vote import Election
    from halfmask.menus.menu import MenuSetting

Rows = list[list[str]]


def choice_rows(found: "Choice") -> Rows:
    """The setting now and the chosen one; where none is, the nearest from either side."""
    named = [("now", found.current), ("chosen", found.chosen)]
    if found.chosen is None:
        named += [
            ("private enough, most useful", found.most_useful),
            ("useful enough, most private", found.most_private),
        ]
    return [["", "id", "setting", "privacy", "utility"]] + [[what, *_cells(each)] for what, each in named]


def _cells(each: "MenuSetting | None") -> list[str]:
    if each is None:  # not a dash and "none", which is the setting that masks nothing
        return ["", "no setting fits", "", ""]
    scores = [OUTSIDE if each.outside else f"{score.median:.3f}" for score in (each.privacy, each.utility)]
    return [each.id, str(each.setting), *scores]


def assignment_rows(found: "Assignment") -> Rows:
    """How many producers have each setting, then the system's utility against what was asked."""
    ids = list(found.settings.values())
    counted = [[id, f"{ids.count(id):,}", f"{ids.count(id) / len(ids):.1%}"] for id in sorted(set(ids))]
    met = "met" if found.utility > found.utility_above else "not met"
    ending = [
        ["system's privacy", f"{found.privacy:.4f}", ""],
        ["system's utility", f"{found.utility:.4f}", f"above {found.utility_above:.4f} asked: {met}"],
        ["producers unmet", f"{len(found.unmet):,}", ", ".join(found.unmet[:3])],
    ]
    if found.utility <= found.utility_above:
        ease = "no common reduction does" if found.eased is None else f"every delta lower by {found.eased:.2f} does"
        ending.append(["closest", ease, ""])
    return [["setting", "producers", "share"], *counted, *ending]


def election_rows(found: "Election") -> Rows:
    """The tally, with the winner and those it was tied with."""
    marks = {found.winner.id: "wins"} | {id: "tied" for id in found.tied if id != found.winner.id}
    return [["id", "tally", ""]] + [[id, f"{count:g}", marks.get(id, "")] for id, count in found.tally.items()]


def advice_rows(found: "Recommendation") -> Rows:
    """Every setting for this producer."""
    head = ["", "id", "setting", "your privacy", "80 % sure between", "masked once", "others' privacy", "utility"]
    peaks = found.settings[0].peak is not None
    rewards = any(each.reward is not None for each in found.settings)
    table = [head + ["peak shows"] * peaks + ["reward"] * rewards]
    for each in found.settings:
        mark = ("take this" if found.meets else "closest") if each is found.chosen else ""
        row = [
            mark,
            each.entry.id,
            str(each.entry.setting),
            f"{each.privacy:.2f}",
            f"{each.low:.2f} to {each.high:.2f}",
            "-" if each.once is None else f"{each.once:.2f}",
        ]
        scores = (each.entry.privacy, each.entry.utility)
        row += [score_words(score.median, known=each.entry.outside) for score in scores]
        row += [f"{each.peak:.0%} of days"] if each.peak is not None else []
        row += ["-" if each.reward is None else f"{each.reward:g}"] * rewards
        table.append(row)
    return table


def trial_rows(trials: "Sequence[HeldOutTrial]") -> Rows:
    """Advice tried on held-out users, a row for each number of readings."""
    head = [
        "readings",
        "users",
        "can be met",
        "met by advice",
        "its utility",
        "truth below stated",
        "in the interval",
        "met by one setting for all",
        "its utility",
    ]
    return [head] + [
        [
            f"{each.readings:,}",
            f"{each.users:,}",
            f"{each.reachable:.0%}",
            f"{each.met:.0%}",
            f"{each.utility:.3f}",
            f"{each.below:.0%}",
            f"{each.inside:.0%}",
            f"{each.population_met:.0%}",
            f"{each.population_utility:.3f}",
        ]
        for each in trials
    ]
