"""The figure of each kind of result, for `Result.plot`."""

from functools import singledispatch
from typing import Any

from halfmask.audits.card import ReportCard
from halfmask.choice.mix import Mix
from halfmask.choice.recommend import Recommendation
from halfmask.choice.wished_level import WishedLevels
from halfmask.errors import OptionError
from halfmask.evaluation.study import Study
from halfmask.figures.advice import recommendation_plot, wished_levels_plot
from halfmask.figures.guarantee_curves import losses_plot
from halfmask.figures.heatmaps import draw_heatmaps, heatmap_data
from halfmask.figures.promises_and_errors import promises_and_errors_data, promises_and_errors_plot
from halfmask.figures.readings_overview import readings_plot
from halfmask.figures.score_and_attacks import protection_data, protection_plot
from halfmask.figures.solutions import solved_plot
from halfmask.figures.study_samples import samples_of
from halfmask.figures.style import Figure, line_style, subplots
from halfmask.figures.trajectories import trajectory_data, trajectory_plot
from halfmask.menus.least_noise import Solved
from halfmask.menus.menu import Menu
from halfmask.menus.offer import Offer
from halfmask.profiles.profile import Profile
from halfmask.profiles.show import picture_data
from halfmask.protection.guarantees.guarantee import Guarantee


@singledispatch
def draw_result(result: Any) -> Figure:
    """Return the figure of a result. Raise an OptionError if there is none for its type."""
    raise OptionError(f"there is no figure of a {type(result).__name__}")


@draw_result.register(Profile)
def _(result: Profile) -> Figure:
    return readings_plot(picture_data(result)).draw()


@draw_result.register(Study)
def _(result: Study) -> Figure:
    return trajectory_plot(trajectory_data(samples_of(result), None)).draw()


@draw_result.register(Mix)
def _(result: Mix) -> Figure:
    return draw_heatmaps(heatmap_data(result))


@draw_result.register(ReportCard)
def _(result: ReportCard) -> Figure:
    return protection_plot(protection_data(result)).draw()


@draw_result.register(Offer)
def _(result: Offer) -> Figure:
    return draw_result(result.menu)


@draw_result.register(Solved)
def _(result: Solved) -> Figure:
    return solved_plot(result).draw()


@draw_result.register(Guarantee)
def _(result: Guarantee) -> Figure:
    return losses_plot(result).draw()


@draw_result.register(Recommendation)
def _(result: Recommendation) -> Figure:
    return recommendation_plot(result).draw()


@draw_result.register(WishedLevels)
def _(result: WishedLevels) -> Figure:
    return wished_levels_plot(result).draw()


@draw_result.register(Menu)
def _(result: Menu) -> Figure:
    """Promises and errors of an offer; of another menu medians and 10th percentiles of its scores."""
    if (offered := promises_and_errors_data(result, None)) is not None:
        return promises_and_errors_plot(offered).draw()
    with subplots(1) as (figure, (axis,)):
        for place, each in enumerate(result.settings):
            colour, q, u = line_style(place)["color"], each.privacy, each.utility
            axis.plot([q.p10, q.median], [u.median] * 2, color=colour, alpha=0.5)
            axis.plot([q.median] * 2, [u.p10, u.median], color=colour, alpha=0.5)
            axis.plot(q.median, u.median, "o", color=colour)
            axis.annotate(each.id, (q.median, u.median), xytext=(5, 5), textcoords="offset points")
        axis.set_xlabel("privacy: median, and 10th percentile")
        axis.set_ylabel("utility: median, and 10th percentile")
    return figure
