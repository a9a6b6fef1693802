"""Split totals on the device: cut once, stored before they are sent, the helper's share first, never reported twice."""

import itertools
import json
import os
import pickle
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from tests.device.split_pair import HELPER, LEADER, Pair
from tests.device.test_period_totals import BEGINS, half_hours
from tests.refusals import refused

TIME = "2026-11-15T00:00:00Z"
FREE = Consent(least_producers=1)
TOTAL = 149  # 48 x 0.31 in steps of 0.1, rounded


def device(folder: Path, pair: Pair) -> Sharer:
    return Sharer(folder, pair.service, clock=pair.clock)


def joined(folder: Path, pair: Pair, setting: str = "S", consent: Consent = FREE) -> Sharer:
    sharer = device(folder, pair)
    sharer.join(LEADER, "c1", setting, consent=consent)
    return sharer


def after(pair: Pair, days: int = 1) -> None:
    pair.now = BEGINS + days * DAY + MINUTE


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


def test_a_total_is_cut_stored_and_sent_to_both_the_helper_first(tmp_path: Path) -> None:
    pair = Pair()
    sharer = joined(tmp_path / "state", pair)
    sharer.put(half_hours())
    after(pair)
    assert sharer.send().outcomes == {"accepted": 1}
    assert pair.split_sum(TIME) == (TOTAL, 1)
    posts = [address for method, address, _ in pair.log if method == "POST"]
    assert posts[1:] == [f"{HELPER}/v1/split/h1/shares", f"{LEADER}/v1/reports"]
    report = json.loads(pair.log[-1][2])["reports"][0]
    assert set(report) == {"time", "setting", "report", "share"}
    assert (stored_shares(sharer), sharer.send().outcomes) == ([], {})


def test_both_shares_are_erased_when_both_have_answered(tmp_path: Path) -> None:
    pair = Pair()
    sharer = joined(tmp_path / "state", pair)
    sharer.put(half_hours())
    after(pair)
    pair.faults = [handled, lost, lost, lost]
    with refused("run.no_answer"):
        sharer.send()
    ((nonce, leader, helper, _),) = stored_shares(sharer)
    kept = files(sharer)
    assert all(each in kept for each in (nonce, leader, helper))
    device(tmp_path / "state", pair).send()
    kept = files(sharer)
    assert not any(each in kept for each in (nonce, leader, helper))


@pytest.mark.parametrize("fault", [lost, handled])
@pytest.mark.parametrize("request_number", range(3))
def test_a_lost_message_is_sent_again_byte_for_byte(
    tmp_path: Path, request_number: int, fault: Callable[[], Answer | None]
) -> None:
    pair = Pair()
    sharer = joined(tmp_path / "state", pair)
    sharer.put(half_hours())
    after(pair)
    before = len(pair.log)
    pair.faults = [*[None] * request_number, fault]  # type: ignore[list-item]
    sharer.send()
    bodies = [body for method, _, body in pair.log[before:] if method == "POST"]
    assert len(bodies) == 2 + (request_number > 0)
    assert len(set(bodies)) == 2
    assert pair.split_sum(TIME) == (TOTAL, 1)


def test_what_the_helper_refuses_does_not_go_to_the_leader(tmp_path: Path) -> None:
    pair = Pair()
    sharer = joined(tmp_path / "state", pair)
    sharer.put(half_hours())
    after(pair)
    pair.refusals["/v1/split/h1/shares"] = "conflict"
    assert sharer.send().outcomes == {"conflict": 1}
    assert not any(address.endswith("/v1/reports") for _, address, _ in pair.log)
    assert (stored_shares(sharer), outcomes(sharer)) == ([], [(TIME, "conflict")])


def test_a_share_that_is_too_early_stays(tmp_path: Path) -> None:
    pair = Pair()
    sharer = joined(tmp_path / "state", pair)
    sharer.put(half_hours())
    sharer._clock = lambda: (BEGINS + DAY + MINUTE) / 1e6  # fast
    assert sharer.send().outcomes == {"future": 1}
    assert len(stored_shares(sharer)) == 1
    after(pair)
    assert sharer.send().outcomes == {"accepted": 1}
    assert pair.split_sum(TIME) == (TOTAL, 1)


