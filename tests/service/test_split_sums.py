"""Split sums between two services: each sum is exact but for two draws of known noise, and rewards follow."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from halfmask_device.setting import law_of
from tests.service.split_pair import AFTER, DAY, Draws, Pair, split_pair
from tests.service.world import sqlite_url

START = f"{DAY}T00:00:00Z"


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    for name in ("leader", "helper"):
        (tmp_path / name).mkdir()
    with split_pair(sqlite_url(tmp_path / "leader"), sqlite_url(tmp_path / "helper")) as made:
        yield made


def noise(pair: Pair, name: str, number: int = 1) -> int:
    """The draw that a service has added, in steps."""
    return law_of("laplace:40", pair.terms.lattice["step"]).draw(Draws(name).source(number))


def test_a_sum_is_exact_but_for_two_known_draws(pair: Pair) -> None:
    pair.set(AFTER)
    totals = [1234, 0, 4000, 7]
    for each in totals:
        pair.join().report(START, each)
    plain = [pair.join("T") for _ in range(3)]
    for each in plain:
        assert pair.leader.report(each.token, (START, 500, "T"))[0]["status"] == "accepted"
    entry = pair.close()
    expected = sum(totals) + noise(pair, "leader") + noise(pair, "helper") + 1500
    assert entry["state"] == "closed"
    assert entry["sum"]["estimate"] == pytest.approx(expected * 0.01, abs=1e-9)
    assert entry["reports"] == entry["producers"] == 7
    assert entry["settings"] == {"T": {"reports": 3, "producers": 3}, "S": {"reports": 4, "producers": 4}}
    assert entry["split"] == {"counted": 4, "invalid": 0, "missing": 0}
