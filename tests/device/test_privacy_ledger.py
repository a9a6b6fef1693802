"""The ledger: bounds that hold for the lattice laws, and are near; windows; a budget that warns, stops or coarsens."""

import math
from pathlib import Path

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from halfmask.commands.ledger import LedgerOptions as Options
from halfmask.commands.ledger import main as show
from halfmask_device import Asked, Budget, Lattice, Producer, State, agree, law_of, read_ledger
from halfmask_device.decimals import SLACK
from halfmask_device.epsilon_bound import divergence, epsilon_of, per_unit, pure
from halfmask_device.privacy_budget import read_budgets, window_days, window_of, write_budgets
from halfmask_device.reading_times import day_of
from halfmask_device.setting import DeviceSetting
from tests.refusals import refused
from tests.said import incomplete, named

LATTICE = Lattice("0.1", "0", "10")
DELTA = 1e-6


def exact_epsilon(settings: dict[str, int], step: str, change: float, delta: float) -> float:
    """Of the composition of the very mass functions, by privacy loss distributions, from below (optimistic)."""
    composed = None
    for setting, count in settings.items():
        law = law_of(setting, step)
        moved = math.ceil(change / float(step) - 1e-12)
        most = law.furthest(1e-16) + moved
        upper = {k: law.mass(k) for k in range(-most, most + 1)}
        lower = {k + moved: mass for k, mass in upper.items()}
        one = pld.from_two_probability_mass_functions(
            {k: math.log(mass) for k, mass in lower.items() if mass > 0},
            {k: math.log(mass) for k, mass in upper.items() if mass > 0},
            pessimistic_estimate=False,
            value_discretization_interval=1e-3,
        ).self_compose(count)
        composed = one if composed is None else composed.compose(one)
    assert composed is not None
    return float(composed.get_epsilon_for_delta(delta))


@pytest.mark.parametrize(
    "settings",
    [
        {"laplace:0.5": 1}, {"laplace:0.5": 48}, {"laplace:4": 200}, {"laplace:0.1": 3}, {"gaussian:1": 1},
        {"gaussian:5": 48}, {"gaussian:0.2": 4}, {"laplace:2": 24, "gaussian:3": 24}, {"geometric:1,0.1": 10},
        {"logistic:0.5": 1}, {"logistic:0.5": 48}, {"logistic:4": 200}, {"logistic:2": 24, "gaussian:3": 24},
        {"staircase:0.2,1,0.4": 100}, {"staircase:1,0.5,0.3": 10, "laplace:2": 24},
    ],
    ids=str,
)  # fmt: skip
def test_the_bound_holds_for_the_lattice_laws_and_is_not_far_off(settings: dict[str, int]) -> None:
    for change in ("1", "0.25"):
        ours = epsilon_of({(name, "0.1"): count for name, count in settings.items()}, change, DELTA)
        exact = exact_epsilon(settings, "0.1", float(change), DELTA)
        assert exact <= ours + 1e-3
        loose = 2.4 if "staircase" in str(settings) and change == "0.25" else 1.35  # it is bounded by its pure epsilon
        assert ours <= loose * exact + 0.15
    wide = {f"{name.split(':')[0]}:{1.25 * float(name.split(':')[1].split(',')[0])}": n for name, n in settings.items()}
    if len(settings) == 1 and max(settings.values()) == 1:
        assert epsilon_of({(name, "0.1"): n for name, n in wide.items()}, "1", DELTA) < exact_epsilon(
            settings, "0.1", 1.0, DELTA
        )


@pytest.mark.parametrize("order", [1.02, 3.0, 24.0, 64.0, 4096.0])
@pytest.mark.parametrize("setting", ["logistic:0.03", "logistic:0.3", "logistic:2", "staircase:1,0.5,0.3"])
@pytest.mark.parametrize("change", ["0.1", "0.7", "3"])
def test_divergences_bound_those_of_the_masses(setting: str, change: str, order: float) -> None:
    """A tenth more noise has a smaller one; rounding hides a little of a logistic law, so its bound is not equal."""
    moved = math.ceil(float(change) / 0.1 - 1e-9)

    def summed(text: str) -> float:
        law = law_of(text, "0.1")
        most = min(law.furthest(1e-150), 2000)
        masses = np.array([law.mass(k) for k in range(-most, most + 1)])
        with np.errstate(under="ignore"):
            logs = order * np.log(masses[moved:]) + (1 - order) * np.log(masses[:-moved])
        return float(np.logaddexp.reduce(logs)) / (order - 1)

    found = divergence(DeviceSetting.parse(setting), change, "0.1", order)
    assert summed(setting) <= found + 1e-6
    if "logistic" in setting and order < 64:
        name, scale = setting.split(":")
        assert found < summed(f"{name}:{0.8 * float(scale)}") + 1e-3