def test_rejoining_never_reports_a_period_again(tmp_path: Path) -> None:
    pair = Pair()
    sharer = joined(tmp_path / "state", pair)
    sharer.put(half_hours())
    after(pair)
    sharer.send()
    sharer.leave("c1")
    assert (pair.at_helper, pair.at_leader) == ({}, {})
    sharer.join(LEADER, "c1", "S", consent=FREE)
    assert sharer.put(half_hours()).refused == {"late": 48}
    assert sharer.send().outcomes == {}
    sharer.put(half_hours(48, 96))
    after(pair, 2)
    assert sharer.send().outcomes == {"accepted": 1}


def test_what_was_queued_when_leaving_counts_as_reported(tmp_path: Path) -> None:
    """A share may have arrived although the answer was lost."""
    pair = Pair()
    sharer = joined(tmp_path / "state", pair)
    sharer.put(half_hours())
    after(pair)
    pair.faults = [None, handled, lost, lost]  # type: ignore[list-item]
    with refused("run.no_answer"):
        sharer.send()
    sharer.leave("c1")
    assert stored_shares(sharer) == []
    sharer.join(LEADER, "c1", "S", consent=FREE)
    assert sharer.put(half_hours()).refused == {"late": 48}


def test_leaving_withdraws_at_the_helper_as_soon_as_it_answers(tmp_path: Path) -> None:
    pair = Pair()
    sharer = joined(tmp_path / "state", pair)
    sharer.put(half_hours())
    after(pair)
    sharer.send()
    pair.faults = [None, lost, lost, lost]  # type: ignore[list-item]
    assert sharer.leave("c1").withdrawing
    assert (len(pair.at_helper), pair.at_leader) == (1, {})
    pair.faults = [lost] * 3
    with refused("run.no_answer"):
        sharer.join(LEADER, "c1", "S", consent=FREE)
    sharer.send()
    assert pair.at_helper == {}
    assert not sharer.memberships(left=True)[0].withdrawing


def test_terms_that_differ_are_not_joined(tmp_path: Path) -> None:
    pair = Pair()
    for name, other in (
        ("terms", pair.terms.text().replace("Dublin", "London")),
        ("leader", HELPER),
        ("campaign", "x"),
    ):
        pair.shown = Pair().shown | {name: other}
        with refused("option.split_terms"):
            joined(tmp_path / "state", pair)
    pair.shown = Pair().shown
    pair.offer["least_producers"] = 2  # the offer is not what the terms say
    with refused("option.split_terms"):
        joined(tmp_path / "state", pair)
    pair.offer["least_producers"] = 1
    pair.offer["split"]["terms"] = None
    with refused("option.not_ready"):
        joined(tmp_path / "state", pair)
    assert pair.settings == {}


def test_another_helper_after_joining_is_noticed(tmp_path: Path) -> None:
    pair = Pair()
    sharer = joined(tmp_path / "state", pair)
    sharer.put(half_hours())
    after(pair)
    pair.offer = pair.offer | {"split": pair.offer["split"] | {"helper": "https://other.example"}}
    with refused("option.terms"):
        sharer.send()
    assert pair.at_helper == pair.at_leader == {}


def test_shares_are_not_sent_in_plain_text(tmp_path: Path) -> None:
    pair = Pair()
    pair.offer["split"]["helper"] = "http://helper.example"
    with refused("option.plain_http"):
        joined(tmp_path / "state", pair)
    with refused("option.plain_http"):
        device(tmp_path / "state", pair).join("http://leader.example", "c1", "S", consent=FREE)


def test_the_owner_reads_who_must_not_work_together() -> None:
    terms = Pair().terms
    words = trust_words(terms)
    assert LEADER in words[0]
    assert HELPER in words[0]
    one_owner = replace(terms, leader="https://a.utility.example", helper="https://b.utility.example:8443")
    assert (len(words), len(trust_words(one_owner))) == (2, 3)


def test_a_change_of_level_takes_effect_with_the_next_total(tmp_path: Path) -> None:
    pair = Pair()
    sharer = joined(tmp_path / "state", pair, "A")
    sharer.put(half_hours())
    after(pair)
    assert sharer.send().outcomes == {"accepted": 1}
    assert "steps" in next(iter(pair.at_leader.values()))
    assert sharer.change("c1", "S").ticket
    sharer.put(half_hours(48, 96))
    after(pair, 2)
    assert sharer.send().outcomes == {"accepted": 1}
    assert pair.split_sum("2026-11-16T00:00:00Z") == (TOTAL, 1)
    sharer.change("c1", "A")
    sharer.put(half_hours(96, 144))
    after(pair, 3)
    assert sharer.send().outcomes == {"accepted": 1}
    assert [("share" in each) for each in pair.at_leader.values()] == [False, True, False]
    sharer.leave("c1")
    assert pair.at_helper == {}


