"""Split totals on the device: cut once, stored before they are sent, the helper's share first, never reported twice."""

import itertools
import json
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

import pytest

from halfmask_device.consent import Consent
from halfmask_device.device_state import State
from halfmask_device.http_client import Answer, ServiceClient
from halfmask_device.instants import DAY, MINUTE, instant_text
from halfmask_device.period_totals import CampaignTotals
from halfmask_device.privacy_budget import Budget, write_budgets
from halfmask_device.privacy_ledger import read_ledger
from halfmask_device.report_sending import CampaignSender
from halfmask_device.sharing import Sharer
from halfmask_device.split_services import trust_words
from tests.device.split_wire import SplitWire, split_wire
from tests.device.test_period_totals import BEGINS, half_hours
from tests.device.test_split_terms import TERMS
from tests.refusals import refused
from tests.service.split_pair import HELPER, LEADER
from tests.service.test_split_sums import held

TIME = "2026-11-15T00:00:00Z"
FREE = Consent(least_producers=1)
DATE = "2026-11-15"
TOTAL = 1488  # 48 x 0.31 in steps of 0.01


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[SplitWire]:
    with split_wire(tmp_path) as made:
        yield made


def device(folder: Path, wire: SplitWire) -> Sharer:
    return Sharer(folder, wire.service, clock=wire.clock)


def joined(folder: Path, wire: SplitWire, setting: str = "S", consent: Consent = FREE) -> Sharer:
    sharer = device(folder, wire)
    sharer.join(LEADER, wire.campaign, setting, consent=consent)
    return sharer


def after(wire: SplitWire, days: int = 1) -> None:
    """Set both services' clocks to soon after the end of a day."""
    for world in (wire.pair.leader, wire.pair.helper):
        world.clock.now = BEGINS + days * DAY + MINUTE


def stored_shares(sharer: Sharer) -> list[tuple[Any, ...]]:
    with sharer.state.memory() as memory:
        return memory.execute("SELECT nonce, leader, helper, at_helper FROM shares").fetchall()


def outcomes(sharer: Sharer) -> list[tuple[str, str | None]]:
    with sharer.state.memory() as memory:
        return memory.execute("SELECT time, outcome FROM queue ORDER BY number").fetchall()


def files(sharer: Sharer) -> bytes:
    sharer.state.close()
    return b"".join(path.read_bytes() for path in sharer.state.folder.iterdir() if path.is_file())


def lost() -> Answer:
    raise ConnectionRefusedError("before it arrived")


def handled() -> Answer | None:
    return None


def test_a_total_is_cut_stored_and_sent_to_both_the_helper_first(wire: SplitWire, tmp_path: Path) -> None:
    sharer = joined(tmp_path / "state", wire)
    sharer.put(half_hours())
    after(wire)
    assert sharer.send().outcomes == {"accepted": 1}
    assert wire.posted() == [f"{HELPER}/v1/split/{wire.pair.held}/shares", f"{LEADER}/v1/reports"]
    report = json.loads(wire.log[-1][2])["reports"][0]
    assert set(report) == {"time", "setting", "report", "share"}
    assert (stored_shares(sharer), sharer.send().outcomes) == ([], {})
    assert wire.exact_sum(DATE) == (TOTAL, 1)


def test_both_shares_are_erased_when_both_have_answered(wire: SplitWire, tmp_path: Path) -> None:
    sharer = joined(tmp_path / "state", wire)
    sharer.put(half_hours())
    after(wire)
    wire.faults = [None, handled, lost, lost]
    with refused("run.no_answer"):
        sharer.send()
    ((nonce, leader, helper, _),) = stored_shares(sharer)
    kept = files(sharer)
    assert all(each in kept for each in (nonce, leader, helper))
    device(tmp_path / "state", wire).send()
    kept = files(sharer)
    assert not any(each in kept for each in (nonce, leader, helper))


