"""What a dishonest leader, a dishonest helper and bad producers try: none learns more than one draw permits."""

import base64
import json
import os
from collections.abc import Mapping
from typing import Any

import pytest

from halfmask.service.serve import initialise
from halfmask.service.split.batch_verification import BatchVerifier
from halfmask.service.split.share_intake import SharePost, take_shares
from halfmask.service.split.split_campaign import SplitCampaign, ValidShares
from halfmask.service.split.tickets import Ticket, issue_ticket, sign_ticket
from halfmask.service.storage.split_rows import LedSplit
from halfmask.service.storage.sql_store import Transaction
from halfmask_device.campaign_calendar import Span
from halfmask_device.errors import ShareError
from halfmask_device.instants import DAY as ONE_DAY
from halfmask_device.prio3 import Prio3, SumCircuit
from halfmask_device.prio3.field64 import MODULUS, decoded, drawn, subtracted
from halfmask_device.prio3.linear_proof import query_length
from halfmask_device.prio3.prio3 import QUERY_RANDOMNESS
from halfmask_device.prio3.turboshake import expanded
from halfmask_device.setting import law_of
from tests.device.prio3_vectors import cheated, damaged
from tests.service.split_pair import (
    AFTER,
    DAY,
    HELPER,
    SPLIT_CAMPAIGN,
    Device,
    Draws,
    Pair,
    link_to,
    split_request,
    text,
)
from tests.service.test_split_sums import START, estimate, held, three

NOON = f"{DAY}T12:00:00Z"
Halves = Mapping[str, bytes]
"""The leader's shares by nonce."""


def led(pair: Pair) -> LedSplit:
    """All that the leader knows of its campaign, keys included."""
    with pair.leader.store.reading() as tx:
        rows = [tx.led(campaign.key) for campaign in tx.campaigns()]
    assert rows[0] is not None
    return rows[0]


def halves(*devices: Device) -> Halves:
    made = [device.made[START] for device in devices]
    return {nonce: base64.b64decode(share) for nonce, share, _ in made}


def invent(pair: Pair, count: int, total: int = 0) -> list[Device]:
    """Producers of the leader's own making: it has the ticket key."""
    key, expires = bytes.fromhex(led(pair).ticket_key), pair.helper.clock() + ONE_DAY
    tickets = [issue_ticket(Ticket(pair.held, os.urandom(16).hex(), expires), key) for _ in range(count)]
    devices = [Device(pair, "", each) for each in tickets]
    assert [each.to_helper(START, total)["status"] for each in devices] == ["accepted"] * count
    return devices


def one_more(pair: Pair) -> dict[str, Any]:
    """What the helper says to the share of one more invented producer."""
    key, expires = bytes.fromhex(led(pair).ticket_key), pair.helper.clock() + ONE_DAY
    return Device(pair, "", issue_ticket(Ticket(pair.held, "0" * 32, expires), key)).to_helper(START, 1)


def prepared(pair: Pair, shares: Halves, key: bytes | None = None) -> Any:
    verifier = BatchVerifier(pair.terms.maximum, pair.terms.context, key or bytes.fromhex(led(pair).verify_key))
    return verifier.leader([bytes.fromhex(each) for each in shares], list(shares.values()))


def verify(pair: Pair, shares: Halves, key: bytes | None = None) -> list[str]:
    """What the helper says to the leader's verifiers of these shares."""
    verifiers = prepared(pair, shares, key).verifier_bytes()
    body = [{"report": nonce, "verifier": text(each)} for nonce, each in zip(shares, verifiers, strict=True)]
    return list(pair.ask(f"/periods/{DAY}/verify", {"reports": body})["results"])


def sum_of(pair: Pair, shares: Halves, status: int = 200) -> dict[str, Any]:
    return pair.ask(f"/periods/{DAY}/sum", {"reports": list(shares)}, status)


def code_of(answer: Mapping[str, Any]) -> str:
    return str(answer["error"]["code"])


