"""Split sums between two services: each sum is exact but for two draws of known noise, and rewards follow."""

import json
import random
import threading
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select
from sqlalchemy.dialects import sqlite

from halfmask.service.campaign import IMPLAUSIBLE
from halfmask.service.campaign_requests import mirror
from halfmask.service.floors import Floors
from halfmask.service.influence import trimmed_sum
from halfmask.service.mqtt import Broker
from halfmask.service.mqtt_intake import Intake
from halfmask.service.refusal import Refusal
from halfmask.service.split.split_options import SplitOptions
from halfmask.service.storage import split_rows
from halfmask.service.storage.split_rows import Holding
from halfmask_device.protocol import read_instant
from halfmask_device.setting import law_of
from tests.device.prio3_vectors import cheated, randomness
from tests.service.links import Faulty
from tests.service.servers import fresh_database
from tests.service.split_pair import (
    AFTER,
    CLOSED,
    DAY,
    HELPER,
    SPLIT_CAMPAIGN,
    STEPS,
    Device,
    Draws,
    Pair,
    link_to,
    split_pair,
    text,
    two_services,
    two_urls,
)
from tests.service.test_split_kills import until
from tests.service.world import World

START = f"{DAY}T00:00:00Z"


def noise(pair: Pair, name: str, number: int = 1) -> int:
    """The draw that a service has added, in steps."""
    return law_of("laplace:40", pair.terms.lattice["step"]).draw(Draws(name).source(number))


def estimate(pair: Pair, *totals: int, plain: int = 0) -> Any:
    """What the published sum must be for these split totals, in the campaign's unit."""
    drawn = noise(pair, "leader") + noise(pair, "helper")
    return pytest.approx((sum(totals) + drawn + plain) * 0.01, abs=1e-9)


def three(pair: Pair, *totals: int) -> list[Device]:
    """Devices that have reported to both services."""
    pair.set(AFTER)
    made = [pair.join() for _ in totals]
    for device, total in zip(made, totals, strict=True):
        device.report(START, total)
    return made


def earned(pair: Pair, device: Device) -> list[int]:
    return pair.leader.amounts("/v1/me/ledger", device.token)


def test_plain_and_split_reports_are_one_sum_with_two_draws(pair: Pair) -> None:
    three(pair, 1234, 0, 4000, 7)
    for _ in range(3):
        assert pair.leader.report(pair.join("T").token, (START, 500, "T"))[0]["status"] == "accepted"
    entry = pair.close()
    assert entry["state"] == "closed"
    assert entry["sum"]["estimate"] == estimate(pair, 1234, 4007, plain=1500)
    assert entry["reports"] == entry["producers"] == 7
    assert entry["settings"] == {"T": {"reports": 3, "producers": 3}, "S": {"reports": 4, "producers": 4}}
    assert entry["split"] == {"counted": 4, "invalid": 0, "missing": 0}
    assert entry["left_out"] == []
    one, wide = (law_of(law, "0.01").variance for law in ("laplace:5", "laplace:40"))
    assert entry["sum"]["standard_error"] == pytest.approx(0.01 * (3 * one + 2 * wide) ** 0.5)
    assert entry["variance"]["left_out"] == ["S"]


@pytest.mark.parametrize(("plain", "left_out"), [(0, ["plain"]), (2, ["plain"]), (3, [])])
def test_a_part_below_the_least_cohort_is_left_out_and_named(pair: Pair, plain: int, left_out: list[str]) -> None:
    three(pair, 10, 20, 30)
    for _ in range(plain):
        pair.leader.report(pair.join("T").token, (START, 500, "T"))
    entry = pair.close()
    assert entry["left_out"] == left_out
    assert entry["reports"] == (3 if left_out else 6)
    assert entry["sum"]["estimate"] == estimate(pair, 60, plain=0 if left_out else 1500)


def test_a_producer_of_a_split_report_moves_the_sum_by_at_most_the_range(pair: Pair) -> None:
    three(pair, 10, 20, 4000, 30)
    assert pair.close()["influence"] == {"1": pytest.approx(40.0), "10": pytest.approx(160.0)}


