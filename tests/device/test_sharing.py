"""A device against the real service: joined, queued offline, sent until receipts, several campaigns, nothing raw."""

import json
import math
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from halfmask.commands.status import status
from halfmask.errors import FileFormatError, HalfmaskError, OptionError, RunError
from halfmask.service.operator_actions import Operator
from halfmask_device import Budget, Lattice, Producer, read_ledger
from halfmask_device.consent import Consent
from halfmask_device.http_client import UNAUTHENTICATED, Answer, ServiceClient, ServiceError, urllib_transport
from halfmask_device.membership import Membership, levels
from halfmask_device.privacy_budget import write_budgets
from halfmask_device.protocol import CampaignTerms
from halfmask_device.sharing import Sharer
from tests.refusals import refused
from tests.service.world import World, running, sqlite_url

RAW = "7.77123"
TIMES = [f"2026-11-16T{hour:02}:00:00Z" for hour in range(12)]
READINGS = [(time, RAW) for time in TIMES]
FREE = Consent(also=True, budget=math.inf, least_producers=1)
"""Of an owner who consents to everything: what the tests of this file are about lies elsewhere."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with running(sqlite_url(tmp_path)) as world:
        yield world


class Wire:
    """The way to the service: counts, remembers what was sent, and fails as told."""

    def __init__(self, world: World) -> None:
        self.world, self.sent, self.slept = world, list[bytes](), list[float]()
        self.faults: list[Callable[[], Answer | None] | None] = []

    def __call__(self, method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        self.sent.append(body or b"")
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None and (answer := fault()) is not None:
            return answer
        path = address.removeprefix("http://service")
        said = self.world.send(method, path, content=body, headers=dict(headers))
        if fault is not None:
            raise ConnectionResetError("after the service had handled it")
        return said.status_code, dict(said.headers), said.content

    def service(self, address: str) -> ServiceClient:
        return ServiceClient(address, self, tries=4, sleep=self.slept.append)

    def clock(self) -> float:
        return self.world.clock.now / 1e6

    def sharer(self, folder: Path, service: Callable[[str], ServiceClient] | None = None) -> Sharer:
        """A device whose clock is the service's."""
        return Sharer(folder, service or self.service, clock=self.clock)


def lost() -> Answer:
    raise ConnectionRefusedError("before it arrived")


def heard() -> None:
    """The service handles the request, and its answer is lost."""


def busy() -> Answer:
    return 503, {"Retry-After": "7"}, b'{"error": {"code": "busy", "message": "later", "field": null}}'


def joined(
    folder: Path, wire: Wire, setting: str = "A", consent: Consent = FREE, **changed: Any
) -> tuple[Sharer, str, str]:
    consumer = wire.world.consumer()
    campaign = wire.world.campaign(consumer, **({"least_producers": 1} | changed))
    sharer = wire.sharer(folder)
    sharer.join("http://service", campaign, setting, consent=consent)
    return sharer, campaign, consumer


def total(wire: Wire, campaign: str, consumer: str) -> int:
    """The sum that the consumer sees of the day, in steps."""
    wire.world.clock.set("2026-11-17T12:00:00Z")
    period = wire.world.periods(campaign, consumer)["2026-11-16"]
    return round(period["sum"]["estimate"] * 1000)


def queue(sharer: Sharer) -> list[tuple[str, str, str]]:
    with sharer.state.memory() as memory:
        return list(memory.execute("SELECT time, steps, setting FROM queue ORDER BY number"))


def counts(sharer: Sharer, campaign: str) -> dict[str, tuple[int, int]]:
    """What became of the reports of the latest time in a campaign."""
    return next(counts for member, counts in sharer.standings() if member.campaign == campaign)


