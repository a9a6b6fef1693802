"""Every interactive figure of a folder's results, from the data functions of the drawn ones."""

from collections.abc import Callable, Iterator, Sequence

from halfmask.figures import captions
from halfmask.figures.algorithm import algorithm_data
from halfmask.figures.distributions import cdf_data
from halfmask.figures.heatmaps import heatmap_data
from halfmask.figures.inputs import Inputs
from halfmask.figures.interactive.algorithm import algorithm_figure
from halfmask.figures.interactive.cloud import cloud_data
from halfmask.figures.interactive.curves import cdf_figure, noise_figure, users_figure
from halfmask.figures.interactive.heatmaps import heatmap_figure
from halfmask.figures.interactive.layout import Interactive
from halfmask.figures.interactive.protection import guarantee_figure, limit_figure, protection_figure
from halfmask.figures.interactive.readings import readings_figure
from halfmask.figures.interactive.trajectories import trajectory_figure
from halfmask.figures.limit import limit_caption, limit_data
from halfmask.figures.noise import noise_data
from halfmask.figures.protection import curve_data, protection_data
from halfmask.figures.trajectories import trajectory_data, users_data
from halfmask.profiles.show import picture_data

OF_THE_MENU = ("algorithm", "users", "trajectories", "noise", "mixes")
UNCHANGED = ("cdfs", "protection", "guarantees", "limit", "readings")
"""Figures that another menu, other weights or another constraint change, and those that they do not.

A card is of the folder's own menu, and an audit takes longer than a page can wait: its figures stay."""
ELLIPSES_A_BIN = 16


def interactive_figures(inputs: Inputs, names: Sequence[str] = ()) -> Iterator[Interactive]:
    """The figures that the folder's parts allow, in the order of the report; those of some ``names`` only if given."""
    for name, make in FIGURES.items():
        made = make(inputs) if not names or name in names else None
        if made is not None:
            yield made


def _algorithm(inputs: Inputs) -> Interactive | None:
    if not inputs.samples or not inputs.menu:
        return None
    data = algorithm_data(inputs.samples, inputs.menu, ELLIPSES_A_BIN)
    return algorithm_figure(data, captions.algorithm_caption(data, inputs.samples))


def _users(inputs: Inputs) -> Interactive | None:
    if not inputs.of_menu or not inputs.menu or len(set(inputs.of_menu.users.tolist())) < 2:
        return None
    data = users_data(inputs.of_menu)
    return users_figure(data, inputs.menu, captions.users_caption(data))


def _trajectories(inputs: Inputs) -> Interactive | None:
    if not inputs.samples:
        return None
    data = trajectory_data(inputs.samples, inputs.of_menu)
    return trajectory_figure(data, cloud_data(inputs.samples), inputs.menu, captions.trajectory_caption(data))


def _noise(inputs: Inputs) -> Interactive | None:
    data = noise_data(inputs.samples) if inputs.samples else {}
    return noise_figure(data, captions.noise_caption(data)) if data else None


def _cdfs(inputs: Inputs) -> Interactive | None:
    if not inputs.samples:
        return None
    data = cdf_data(inputs.samples)
    return cdf_figure(data, captions.cdf_caption(data))


def _mixes(inputs: Inputs) -> Interactive | None:
    data = heatmap_data(inputs.mix, inputs.menu) if inputs.mix and inputs.menu else None
    return heatmap_figure(data, captions.heatmap_caption(data)) if data is not None and len(data.shares) else None


def _protection(inputs: Inputs) -> Interactive | None:
    data = protection_data(inputs.card) if inputs.card else None
    return protection_figure(data, captions.protection_caption(data)) if data and data.ids else None


def _guarantees(inputs: Inputs) -> Interactive | None:
    data = curve_data(inputs.card) if inputs.card else None
    return guarantee_figure(data, captions.curves_caption(data)) if data and data.one else None


def _limit(inputs: Inputs) -> Interactive | None:
    data = limit_data(inputs.card, inputs.menu, inputs.samples) if inputs.card and inputs.menu else None
    return limit_figure(data, limit_caption(data)) if data else None


def _readings(inputs: Inputs) -> Interactive | None:
    if not inputs.profile or not inputs.profile.readings:
        return None
    told = "How large readings are, on a logarithmic axis, and the total of each period over time."
    return readings_figure(picture_data(inputs.profile), told)


FIGURES: dict[str, Callable[[Inputs], Interactive | None]] = {
    "algorithm": _algorithm,
    "users": _users,
    "trajectories": _trajectories,
    "noise": _noise,
    "cdfs": _cdfs,
    "mixes": _mixes,
    "protection": _protection,
    "guarantees": _guarantees,
    "limit": _limit,
    "readings": _readings,
}