def test_a_period_of_both_kinds_says_how_far_few_could_have_moved_it(pair: Pair) -> None:
    """Its split noise is in no producer's reach, and its share at the bounds is of the plain reports."""
    three(pair, 10, 20, 30)
    for steps in (0, 500, 4000, 4100):
        assert pair.leader.report(pair.join("T").token, (START, steps, "T"))[0]["status"] == "accepted"
    entry = pair.close()
    reach = 0.01 * (STEPS + law_of("laplace:5", "0.01").furthest(IMPLAUSIBLE))
    assert entry["influence"] == {"1": pytest.approx(reach), "10": pytest.approx(4 * reach + 3 * 40)}
    assert entry["at_bounds"] == {"low": 0.25, "high": 0.5}
    assert entry["trimmed"] is None  # too few to judge


def test_a_sum_of_both_kinds_is_trimmed_beside_its_split_part(pair: Pair) -> None:
    """300 honest plain totals and 5 of four times the usual one: the split part is in both sums."""
    three(pair, 1000, 1000, 1000)
    chance = random.Random(1)
    honest = [1000 + chance.randrange(-100, 100) for _ in range(300)]
    producers = [pair.join("T").token for _ in range(305)]
    for token, steps in zip(producers, [*honest, *[4000] * 5], strict=True):
        pair.leader.report(token, (START, steps, "T"))
    entry = pair.close()
    plain = 0.01 * np.array([*honest, *[4000] * 5])
    alone = trimmed_sum(plain, entry["sum"]["standard_error"], 3)
    assert alone is not None
    split = entry["sum"]["estimate"] - plain.sum()
    for name in ("estimate", "low", "high"):
        assert entry["trimmed"][name] == pytest.approx(alone[name] + split)
    assert abs(split) > 1  # three totals of 10, and two draws


def test_estimates_that_need_a_variance_are_null(pair: Pair) -> None:
    three(pair, 10, 20, 30)
    pair.leader.report(pair.join("T").token, (START, 500, "T"))
    pair.close()
    entry = pair.leader.periods(pair.campaign, pair.consumer, population="10", weighted="true")[DAY]
    assert (entry["variance"], entry["population"], entry["weighted_mean"]) == (None, None, None)


def test_too_few_split_reports_give_no_sum(pair: Pair) -> None:
    three(pair, 10, 20)
    assert pair.close()["withheld"] == "fewer than 3 producers"
    assert pair.ask(f"/periods/{DAY}/sum", {"reports": []}) == {"share": None, "reports": 0}


def test_plain_reports_are_published_without_a_split_part(pair: Pair) -> None:
    pair.set(AFTER)
    for _ in range(3):
        pair.leader.report(pair.join("T").token, (START, 500, "T"))
    entry = pair.close()
    assert (entry["reports"], entry["left_out"], entry["sum"]["estimate"]) == (3, ["split"], 15.0)


def test_reports_that_do_not_count_are_counted_by_reason_and_their_rewards_taken_back(pair: Pair) -> None:
    counted = three(pair, 1, 2, 3)
    bad, alone = pair.join(), pair.join()
    bad.made[START] = forged(pair, 70_000)
    assert bad.to_helper(START, 0)["status"] == bad.to_leader(START, 0)["status"] == "accepted"
    assert alone.to_leader(START, 5) == {"status": "accepted", "reward": 3}
    pair.set(CLOSED)
    pair.close(turns=1)
    assert pair.period()["state"] == "closing"  # the missing share may still come
    pair.set("2026-11-17T02:00:02Z")
    pair.turn()
    entry = pair.period()
    assert entry["split"] == {"counted": 3, "invalid": 1, "missing": 1}
    assert entry["sum"]["estimate"] == estimate(pair, 6)
    assert [earned(pair, each) for each in (*counted, bad, alone)] == [[3], [3], [3], [3, -3], [3, -3]]


def forged(pair: Pair, total: int) -> tuple[str, str, str]:
    """Shares of a total beyond the bounds, with an honest proof of its elements."""
    elements = [total] + [0] * (pair.terms.prio3.circuit.length - 1)
    leader, helper = cheated(pair.terms.prio3, elements, randomness(str(total), 64))
    return f"{total:032x}", text(leader), text(helper)