def test_a_day_reaches_the_aggregate_to_the_step_and_is_paid(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, campaign, consumer = joined(tmp_path / "state", wire)
    assert sharer.put(READINGS).reports == 12
    sent = sharer.send()
    assert (sent.outcomes, sent.earned, sent.waiting) == ({"accepted": 12}, {"EUR/1000": 24}, 0)
    assert counts(sharer, campaign) == {"accepted": (12, 24)}
    assert sharer.send().outcomes == {}
    again = sharer.put(READINGS)
    assert (again.reports, again.known) == (0, 12)
    assert sharer.send().outcomes == {}  # what has its receipt is not sent again
    assert total(wire, campaign, consumer) == sum(int(steps) for _, steps, _ in queue(sharer))


def test_the_ledger_has_the_days_of_the_campaign(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, _, _ = joined(tmp_path / "state", wire, time_zone="America/New_York", begins="2026-11-10T00:00:00Z")
    sharer.put(READINGS)
    Producer("laplace:0.5", Lattice("0.001", "0", "10"), tmp_path / "state").report("2026-11-16T02:00:00Z", 1.0)
    ledger = read_ledger(sharer.state, "1")
    assert {each.window: each.reports for each in ledger.days} == {"2026-11-15": 5, "2026-11-16": 8}
    assert ledger.total.reports == 13


def test_no_reading_is_sent_queued_or_kept(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    fine = {"lattice": {"step": "0.00001", "low": "0", "high": "20"}}
    sharer, _, _ = joined(tmp_path / "state", wire, **fine)
    sharer.put(READINGS)
    sharer.send()
    raw = [RAW.encode(), b"777123"]
    files = [path.read_bytes() for path in (tmp_path / "state").iterdir()]
    assert not any(each in content for content in (*wire.sent, *files) for each in raw)
    assert any(b'"steps"' in body for body in wire.sent)


@pytest.mark.parametrize(
    "faults",
    [
        [lost, lost, lost],
        [busy, busy],
        [lambda: None, lambda: None],  # handled, but the answer was lost
        [lambda: (502, {}, b"<html>"), lambda: (429, {}, b"{}")],
    ],
)
def test_faults_neither_lose_a_report_nor_count_it_twice(
    world: World, tmp_path: Path, faults: list[Callable[[], Answer | None]]
) -> None:
    wire = Wire(world)
    sharer, campaign, consumer = joined(tmp_path / "state", wire)
    sharer.put(READINGS)
    world_send = len(faults)
    wire.faults = [*faults]
    sent = sharer.send()
    wire.faults = [*faults]
    sharer.put([("2026-11-16T11:30:00Z", "3")])
    more = sharer.send()
    assert sent.waiting == more.waiting == 0
    assert sum((sent.outcomes + more.outcomes).values()) == 13
    assert len(wire.slept) >= 2 * world_send - 1
    assert total(wire, campaign, consumer) == sum(int(steps) for _, steps, _ in queue(sharer))


def test_pauses_grow_are_random_and_heed_the_service(world: World) -> None:
    wire = Wire(world)
    service = ServiceClient("http://service", wire, tries=9, pause=1, longest=20, sleep=wire.slept.append)
    wire.faults = [lost] * 7
    service.ask("GET", "/v1/health")
    for pause, most in zip(wire.slept, (1, 2, 4, 8, 16, 20, 20), strict=True):
        assert most / 2 <= pause <= most
    assert len({pause % 0.5 for pause in wire.slept}) > 3
    wire.slept.clear()
    wire.faults = [busy]
    service.ask("GET", "/v1/health")
    assert wire.slept == [7.0]


def test_a_service_that_stays_away_leaves_the_queue_for_later(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, campaign, _ = joined(tmp_path / "state", wire)
    sharer.put(READINGS)
    wire.faults = [lost] * 4
    with refused("run.no_answer"):
        sharer.send()
    assert counts(sharer, campaign) == {"waiting": (12, 0)}
    assert wire.sharer(tmp_path / "state").send().outcomes == {"accepted": 12}


@pytest.mark.parametrize("said", [b"[]", b"{}", b'{"results": null}', b'{"results": []}', b"3"])
def test_an_answer_without_receipts_leaves_the_queue(world: World, tmp_path: Path, said: bytes) -> None:
    wire = Wire(world)
    sharer, *_ = joined(tmp_path / "device", wire)
    sharer.put([("2026-11-16T10:00:00Z", 1.5)])

    def odd(method: str, address: str, *rest: Any) -> Answer:
        return (200, {}, said) if address.endswith("/v1/reports") else wire(method, address, *rest)

    sent = wire.sharer(tmp_path / "device", lambda address: ServiceClient(address, odd)).send()
    assert (sent.waiting, sent.notes) == (1, ["http://service answered 0 of 1 reports: they stay queued"])
    assert sharer.send().outcomes == {"accepted": 1}


def test_a_campaign_that_fails_holds_up_no_other(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, _, consumer = joined(tmp_path / "state", wire)
    sharer.join("http://service", world.campaign(consumer), "A", consent=FREE)
    first, second = (each.campaign for each in sharer.memberships())
    sharer.put(READINGS)
    wire.faults = [lost] * 4
    sent = sharer.send()
    assert (sent.outcomes, sent.waiting) == ({"accepted": 12}, 12)
    assert ["does not answer" in note for note in sent.notes] == [True]
    assert (counts(sharer, first), counts(sharer, second)) == ({"waiting": (12, 0)}, {"accepted": (12, 24)})
    wire.faults = [lost] * 8
    with refused("run.no_answer"):
        sharer.send()


def test_joining_again_keeps_the_token_that_reads_what_was_earned(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, campaign, _ = joined(tmp_path / "state", wire)
    sharer.put(READINGS)
    sharer.send()
    for _ in range(2):
        sharer.leave(campaign)
        sharer.join("http://service", campaign, "A", consent=FREE)
    now, *before = sharer.memberships(left=True)
    assert [each.left for each in (now, *before)] == [False, True, True]
    books = sorted(world.amounts("/v1/me/ledger", each.token) for each in before)
    assert (books[0], sum(books[1]), max(books[1])) == ([], 0, 24)  # leaving took back what was only expected
    newest, *older = status(state=tmp_path / "state").campaigns
    assert (newest.member.left, newest.counts) == (False, {})
    assert sorted(len(each.counts) for each in older) == [0, 1]
    assert {"accepted": (12, 24)} in [each.counts for each in older]


def test_what_was_told_before_joining_again_is_sent_again_as_it_was(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, campaign, consumer = joined(tmp_path / "state", wire)
    sharer.put(READINGS[:6])
    sharer.send()
    told = queue(sharer)
    sharer.leave(campaign)
    sharer.join("http://service", campaign, "B", consent=FREE)
    assert sharer.put(READINGS).reports == 12
    assert sharer.send().outcomes == {"accepted": 12}
    again = queue(sharer)[6:]
    assert again[:6] == told  # no second look at what setting A has told
    assert {setting for _, _, setting in again[6:]} == {"B"}
    assert read_ledger(sharer.state, "1").total.reports == 12
    assert total(wire, campaign, consumer) == sum(int(steps) for _, steps, _ in again)


def test_joining_again_on_consent_leaves_once_it_succeeded(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, campaign, consumer = joined(tmp_path / "state", wire)
    sharer.put(READINGS)
    assert sharer.send().outcomes == {"accepted": 12}
    (before,) = sharer.memberships()
    again = replace(FREE, again=True)
    for handled in (1, 2):  # the join, then leaving, has no answer
        wire.faults = [None] * handled + [lost] * 4
        with refused("run.no_answer"):
            sharer.join("http://service", campaign, "B", consent=again)
        assert (sharer.memberships(), wire.faults) == ([before], [])
    sharer.join("http://service", campaign, "B", consent=again)
    (now,) = sharer.memberships()
    assert (now.setting, now.past) == ("B", ("A",))
    standing = world.ok("GET", f"/v1/campaigns/{campaign}/standing", consumer)
    assert standing["joined"] == 1  # the same join was repeated
    assert sharer.put(READINGS).reports == 12
    assert sharer.send().outcomes == {"accepted": 12}
    assert total(wire, campaign, consumer) == sum(int(steps) for _, steps, _ in queue(sharer)[12:])


def test_joining_again_on_other_terms_needs_the_budget_of_one_membership(world: World, tmp_path: Path) -> None:
    """The stored terms are replaced, so that to the device the service's have changed."""
    wire = Wire(world)
    kept = replace(FREE, budget=None)
    menu = {"settings": [{"id": "A", "setting": "laplace:0.5"}, {"id": "B", "setting": "laplace:0.6"}]}
    sharer, campaign, _ = joined(
        tmp_path / "state", wire, consent=kept, every_minutes=60, menu=menu, rewards={"A": 2, "B": 3}
    )
    before = replace(sharer.member(), pinned="0" * 64)
    with sharer.state.memory() as memory:
        sharer._write(memory, before)
    with refused("option.also"):
        sharer.join("http://service", campaign, "B", consent=replace(kept, also=False, again=True))
    sharer.join("http://service", campaign, "B", consent=replace(kept, again=True))
    assert sharer.member().setting == "B"


def test_an_expelled_device_can_leave_and_join_again(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, campaign, _ = joined(tmp_path / "state", wire)
    Operator(world.store, "tester", clock=world.clock).expel(sharer.member().producer)
    sharer.put(READINGS)
    with pytest.raises(ServiceError) as caught:
        sharer.send()
    assert caught.value.said == UNAUTHENTICATED
    sharer.leave(campaign)
    assert sharer.memberships() == []
    sharer.join("http://service", campaign, "A", consent=FREE)
    assert sharer.put(READINGS).reports == 12
    assert sharer.send().outcomes == {"accepted": 12}


def test_a_campaign_is_joined_once_whatever_the_address(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    _, campaign, _ = joined(tmp_path / "state", wire)
    with refused("option.joined"):
        wire.sharer(tmp_path / "state", lambda _: wire.service("http://service")).join("http://other", campaign, "A")


def test_another_service_never_hears_what_one_was_told_under_the_same_campaign(world: World, tmp_path: Path) -> None:
    """A second service may offer a campaign of the same name: what was told openly to the first stays with it."""
    wire = Wire(world)
    sharer, campaign, _ = joined(tmp_path / "state", wire, "N")
    sharer.put(READINGS)
    other = wire.sharer(tmp_path / "state", lambda _: ServiceClient("http://other", relay(wire)))
    with refused("option.joined"):
        other.join("http://other", campaign, "A", consent=FREE)
    sharer.leave(campaign)
    other.join("http://other", campaign, "A", consent=FREE)
    wire.sent.clear()
    assert other.put(READINGS).reports == 12
    assert other.send().outcomes == {"accepted": 12}
    assert b'"7771"' not in b"".join(wire.sent)
    assert {setting for _, _, setting in queue(other)} == {"A"}


def relay(wire: Wire) -> Callable[..., Answer]:
    """The same service under another address."""
    return lambda method, address, *rest: wire(method, address.replace("//other", "//service"), *rest)


def test_a_time_without_an_offset_must_mean_one_time(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, _, consumer = joined(tmp_path / "state", wire, time_zone="UTC")
    assert sharer.put([("2026-11-16T09:00:00", "5")]).reports == 1
    sharer.join("http://service", world.campaign(consumer, time_zone="America/New_York"), "A", consent=FREE)
    with refused("reading.offset", place="row 1, column time"):
        sharer.put([("2026-11-16T10:00:00", "5")])
    assert sharer.put([("2026-11-16T10:00:00Z", "5")]).reports == 2
    sharer.leave(sharer.memberships()[0].campaign)
    with refused("reading.offset", place="row 1, column time"):  # an earlier campaign may have been told
        sharer.put([("2026-11-16T10:00:00", "5")])


def test_times_that_a_campaign_does_not_take_cost_no_look(world: World, tmp_path: Path) -> None:
    sharer, _, _ = joined(tmp_path / "state", Wire(world), every_minutes=30, time_zone="Asia/Kathmandu")
    times = ["2026-11-16T09:15:00Z", "2026-11-16T09:45:00Z", "2026-11-16T10:00:00Z", "2026-11-16T09:15:01Z"]
    queued = sharer.put([(time, "1") for time in times])
    assert (queued.reports, queued.refused) == (2, {"unaligned": 2})
    assert sharer.send().outcomes == {"accepted": 2}
    assert read_ledger(sharer.state, "1").total.reports == 2


def test_readings_of_forgotten_days_hold_up_no_other(world: World, tmp_path: Path) -> None:
    sharer, _, _ = joined(tmp_path / "state", Wire(world))
    sharer.state.forget_before("2026-11-16")
    queued = sharer.put([("2026-11-15T23:00:00Z", "1"), ("2026-11-16T00:00:00Z", "1")])
    assert (queued.reports, queued.refused) == (1, {"forgotten": 1})


def test_readings_outside_the_range_are_told_of_without_their_value(world: World, tmp_path: Path) -> None:
    sharer, _, _ = joined(tmp_path / "state", Wire(world))
    inside = sharer.put([(TIMES[0], "0"), (TIMES[1], "20.000"), (TIMES[2], ""), (TIMES[3], "3")])
    assert inside.notes == []
    outside = sharer.put([(TIMES[4], "7531.9"), (TIMES[5], "-1e999999999")])
    assert (outside.reports, len(outside.notes)) == (2, 1)
    assert "7531" not in outside.notes[0]


def test_the_terms_are_pinned(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, campaign, _ = joined(tmp_path / "state", wire)
    sharer.put(READINGS)
    offer = world.ok("GET", f"/v1/campaigns/{campaign}")
    for change in ({"purpose": "selling"}, {"least_producers": 2}, {"period": "hour"}):
        other = offer | change
        wire.faults = [lambda other=other: (200, {}, json.dumps(other).encode())]  # type: ignore[misc]
        with refused("option.terms"):
            sharer.send()
    assert counts(sharer, campaign) == {"waiting": (12, 0)}
    wire.faults = [lambda: (200, {}, json.dumps(offer | {"budget": 7}).encode())]
    assert sharer.send().waiting == 0


def test_one_draw_serves_campaigns_that_ask_alike_and_others_compose(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, one, consumer = joined(tmp_path / "state", wire)
    same = world.campaign(consumer, least_producers=1)
    wider = {"settings": [{"id": "A", "setting": "laplace:0.7"}]}
    other = world.campaign(consumer, least_producers=1, menu=wider, rewards={})
    for campaign in (same, other):
        sharer.join("http://service", campaign, "A", consent=FREE)
    sharer.put(READINGS)
    reports: dict[str, list[str]] = {}
    with sharer.state.memory() as memory:
        for campaign, steps in memory.execute("SELECT campaign, steps FROM queue ORDER BY number"):
            reports.setdefault(campaign, []).append(steps)
    assert reports[one] == reports[same]
    assert sum(a == b for a, b in zip(reports[one], reports[other], strict=True)) < 3
    (day,) = read_ledger(sharer.state, "1").days
    assert day.reports == 24  # twelve readings, two independent looks each
    assert day.unit == pytest.approx(12 / 0.5 + 12 / 0.7)
    assert sharer.send().outcomes == {"accepted": 36}


def test_the_budget_spans_campaigns_and_stops(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, _, consumer = joined(tmp_path / "state", wire)
    write_budgets(sharer.state, {"local": Budget(10, "1", "day")})  # laplace:0.5 has epsilon 2 for a change of 1
    assert sharer.put(READINGS).refused == {"budget": 12 - 5}
    other = world.campaign(consumer, menu={"settings": [{"id": "A", "setting": "laplace:0.7"}]}, rewards={})
    with refused("option.budget", "budget"):
        sharer.join("http://service", other, "A", consent=replace(FREE, budget=None))
    sharer.join("http://service", other, "A", consent=FREE)
    write_budgets(sharer.state, {"local": Budget(10, "1", "day")})
    assert sharer.put(READINGS).refused == {"budget": 7 + 12}


def test_revisions_and_what_lies_outside_are_not_masked(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, _, _ = joined(tmp_path / "state", wire)
    sharer.put(READINGS)
    more = sharer.put([(TIMES[0], "1.5"), ("2026-10-01T00:00:00Z", "1"), (TIMES[1], ""), (TIMES[2], RAW)])
    assert more.refused == {"revision": 1, "outside_campaign": 1, "missing": 1}
    assert (more.reports, more.known) == (0, 1)
    ahead = sharer.put([("2026-11-20T00:00:00Z", "1")])
    assert ahead.reports == 1
    assert sharer.send().outcomes == {"accepted": 12, "future": 1}
    world.clock.set("2026-11-20T01:00:00Z")
    assert sharer.send().outcomes == {"accepted": 1}


def test_times_without_an_offset_are_the_campaigns(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    summer = {"begins": "2026-10-01T00:00:00Z"}
    sharer, _, _ = joined(tmp_path / "state", wire, **summer)
    sharer.put([("2026-10-20 12:30", "1"), ("2026-11-16 11:30", "2"), ("1794825000", "3")])
    assert [time for time, _, _ in queue(sharer)] == [
        "2026-10-20T11:30:00Z", "2026-11-16T11:30:00Z", "2026-11-16T10:30:00Z",
    ]  # fmt: skip
    with refused("reading.twice", place="row 1, column time"):
        sharer.put([("2026-10-25 01:30", "1")])
    with refused("reading.time", place="row 1, column time"):
        sharer.put([("noon", "1")])


def test_a_setting_changes_from_here_on(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, campaign, _ = joined(tmp_path / "state", wire)
    sharer.put(READINGS[:6])
    before = queue(sharer)
    sharer.change(campaign, "N")
    sharer.put(READINGS)
    after = queue(sharer)
    assert after[:6] == before
    assert [(steps, setting) for _, steps, setting in after[6:]] == [("7771", "N")] * 6
    assert sharer.send().outcomes == {"accepted": 12}


def test_leaving_withdraws_and_forgets_the_queue(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, campaign, _ = joined(tmp_path / "state", wire)
    sharer.put(READINGS)
    assert sharer.leave(campaign).left
    assert counts(sharer, campaign) == {}
    with refused("option.membership"):
        sharer.put(READINGS)
    with refused("option.membership"):
        sharer.leave(campaign)


def test_joining_says_names_and_rewards_where_the_offer_has_them(world: World, tmp_path: Path) -> None:
    menu = {"settings": [{"id": "A", "setting": "laplace:0.5", "name": "light blur"}, {"id": "N", "setting": "none"}]}
    campaign = world.campaign(world.consumer(), menu=menu, rewards={"A": 250}, currency="EUR/100")
    with refused("option.setting", "setting"):
        Wire(world).sharer(tmp_path / "fresh").join("http://service", campaign, consent=FREE)
    terms = CampaignTerms.read(world.ok("GET", f"/v1/campaigns/{campaign}"))
    assert levels(terms) == {"A": ["light blur", "laplace:0.5", "2.50 EUR a report"], "N": ["none"]}
    hourly = world.campaign(world.consumer(), menu=menu, rewards={"A": 25}, currency="EUR/100", every_minutes=60)
    terms = CampaignTerms.read(world.ok("GET", f"/v1/campaigns/{hourly}"))
    assert levels(terms)["A"][2] == "up to 180.00 EUR a month, 0.25 EUR a report"


def test_a_join_that_fails_leaves_nothing_behind(world: World, tmp_path: Path) -> None:
    wire, consumer = Wire(world), world.consumer()
    campaign = world.campaign(consumer, join="invitation")
    fresh = wire.sharer(tmp_path / "devices" / "fresh")
    for wrong in (("nowhere", "A"), (campaign, "Z"), (campaign, "A")):  # no such campaign, no such setting, uninvited
        with pytest.raises((OptionError, ServiceError)):
            fresh.join("http://service", *wrong, consent=FREE)
        assert fresh.memberships() == []
        assert not (tmp_path / "devices").exists()


@pytest.mark.parametrize("spoilt", ["a file", "another's", "old"])
def test_nobody_is_asked_for_a_token_that_could_not_be_kept(spoilt: str, world: World, tmp_path: Path) -> None:
    wire, folder, campaign = Wire(world), tmp_path / "devices" / "mine", world.campaign(world.consumer())
    folder.parent.mkdir()
    if spoilt == "a file":
        folder.write_text("")
    else:
        folder.mkdir()
        folder.chmod(0o777 if spoilt == "another's" else 0o700)
        (folder / "noise.sqlite").touch()
    with pytest.raises((RunError, FileFormatError)):
        wire.sharer(folder).join("http://service", campaign, "A", consent=FREE)
    assert not any(wire.sent)  # the offer was asked for, and no more
    assert list(folder.parent.iterdir()) == [folder]


def test_joining_needs_a_campaign_and_a_setting_of_its_menu(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, campaign, consumer = joined(tmp_path / "state", wire)
    fresh = wire.sharer(tmp_path / "fresh")
    with refused("option.setting", "setting"):
        fresh.join("http://service", consent=FREE)
    with refused("option.joined"):
        sharer.join("http://service", campaign, "A", consent=FREE)
    second = world.campaign(consumer, join="invitation")
    with refused("option.several", "campaign"):
        fresh.join("http://service", None, "A", consent=FREE)
    with pytest.raises(ServiceError) as told:
        fresh.join("http://service", second, "A", consent=FREE)
    assert told.value.status == 403
    (invitation,) = world.ok("POST", f"/v1/campaigns/{second}/invitations", consumer, {"count": 1})["invitations"]
    assert fresh.join("http://service", second, "A", invitation, FREE).setting == "A"
    for address in ("ftp://service", "service", "http://service:x", "http://[::1", "http://a b", "http://"):
        with refused("option.address"):
            fresh.join(address, consent=FREE)
    wire.faults = [lambda: (200, {}, b"[]")]
    with refused("run.protocol"):
        fresh.join("http://service", consent=FREE)


@pytest.mark.parametrize(
    "said",
    [
        b"no HTTP at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{",
    ],
)
def test_an_answer_that_is_cut_off_is_asked_for_again(said: bytes) -> None:
    answers = [said, b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"status":"ok"}']
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for each in answers:
                peer, _ = listening.accept()
                with peer:
                    peer.recv(65536)
                    peer.sendall(each)

        thread = Thread(target=serve)
        thread.start()
        service = ServiceClient(f"http://127.0.0.1:{listening.getsockname()[1]}", tries=2, sleep=lambda _: None)
        assert service.ask("GET", "/v1/health") == {"status": "ok"}
        thread.join()


def test_tokens_are_not_shown(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, campaign, _ = joined(tmp_path / "state", wire)
    member = sharer.member(campaign)
    assert member.token not in repr(member)


def test_the_default_transport_speaks_http_and_follows_no_redirection() -> None:
    from http.server import BaseHTTPRequestHandler, HTTPServer

    seen: list[tuple[str, str | None, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.path, self.headers["Authorization"], body))
            self.send_response(302 if self.path == "/away" else 201)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        service = ServiceClient(f"http://127.0.0.1:{server.server_port}/", urllib_transport, tries=1)
        assert service.ask("POST", "/v1/x", "token", {"a": 1}) == {}
        with refused("service"):
            service.ask("POST", "/away", "token", {})
    finally:
        server.shutdown()
        server.server_close()
    assert seen == [("/v1/x", "Bearer token", b'{"a":1}'), ("/away", "Bearer token", b"{}")]


def test_a_producer_is_its_campaigns_address_and_a_token(world: World, tmp_path: Path) -> None:
    """``Producer(campaign, token)``: joined elsewhere; what is queued while nobody answers outlives the object."""
    wire = Wire(world)
    consumer = world.consumer()
    campaign = world.campaign(consumer, least_producers=1)
    address, token = f"http://service/v1/campaigns/{campaign}", world.join(campaign, "A")
    producer = Producer(address, token, tmp_path / "device", service=wire.service, clock=wire.clock, consent=FREE)
    assert [producer.report(*reading).reports for reading in READINGS] == [1] * 12
    wire.faults = [lost] * 4
    with refused("run.no_answer"):
        producer.send()
    again = Producer(
        address, token, tmp_path / "device", service=wire.service, clock=wire.clock, consent=FREE
    )  # asks nobody: it knows
    assert again.send().outcomes == {"accepted": 12}
    assert not any(RAW.encode() in body for body in wire.sent)
    assert again.leave().left
    other = world.join(world.campaign(consumer), "A")
    with refused("option.token"):
        Producer(address, other, tmp_path / "other", service=wire.service, clock=wire.clock, consent=FREE)
    with refused("option.address"):
        Producer("http://service", token, tmp_path / "third", service=wire.service, clock=wire.clock, consent=FREE)


def test_a_join_whose_answer_was_lost_is_the_same_join(world: World, tmp_path: Path) -> None:
    """The device sends a key that it stored before, so that a second try gets the token of the first."""
    wire, folder = Wire(world), tmp_path / "state"
    campaign = world.campaign(world.consumer(), least_producers=1)
    dead = replace(wire.service("http://service"), tries=2)  # one answer for the offer, and none for the join

    def join(setting: str = "A") -> Membership:
        sharer = wire.sharer(folder, lambda _: dead)
        return sharer.join("http://service", campaign, setting, consent=FREE)

    wire.faults = [None, heard, heard]
    with refused("run.no_answer"):
        join()
    wire.faults = []
    member = join()
    with world.store.reading() as tx:
        (row,) = tx.held("producers", None, "", 10)
    assert row["producer"] == member.producer
    assert not (folder / "joining").exists()


def test_a_join_that_was_refused_leaves_nothing(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    campaign = world.campaign(world.consumer(), least_producers=1, join="invitation")
    with pytest.raises(ServiceError) as error:
        wire.sharer(tmp_path / "state").join("http://service", campaign, "A", consent=FREE)
    assert error.value.said == "invitation_needed"
    assert not (tmp_path / "state").exists()


def test_a_device_goes_on_with_the_token_that_an_operator_made(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, campaign, _ = joined(tmp_path / "state", wire)
    sharer.put(READINGS)
    sharer.send()
    before = sharer.member(campaign)
    made = Operator(world.store, "tester", clock=world.clock).readmit(before.producer)
    sharer.adopt("http://service", None, made["token"], FREE)
    after = sharer.member(campaign)
    assert (after.producer, after.token) == (before.producer, made["token"])
    sharer.put([("2026-11-16T12:00:00Z", RAW), *READINGS])
    assert sharer.send().outcomes == {"accepted": 1}


def test_a_report_refused_by_a_clock_that_is_ahead_is_kept_and_sent_again(world: World, tmp_path: Path) -> None:
    wire, told = Wire(world), world.clock.now / 1e6
    sharer, campaign, consumer = joined(tmp_path / "state", wire)
    sharer = Sharer(tmp_path / "state", wire.service, clock=lambda: told)
    sharer.put(READINGS)
    world.clock.set("2026-11-19T00:00:00Z")
    sent = sharer.send()
    assert (sent.outcomes, sent.waiting) == ({"contested": 12}, 12)
    assert len(sent.notes) == 1
    world.clock.set("2026-11-16T12:00:00Z")
    assert sharer.send().outcomes == {"accepted": 12}
    sharer.put([("2026-11-16T12:00:00Z", RAW)])
    assert total(wire, campaign, consumer) == sum(int(steps) for _, steps, _ in queue(sharer)[:12])
    told = world.clock.now / 1e6
    assert sharer.send().outcomes == {"closed": 1}  # by both clocks: it is final


@pytest.mark.parametrize(
    "content", [b"[]", b"3", b'"text"', b"[" * 100_000, b"\xff", b'{"campaign": 3}', b'{"menu": []}']
)
def test_an_answer_that_is_not_of_the_protocol_is_a_named_error(content: bytes, tmp_path: Path) -> None:
    wire = ServiceClient("http://service", lambda *_: (200, {}, content), tries=1)
    with pytest.raises(HalfmaskError):
        Sharer(tmp_path / "state", lambda _: wire).join("http://service", "c", "A", consent=FREE)
    assert not (tmp_path / "state").exists()