@pytest.mark.parametrize("fault", [lost, handled])
@pytest.mark.parametrize("request_number", range(3))
def test_a_lost_message_is_sent_again_byte_for_byte(
    wire: SplitWire, tmp_path: Path, request_number: int, fault: Callable[[], Answer | None]
) -> None:
    sharer = joined(tmp_path / "state", wire)
    sharer.put(half_hours())
    after(wire)
    before = len(wire.log)
    wire.faults = [*[None] * request_number, fault]
    sharer.send()
    bodies = [body for method, _, body in wire.log[before:] if method == "POST"]
    assert len(bodies) == 2 + (request_number > 0)
    assert len(set(bodies)) == 2
    assert wire.exact_sum(DATE) == (TOTAL, 1)


def test_what_the_helper_refuses_does_not_go_to_the_leader(wire: SplitWire, tmp_path: Path) -> None:
    sharer = joined(tmp_path / "state", wire)
    sharer.put(half_hours())
    after(wire)
    shutil.copytree(tmp_path / "state", tmp_path / "backup")
    shutil.copy(tmp_path / "state.secret", tmp_path / "backup.secret")
    assert sharer.send().outcomes == {"accepted": 1}
    restored, before = device(tmp_path / "backup", wire), len(wire.posted())  # it cuts the total again
    assert restored.send().outcomes == {"conflict": 1}
    assert wire.posted()[before:] == [f"{HELPER}/v1/split/{wire.pair.held}/shares"]
    assert (stored_shares(restored), outcomes(restored)) == ([], [(TIME, "conflict")])
    assert wire.exact_sum(DATE) == (TOTAL, 1)


def test_a_share_that_is_too_early_stays(wire: SplitWire, tmp_path: Path) -> None:
    sharer = joined(tmp_path / "state", wire)
    sharer.put(half_hours())
    sharer._clock = lambda: (BEGINS + DAY + MINUTE) / 1e6  # fast
    assert sharer.send().outcomes == {"future": 1}
    assert len(stored_shares(sharer)) == 1
    after(wire)
    assert sharer.send().outcomes == {"accepted": 1}
    assert wire.exact_sum(DATE) == (TOTAL, 1)


def test_rejoining_never_reports_a_period_again(wire: SplitWire, tmp_path: Path) -> None:
    sharer = joined(tmp_path / "state", wire)
    sharer.put(half_hours())
    after(wire)
    sharer.send()
    sharer.leave(wire.campaign)
    assert wire.log[-1][:2] == ("DELETE", f"{HELPER}/v1/split/{wire.pair.held}/shares")
    sharer.join(LEADER, wire.campaign, "S", consent=FREE)
    assert sharer.put(half_hours()).refused == {"late": 48}
    assert sharer.send().outcomes == {}
    sharer.put(half_hours(48, 96))
    after(wire, 2)
    assert sharer.send().outcomes == {"accepted": 1}
    assert wire.exact_sum("2026-11-16") == (TOTAL, 1)
    assert wire.pair.close(DATE)["withheld"]  # what was withdrawn does not count


def test_what_was_queued_when_leaving_counts_as_reported(wire: SplitWire, tmp_path: Path) -> None:
    """A share may have arrived although the answer was lost."""
    sharer = joined(tmp_path / "state", wire)
    sharer.put(half_hours())
    after(wire)
    wire.faults = [None, handled, lost, lost]
    with refused("run.no_answer"):
        sharer.send()
    sharer.leave(wire.campaign)
    assert stored_shares(sharer) == []
    sharer.join(LEADER, wire.campaign, "S", consent=FREE)
    assert sharer.put(half_hours()).refused == {"late": 48}


def test_leaving_withdraws_at_the_helper_as_soon_as_it_answers(wire: SplitWire, tmp_path: Path) -> None:
    sharer = joined(tmp_path / "state", wire)
    sharer.put(half_hours())
    after(wire)
    sharer.send()
    wire.faults = [None, lost, lost, lost]
    assert sharer.leave(wire.campaign).withdrawing
    wire.faults = [None, None, lost, lost, lost]
    with refused("run.no_answer"):
        sharer.join(LEADER, wire.campaign, "S", consent=FREE)
    sharer.send()
    assert wire.log[-1][:2] == ("DELETE", f"{HELPER}/v1/split/{wire.pair.held}/shares")
    assert not sharer.memberships(left=True)[0].withdrawing
    assert sharer.join(LEADER, wire.campaign, "S", consent=FREE).ticket


