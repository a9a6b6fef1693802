"""Claims of the paper on systems in which everyone chooses: mixes of the menu, and what they do to single users."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.figures.heatmaps import HeatMaps
from halfmask.figures.study_samples import MenuSamples
from halfmask.figures.wording import percents
from halfmask.menus.menu import Menu
from reproduction.claim import ROUNDING, ClaimFinding, found, judged

PRIVACY_IQR = 0.16
BIN = 0.2
UTILITY_FLOOR = 0.76
FALSE_ALARM = 0.001
APART = 0.01
HUNDREDS = 500


def mix_trade_off(maps: HeatMaps, menu: Menu) -> ClaimFinding:
    """Whether, at every share, privacy rises and utility falls as the dominant setting becomes more private.

    Counted in steps between neighbouring cells of a row of the heat maps, for both scores together: holds where all go
    the right way, in part where three quarters do. Steps between settings that differ by more than 0.01 when they have
    all users are told apart: others have no trade-off that could persist.
    """
    level = {each.id: each.privacy.median for each in menu.settings}
    order = sorted(range(len(maps.settings)), key=lambda column: level[maps.settings[column]])
    cells = [sign * maps.cells[f"{score}_median"][:, order] for score, sign in (("privacy", 1), ("utility", -1))]
    steps = np.concatenate([np.diff(each, axis=1) for each in cells], axis=1)
    differ = np.broadcast_to(steps[0] > APART, steps.shape)
    there = np.isfinite(steps)
    right = there & (steps > -ROUNDING)
    measured = (
        f"{right.sum()} of {there.sum()} steps between neighbouring settings go the right way, the worst by "
        f"{np.nanmin(steps):+.4f}, over shares from {percents(maps.shares[-1])} to {percents(maps.shares[0])}; "
        f"{(right & differ).sum()} of {(there & differ).sum()} between settings more than {APART} apart when "
        "all users have them."
    )
    why = "Settings that nobody could tell apart by their utility when all users have them cannot be ordered in mixes."
    verdict = judged(bool(right.sum() == there.sum()), bool(right.sum() >= 0.75 * there.sum()))
    return found(measured, verdict, why)


def privacy_dispersion(maps: HeatMaps) -> ClaimFinding:
    """Whether the interquartile range of privacy stays at 0.16; in part where it stays below the width of a bin."""
    row, column, largest = _extreme(maps.cells["privacy_iqr"])
    measured = f"Largest {largest:.3f}, where {maps.settings[column]} has {percents(maps.shares[row])}."
    verdict = judged(largest <= PRIVACY_IQR + 0.005, largest < BIN)
    why = "The range is that of the menu: the less dominant a setting, the more the mix is of all its levels."
    return found(measured, verdict, why)


def utility_floor(maps: HeatMaps, of_menu: MenuSamples) -> ClaimFinding:
    """Whether utility less its interquartile range stays above 0.76 in every cell; in part where in most.

    Beside it, the utility of the worst cell's setting in the study: with about 500 users, and with all.
    """
    lower = maps.cells["utility_median"] - maps.cells["utility_iqr"]
    row, column, least = _extreme(-lower)
    cells = lower[np.isfinite(lower)]
    above = float((cells > UTILITY_FLOOR).mean())
    measured = (
        f"Least {-least:.3f}, where {maps.settings[column]} has {percents(maps.shares[row])}; "
        f"above {UTILITY_FLOOR} in {above:.0%} of the cells. In the study, all users having "
        f"{maps.settings[column]}: {_over_users(of_menu, maps.settings[column])}."
    )
    verdict = judged(above == 1, above > 0.5)
    why = (
        "Utility is of all users of the dataset, and noise cancels with their number: "
        "a few hundred users fall below where thousands do not."
    )
    return found(measured, verdict, why)


def _over_users(of_menu: MenuSamples, name: str) -> str:
    values = of_menu.utility[of_menu.ids.index(name)]
    sizes = np.unique(of_menu.users)
    some = sorted({int(sizes[np.argmin(np.abs(sizes - HUNDREDS))]), int(sizes[-1])})
    return ", ".join(f"{values[of_menu.users == size].mean():.2f} with {size:,} users" for size in some)


def _extreme(cells: FloatArray) -> tuple[int, int, float]:
    row, column = np.unravel_index(int(np.nanargmax(cells)), cells.shape)
    return int(row), int(column), float(cells[row, column])


def individual_privacy(alone: FloatArray, again: FloatArray, among: FloatArray) -> ClaimFinding:
    """Whether the privacy of single users changes when the others choose freely, by more than fresh noise changes it.

    Two signed rank tests of Wilcoxon, users paired, each with a false alarm of 0.001: ``among`` less ``alone`` finds a
    shift; |among - alone| less |again - alone| finds changes that raise as many users as they lower. If nothing
    changes, the three are exchangeable, and both tests are exact.
    """
    from scipy.stats import wilcoxon

    change, noise = among - alone, again - alone
    more = np.abs(change) - np.abs(noise)
    shift = float(wilcoxon(change).pvalue) if np.any(change) else 1.0
    scatter = float(wilcoxon(more, alternative="greater").pvalue) if np.any(more) else 1.0
    same = min(shift, scatter) > FALSE_ALARM
    measured = (
        f"{len(alone)} users masked in both worlds: median change {np.median(np.abs(change)):.4f} when the others "
        f"choose freely, {np.median(np.abs(noise)):.4f} when only the noise is fresh (shift: p = {shift:.2g}, scatter: "
        f"p = {scatter:.2g}); between users privacy goes from "
        f"{alone.min():.2f} to {alone.max():.2f} under the same setting."
    )
    why = "Users differ: the same noise protects a small consumer more, so nobody's privacy is the menu's."
    return ClaimFinding(measured, "holds" if same else "does not hold", why)
