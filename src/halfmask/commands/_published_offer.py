"""The offer that is published, and the analyst's own: computed from the synthetic profile, or from the readings."""

from typing import TYPE_CHECKING

from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.menus.menu import Menu
    from halfmask.menus.publish import Calibration
    from halfmask.profiles.profile import Profile


def calibration(people: "Profile", private: float, low: float | None, high: float | None) -> "Calibration | None":
    """Return what is released about the producers under the epsilon ``private``; None if it is 0."""
    from halfmask.menus.publish import calibrate

    if private < 0:
        raise OptionError(
            f"private is {private:g}: give the epsilon of what is published, such as 1; 0 publishes nothing",
            kind="range",
            field="private",
        )
    return calibrate(people, private, low, high) if private else None


def publishable(menu: "Menu", known: "Calibration | None", *, by_error: bool) -> "Menu":
    """Return what is published of an offer that was computed from the calibration's synthetic profile.

    Without a calibration, the offer was computed from readings; it is returned as the analyst's own.

    ``by_error``  whether the levels were chosen by their error, which the summary must then know
    """
    from halfmask.menus.publish import own, published

    if known is None:
        return own(menu)
    if by_error:
        way_out = "name each level's epsilon, `epsilon=8,4,2,1`, or spend more on the summary, `private`"
        known.require_totals(menu.settings[0].setting.release, way_out)
    return published(menu, known)
