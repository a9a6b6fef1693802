"""Which error function a dataset asks for: `relative`, the paper's, breaks where denominators are near zero."""

from collections.abc import Mapping
from typing import Any, Literal

from halfmask.evaluation.metrics import ErrorFunction
from halfmask.profiles.profile import Profile

SPARSE = 0.05
"""Share of zeros from which relative errors leave too much out."""
AskedError = Literal["auto", "relative", "scaled"]


def unfit_for_relative(profile: Profile) -> str | None:
    """Why relative errors do not suit the readings; None if they do.

    Zeros are left out of relative errors; readings of both signs cancel in totals, whose relative error is then
    divided by next to nothing.
    """
    readings = max(profile.readings, 1)
    zeros, negatives = int(profile.rows["zeros"].sum()), int(profile.rows["negatives"].sum())
    if zeros > SPARSE * readings:
        return f"{zeros / readings:.1%} of the readings are zero"
    return "readings have both signs" if 0 < negatives < readings - zeros else None


def error_function(asked: AskedError, profile: Profile) -> ErrorFunction:
    """The error function asked for; of ``auto``, the one that suits the readings."""
    if asked != "auto":
        return asked
    return "relative" if unfit_for_relative(profile) is None else "scaled"


def taken(error: ErrorFunction, why: str | None) -> str | None:
    """What a reader should know of the choice; None if the paper's error suits."""
    if why is None:
        return None
    if error == "scaled":
        return f"{why}: errors are scaled by each producer's mean, not relative to each reading"
    return forced(why)


def warnings_of(about: Mapping[str, Any]) -> list[str]:
    """What goes with every result that says this about itself: that relative errors were forced on unfit data."""
    why = about.get("unfit_for_relative")
    return [forced(why)] if why and about.get("error", "relative") == "relative" else []


def forced(why: str) -> str:
    """The warning that goes with every result of relative errors if they do not suit."""
    return f"{why}, yet errors are relative: they are measured where readings are far from zero alone, and mislead"