def test_among_invented_producers_a_victim_is_hidden_by_the_helpers_draw(pair: Pair) -> None:
    """The leader knows all other totals: it is left with the victim's total plus one draw of the law."""
    (victim,) = three(pair, 1700)
    shares = halves(victim, *invent(pair, 2, total=50))
    assert verify(pair, shares) == ["valid"] * 3
    given = int.from_bytes(base64.b64decode(sum_of(pair, shares)["share"]), "little")
    known = (given + sum(map(int, prepared(pair, shares).numbers)) - 100) % MODULUS
    drawn = law_of("laplace:40", "0.01").draw(Draws("helper").source(1))
    assert known == (1700 + drawn) % MODULUS
    assert drawn != 0


@pytest.mark.parametrize("size", [1, 2])
def test_a_set_below_the_least_cohort_has_no_sum(pair: Pair, size: int) -> None:
    pair.set(AFTER)
    shares = halves(*invent(pair, 3))
    verify(pair, shares)
    some = dict(list(shares.items())[:size])
    assert code_of(sum_of(pair, some, 409)) == "too_few"
    assert held(pair.helper) == 3


def test_one_sum_per_period_and_no_differences(pair: Pair) -> None:
    """Subsets, supersets and the empty set are refused after the sum; the same set gets the same bytes."""
    pair.set(AFTER)
    shares = halves(*invent(pair, 5))
    verify(pair, shares)
    four = dict(list(shares.items())[:4])
    first = sum_of(pair, four)
    assert first["reports"] == 4
    for other in (shares, dict(list(shares.items())[1:]), dict(list(four.items())[:3]), {}):
        assert code_of(sum_of(pair, other, 409)) == "other_set"
    assert sum_of(pair, dict(reversed(four.items()))) == first
    assert held(pair.helper) == 0


def test_after_an_empty_set_there_is_no_sum(pair: Pair) -> None:
    pair.set(AFTER)
    shares = halves(*invent(pair, 3))
    verify(pair, shares)
    assert sum_of(pair, {}) == {"share": None, "reports": 0}
    assert code_of(sum_of(pair, shares, 409)) == "other_set"


def test_there_is_no_sum_before_the_period_has_ended(pair: Pair) -> None:
    """Shares are refused as well, also with the clock set back after they came."""
    pair.set(AFTER)
    shares = halves(*invent(pair, 3))
    verify(pair, shares)
    pair.set(NOON)
    assert code_of(sum_of(pair, shares, 409)) == "not_ended"
    assert one_more(pair) == {"status": "refused", "code": "future"}
    assert held(pair.helper) == 3


def test_a_helper_whose_clock_was_just_set_gives_no_sum(pair: Pair) -> None:
    pair.set(AFTER)
    shares = halves(*invent(pair, 3))
    verify(pair, shares)
    pair.helper.service.unsettled = lambda: 60.0  # type: ignore[method-assign]
    assert code_of(sum_of(pair, shares, 503)) == "unsettled"