def test_a_share_that_comes_while_the_period_is_closing_counts(pair: Pair) -> None:
    three(pair, 1, 2)
    late = pair.join()
    assert late.to_leader(START, 9)["status"] == "accepted"
    assert pair.close(turns=2)["state"] == "closing"
    assert late.to_helper(START, 9)["status"] == "accepted"
    pair.turn()
    assert pair.period()["sum"]["estimate"] == estimate(pair, 12)


def test_a_closing_period_takes_no_reports_and_no_withdrawals(pair: Pair) -> None:
    first, *_ = three(pair, 1, 2, 3)
    late = pair.join()
    path = f"/v1/campaigns/{pair.campaign}/periods/{DAY}/close"
    answer = pair.leader.send("POST", path, pair.consumer)
    assert (answer.status_code, answer.json()["state"]) == (202, "closing")
    assert late.to_helper(START, 5)["status"] == "accepted"
    assert late.to_leader(START, 5) == {"status": "refused", "code": "closed"}
    assert pair.leader.ok("DELETE", "/v1/me", first.token)["withdrawn"] == 0
    pair.turn()
    assert pair.leader.send("POST", path, pair.consumer).status_code == 200
    assert pair.period()["sum"]["estimate"] == estimate(pair, 6)


def test_who_leaves_is_withdrawn_at_both(pair: Pair) -> None:
    gone, *_ = three(pair, 1000, 2, 3, 4)
    assert pair.leader.ok("DELETE", "/v1/me", gone.token)["withdrawn"] == 1
    assert pair.helper.ok("DELETE", f"/v1/split/{pair.held}/shares", gone.ticket) == {"withdrawn": 1}
    assert pair.close()["sum"]["estimate"] == estimate(pair, 9)


def test_who_leaves_at_the_leader_alone_is_withdrawn_at_the_helper_by_the_leader(pair: Pair) -> None:
    """As by a page, which has no ticket. While the helper is away, and while a period is closing, that waits."""
    gone, *_ = three(pair, 1000, 2, 3, 4)

    def away(*_: Any) -> Any:
        raise OSError("away")

    pair.reach(away)
    pair.leader.ok("DELETE", "/v1/me", gone.token)
    pair.turn()
    assert held(pair.helper) == 4
    pair.reach(link_to(pair.helper))
    pair.turn()
    assert held(pair.helper) == 3
    assert pair.helper.ok("DELETE", f"/v1/split/{pair.held}/shares", gone.ticket) == {"withdrawn": 0}
    with pair.leader.store.reading() as tx:
        assert tx.leavers([]) == []
    assert pair.close()["sum"]["estimate"] == estimate(pair, 9)


def withdrawn_before_the_sum(pair: Pair, device: Device) -> Any:
    """A transport to the helper; the device withdraws there when the leader asks for the sum."""
    send = link_to(pair.helper)

    def linked(method: str, address: str, headers: Any, body: bytes | None) -> Any:
        if address.endswith("/sum"):
            pair.helper.send("DELETE", f"/v1/split/{pair.held}/shares", device.ticket)
        return send(method, address, headers, body)

    return linked


def test_a_report_withdrawn_at_the_helper_alone_is_dropped_from_the_fixed_set(pair: Pair) -> None:
    """The helper refuses the set, and the leader asks again without that report."""
    gone, *_ = three(pair, 1000, 2, 3, 4)
    pair.reach(withdrawn_before_the_sum(pair, gone))
    entry = pair.close()
    assert entry["split"] == {"counted": 3, "invalid": 0, "missing": 1}
    assert entry["sum"]["estimate"] == estimate(pair, 9)
    assert earned(pair, gone) == [3, -3]


def test_a_helper_that_is_away_for_hours_is_waited_for(pair: Pair) -> None:
    three(pair, 5, 6, 7)

    def away(*_: Any) -> Any:
        raise OSError("away")

    pair.reach(away)
    pair.set(CLOSED)
    assert pair.close(turns=2)["state"] == "closing"
    pair.set("2026-11-19T09:00:00Z")
    assert pair.close(turns=2)["state"] == "closing"
    pair.reach(link_to(pair.helper))
    pair.turn()
    assert pair.period()["sum"]["estimate"] == estimate(pair, 18)


