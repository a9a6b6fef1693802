"""The advice to one producer: its privacy under each setting, or the guarantee of each level."""

from halfmask.choice.recommend import Recommendation
from halfmask.choice.wished_level import WishedLevels
from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot
from halfmask.figures.style import PALETTE, QUIET
from halfmask.menus.setting_protection import NO_PROMISE
from halfmask_device.decimals import upwards

INCHES = 0.34
"""Height of one row."""


def recommendation_plot(found: Recommendation) -> Plot:
    """Plot the producer's privacy under each setting with its 80 % interval, and the population's median."""
    rows = list(range(len(found.settings)))
    own = Mark(
        "yours, 80 % sure", [each.privacy for each in found.settings], rows, {"color": PALETTE[0]}, shape="points",
        reach_x=([each.low for each in found.settings], [each.high for each in found.settings]),
    )  # fmt: skip
    others = Mark(
        "others'", [each.entry.privacy.median for each in found.settings], rows, {"color": QUIET}, shape="points",
        marker="s",
    )  # fmt: skip
    labels = [each.entry.id + (" *" if each is found.chosen else "") for each in found.settings]
    title = "Privacy; * take this" if found.meets else "Privacy; * comes closest"
    score = PlotAxis("privacy, 0 to 1", limits=(-0.05, 1.05))
    return Plot([Subplot(title, score, _names(labels), [own, others])], inches=1.3 + INCHES * len(rows))


def wished_levels_plot(found: WishedLevels) -> Plot:
    """Plot the epsilon of each level. A level without a guarantee has only a text."""
    told = [NO_PROMISE if each.promise.epsilon is None else upwards(each.promise.epsilon) for each in found.levels]
    epsilons = [each.promise.epsilon or 0.0 for each in found.levels]
    bars = Mark(
        "", epsilons, list(range(len(epsilons))), {"color": PALETTE[0]}, shape="rows", size=0.6, texts=told,
        sides=["middle right"] * len(epsilons),
    )  # fmt: skip
    labels = [each.entry.id + (" *" if each is found.chosen else "") for each in found.levels]
    title = "Promises; * take this" if found.chosen.meets else "Promises; * comes closest"
    held = PlotAxis(f"epsilon, {found.question.heading()}", limits=(0, 1.35 * max(*epsilons, 0.1)))
    return Plot([Subplot(title, held, _names(labels), [bars], legend="")], inches=1.0 + INCHES * len(labels))


def _names(labels: list[str]) -> PlotAxis:
    return PlotAxis("", limits=(len(labels) - 0.5, -0.5), ticks=dict(enumerate(labels)))
