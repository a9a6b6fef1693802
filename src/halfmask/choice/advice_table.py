"""The advice to a producer as tables."""

from halfmask.choice.recommend import Recommendation
from halfmask.choice.wished_level import WishedLevels
from halfmask.menus.menu_scale import score_words
from halfmask.menus.setting_protection import NO_PROMISE
from halfmask_device.decimals import upwards


def wish_rows(found: WishedLevels) -> list[list[str]]:
    """Return a table with a row of headings and one row per level: its guarantee, against whom it holds, and its
    reward.
    """
    paid = any(each.reward is not None for each in found.levels)
    head = ["", "id", "level", "setting", f"epsilon, {found.question.heading()}", "holds against"]
    rows = [head + ["reward"] * paid]
    for each in found.levels:
        mark = ("take this" if each.meets else "closest") if each is found.chosen else ""
        held = NO_PROMISE if each.promise.epsilon is None else upwards(each.promise.epsilon)
        row = [mark, each.entry.id, each.entry.name, str(each.entry.setting), held, each.entry.against or "-"]
        rows.append(row + ["-" if each.reward is None else f"{each.reward:g}"] * paid)
    return rows


def advice_rows(found: Recommendation) -> list[list[str]]:
    """Return a table with a row of headings and one row per setting: its scores for this producer."""
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