def test_a_helper_that_hangs_delays_its_own_campaign_alone(pair: Pair) -> None:
    other = Pair(pair.leader, pair.helper, pair.consumer, pair.token)
    three(pair, 5, 6, 7)
    three(other, 1, 2, 3)
    send, free = link_to(pair.helper), threading.Event()

    def hangs(method: str, address: str, headers: Any, body: bytes | None) -> Any:
        if pair.held in address:
            assert free.wait(60)
        return send(method, address, headers, body)

    pair.reach(hangs)
    for each in (pair, other):
        each.close(turns=0)
    turn = threading.Thread(target=pair.turn)
    turn.start()
    try:
        until(lambda: other.period()["state"] == "closed", "the other campaign waits")
        assert pair.period()["state"] == "closing"
    finally:
        free.set()
        turn.join(60)
    assert pair.period()["state"] == "closed"


def test_shares_without_a_sum_are_deleted_after_30_days(pair: Pair) -> None:
    owner, *_ = three(pair, 5, 6, 7)

    def away(*_: Any) -> Any:
        raise OSError("away")

    pair.reach(away)
    pair.close(turns=1)
    pair.set("2026-12-16T23:59:59Z")
    pair.turn()
    assert held(pair.leader) == held(pair.helper) == 3
    pair.set("2026-12-18T00:00:00Z")
    pair.turn()
    assert pair.period()["withheld"] == "fewer than 3 producers"
    assert earned(pair, owner) == [3, -3]
    assert held(pair.leader) == 0
    pair.helper_turn()
    assert held(pair.helper) == 0
    assert owner.to_helper(START, 5)["code"] == "closed"


def held(world: World) -> int:
    """The number of shares in a database."""
    with world.store.engine.connect() as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM split_shares").scalar() or 0)


