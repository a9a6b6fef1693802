"""The error function that a dataset asks for, and the warning where another is forced."""

import pytest

import halfmask
from halfmask.evaluation.error_kind import error_function, unfit_for_relative
from halfmask.evaluation.evaluate import findings
from halfmask.menus.optimize import optimize
from tests.choice.cases import as_read
from tests.evaluation.direct_cases import Case, household


@pytest.mark.parametrize(
    ("case", "error", "why"),
    [
        (household(users=8, days=6, zeros=0.0), "relative", None),
        (household(users=8, days=6, zeros=0.02), "relative", None),
        (household(users=8, days=6, zeros=0.5), "scaled", "zero"),
        (household(users=8, days=6, zeros=0.0, signed=True), "scaled", "both signs"),
    ],
)
def test_zeros_and_mixed_signs_ask_for_scaled_errors(case: Case, error: str, why: str | None) -> None:
    found = unfit_for_relative(case.profile)
    assert (found is None) == (why is None)
    assert why is None or why in (found or "")
    assert error_function("auto", case.profile) == error
    study = halfmask.evaluate(case.profile, settings=["laplace:0.1", "laplace:0.2"], sizes="all")
    assert study.about["error"] == error
    assert any("scaled" in told for told in findings(study)) == (error == "scaled")


def test_readings_that_are_all_negative_have_one_sign() -> None:
    case = Case(["a"] * 4, [0, 1, 2, 3], [-1.0, -2.0, -3.0, -1.0])
    assert unfit_for_relative(case.profile) is None


def test_relative_errors_that_are_forced_warn_at_every_later_step() -> None:
    sparse = household(users=8, days=6, zeros=0.5)
    study = halfmask.evaluate(sparse.profile, settings=["laplace:0.01", "laplace:0.02"], sizes="all", error="relative")
    assert any("mislead" in told for told in findings(study))
    found = optimize(as_read(study), max_mean=9, max_std=9, omega=0.2)
    assert any("mislead" in told for told in found.notes)
    assert any("mislead" in told for told in found.menu.warnings())
    fit = household(users=8, days=6, zeros=0.0)
    study = halfmask.evaluate(fit.profile, settings=["laplace:0.01"], sizes="all", error="relative")
    assert not optimize(as_read(study), max_mean=9, max_std=9, omega=0.2).menu.warnings()
