"""One suite for all that merges: associative, commutative, with a neutral element, and nothing is changed in place.

To add a kind: how its value is made from some readings, its neutral element, and what tells two values apart.
"""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.evaluation.direct.sample_state import LocalState
from halfmask.mergeable import Mergeable, merged
from halfmask.profiles.profile import Profile
from halfmask.service.cells import plain_cells, read
from halfmask_device.protocol import Cell
from tests.evaluation.same_answer import frame, opened

Part = list[int]


class Kind(NamedTuple):
    of: Callable[[Part], Any]
    neutral: Callable[[Part], Any]
    shown: Callable[[Any], Any]


def state(part: Part) -> LocalState:
    made, values = LocalState(), np.array(part, float) / 7 + 0.5
    made.add(values + 0.3, values, values)
    return made


def state_shown(of: LocalState) -> Any:
    spread = np.round([of.mean, of.squares], 9).tolist() if of.n else [0.0, 0.0]
    return of.n, spread, np.flatnonzero(of.counts).tolist(), sorted(np.concatenate([*of.beyond, []]).tolist())


def profile(part: Part) -> Profile:
    return opened(frame(np.array([part], float).reshape(1, -1) / 8 + 0.25))[1]


def profile_shown(of: Profile) -> Any:
    return of.fingerprint(), of.readings, np.round(of.cells, 9).tolist(), sorted(of.labels.tolist())


def cell(part: Part) -> Cell:
    return Cell(len(part), 1, sum(part), sum(x * x for x in part))


KINDS = {
    "cell": Kind(cell, lambda _: Cell(), tuple),
    "local state": Kind(state, lambda _: LocalState(), state_shown),
    "profile": Kind(profile, lambda part: Profile.empty(profile(part).period), profile_shown),
}
parts = st.lists(st.integers(1, 40), min_size=1, max_size=6)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@settings(max_examples=8)
@given(a=parts, b=parts, c=parts)
def test_merging_keeps_its_laws(kind: Kind, a: Part, b: Part, c: Part) -> None:
    one, two, three = (kind.of(part) for part in (a, b, c))
    before = [copy.deepcopy(kind.shown(each)) for each in (one, two, three)]
    neutral = kind.neutral(a)
    assert kind.shown(one.merge(two)) == kind.shown(two.merge(one))
    assert kind.shown(one.merge(two).merge(three)) == kind.shown(one.merge(two.merge(three)))
    assert kind.shown(one.merge(neutral)) == kind.shown(one) == kind.shown(neutral.merge(one))
    assert kind.shown(merged([one, two, three], neutral)) == kind.shown(one.merge(two).merge(three))
    assert kind.shown(one.merge(two)) != kind.shown(one), "merging adds something"
    assert [kind.shown(each) for each in (one, two, three)] == before, "and changes neither"


def test_wire_forms_come_back() -> None:
    cells = {"A": cell([3, 4]), "N": cell([1])}
    assert read(plain_cells(cells)) == cells
    assert plain_cells(cells)["N"] == {"reports": 1, "producers": 1, "sum": 1, "squares": 1}


def mergeable(value: Mergeable) -> Mergeable:
    return value


def test_all_follow_the_protocol() -> None:
    for kind in KINDS.values():
        assert mergeable(kind.of([1, 2])).merge(kind.of([3])) is not None