def test_split_and_local_levels_are_counted_apart(tmp_path: Path) -> None:
    pair = Pair()
    sharer = joined(tmp_path / "state", pair)
    assert sharer.budgets()[0].budget.shown() == "28.25"  # what 30 reports of epsilon 1 compose to
    write_budgets(sharer.state, {"split": Budget(2.5)})
    for day in range(3):
        sharer.put(half_hours(48 * day, 48 * day + 48))
        after(pair, day + 1)
        sharer.send()
    assert [outcome for _, outcome in outcomes(sharer)] == ["accepted", "accepted"]  # the third would be epsilon 3
    split, local = (read_ledger(sharer.state, "1", trust=trust) for trust in ("split", "local"))
    assert (split.total.reports, round(split.total.whole, 9), local.total.reports) == (2, 2.0, 0)
    assert [standing.trust for standing in sharer.budgets()] == ["split"]
    sharer.change("c1", "A", budget=500.0)
    assert {standing.trust: round(standing.spent, 6) for standing in sharer.budgets()} == {"split": 2.0, "local": 0.0}


KILLED_AT = (
    (CampaignTotals, "_fix"), (CampaignTotals, "_cut"), (CampaignTotals, "_end"), (CampaignSender, "_post_shares"),
    (CampaignSender, "_settle"), (ServiceClient, "ask"), (State, "wipe"),
)  # fmt: skip


def sends_until_killed(folder: Path, kind: type, name: str, moment: str, count: int) -> int:
    """Let a child process send, killed at the ``count``-th call of a method; its way of ending.

    The services survive: their state is written to a file before the child dies, and when it ends.
    """
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    pair, real, calls = pickle.loads((folder / "pair").read_bytes()), getattr(kind, name), itertools.count()

    def at(now: str) -> None:
        if now == moment and next(calls) == count:
            (folder / "pair").write_bytes(pickle.dumps(pair))
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(*given: Any, **named: Any) -> Any:
        at("before")
        result = real(*given, **named)
        at("after")
        return result

    try:
        setattr(kind, name, watched)
        device(folder / "state", pair).send()
        (folder / "pair").write_bytes(pickle.dumps(pair))
    except BaseException:
        os._exit(1)
    os._exit(0)


@pytest.mark.parametrize(("kind", "name"), KILLED_AT)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_device_that_is_killed_between_two_steps_loses_and_doubles_nothing(
    tmp_path: Path, kind: type, name: str, moment: str
) -> None:
    pair = Pair()
    sharer = joined(tmp_path / "state", pair)
    sharer.put(half_hours())
    sharer.state.close()
    after(pair)
    (tmp_path / "pair").write_bytes(pickle.dumps(pair))
    ends = [sends_until_killed(tmp_path, kind, name, moment, 0)]
    while ends[-1] == signal.SIGKILL and len(ends) < 20:
        ends.append(sends_until_killed(tmp_path, kind, name, moment, len(ends)))
    assert ends[0] == signal.SIGKILL
    assert ends[-1] == 0
    pair = pickle.loads((tmp_path / "pair").read_bytes())
    assert pair.split_sum(TIME) == (TOTAL, 1)
    assert len(pair.at_helper) == len(pair.at_leader) == 1
    sharer = device(tmp_path / "state", pair)
    assert stored_shares(sharer) == []
    assert outcomes(sharer) in ([(TIME, "accepted")], [(TIME, "known")])
    assert read_ledger(sharer.state, "1", trust="split").total.reports == 1


def test_times_of_a_period_are_its_first_instant(tmp_path: Path) -> None:
    pair = Pair(time_zone="Europe/Berlin", begins="2026-11-15T23:00:00Z", ends="2026-11-20T23:00:00Z")
    sharer = joined(tmp_path / "state", pair)
    first = BEGINS + 23 * 60 * MINUTE
    sharer.put((instant_text(first + n * 30 * MINUTE), "0.31") for n in range(48))
    pair.now = first + DAY + MINUTE
    sharer.send()
    assert pair.split_sum("2026-11-15T23:00:00Z") == (TOTAL, 1)