def test_a_share_withdrawn_while_a_sum_is_prepared_is_in_no_sum(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The helper reads and adds before the transaction that gives the sum. What changed since is noticed there."""
    pair.set(AFTER)
    shares = halves(*invent(pair, 4))
    verify(pair, shares)
    read, gone = SplitCampaign.valid_shares, list[str]()

    def read_then_withdraw(split: SplitCampaign, tx: Transaction, span: Span) -> ValidShares:
        found = read(split, tx, span)
        if not gone:
            gone.append(next(iter(found.numbers)))
            with pair.helper.store.transaction() as other:
                other.drop_shares(split.holding, span.begins, gone)
        return found

    monkeypatch.setattr(SplitCampaign, "valid_shares", read_then_withdraw)
    refused = sum_of(pair, shares, 409)
    assert (code_of(refused), refused["reports"]) == ("not_valid", gone)
    assert sum_of(pair, {nonce: half for nonce, half in shares.items() if nonce not in gone})["reports"] == 3


@pytest.mark.parametrize("nonces", [["0" * 32] * 2, ["0" * 31], ["A" * 32], [5], "0", None])
def test_sets_with_repeated_or_malformed_nonces_are_refused(pair: Pair, nonces: Any) -> None:
    pair.set(AFTER)
    assert code_of(pair.ask(f"/periods/{DAY}/sum", {"reports": nonces}, 400)) == "nonce"


def test_unknown_unverified_and_invalid_reports_are_named_and_nothing_changes(pair: Pair) -> None:
    pair.set(AFTER)
    valid, unverified, invalid = halves(*invent(pair, 3)), halves(*invent(pair, 1)), halves(*invent(pair, 1))
    verify(pair, valid)
    (nonce,) = invalid
    assert verify(pair, {nonce: bytes(len(invalid[nonce]))}) == ["invalid"]
    unknown = {"f" * 32: b""}
    answer = sum_of(pair, {**valid, **unverified, **invalid, **unknown}, 409)
    assert code_of(answer) == "not_valid"
    assert set(answer["reports"]) == {*unverified, *invalid, *unknown}
    assert sum_of(pair, valid)["reports"] == 3


def test_a_set_may_be_larger_than_other_bodies(pair: Pair) -> None:
    pair.set(AFTER)
    nonces = [f"{number:032x}" for number in range(40_000)]
    assert len(sum_of(pair, dict.fromkeys(nonces, b""), 409)["reports"]) == len(nonces)
    body = {"reports": [{"report": nonce, "verifier": ""} for nonce in nonces]}
    assert code_of(pair.ask(f"/periods/{DAY}/verify", body, 413)) == "too_large"


def test_the_first_verifier_of_a_report_decides_for_good(pair: Pair) -> None:
    """No trying of other verifiers: neither a wrong one first, nor a right one after it."""
    pair.set(AFTER)
    shares = halves(*invent(pair, 2))
    one, other = shares
    assert verify(pair, {one: shares[one], other: bytes(len(shares[other]))}) == ["valid", "invalid"]
    assert verify(pair, {one: bytes(len(shares[one])), other: shares[other]}) == ["valid", "invalid"]


def test_a_verdict_outlives_a_withdrawal(pair: Pair) -> None:
    """The leader can withdraw for any producer, whose device may send the same shares again: no second verifier."""
    pair.set(AFTER)
    device, *others = invent(pair, 4)
    shares, withdraw = halves(device), f"/v1/split/{pair.held}/shares"
    nonce = device.made[START][0]
    assert verify(pair, {nonce: bytes(len(shares[nonce]))}) == ["invalid"]
    assert pair.helper.ok("DELETE", withdraw, device.ticket) == {"withdrawn": 1}
    assert pair.helper.ok("DELETE", withdraw, device.ticket) == {"withdrawn": 0}
    assert device.to_helper(START, 0) == {"status": "refused", "code": "conflict"}
    assert verify(pair, shares) == ["invalid"]
    (first, *_), rest = others, halves(*others)
    assert verify(pair, rest) == ["valid"] * 3
    assert pair.helper.ok("DELETE", withdraw, first.ticket) == {"withdrawn": 1}
    with pair.helper.store.engine.connect() as connection:
        seeds = connection.exec_driver_sql("SELECT share FROM split_shares WHERE verdict = 2").scalars().all()
    assert seeds == [b"", b""]
    assert sum_of(pair, rest, 409)["reports"] == [first.made[START][0]]


def test_a_share_that_was_not_verified_may_come_again_after_a_withdrawal(pair: Pair) -> None:
    pair.set(AFTER)
    (device,) = invent(pair, 1)
    assert pair.helper.ok("DELETE", f"/v1/split/{pair.held}/shares", device.ticket) == {"withdrawn": 1}
    assert held(pair.helper) == 0
    assert device.to_helper(START, 0) == {"status": "accepted"}
    assert verify(pair, halves(device)) == ["valid"]


def test_shares_posted_at_once_with_a_withdrawal_meet_its_verdicts(pair: Pair) -> None:
    """One transaction decides on both requests; a verdict stands between them, as it does between transactions."""
    pair.set(AFTER)
    device, other = invent(pair, 2)
    verify(pair, halves(device))
    sent = []
    for each in (device, other):
        nonce, _, share = each.made[START]
        raw = json.dumps({"shares": [{"time": START, "report": nonce, "share": share}]}).encode()
        sent += [SharePost(each.ticket, pair.held, pair.helper.clock(), body) for body in (None, raw)]
    with pair.helper.store.transaction() as tx:
        answers = take_shares(tx, sent, lambda *_: None)
    conflict = [{"status": "refused", "code": "conflict"}]
    assert answers == [{"withdrawn": 1}, conflict, {"withdrawn": 1}, [{"status": "accepted"}]]


def test_what_is_missing_is_not_decided_and_other_periods_are_missing(pair: Pair) -> None:
    pair.set(AFTER)
    device = pair.join()
    device.cut(START, 5)
    assert verify(pair, halves(device)) == ["missing"]
    device.to_helper(START, 5)
    body = {"reports": [{"report": device.made[START][0], "verifier": text(bytes(24))}]}
    assert pair.ask("/periods/2026-11-15/verify", body)["results"] == ["missing"]
    assert verify(pair, halves(device)) == ["valid"]


def test_keys_and_terms_of_a_campaign_never_change(pair: Pair) -> None:
    """A second key for the same reports is refused, from the same leader and from any other."""
    row, other = led(pair), text(os.urandom(32))
    sent = {
        "leader": pair.terms.leader,
        "campaign": pair.campaign,
        "terms": row.terms,
        "verify_key": text(bytes.fromhex(row.verify_key)),
        "ticket_key": text(bytes.fromhex(row.ticket_key)),
    }
    assert pair.helper.ok("POST", "/v1/split", pair.token, sent) == {"campaign": pair.held}
    for changed in (sent | {"ticket_key": other}, second_key(pair)):
        assert pair.helper.refused(409, "POST", "/v1/split", pair.token, changed)["code"] == "conflict"
    assert pair.helper.refused(422, "POST", "/v1/split", pair.token, sent | {"verify_key": other})
    assert pair.helper.refused(409, "POST", "/v1/split", pair.helper.consumer(), sent)["code"] == "conflict"


def second_key(pair: Pair) -> dict[str, Any]:
    """The same campaign with another verify key, and terms that state its hash."""
    return split_request(pair.campaign, leader=pair.terms.leader, helper=pair.terms.helper)


@pytest.mark.parametrize("trial", range(6))
def test_two_verifiers_of_one_report_under_two_keys_give_its_total_away(trial: int) -> None:
    """Why keys never change: a helper's verifiers under many keys are equations in its share, which the leader solves.

    With enough keys any linear function of the share follows; that is the whole total.
    """
    maximum, context = 1, b"context"
    prio3, total = Prio3(SumCircuit(maximum), context), trial % 2
    leader, helper = prio3.shard(total, os.urandom(64))
    nonce, keys = os.urandom(16), [os.urandom(32) for _ in range(2)]
    mine = [decoded(prio3.verifier(key, 0, nonce, leader)[1], 3) for key in keys]
    theirs = [decoded(prio3.verifier(key, 1, nonce, helper)[1], 3) for key in keys]
    wires = [(a[1] + b[1]) % MODULUS for a, b in zip(mine, theirs, strict=True)]
    points = [points_of(prio3, key, nonce) for key in keys]
    # the wire polynomial w(x) = (seed + total) / 2 + x (seed - total) / 2 has the values w(1) = seed, w(-1) = total
    slope = (wires[0] - wires[1]) * pow(points[0] - points[1], -1, MODULUS) % MODULUS
    assert (wires[0] - slope * (points[0] + 1)) % MODULUS == total
    with pytest.raises(ShareError):
        prio3.check(
            [prio3.verifier(key, holder, nonce, [leader, helper][holder])[1] for holder, key in enumerate(keys)]
        )


def points_of(prio3: Prio3, key: bytes, nonce: bytes) -> int:
    """The point at which a key asks for the polynomials: its last random element."""
    stream = expanded(key, prio3.domain(QUERY_RANDOMNESS), b"\x01" + nonce)
    return drawn(stream, query_length(prio3.circuit))[-1]


def test_a_leader_reaches_no_other_leaders_campaign(pair: Pair) -> None:
    pair.set(AFTER)
    other = pair.helper.consumer()
    for path, body in (("verify", {"reports": []}), ("sum", {"reports": []})):
        error = pair.helper.refused(403, "POST", f"/v1/split/{pair.held}/periods/{DAY}/{path}", other, body)
        assert error["code"] == "forbidden"
    assert sum_of(pair, {}) == {"share": None, "reports": 0}


def test_a_restored_helper_gives_no_sum_of_periods_that_had_ended(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The backup does not know of a sum that was given after it was made: another set would be a second sum."""
    pair.set(AFTER)
    shares = halves(*invent(pair, 4))
    verify(pair, shares)
    url = pair.helper.store.engine.url.render_as_string(hide_password=False)
    with monkeypatch.context() as patch:
        patch.setattr("halfmask.service.serve.system_clock", pair.helper.clock)
        assert initialise(url, restored=True) is None
    assert code_of(sum_of(pair, shares, 409)) == "restored"
    assert one_more(pair) == {"status": "refused", "code": "closed"}


@pytest.mark.parametrize(
    "change", ["signature", "spelling", "campaign", "expired", "no ticket", "token", "pseudonym", "deep"]
)
def test_shares_need_a_valid_ticket(pair: Pair, change: str) -> None:
    pair.set(AFTER)
    right, row = pair.join(), led(pair)
    key, later = bytes.fromhex(row.ticket_key), pair.helper.clock() + ONE_DAY
    tickets = {
        "signature": right.ticket[:-2] + ("AA" if right.ticket[-2:] != "AA" else "BA"),
        "spelling": right.ticket + "=",  # the rate limit is by ticket: one must not count as several
        "deep": sign_ticket(b"[" * 370, key),
        "campaign": issue_ticket(Ticket("other", "0" * 32, later), key),
        "expired": issue_ticket(Ticket(pair.held, "0" * 32, pair.helper.clock()), key),
        "no ticket": None,
        "token": right.token,
        "pseudonym": issue_ticket(Ticket(pair.held, "nobody", later), key),
    }
    path = f"/v1/split/{pair.held}/shares"
    for method, body in (("POST", {"shares": []}), ("DELETE", None)):
        assert pair.helper.refused(401, method, path, tickets[change], body)["code"] == "unauthenticated"


@pytest.mark.parametrize(
    "changed",
    [
        {"leader": HELPER + "/"},
        {"begins": "yesterday"},
        {"begins": "2026-11-15T00:00:00+00:00"},
        {"terms": "[" * 100_000},
    ],
)
def test_a_helper_takes_terms_in_their_exact_form_alone(pair: Pair, changed: dict[str, Any]) -> None:
    sent = split_request(**{name: each for name, each in changed.items() if name != "terms"})
    answer = pair.helper.refused(422, "POST", "/v1/split", pair.token, sent | changed)
    assert answer["field"] in ("terms", "leader")


# a dishonest helper


def shifted(pair: Pair, answer: Any) -> Any:
    """A transport to a helper that answers a request for a sum in its own way."""
    send = link_to(pair.helper)

    def dishonest(method: str, address: str, headers: Any, body: bytes | None) -> Any:
        status, said, content = send(method, address, headers, body)
        if address.endswith("/sum") and status == 200:
            return 200, said, json.dumps(answer(json.loads(content))).encode()
        return status, said, content

    return dishonest


def test_a_helper_can_shift_a_sum_unseen_but_its_answers_hold_no_totals(pair: Pair) -> None:
    """The limit that the protocol states; what the leader sends it is nonces and verifiers alone."""
    three(pair, 5, 6, 7)

    def more(plain: Any) -> Any:
        number = (int.from_bytes(base64.b64decode(plain["share"]), "little") + 100_000) % MODULUS
        return plain | {"share": text(number.to_bytes(8, "little"))}

    pair.reach(shifted(pair, more))
    assert pair.close()["sum"]["estimate"] == estimate(pair, 18, 100_000)


@pytest.mark.parametrize(
    "answer",
    [
        {"reports": 3},
        {"share": None, "reports": 3},
        {"share": "AAAA", "reports": 3},
        {"share": text(MODULUS.to_bytes(8, "little")), "reports": 3},
        {"share": text(bytes(8)), "reports": 2},
        [],
    ],
)
def test_answers_that_are_no_sums_are_not_published(pair: Pair, answer: Any) -> None:
    three(pair, 5, 6, 7)
    pair.reach(shifted(pair, lambda _: answer))
    assert pair.close()["state"] == "closing"
    pair.reach(shifted(pair, lambda plain: plain))
    pair.turn()
    assert pair.period()["sum"]["estimate"] == estimate(pair, 18)


@pytest.mark.parametrize("answer", [b"[]", b"{}", b'{"campaign": 5}', b'{"campaign": "../x"}'])
def test_a_helper_that_answers_nonsense_keeps_no_old_share(pair: Pair, answer: bytes) -> None:
    """A second campaign's helper agrees to nothing: shares without a sum are deleted all the same."""
    three(pair, 5, 6, 7)
    pair.reach(lambda *_: (201, {}, answer))
    offer = SPLIT_CAMPAIGN | {"split": {"helper": HELPER, "token": pair.token}}
    public = pair.leader.ok("POST", "/v1/campaigns", pair.consumer, offer)["campaign"]
    pair.turn()
    assert pair.leader.ok("GET", f"/v1/campaigns/{public}")["split"]["campaign"] is None
    pair.set("2026-12-18T00:00:00Z")
    pair.close(turns=1)
    assert held(pair.leader) == 0


def test_a_helpers_refusal_is_shown_as_a_code_alone(pair: Pair) -> None:
    error = json.dumps({"error": {"code": "\x1b[2J\x00", "message": "no"}}).encode()
    pair.reach(lambda *_: (422, {}, error))
    offer = SPLIT_CAMPAIGN | {"split": {"helper": HELPER, "token": pair.token}}
    public = pair.leader.ok("POST", "/v1/campaigns", pair.consumer, offer)["campaign"]
    pair.turn()
    assert pair.leader.ok("GET", f"/v1/campaigns/{public}")["split"]["refused"] == "422"


def test_the_helper_holds_seeds_that_are_independent_of_the_totals(pair: Pair) -> None:
    """Its half is drawn before the total is looked at, so it is the same for every total."""
    prio3, random = pair.terms.prio3, os.urandom(64)
    shares = [prio3.shard(total, random) for total in (0, 1234, 4000)]
    assert len({helper for _, helper in shares}) == 1
    numbers = [decoded(leader, len(leader) // 8)[: prio3.circuit.length] for leader, _ in shares]
    assert subtracted(numbers[2], numbers[0]) == [1] * prio3.circuit.length


# bad producers


def test_a_producer_changes_the_sum_by_at_most_the_whole_range(pair: Pair) -> None:
    """Out of range, negative, damaged and of another context: all invalid, and no other report suffers."""
    three(pair, 1, 2, 3)
    prio3, width = pair.terms.prio3, pair.terms.prio3.circuit.length
    leader, helper = prio3.shard(7, os.urandom(64))
    made = [
        cheated(prio3, [2] + [0] * (width - 1), os.urandom(64)),
        cheated(prio3, [MODULUS - 1] + [0] * (width - 1), os.urandom(64)),
        cheated(prio3, [0] * (width - 1) + [10**6], os.urandom(64)),
        [damaged(leader, 0), helper],
        Prio3(prio3.circuit, b"another context").shard(7, os.urandom(64)),
    ]
    for shares in made:
        bad = pair.join()
        bad.made[START] = os.urandom(16).hex(), *map(text, shares)
        bad.report(START, 0)
    highest = pair.join()
    highest.report(START, 4000)
    entry = pair.close()
    assert entry["split"] == {"counted": 4, "invalid": 5, "missing": 0}
    assert entry["sum"]["estimate"] == estimate(pair, 4006)


def test_another_ones_nonce_is_a_conflict_at_both(pair: Pair) -> None:
    first, *_ = three(pair, 1, 2, 3)
    thief = pair.join()
    _, leader, helper = thief.cut(START, 4)
    thief.made[START] = first.made[START][0], leader, helper
    refused = {"status": "refused", "code": "conflict"}
    assert thief.to_helper(START, 4) == thief.to_leader(START, 4) == refused
    assert pair.close()["sum"]["estimate"] == estimate(pair, 6)


def test_one_producer_has_one_report_per_period(pair: Pair) -> None:
    three(pair, 1, 2)
    twice = pair.join()
    twice.report(START, 3)
    twice.made.clear()
    refused = {"status": "refused", "code": "conflict"}
    assert twice.to_helper(START, 9) == twice.to_leader(START, 9) == refused
    assert pair.close()["sum"]["estimate"] == estimate(pair, 6)