@pytest.mark.parametrize("order", [1.1, 2.0, 7.0])
@pytest.mark.parametrize("setting", ["laplace:0.3", "laplace:2", "gaussian:0.3", "gaussian:2"])
@pytest.mark.parametrize("change", ["0.05", "0.1", "0.7", "3"])
def test_divergences_are_those_of_the_masses(setting: str, change: str, order: float) -> None:
    law = law_of(setting, "0.1")
    moved = math.ceil(float(change) / 0.1 - 1e-9)
    k = np.arange(-1500, 1500 + moved)
    x = 0.1 / float(setting.partition(":")[2])
    with np.errstate(under="ignore"):
        logs = [-x * np.abs(k - c) if "laplace" in setting else -0.5 * (x * (k - c)) ** 2 for c in (0, moved)]
        total = np.logaddexp.reduce(order * logs[0] + (1 - order) * logs[1]) + math.log(law.mass(0))
    found = divergence(DeviceSetting.parse(setting), change, "0.1", order)
    assert found == pytest.approx(total / (order - 1), rel=1e-9)


def test_noise_without_a_bound_has_none_and_no_noise_is_infinite() -> None:
    for setting in ("none", "uniform:1", "sine:1", "tabulated:1,1"):
        assert epsilon_of({(setting, "0.1"): 1}, "1", DELTA) == math.inf
        assert per_unit({(setting, "0.1"): 1}) == math.inf
    assert epsilon_of({}, "1", DELTA) == 0
    assert pure(DeviceSetting.parse("staircase:1,0.5,0.3"), "1.1", "0.1") == 3
    assert per_unit({("laplace:0.5", "0.1"): 2, ("laplace:4", "0.1"): 4}) == 5


def test_days_weeks_and_months_are_added_up(tmp_path: Path) -> None:
    device = Producer("laplace:2", LATTICE, tmp_path / "state")
    days = ["2026-01-30", "2026-01-31", "2026-02-01", "2026-02-02", "2026-02-28", "2026-03-01"]
    for number, day in enumerate(days):
        list(device.reports([(f"{day}T{hour:02}:00", 1) for hour in range(number + 1)]))
    device.report("sometime", 1)
    ledger = read_ledger(State(tmp_path / "state"), "1", DELTA)
    assert {e.window: e.reports for e in ledger.days} == {"undated": 1} | {d: n + 1 for n, d in enumerate(days)}
    assert {e.window: e.reports for e in ledger.months} == {"undated": 1, "2026-01": 3, "2026-02": 12, "2026-03": 6}
    weeks = {"undated": 1, "2026-W05": 6, "2026-W06": 4, "2026-W09": 11}
    assert {e.window: e.reports for e in ledger.weeks} == weeks
    assert ledger.total.reports == 22
    assert ledger.total.unit == 11
    day = ledger.days[3]
    assert day.epsilon == epsilon_of({("laplace:2", "0.1"): 3}, "1", DELTA)
    assert (day.one, day.unit) == (0.5, 1.5)
    with refused("option.delta", "delta"):
        read_ledger(State(tmp_path / "state"), "1", 0)


def test_one_reading_is_charged_every_look_at_it(tmp_path: Path) -> None:
    """Revised twice it was told three times; under two settings, once under each."""
    at = "2026-01-01T00:00"
    device = Producer("laplace:2", LATTICE, tmp_path / "state", revise=True)
    for value in (1, 2, 3):
        device.report(at, value)
    assert [entry.one for entry in read_ledger(State(tmp_path / "state"), "1").days] == pytest.approx(
        [3 * 0.5], rel=1e-5
    )
    device = Producer("laplace:2", LATTICE, tmp_path / "other")
    list(device.reports([(at, 1), ("2026-01-02T00:00", 1), ("2026-01-02T00:30", 1)]))
    Producer("laplace:4", LATTICE, tmp_path / "other", change=True, revise=True).report(at, 3)
    ledger = read_ledger(State(tmp_path / "other"), "1")
    assert [entry.one for entry in ledger.days] == pytest.approx([0.5 + 0.25, 0.5], rel=1e-5)
    assert ledger.total.one == ledger.days[0].one, "a reading belongs to one day"


@pytest.mark.parametrize("date", ["2026-01-01", "2026-02-28", "2024-02-29", "2026-12-31", "1970-01-04", "2027-01-03"])
def test_windows_hold_their_days(date: str) -> None:
    day = day_of(date)
    for kind in ("day", "week", "month"):
        first, last = window_days(day, kind)
        inside = {window_of(each, kind) for each in range(first, last + 1)}
        assert first <= day <= last
        assert inside == {window_of(day, kind)}
        assert window_of(first - 1, kind) not in inside
        assert window_of(last + 1, kind) not in inside


def readings(count: int, day: str = "2026-01-01") -> list[tuple[str, int]]:
    return [(f"{day}T{number // 60:02}:{number % 60:02}", 5) for number in range(count)]