def test_many_shares_are_erased_at_once_and_their_rows_later_in_steps(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the sum the period's secret is gone: the rows that are left open nothing, and count as no shares."""
    monkeypatch.setattr(split_rows, "AT_ONCE", 2)
    devices = three(pair, 1, 2, 3, 4, 5)
    kept = pair.join()
    kept.cut(START, 6)
    stored = {share for _, *shares in (each.made[START] for each in devices) for share in map(b64decode, shares)}
    assert pair.close(turns=1)["sum"]["estimate"] == estimate(pair, 15)
    holding, closed = Holding(split_rows.HELPER, 1), {"status": "refused", "code": "closed"}
    for world in (pair.leader, pair.helper):
        with world.store.engine.connect() as connection:
            rows = connection.exec_driver_sql("SELECT share FROM split_shares").scalars().all()
            assert (len(rows), stored & set(rows)) == (3, set())
            assert connection.exec_driver_sql("SELECT secret FROM split_periods").scalars().all() == [""]
    assert [each.to_helper(START, 0) for each in (devices[-1], kept)] == [closed] * 2
    with pair.helper.store.reading() as tx:
        assert tx.named_shares(holding, read_instant(START), [each.made[START][0] for each in devices]) == {}
        assert list(tx.verdicts(holding, read_instant(START))) == []
    assert pair.helper.ok("DELETE", f"/v1/split/{pair.held}/shares", devices[-1].ticket) == {"withdrawn": 0}
    for left in (1, 0):
        pair.turn()
        pair.helper_turn()
        assert (held(pair.leader), held(pair.helper)) == (left, left)


def test_shares_are_found_by_their_nonces_without_reading_their_period(pair: Pair) -> None:
    """A plain comparison of times lets SQLite read the whole period for each query: hundreds of times slower."""
    s, nonces = split_rows.split_shares.c, [f"{number:032x}" for number in range(512)]
    named = split_rows._named(Holding(1, 1), 5, nonces)
    plain = (s.holder == 1, s.split == 1, s.time == 5, s.nonce.in_(nonces))
    queries = [select(s.share).where(*where).compile(**LITERAL) for where in (named, plain)]
    with pair.leader.store.engine.connect() as connection:
        plans = [str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}").all()) for query in queries]
    assert ["split_shares_by_nonce" in plan for plan in plans] == [True, False]


LITERAL: Any = {"dialect": sqlite.dialect(), "compile_kwargs": {"literal_binds": True}}


def test_shares_are_gone_once_a_period_is_published(pair: Pair) -> None:
    three(pair, 5, 6, 7)
    assert held(pair.leader) == held(pair.helper) == 3
    pair.close()
    assert held(pair.leader) == held(pair.helper) == 0


def test_the_same_report_is_known_and_another_is_a_conflict(pair: Pair) -> None:
    device, *_ = three(pair, 5, 6, 7)
    assert device.to_helper(START, 5) == {"status": "known"}
    assert device.to_leader(START, 5) == {"status": "known", "reward": 3}
    device.made.clear()
    for answer in (device.to_helper(START, 5), device.to_leader(START, 5)):
        assert (answer["status"], answer["code"]) == ("refused", "conflict")
    assert pair.leader.report(device.token, (START, 5, "T"))[0]["code"] == "conflict"


@pytest.mark.parametrize(
    ("time", "code"),
    [
        ("2026-11-16T00:30:00Z", "malformed"),
        ("2026-11-17T00:00:00Z", "future"),
        ("2026-11-14T00:00:00Z", "outside_campaign"),
        ("2026-12-01T00:00:00Z", "outside_campaign"),
        ("yesterday", "malformed"),
    ],
)
def test_both_services_refuse_times_alike(pair: Pair, time: str, code: str) -> None:
    pair.set(AFTER)
    device = pair.join()
    assert device.to_helper(time, 5) == device.to_leader(time, 5) == {"status": "refused", "code": code}


@pytest.mark.parametrize(
    "changed",
    [
        {"share": "AAAA"},
        {"share": "no base64"},
        {"report": "A" * 32},
        {"report": "0"},
        {"setting": "T"},
        {"share": None},
    ],
)
def test_one_malformed_report_spoils_no_other(pair: Pair, changed: dict[str, Any]) -> None:
    pair.set(AFTER)
    one, other = pair.join(), pair.join()
    assert one.to_leader(START, 5, **changed) == {"status": "refused", "code": "malformed"}
    assert one.to_leader(START, 5)["status"] == other.to_leader(START, 5)["status"] == "accepted"
    assert pair.leader.report(one.token, (START, 5, "S"))[0]["code"] == "malformed"


def test_nobody_joins_before_the_helper_has_agreed(tmp_path: Path) -> None:
    with two_services(*two_urls(tmp_path)) as (leader, helper):
        body = SPLIT_CAMPAIGN | {"split": {"helper": HELPER, "token": helper.consumer()}}
        campaign = leader.ok("POST", "/v1/campaigns", leader.consumer(), body)["campaign"]
        path = f"/v1/campaigns/{campaign}/producers"
        for setting in ("S", "T"):
            assert leader.refused(409, "POST", path, None, {"setting": setting})["code"] == "not_ready"
        offer = leader.ok("GET", f"/v1/campaigns/{campaign}")["split"]
        assert offer == {"helper": HELPER, "wait_minutes": 60, "campaign": None, "terms": None, "refused": None}


def test_both_services_show_the_same_terms(pair: Pair) -> None:
    shown = pair.helper.ok("GET", f"/v1/split/{pair.held}")
    assert shown == {"leader": pair.terms.leader, "campaign": pair.campaign, "terms": pair.terms.text()}


def test_a_ticket_comes_with_the_split_setting_alone(pair: Pair) -> None:
    plain = pair.join("T")
    assert plain.ticket == ""
    assert "ticket" not in pair.leader.ok("GET", "/v1/me", plain.token)
    changed = pair.leader.ok("PATCH", "/v1/me", plain.token, {"setting": "S"})["ticket"]
    assert changed == pair.leader.ok("GET", "/v1/me", plain.token)["ticket"]


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"split": None}, "split"),
        ({"split": {"helper": "https://other.example", "token": "t"}}, "split.helper"),
        ({"split": {"helper": "http://helper.example", "token": "t"}}, "split.helper"),
        ({"split": {"helper": HELPER}}, "split.token"),
        ({"split": {"helper": HELPER, "token": "t", "more": 1}}, "split"),
        ({"groups": ["a"]}, "groups"),
        ({"menu": {"settings": [{"id": "S", "setting": "sine:1@split"}]}}, "menu"),
        ({"lattice": {"step": "0.000000001", "low": "0", "high": "40"}}, "lattice"),
    ],
)
def test_campaigns_that_cannot_be_split_are_refused(pair: Pair, changed: dict[str, Any], field: str) -> None:
    body = SPLIT_CAMPAIGN | {"split": {"helper": HELPER, "token": "t"}, "rewards": {}} | changed
    found = pair.leader.refused(422, "POST", "/v1/campaigns", pair.consumer, body)["field"]
    assert found in (field, "")


