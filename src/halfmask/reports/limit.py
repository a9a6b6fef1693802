"""The limit of all additive noise over the trajectories, the noise that reaches it, and how easily that is undone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.audits.attacks.reconstruction import lattice_errors
from halfmask.audits.evidence import population_of
from halfmask.audits.limit import AllReadings, Closeness, Limit, closeness, few_pieces
from halfmask.choice.menu import Menu
from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.scores import privacy, utility
from halfmask.profiles.bins import FloatArray
from halfmask.profiles.profile import Profile
from halfmask.reports.samples import Samples
from halfmask.reports.style import INK, PALETTE, look, panels, plain_log, styled
from halfmask.reports.trajectories import NEAR, Band, band_over_privacy
from halfmask.settings.grid import Grid
from halfmask.settings.mechanism import mechanism
from halfmask.settings.setting import PrivacySetting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 9
DECADES = 2.5
LIMIT = "the limit"
FAMILIES = ("laplace", "sine", "gaussian")
SHOWN = 2.5  # deviations
STEPS = 200
DENSEST = 5.0  # higher peaks are cut, so that the other laws can be seen


@dataclass(frozen=True)
class LimitFigure:
    """Everything that the figure of the limit draws.

    ``deviation``      of the noise, at each of D places; ``chosen`` is the one whose laws are shown
    ``bands``          utility over privacy of the study's settings, each at its medians, by mechanism
    ``privacy``, ``utility``  (D,) medians of the limit's noise over the study's own samples
    ``shares``         by family: privacy as a share of the limit, (D,)
    ``errors``         by family and for the limit: error of the best guess in deviations of the readings, (D,)
    ``at``, ``laws``   density of |psi| / deviation by family and of the limit's noise
    ``menu``           how close each setting of the menu comes, and where it lies: privacy and utility
    """

    deviation: FloatArray
    chosen: float
    bands: dict[str, Band]
    privacy: FloatArray
    utility: FloatArray
    shares: dict[str, FloatArray]
    errors: dict[str, FloatArray]
    at: FloatArray
    laws: dict[str, FloatArray]
    menu: list[Closeness]
    places: dict[str, tuple[float, float]]


def family(name: str, deviation: float) -> PrivacySetting:
    """Noise of a deviation: Laplace, Gaussian, or a sine of one term."""
    scale = {"laplace": deviation / 2**0.5, "gaussian": deviation, "sine": deviation * 2**0.5}[name]
    return PrivacySetting(name, (scale, 0.0, 0.0, 0.0, 0.0) if name == "sine" else (scale,))


def limit_data(samples: Samples, menu: Menu, profile: Profile, points: int = POINTS) -> LimitFigure | None:
    """The figure's data; None where the menu has no additive noise, or samples cannot be made anew to compare with."""
    rows = closeness(menu, profile)
    sizes = sorted(each.noise_std for each in rows if each.share is not None and each.noise_std)
    if not sizes or samples.about.get("engine") != "analytic":
        return None
    largest = max(sizes[-1], _largest_noise(samples))
    deviation = np.geomspace(largest / 10**DECADES, largest, points)
    middle = int(np.argmin(np.abs(np.log(deviation / sizes[len(sizes) // 2]))))
    scale, population = AllReadings(profile, menu), population_of(profile)
    limits = [scale.limit(each**2) for each in deviation]
    settings = {name: [family(name, each) for each in deviation.tolist()] for name in FAMILIES}
    settings[LIMIT] = [few_pieces(scale, each) for each in limits]
    found = [lattice_errors(each, population) for name in settings for each in settings[name]]
    error = np.array([each.best / each.prior if each.prior else 0.0 for each in found]).reshape(-1, points)
    q, u = _medians(settings[LIMIT], samples, profile)
    bounds = np.array([each.upper_bound for each in limits])
    at = np.linspace(0, SHOWN, STEPS + 1)
    laws = {name: _density(settings[name][middle], at, deviation[middle]) for name in FAMILIES}
    return LimitFigure(
        deviation=deviation,
        chosen=float(deviation[middle]),
        bands=_by_mechanism(samples),
        privacy=q,
        utility=u,
        shares={name: np.array([scale.privacy(each) for each in settings[name]]) / bounds for name in FAMILIES},
        errors=dict(zip(settings, error, strict=True)),
        at=(at[1:] + at[:-1]) / 2,
        laws=laws | {LIMIT: _smooth((at[1:] + at[:-1]) / 2, limits[middle])},
        menu=rows,
        places={each.id: (each.privacy.median, each.utility.median) for each in menu.settings},
    )


def _largest_noise(samples: Samples) -> float:
    """The largest deviation among the study's additive settings that keep the constraint."""
    largest = 0.0
    for row in np.flatnonzero(samples.kept):
        law = mechanism(str(samples.mechanisms[row]))
        if law.kind == "additive":
            largest = max(largest, float(law.moments(np.array(samples.parameters[row])[None])[0, 1]))
    return float(np.sqrt(largest))


def _by_mechanism(samples: Samples) -> dict[str, Band]:
    """Utility over privacy, a setting counting once, at its medians; the limit's are medians of the same samples."""
    q, u = samples.scores["privacy_median"], samples.scores["utility_median"]
    of = {name: samples.kept & (samples.mechanisms == name) for name in samples.names() if name != "none"}
    return {name: band_over_privacy(q[rows], u[rows]) for name, rows in of.items() if rows.any()}


def _medians(settings: Sequence[PrivacySetting], samples: Samples, profile: Profile) -> tuple[FloatArray, FloatArray]:
    """Median privacy and utility of settings on the study's own subsets of users."""
    about = samples.about
    study = evaluate_grid(
        profile, Grid.from_settings(settings), sizes=",".join(map(str, about["sizes"])), repeats=about["repeats"],
        seed=about["seed"], aggregate=about["aggregate"], error=about["error"],
    )  # fmt: skip
    place = {text: row for row, text in enumerate(study.grid.texts())}
    metrics = study.metrics[[place[str(each)] for each in settings]].astype(float)
    largest, weights = samples.scale.largest, samples.scale.weights
    q, u = (np.median(score(metrics, largest, weights), axis=1) for score in (privacy, utility))
    return np.asarray(q), np.asarray(u)


def _density(setting: PrivacySetting, at: FloatArray, deviation: float) -> FloatArray:
    below = setting.law.cdf(np.array(setting.parameters)[None], at * deviation)[0]
    return np.asarray(np.diff(below) / np.diff(at))


def _smooth(at: FloatArray, law: Limit) -> FloatArray:
    """Density of the best law itself, through the middles of its pieces."""
    middle, width = (law.edges[1:] + law.edges[:-1]) / 2, np.diff(law.edges)
    deviation = law.variance**0.5
    return np.asarray(np.interp(at, middle / deviation, law.masses / width * deviation))


def draw_limit(data: LimitFigure, columns: int = 2) -> "Figure":
    """Four panels: the limit over the trajectories, how close noise comes, what it looks like, and what it is worth."""
    with styled():
        figure, (paths, shares, laws, errors) = panels(4, columns, height=3.2)
        _draw_paths(paths, data)
        _draw_shares(shares, data)
        for name, density in data.laws.items():
            laws.plot(data.at, density, label=name, **_look(name))
        laws.set(title=f"The noise, at deviation {data.chosen:.2g}", xlabel="|noise| in deviations", ylabel="density")
        laws.set(xlim=(0, SHOWN), ylim=(0, min(1.15 * float(data.laws[LIMIT].max()), DENSEST)))
        laws.legend(loc="upper right")
        for name, error in data.errors.items():
            errors.plot(data.deviation, error, label=name, **_look(name))
        errors.set(title="What the best guess leaves", xlabel="noise deviation (units of the data)", ylim=(0, 1))
        errors.set(ylabel="error of the best guess\n(deviations of the readings)")
        plain_log(errors)
        errors.legend(loc="upper left")
    return figure


def _look(name: str) -> dict[str, Any]:
    """The limit in ink; the paper's mechanisms as everywhere, the others without the menu's colour."""
    if name == LIMIT:
        return {"color": INK, "linestyle": "-", "linewidth": 2.4}
    order = [*FAMILIES[:2], "menu", *FAMILIES[2:]]
    return look(order.index(name) if name in order else len(order))


def _draw_paths(axis: "Axes", data: LimitFigure) -> None:
    for name, band in data.bands.items():
        axis.plot(band.at, band.high, label=f"best {name}", **_look(name))
    axis.plot(data.privacy, data.utility, label=LIMIT, **_look(LIMIT))
    for names, q, u in _together(data.places):
        axis.plot([q], [u], "o", color=PALETTE[2], markersize=5)
        shift, side = ((-5, -12), "right") if q > 2 * NEAR else ((3, -13), "left")
        axis.annotate(names, (q, u), xytext=shift, textcoords="offset points", fontweight="bold", ha=side)
    axis.set(title="The limit of all additive noise", xlabel="privacy", ylabel="utility", xlim=(-0.02, 1.02))
    axis.legend(loc="lower left")


def _together(places: dict[str, tuple[float, float]]) -> list[tuple[str, float, float]]:
    """Names and places, with one label for settings too close to be told apart."""
    found: list[tuple[str, float, float]] = []
    for name, (q, u) in places.items():
        for number, (names, a, b) in enumerate(found):
            if abs(q - a) < NEAR and abs(u - b) < NEAR:
                found[number] = (f"{names}, {name}", a, b)
                break
        else:
            found.append((name, q, u))
    return found


def _draw_shares(axis: "Axes", data: LimitFigure) -> None:
    axis.axhline(100, **_look(LIMIT))
    for name, share in data.shares.items():
        axis.plot(data.deviation, 100 * share, label=name, **_look(name))
    for each in data.menu:
        if each.share is not None and each.noise_std is not None and each.noise_std >= data.deviation[0]:
            place = (each.noise_std, 100 * each.share)
            axis.plot(*place, "o", color=PALETTE[2], markersize=5)
            axis.annotate(each.id, place, xytext=(-9, -3), textcoords="offset points", fontweight="bold", ha="center")
    axis.set(title="How close noise comes to it", ylabel="privacy, % of the limit")
    axis.set(xlabel="noise deviation (units of the data)")
    plain_log(axis)
    low = axis.get_ylim()[0]
    axis.set_ylim(low - 0.35 * (100 - low), 100 + 0.05 * (100 - low))
    axis.legend(loc="lower right", ncols=3, columnspacing=1.0, handlelength=1.6)


def limit_caption(data: LimitFigure) -> str:
    """What the figure shows, with its own numbers."""
    reached = np.stack(list(data.shares.values()))
    last = {name: float(error[-1]) for name, error in data.errors.items()}
    best = max(FAMILIES, key=lambda name: last[name])
    return (
        "The limit is the most privacy that any additive noise of a deviation, and so of a utility, can have on these "
        "readings; below it lie the study's best settings of each mechanism, and the menu (dots). "
        f"Laplace, one-term sine and Gaussian noise reach {reached.min():.0%} to {reached.max():.0%} of it. "
        "What to see: the noise that reaches the limit has nearly one magnitude, so that little but its sign is left "
        f"to guess. At the largest noise drawn the best guess of a reading errs by {last[LIMIT]:.2f} deviations of the "
        f"readings, against {last[best]:.2f} under {best} noise; 1 would be a report that tells nothing. The score "
        "alone must not decide."
    )
