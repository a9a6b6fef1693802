"""The error function that suits a dataset; ``relative``, the paper's, fails if denominators are near zero."""

from collections.abc import Mapping
from typing import Any, Literal

from halfmask.evaluation.metrics import ErrorFunction
from halfmask.profiles.profile import Profile

SPARSE = 0.05
"""Share of zeros above which relative errors leave out too many readings."""
AskedError = Literal["auto", "relative", "scaled"]


def unfit_for_relative(profile: Profile) -> str | None:
    """Return why relative errors do not suit the readings; None if they do.

    Relative errors leave out zeros. Readings of both signs cancel in totals, so the relative error of a total is
    divided by almost nothing.
    """
    readings = max(profile.readings, 1)
    zeros, negatives = int(profile.rows["zeros"].sum()), int(profile.rows["negatives"].sum())
    if zeros > SPARSE * readings:
        return f"{zeros / readings:.1%} of the readings are zero"
    return "readings have both signs" if 0 < negatives < readings - zeros else None


def error_function(asked: AskedError, profile: Profile) -> ErrorFunction:
    """Return the requested error function; for ``auto``, the one that suits the readings."""
    if asked != "auto":
        return asked
    return "relative" if unfit_for_relative(profile) is None else "scaled"


def taken(error: ErrorFunction, why: str | None) -> str | None:
    """Return a note on the choice of error function; None if relative errors suit the data."""
    if why is None:
        return None
    if error == "scaled":
        return f"{why}: errors are scaled by each producer's mean, not relative to each reading"
    return forced(why)


def warnings_of(about: Mapping[str, Any]) -> list[str]:
    """Return the warnings for a result with this description: that relative errors were forced on unfit data."""
    why = about.get("unfit_for_relative")
    return [forced(why)] if why and about.get("error", "relative") == "relative" else []


def forced(why: str) -> str:
    """Return the warning for results with relative errors on data unfit for them."""
    return f"{why}, yet errors are relative: they are measured where readings are far from zero alone, and mislead"
