"""The rules of a split sum hold in thousands of random schedules, and each rule is needed."""

from itertools import takewhile

import pytest

from tests.service.split_model import Rules, violations

SCHEDULES = 5000


def test_every_period_closes_and_every_sum_is_exact() -> None:
    assert {seed: found for seed in range(SCHEDULES) if (found := violations(seed, Rules()))} == {}


@pytest.mark.parametrize(
    ("weaker", "expected"),
    [
        (Rules(exact_sets=False), "wrong sum"),
        (Rules(fixed_set=False), "wrong sum"),
        (Rules(stored_sum=False), "not counted"),
        (Rules(closing=False), "not counted"),
        (Rules(fixed_set=False, one_set=False), "two sums"),
    ],
)
def test_without_a_rule_something_goes_wrong(weaker: Rules, expected: str) -> None:
    right = takewhile(lambda seed: expected not in violations(seed, weaker), range(SCHEDULES))
    assert len(list(right)) < SCHEDULES