def test_a_device_whose_owner_left_by_a_page_leaves_too(wire: SplitWire, tmp_path: Path) -> None:
    """It learns so from the leader, after the helper took its share; it withdraws that, and keeps nothing queued."""
    sharer = joined(tmp_path / "state", wire)
    sharer.put(half_hours())
    wire.pair.leader.ok("DELETE", "/v1/me", sharer.member().token)
    after(wire)
    with refused("service"):
        sharer.send()
    (left,) = sharer.memberships(left=True)
    assert (left.left, left.withdrawing) == (True, False)
    assert wire.log[-1][:2] == ("DELETE", f"{HELPER}/v1/split/{wire.pair.held}/shares")
    assert held(wire.pair.helper) == 0
    assert (stored_shares(sharer), outcomes(sharer)) == ([], [(TIME, "withdrawn")])
    assert sharer.join(LEADER, wire.campaign, "S", consent=FREE).ticket


def test_terms_that_differ_are_not_joined(wire: SplitWire, tmp_path: Path) -> None:
    offer, shown = ("GET", f"/v1/campaigns/{wire.campaign}"), ("GET", f"/v1/split/{wire.pair.held}")
    text = wire.pair.terms.text()
    for where, change, code in (
        (shown, {"terms": text.replace("UTC", "GMT")}, "split_terms"),
        (shown, {"leader": HELPER}, "split_terms"),
        (shown, {"campaign": "x"}, "split_terms"),
        (offer, {"least_producers": 2}, "split_terms"),  # not what the terms say
        (offer, {"split": {"helper": HELPER, "campaign": None, "terms": None}}, "not_ready"),
        (offer, {"split": {"helper": "http://helper.example", "campaign": "h", "terms": text}}, "plain_http"),
    ):
        wire.changed = {where: lambda told, change=change: told | change}
        with refused(f"option.{code}"):
            joined(tmp_path / "state", wire)
    wire.changed = {}
    with refused("option.plain_http"):
        device(tmp_path / "state", wire).join("http://leader.example", wire.campaign, "S", consent=FREE)
    assert not any(method == "POST" for method, *_ in wire.log)


def test_another_helper_after_joining_is_noticed(wire: SplitWire, tmp_path: Path) -> None:
    sharer = joined(tmp_path / "state", wire)
    sharer.put(half_hours())
    after(wire)
    path = f"/v1/campaigns/{wire.campaign}"
    wire.changed = {("GET", path): lambda told: told | {"split": told["split"] | {"helper": "https://other.example"}}}
    with refused("option.terms"):
        sharer.send()
    assert wire.posted() == []


def test_the_owner_reads_who_must_not_work_together() -> None:
    words = trust_words(TERMS)
    assert LEADER in words[0]
    assert HELPER in words[0]
    one_owner = replace(TERMS, leader="https://a.utility.example", helper="https://b.utility.example:8443")
    assert (len(words), len(trust_words(one_owner))) == (2, 3)


def test_a_change_of_level_takes_effect_with_the_next_total(wire: SplitWire, tmp_path: Path) -> None:
    sharer = joined(tmp_path / "state", wire, "T")
    for day, setting in enumerate("TST"):
        if day:
            sharer.change(wire.campaign, setting)
        sharer.put(half_hours(48 * day, 48 * day + 48))
        after(wire, day + 1)
        assert sharer.send().outcomes == {"accepted": 1}
    reports = [json.loads(body)["reports"][0] for _, address, body in wire.log if address.endswith("/v1/reports")]
    assert ["share" in each for each in reports] == ["steps" not in each for each in reports] == [False, True, False]
    assert wire.exact_sum("2026-11-16") == (TOTAL, 1)
    sharer.leave(wire.campaign)
    assert wire.log[-1][:2] == ("DELETE", f"{HELPER}/v1/split/{wire.pair.held}/shares")