def test_the_helpers_token_is_never_shown(pair: Pair) -> None:
    for path in (f"/v1/campaigns/{pair.campaign}", "/v1/campaigns"):
        assert pair.token not in pair.leader.send("GET", path).text


@pytest.mark.parametrize("below", [{"least": 4, "epsilon": 10.0}, {"least": 1, "epsilon": 0.5}])
def test_a_helper_refuses_what_is_below_its_floors(tmp_path: Path, below: dict[str, float]) -> None:
    with two_services(*two_urls(tmp_path)) as (leader, helper):
        helper.service.floors = Floors(least_producers=int(below["least"]))
        helper.service.split = SplitOptions(HELPER, (), below["epsilon"])
        made = Pair(leader, helper, leader.consumer(), helper.consumer())
        assert (made.held, made.refused) == (None, "below_floor")


def test_gateways_and_peers_keep_no_split_campaign(pair: Pair) -> None:
    offer = pair.leader.ok("GET", f"/v1/campaigns/{pair.campaign}")
    with pair.helper.store.transaction() as tx, pytest.raises(Refusal) as refused:
        mirror(tx, offer, -1, 0)
    assert (refused.value.status, refused.value.field) == (422, "split")


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_both_services_on_each_kind_of_database(kind: str, request: pytest.FixtureRequest) -> None:
    address = request.getfixturevalue(f"{kind}_address")
    with split_pair(fresh_database(address), fresh_database(address)) as pair:
        device, gone, *_ = three(pair, 5, 1000, 6, 7)
        assert device.to_helper(START, 5)["status"] == device.to_leader(START, 5)["status"] == "known"
        pair.reach(withdrawn_before_the_sum(pair, gone))
        assert pair.close()["sum"]["estimate"] == estimate(pair, 18)
        assert held(pair.leader) == held(pair.helper) == 0


def test_lost_doubled_and_late_messages_change_nothing(pair: Pair) -> None:
    """Messages between the services are lost, doubled and delivered late, and so are those of the devices."""
    chance = random.Random(3)
    faulty = Faulty(link_to(pair.helper), chance)
    pair.reach(faulty)
    for number, key in enumerate(("2026-11-15", DAY, "2026-11-17"), start=1):
        pair.set(f"2026-11-{15 + number}T00:10:00Z")
        totals = [chance.randrange(4001) for _ in range(4)]
        for total in totals:
            device = pair.join()
            for _ in range(2):
                device.report(f"{key}T00:00:00Z", total)
        for _ in range(20):
            if pair.close(key, turns=1)["state"] == "closed":
                break
        else:
            faulty.broken = False
        entry = pair.close(key, turns=1)
        drawn = pair.leader.service.draws.count, pair.helper.service.draws.count  # type: ignore[attr-defined]
        assert drawn == (number, number)
        noise_of = noise(pair, "leader", number) + noise(pair, "helper", number)
        assert entry["sum"]["estimate"] == pytest.approx((sum(totals) + noise_of) * 0.01, abs=1e-9)
    assert faulty.faults > 3


def test_split_reports_are_not_taken_by_mqtt(pair: Pair) -> None:
    pair.set(AFTER)
    device = pair.join()
    nonce, share, _ = device.cut(START, 5)
    body = {"token": device.token, "reports": [{"time": START, "setting": "S", "report": nonce, "share": share}]}
    producer = pair.leader.ok("GET", "/v1/me", device.token)["producer"]

    async def receipt() -> Any:
        intake = Intake(pair.leader.service, pair.leader.app.state.writer, Broker.parse("mqtt://127.0.0.1:1"), "test")
        return await intake._receipt(producer, json.dumps(body).encode(), patient=False)

    assert pair.leader.wait(receipt())["error"]["code"] == "http_only"
    assert held(pair.leader) == 0