def test_a_budget_warns_then_stops_and_another_day_goes_on(tmp_path: Path) -> None:
    write_budgets(State(tmp_path / "state"), {"local": Budget(5, "1", "day")})
    device = Producer("laplace:1", LATTICE, tmp_path / "state")
    assert len(list(device.reports(readings(4)))) == 4
    assert device.notes == []
    list(device.reports(readings(5)))
    assert any("above 80% of the budget" in note for note in device.notes)
    with refused("reading.budget", place="row 6, column time"):
        list(device.reports(readings(6)))
    assert list(device.reports(readings(5))) == list(device.reports(readings(5)))  # what was told may be told again
    assert len(list(device.reports(readings(5, "2026-01-02")))) == 5
    assert [entry.epsilon for entry in read_ledger(State(tmp_path / "state"), "1").days] == pytest.approx(
        [5, 5], rel=1e-4
    )


def test_a_budget_may_only_warn(tmp_path: Path) -> None:
    write_budgets(State(tmp_path / "state"), {"local": Budget(5, "1", "day", then="warn")})
    device = Producer("laplace:1", LATTICE, tmp_path / "state")
    assert len(list(device.reports(readings(9)))) == 9
    assert any("only warned of" in note for note in device.notes)


def test_a_budget_may_move_to_a_coarser_setting_and_its_reports_stay(tmp_path: Path) -> None:
    menu = tmp_path / "menu.json"
    menu.write_text(
        '{"settings": [{"id": "A", "setting": "laplace:1"}, {"id": "B", "setting": "laplace:10"},'
        ' {"id": "N", "setting": "none"}]}'
    )
    terms = agree(tmp_path / "state", Asked(setting="A", menu=menu, step="0.1", low="0", high="10"))
    write_budgets(State(tmp_path / "state"), {"local": Budget(5, "1", "week", then="coarser")})
    device = Producer(terms.setting_text, terms.lattice, tmp_path / "state")
    first = list(device.reports(readings(5)))
    assert read_ledger(State(tmp_path / "state"), "1").weeks[0].epsilon == pytest.approx(5, rel=1e-4)
    write_budgets(State(tmp_path / "state"), {"local": Budget(6.55, "1", "week", then="coarser")})
    device = Producer(terms.setting_text, terms.lattice, tmp_path / "state")
    more = list(device.reports(readings(11)))
    assert more[:5] == first
    assert any("reported by laplace:10" in note for note in device.notes)
    (week,) = read_ledger(State(tmp_path / "state"), "1").weeks
    assert week.epsilon <= 6.55
    assert week.reports == 11
    assert list(Producer(terms.setting_text, terms.lattice, tmp_path / "state").reports(readings(11))) == more


def test_a_budget_is_sealed_and_sensible(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    assert read_budgets(state) == {}
    budget = Budget(5, "1", "month", 1e-5, "coarser")
    write_budgets(state, {"local": budget})
    write_budgets(state, {"split": Budget(7)})
    assert read_budgets(state) == {"local": budget, "split": Budget(7)}
    path = tmp_path / "state" / "budget.json"
    path.write_text(path.read_text().replace("5", "50"))
    with refused("file.seal"):
        Producer("laplace:1", LATTICE, tmp_path / "state")
    wrong = {"epsilon": 0, "delta": 1, "window": "year", "then": "beep"}
    for name, value in wrong.items():
        with refused(f"option.{name}"):
            Budget(**({"epsilon": 5, "change": "1"} | {name: value}))  # type: ignore[arg-type]
    with refused("option.change"):
        Budget(5, "0")


def test_what_is_printed_is_not_below_the_ledger_and_names_change_window_and_delta(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    device = Producer("laplace:0.7", LATTICE, tmp_path)
    list(device.reports((f"2026-11-{day:02}T{hour:02}:00Z", 1.0) for day in (16, 17) for hour in range(7)))
    state = State(tmp_path)
    write_budgets(state, {"local": Budget(9.87654321, "0.3", "week", 1e-5)})
    show(Options(state=tmp_path, change="0.3", delta=1e-5))
    out, err = capsys.readouterr()
    *lines, head = out.splitlines()
    assert "for a change of 0.3" in head
    assert "in every reading of the window and in one reading (delta 1e-5)" in head
    account = read_ledger(state, "0.3", 1e-5)
    entries = [account.total, *account.months, *account.weeks, *reversed(account.days)]
    for line, entry in zip(lines[1:], entries, strict=True):
        shown = [float(number) for number in line.split()[-4:]]
        for number, bound in zip(shown, (entry.epsilon, entry.one, entry.unit, entry.whole), strict=True):
            assert bound * (1 - SLACK) <= number <= 1.01 * bound
    assert "epsilon 9.87654321 for a change of every reading of a week by 0.3, delta 1e-5" in err
    assert incomplete([head, *err.splitlines()]) == []


def test_notes_of_the_budget_name_change_window_and_delta(tmp_path: Path) -> None:
    write_budgets(State(tmp_path), {"local": Budget(2.0, "0.3", "day", 1e-6, "warn")})
    device = Producer("laplace:0.7", LATTICE, tmp_path)
    list(device.reports((f"2026-11-16T{hour:02}:00Z", 1.0) for hour in range(24)))
    assert sum("budget" in note for note in device.notes) == 2
    assert len(named(device.notes)) == 2
    assert incomplete(device.notes) == []
