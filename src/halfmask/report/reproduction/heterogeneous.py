"""Claims of the paper on systems in which everyone chooses: mixes of the menu, and what they do to single users."""

import numpy as np

from halfmask.choice.menu import Menu
from halfmask.profiles.bins import FloatArray
from halfmask.report.heatmaps import HeatMaps, percent
from halfmask.report.reproduction.claim import Finding, found, judged

PRIVACY_IQR = 0.16
BIN = 0.2
UTILITY_FLOOR = 0.76
FALSE_ALARM = 0.001


def mix_trade_off(maps: HeatMaps, menu: Menu) -> Finding:
    """Whether, at every share, privacy rises and utility falls as the dominant setting becomes more private.

    Told as pairs of neighbouring cells of a row of the heat maps in the right order, for both scores together.
    """
    level = {each.id: each.privacy.median for each in menu.settings}
    order = sorted(range(len(maps.settings)), key=lambda column: level[maps.settings[column]])
    pairs = right = 0
    for name, sign in (("privacy_median", 1), ("utility_median", -1)):
        steps = np.diff(maps.cells[name][:, order], axis=1)
        steps = steps[np.isfinite(steps)] * sign
        pairs, right = pairs + len(steps), right + int((steps > -1e-9).sum())
    measured = (
        f"{right} of {pairs} steps between neighbouring settings go the right way, over shares from "
        f"{percent(maps.shares[-1])} to {percent(maps.shares[0])}."
    )
    why = "Where a setting is hardly dominant the others decide, and neighbours differ by less than the mixes scatter."
    share = right / pairs if pairs else 0.0
    verdict = judged(share == 1, share > 0.75)
    return found(measured, verdict, why)


def privacy_dispersion(maps: HeatMaps) -> Finding:
    """Whether the interquartile range of privacy stays at 0.16; in part where it stays below the width of a bin."""
    row, column, largest = _extreme(maps.cells["privacy_iqr"])
    measured = f"Largest {largest:.3f}, where {maps.settings[column]} has {percent(maps.shares[row])}."
    verdict = judged(largest <= PRIVACY_IQR + 0.005, largest < BIN)
    why = "The range is that of the menu: the less dominant a setting, the more the mix is of all its levels."
    return found(measured, verdict, why)


def utility_floor(maps: HeatMaps) -> Finding:
    """Whether utility less its interquartile range stays above 0.76 in every cell; in part where in most."""
    lower = maps.cells["utility_median"] - maps.cells["utility_iqr"]
    row, column, least = _extreme(-lower)
    cells = lower[np.isfinite(lower)]
    above = float((cells > UTILITY_FLOOR).mean())
    measured = (
        f"Least {-least:.3f}, where {maps.settings[column]} has {percent(maps.shares[row])}; "
        f"above {UTILITY_FLOOR} in {above:.0%} of the cells."
    )
    verdict = judged(above == 1, above > 0.5)
    why = (
        "Utility is of all users of the dataset, and noise cancels with their number: "
        "a few hundred users fall below where thousands do not."
    )
    return found(measured, verdict, why)


def _extreme(cells: FloatArray) -> tuple[int, int, float]:
    row, column = np.unravel_index(int(np.nanargmax(cells)), cells.shape)
    return int(row), int(column), float(cells[row, column])


def individual_privacy(alone: FloatArray, again: FloatArray, among: FloatArray) -> Finding:
    """Whether the privacy of single users shifts when the others choose freely.

    Wilcoxon's signed rank test of ``among`` less ``alone``, users paired, false alarm 0.001; ``again`` shows how much
    fresh noise alone changes it. The test would miss a change that raises as many users as it lowers: the medians
    of the absolute differences are compared for that, and may not differ by more than a half.
    """
    from scipy.stats import wilcoxon

    change, noise = among - alone, again - alone
    p = float(wilcoxon(change).pvalue) if np.any(change) else 1.0
    moved, natural = float(np.median(np.abs(change))), float(np.median(np.abs(noise)))
    same = p > FALSE_ALARM and moved <= 1.5 * natural
    measured = (
        f"{len(alone)} users masked in both worlds: median change {moved:.4f} when the others choose freely, "
        f"{natural:.4f} when only the noise is fresh (shift: p = {p:.2g}); between users privacy goes from "
        f"{alone.min():.2f} to {alone.max():.2f} under the same setting."
    )
    why = "Users differ: the same noise protects a small consumer more, so nobody's privacy is the menu's."
    return Finding(measured, "holds" if same else "does not hold", why)
