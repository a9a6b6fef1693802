"""Shares, chances and epsilons as text for pages."""

from halfmask.audits.card_table import at_most
from halfmask.figures.wording import share_text
from halfmask.menus.setting_protection import NO_PROMISE
from halfmask_device.decimals import upwards


def percent(value: float | None) -> str:
    """Return a share as text; a dash if it is not known."""
    if value is None:
        return "–"
    return share_text(value) if 0 < value < 0.1 else f"{100 * value:.0f} %"


def chance_at_most(value: float) -> str:
    """Return the upper bound of a chance as text, rounded up."""
    return at_most(value).replace("%", " %")


def epsilon(value: float | None) -> str:
    """Return an epsilon as text, rounded up; `NO_PROMISE` if it is None.

    That text is not "none", which among falling numbers would look like the best.
    """
    return NO_PROMISE if value is None else upwards(value)