def test_split_and_local_levels_are_counted_apart(wire: SplitWire, tmp_path: Path) -> None:
    sharer = joined(tmp_path / "state", wire)
    assert sharer.budgets()[0].budget.shown() == "28.25"  # what 30 reports of epsilon 1 compose to
    write_budgets(sharer.state, {"split": Budget(2.5)})
    for day in range(3):
        sharer.put(half_hours(48 * day, 48 * day + 48))
        after(wire, day + 1)
        sharer.send()
    assert [outcome for _, outcome in outcomes(sharer)] == ["accepted", "accepted"]  # the third would be epsilon 3
    split, local = (read_ledger(sharer.state, "1", trust=trust) for trust in ("split", "local"))
    assert (split.total.reports, round(split.total.whole, 9), local.total.reports) == (2, 2.0, 0)
    assert [standing.trust for standing in sharer.budgets()] == ["split"]
    sharer.change(wire.campaign, "T", budget=500.0)
    assert {standing.trust: round(standing.spent, 6) for standing in sharer.budgets()} == {"split": 2.0, "local": 0.0}


KILLED_AT = (
    (CampaignTotals, "_fix"), (CampaignTotals, "_cut"), (CampaignTotals, "_end"), (CampaignSender, "_post_shares"),
    (CampaignSender, "_settle"), (ServiceClient, "ask"), (State, "wipe"),
)  # fmt: skip


def sends_until_killed(folder: Path, wire: SplitWire, kill: tuple[type, str], moment: str, count: int) -> int:
    """Let a child process send, killed at the ``count``-th call of a method; its way of ending.

    The child asks this process, which passes its requests on to the services.
    """
    here, there = multiprocessing.Pipe()
    child = os.fork()
    if not child:
        here.close()
        _send_in_child(folder, there, wire.clock(), kill, moment, count)
    there.close()
    with suppress(EOFError):
        while True:
            here.send(wire(*here.recv()))
    return os.waitpid(child, 0)[1]


def _send_in_child(
    folder: Path, pipe: Connection, now: float, kill: tuple[type, str], moment: str, count: int
) -> NoReturn:
    kind, name = kill
    real, calls = getattr(kind, name), itertools.count()

    def reached(when: str) -> None:
        if when == moment and next(calls) == count:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(*given: Any, **named: Any) -> Any:
        reached("before")
        result = real(*given, **named)
        reached("after")
        return result

    def carry(*request: Any) -> Any:
        pipe.send(request)
        return pipe.recv()

    try:
        setattr(kind, name, watched)
        Sharer(folder, lambda address: ServiceClient(address, carry), clock=lambda: now).send()
    except BaseException:
        os._exit(1)
    os._exit(0)


@pytest.mark.parametrize("kill", KILLED_AT)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_device_that_is_killed_between_two_steps_loses_and_doubles_nothing(
    wire: SplitWire, tmp_path: Path, kill: tuple[type, str], moment: str
) -> None:
    sharer = joined(tmp_path / "state", wire)
    sharer.put(half_hours())
    sharer.state.close()
    after(wire)
    ends = [sends_until_killed(tmp_path / "state", wire, kill, moment, 0)]
    while ends[-1] == signal.SIGKILL and len(ends) < 20:
        ends.append(sends_until_killed(tmp_path / "state", wire, kill, moment, len(ends)))
    assert ends[0] == signal.SIGKILL
    assert ends[-1] == 0
    sharer = device(tmp_path / "state", wire)
    assert stored_shares(sharer) == []
    assert outcomes(sharer) in ([(TIME, "accepted")], [(TIME, "known")])
    assert read_ledger(sharer.state, "1", trust="split").total.reports == 1
    assert wire.exact_sum(DATE) == (TOTAL, 1)
    assert wire.pair.period(DATE)["split"] == {"counted": 1, "invalid": 0, "missing": 0}


def test_a_period_begins_in_its_time_zone_and_a_range_may_begin_below_zero(tmp_path: Path) -> None:
    changed: dict[str, Any] = {
        "time_zone": "Europe/Berlin", "begins": "2026-11-14T23:00:00Z", "ends": "2026-11-30T23:00:00Z",
        "lattice": {"step": "0.01", "low": "-10", "high": "40"}, "grace_minutes": 120,
    }  # fmt: skip
    with split_wire(tmp_path, **changed) as wire:
        sharer = joined(tmp_path / "state", wire)
        first = BEGINS + 23 * 60 * MINUTE
        sharer.put((instant_text(first + n * 30 * MINUTE), "-0.05") for n in range(48))
        after(wire, 2)
        assert sharer.send().outcomes == {"accepted": 1}
        assert wire.exact_sum("2026-11-16") == (-240, 1)
