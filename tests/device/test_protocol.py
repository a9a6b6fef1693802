"""Messages round-trip, errors name the field and never the value; cells merge; the hash pins the terms alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask_device.instants import instant_text
from halfmask_device.protocol import CampaignTerms, Cell, MessageError, ReportResult, read_instant
from tests.refusals import refused

OFFER: dict[str, Any] = {
    "name": "Homes of the north", "purpose": "Planning the grid", "unit": "kW",
    "lattice": {"step": "0.001", "low": "0", "high": "20"}, "period": "day", "time_zone": "Europe/Dublin",
    "begins": "2026-11-16T00:00:00Z", "ends": "2026-12-16T00:00:00Z", "grace_minutes": 60,
    "menu": {"settings": [{"id": "A", "setting": "laplace:0.5", "bin": [0.0, 0.2]}, {"id": "N", "setting": "none"}]},
    "rewards": {"A": 2, "N": 5}, "currency": "EUR/1000", "budget": 100_000, "least_producers": 20,
    "join": "open", "keep_reports": "until_closed", "live": False,
}  # fmt: skip


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1), st.integers(0, 3))
def test_every_cell_of_reports_is_possible(steps: list[int], fewer: int) -> None:
    cell = Cell(len(steps), max(len(steps) - fewer, 0), sum(steps), sum(each * each for each in steps))
    assert cell.possible
    assert cell.merge(Cell()) == cell
    assert not cell._replace(squares=cell.squares + 1).possible


@pytest.mark.parametrize("cell", [(1, 2, 0, 0), (0, 0, 3, 9), (2, 1, 5, 12), (1, 1, 3, 8), (1, 1, 4, 2), (-1, 0, 0, 0)])
def test_what_no_reports_add_up_to_is_not(cell: tuple[int, ...]) -> None:
    assert not Cell(*cell).possible


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)), st.integers(-840, 840))
def test_instants_are_exact_whatever_the_offset(local: datetime, minutes: int) -> None:
    sign, (hours, rest) = "-" if minutes < 0 else "+", divmod(abs(minutes), 60)
    text = f"{local.isoformat()}{sign}{hours:02}:{rest:02}"
    exact = (local - timedelta(minutes=minutes)).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    assert read_instant(text) == exact // timedelta(microseconds=1)
    assert read_instant(instant_text(read_instant(text))) == read_instant(text)


@pytest.mark.parametrize(
    "text",
    [
        *("2031-11-16T00:30:00", "2031-11-16", "12:30", "2026-13-01T00:00:00Z", "2031-11-16T00:00:60Z", 57, None),
        *("2026-11-16T24:00:00Z", "2026-11-16T00:00:00+25:00", "²026-11-16T00:00:00Z", "0001-01-01T00:00:00+00:00x"),
    ],
)
def test_what_is_no_instant_is_refused(text: object) -> None:
    with pytest.raises(MessageError) as told:
        read_instant(text)
    assert told.value.field == "time"
    assert str(text) not in told.value.message


def test_digits_beyond_the_microsecond_are_cut_off() -> None:
    assert read_instant("2026-11-16T00:00:00.1234569Z") == read_instant("2026-11-16t00:00:00.123456z")


def test_results_round_trip() -> None:
    for result in (
        ReportResult("accepted", reward=2),
        ReportResult("known", "budget_spent", 0),
        ReportResult("refused", "conflict"),
    ):
        assert ReportResult.read(result.plain()) == result
    with refused("input", "status"):
        ReportResult.read({"status": "fine"})


def test_the_hash_pins_the_terms_and_nothing_else() -> None:
    pinned = CampaignTerms.read(OFFER).terms_hash()
    assert len(pinned) == 64
    same: list[dict[str, Any]] = [
        {"lattice": {"step": "0.0010", "low": "0.0", "high": "20.000"}},
        {"menu": {"settings": [{"setting": "none", "id": "N"}, {"id": "A", "setting": " laplace:0.50 "}]}},
        {"rewards": {"A": 9}, "budget": 1, "name": "Other", "grace_minutes": 1},
    ]
    other: list[dict[str, Any]] = [
        {"lattice": {"step": "0.01", "low": "0", "high": "20"}},
        {"lattice": {"step": "0.001", "low": "0", "high": "21"}},
        {"menu": {"settings": [{"id": "A", "setting": "laplace:0.4"}, {"id": "N", "setting": "none"}]}},
        {"period": "hour"}, {"time_zone": "UTC"}, {"least_producers": 19}, {"purpose": "Selling"}, {"unit": "W"},
        {"keep_reports": "always"}, {"live": True},
    ]  # fmt: skip
    assert {CampaignTerms.read(OFFER | change).terms_hash() for change in same} == {pinned}
    assert pinned not in {CampaignTerms.read(OFFER | change).terms_hash() for change in other}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"lattice": {"step": 0.001, "low": "0", "high": "20"}}, "lattice"),
        ({"lattice": {"step": "0.003", "low": "0", "high": "20"}}, "lattice"),
        ({"lattice": {"step": "1e-3", "low": "0", "high": "20"}}, "lattice"),
        ({"menu": {"settings": []}}, "menu"),
        ({"menu": {"settings": [{"id": "A", "setting": "laplace:0.00001"}]}}, "menu.settings[0]"),
        ({"menu": {"settings": [{"id": "A", "setting": "none"}, {"id": "A", "setting": "none"}]}}, "menu.settings[1]"),
        ({"least_producers": 0}, "least_producers"),
        ({"least_producers": True}, "least_producers"),
        ({"keep_reports": "never"}, "keep_reports"),
        ({"live": 1}, "live"),
        ({"ends": "2026-11-16T00:00:00Z"}, "ends"),
        ({"begins": "2026-11-16"}, "begins"),
        ({"purpose": 7}, "purpose"),
    ],
)
def test_an_offer_that_breaks_the_protocol_names_its_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(MessageError) as told:
        CampaignTerms.read(OFFER | change)
    assert told.value.field == field
