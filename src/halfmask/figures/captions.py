"""What each figure shows, in sentences whose numbers come from the figure's own data."""

import math

import numpy as np

from halfmask.figures.algorithm import Algorithm
from halfmask.figures.equal_noise import NoiseCurve, difference
from halfmask.figures.error_distributions import DECADES, Curve
from halfmask.figures.heatmaps import SHORT_OUTSIDE, HeatMaps, percent
from halfmask.figures.protection import MEASURES, Curves, ProtectionMeasures
from halfmask.figures.style import sized
from halfmask.figures.trajectories import Band, MenuBand, Trajectories
from halfmask.menus.menu_scale import OUTSIDE
from halfmask.profiles.show import ProfilePicture


def listed(words: list[str]) -> str:
    """a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def share(value: float) -> str:
    """A relative error as people read it."""
    if 0 < value < 1e-4:
        return "less than 0.01 %"
    return f"{value * 100:.2f} %" if value < 0.1 else f"{value * 100:,.1f} %"


def algorithm_caption(data: Algorithm) -> str:
    """Fig. 1."""
    text = (
        f"Each ellipse is one privacy setting ({len(data.settings)} of the {data.kept:,} that keep the "
        "constraint are drawn): its centre is the median privacy and utility over all groups of users tried, its half "
        "axes are how far the tenth percentiles lie below. "
        f"Privacy is cut into {len(data.edges) - 1} bins; in each, the setting of highest fitness wins, among those "
        f"whose privacy falls less than {data.omega:g} from median to tenth percentile."
    )
    ordered = sorted(data.winners.items(), key=lambda item: data.privacy[item[1]])
    if len(ordered) > 1:
        (first, a), (last, b) = ordered[0], ordered[-1]
        text += (
            f" What to see: from {first} to {last}, privacy goes from {data.privacy[a]:.2f} to {data.privacy[b]:.2f} "
            f"and fitness from {data.fitness[a]:.2f} to {data.fitness[b]:.2f}."
        )
    return text


def cdf_caption(data: dict[str, dict[str, Curve]]) -> str:
    """Fig. 2."""
    facts = []
    for name, curve in data["global_mean"].items():
        middle = float(np.interp(0.5, curve.share, curve.value))
        facts.append(f"{share(middle)} with {name} (the largest is {share(float(curve.value[-1]))})")
    return (
        "How often each of the six error metrics is at or below a value, over all samples of all settings of a "
        "mechanism, those too noisy for the menu included. Privacy is made of the local errors, those of single "
        "readings; utility of the global errors, those of the totals. A curve further right means more error. "
        f"What to see: half of all samples have a mean global error of at most {listed(facts)}. "
        f"Axes of means and deviations are logarithmic and show the upper {DECADES} decades."
    )


def noise_caption(data: dict[str, NoiseCurve]) -> str:
    """Fig. 3."""
    text = (
        "Median privacy and utility of the settings that keep the constraint, by the total absolute noise that "
        "they add to 100,000 readings; moving averages."
    )
    found = difference(data)
    if found is None:
        return text
    more, less = _points(found.privacy), _points(found.utility)
    return (
        f"{text} What to see: at equal noise, {found.first} has {more} privacy and {less} utility than {found.second}, "
        "on average over the range that both cover."
    )


def _points(gap: float) -> str:
    """A difference of scores in hundredths, in words."""
    return f"{abs(gap) * 100:.1f} points {'more' if gap >= 0 else 'less'}"


def trajectory_caption(data: Trajectories) -> str:
    """Fig. 4."""
    text = "The line is the median utility at each privacy, the band runs from the least to the most utility seen."
    if data.menu is None:
        return text
    name, low, high = _last(data.menu)
    text += f" What to see: the utility of {name} lies between {low:.2f} and {high:.2f} over groups of all sizes"
    if data.large_menu is not None:
        _, low, high = _last(data.large_menu)
        text += f", and between {low:.2f} and {high:.2f} in groups of {data.large}"
    text += ". The band of the menu is drawn straight from setting to setting."
    if _reach(data.large_mechanisms) < _reach(data.mechanisms):
        text += " The highest privacy is reached by small groups only, whose totals are least exact."
    return text


def _reach(bands: dict[str, Band]) -> float:
    """The highest privacy that any of the bands comes to."""
    return max((float(band.at[-1]) for band in bands.values()), default=1.0)


def _last(menu: MenuBand) -> tuple[str, float, float]:
    return menu.ids[-1], float(menu.band.low[-1]), float(menu.band.high[-1])


def users_caption(data: dict[str, Band]) -> str:
    """Utility against the number of users."""
    text = "Median utility of each setting of the menu (line) and its range (band) in groups of growing size."
    name, band = min(data.items(), key=lambda item: float(item[1].median[-1]))
    if len(band.at) < 2:
        return text
    return (
        f"{text} What to see: the utility of {name} goes from {band.median[0]:.2f} with {band.at[0]:,.0f} users to "
        f"{band.median[-1]:.2f} with {band.at[-1]:,.0f}."
    )


def heatmap_caption(data: HeatMaps) -> str:
    """Fig. 5."""
    spread, utility, dip = (data.cells[name] for name in ("privacy_iqr", "utility_median", "utility_iqr"))
    text = (
        "Users choose freely from the menu. A column holds the mixes in which one setting has strictly the most users, "
        f"a row the share that it has, from {percent(data.shares[0])} down to {percent(data.shares[-1])}; the numbers "
        f"are over {int(data.mixes.sum()):,} such mixes, repeats counted."
    )
    if any(cells.any() for cells in data.outside.values()):
        text += (
            f" “{SHORT_OUTSIDE}”: {OUTSIDE}, as errors exceed the largest that were tried; such mixes have no score."
        )
    if np.isnan(spread).all() or np.isnan(utility).all():
        return text
    most, least = math.ceil(100 * np.nanmax(spread) - 1e-9) / 100, math.floor(100 * np.nanmin(utility - dip)) / 100
    return (
        f"{text} What to see: privacy follows the dominant setting and differs between mixes by an interquartile range "
        f"of up to {most:.2f}; median utility less its interquartile range is nowhere below {max(least, 0.0):.2f}."
    )


def protection_caption(data: ProtectionMeasures) -> str:
    """Score and attacks."""
    text = (
        "Each row is a setting of the menu; the filled circle is its privacy score, the open marks are what attacks "
        "leave of the protection. All run from 0 to 1, yet they measure different things: what counts is their order."
    )
    spans = []
    for row, id in enumerate(data.ids):
        marks = [(value, name) for name, values in data.measures.items() if (value := values[row]) is not None]
        if len(marks) > 1:
            spans.append((max(marks)[0] - min(marks)[0], id, min(marks), max(marks)))
    if not spans:
        return text
    _, id, (low, least), (high, most) = max(spans)
    return (
        f"{text} What to see: they lie furthest apart for {id}, from {low:.2f} ({MEASURES[least][1]}) to {high:.2f} "
        f"({MEASURES[most][1]})."
    )


def curves_caption(data: Curves) -> str:
    """Guarantees."""
    text = (
        f"Against a change of {sized(data.change, data.unit)} in one reading, and in each of a day's {data.day:,}: "
        "delta, the most by which the chance of any outcome under one value exceeds e to the epsilon times its chance "
        "under the other. Lower is better. The thin line marks delta = 0.000001, a usual demand. "
    )
    if data.certain:
        text += (
            f"The curves of {listed(list(data.certain))} level off: some of their reports are possible for one reading "
            "only. "
        )
    if data.instead:
        text += (
            f"Thick and grey: {data.instead[1]}, which has the variance of {data.instead[0]}, and so the same utility."
        )
    return text.strip()


def readings_caption(data: ProfilePicture) -> str:
    """The readings."""
    if data.mean:
        return "What readings are, from the 0.1 % to the 99.9 % quantile, and the mean of each period over time."
    return (
        "How large readings are, on a logarithmic axis, and the total of each period over time. A total is the plain "
        "sum of all readings of the period: where they are powers, it is no energy."
    )
