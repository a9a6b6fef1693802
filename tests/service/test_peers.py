"""Peers come to the same exact total on every node, whatever happens to their messages."""

import math
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from halfmask.service import peers
from halfmask.service.campaign_periods import others, own_cells
from halfmask.service.cells import merge
from halfmask.service.peers import Part, Peers, Window, join_peers, learn, portions
from halfmask.service.report_decisions import Post
from halfmask.service.request import digest
from halfmask_device.http_client import ServiceClient as Peer
from halfmask_device.http_client import Transport
from tests.refusals import refused
from tests.service.fleet import wait_until
from tests.service.links import Faulty, link
from tests.service.test_gateway import services, shared
from tests.service.world import World, instant

SECRET = "s" * 43
DAY = "2026-11-16"
AFTER = "2026-11-17T01:00:11Z"
"""After the deadline, and after what was asked before it is written."""


def secret_of(one: int, two: int) -> str:
    """The secret of two nodes."""
    return f"{min(one, two)}-{max(one, two)}".rjust(43, "s")


class Net:
    """Nodes, who speaks to whom, and which links are cut."""

    def __init__(self, worlds: list[World], pairs: list[tuple[int, int]], rng: random.Random | None = None) -> None:
        self.worlds, self.cut = worlds, set[tuple[int, int]]()
        self.faulty: list[Faulty] = []
        self.nodes: list[Peers] = []
        for place, world in enumerate(worlds):
            peers = dict[Peer, str]()
            for other in sorted({b for a, b in pairs if a == place} | {a for a, b in pairs if b == place}):
                transport = self._link(place, other)
                if rng is not None:
                    self.faulty.append(transport := Faulty(transport, rng))
                peers[Peer(f"http://node{other}", transport, tries=1)] = secret_of(place, other)
            join_peers(world.service, list(peers.values()))
            self.nodes.append(Peers(world.service, world.app.state.writer, peers))

    def _link(self, one: int, two: int) -> Transport:
        through = link(self.worlds[two])

        def send(*sent: Any) -> Any:
            if (one, two) in self.cut or (two, one) in self.cut:
                raise OSError("cut")
            return through(*sent)

        return send

    def round(self) -> None:
        """Every node speaks to each of its peers once."""
        for world, node in zip(self.worlds, self.nodes, strict=True):
            world.wait(node.round())

    def heal(self) -> None:
        self.cut.clear()
        for each in self.faulty:
            each.broken = False

    def totals(self, campaign: str) -> list[int]:
        """The day's sum in steps, as each node knows it."""
        found = []
        for world in self.worlds:
            with world.store.reading() as tx:
                mine = world.service.campaign(tx, campaign)
                assert mine is not None
                span = mine.span(DAY)
                assert span is not None
                cells = merge([*own_cells(tx, mine, [span]), others(tx, mine, [span]).get(span.key, {})])
            found.append(sum(cell.sum for cell in cells.values()))
        return found

    def consumers(self, campaign: str) -> list[str]:
        """A consumer at each node to whom the campaign is given."""
        tokens = []
        for world in self.worlds[1:]:
            made = world.ok("POST", "/v1/consumers", world.operator, {"name": "utility"})
            world.ok("POST", f"/v1/campaigns/{campaign}/consumers", world.operator, {"consumer": made["consumer"]})
            tokens.append(made["token"])
        return tokens


LINE = [(0, 1), (1, 2), (2, 3), (3, 4)]
FULL = [(one, two) for one in range(5) for two in range(one)]
THREE = [(0, 1), (0, 2), (1, 2)]
NAMES = ("a", "b", "c", "d", "e")


@contextmanager
def started(folder: Path, pairs: list[tuple[int, int]], **more: Any) -> Iterator[tuple[Net, str, str]]:
    """Nodes that know a campaign of the first one: as many as the pairs name."""
    with services(folder, *NAMES[: 1 + max(max(pair) for pair in pairs)]) as worlds:
        net = Net(worlds, pairs)
        consumer = worlds[0].consumer()
        campaign = worlds[0].campaign(consumer)
        for _ in range(4 if pairs is LINE else 1):
            net.round()
        yield (Net(worlds, pairs, **more) if more else net), campaign, consumer


def test_five_nodes_in_a_line_agree_after_four_rounds_and_close_alike(tmp_path: Path) -> None:
    with started(tmp_path, LINE) as (net, campaign, consumer):
        total = sum(shared(world, campaign, 2, 100 * place) for place, world in enumerate(net.worlds))
        for _ in range(4):  # the longest way between two nodes has four links
            net.round()
        assert net.totals(campaign) == [total] * 5
        tokens = [consumer, *net.consumers(campaign)]
        for world in net.worlds:
            world.clock.set(AFTER)
        assert net.worlds[0].periods(campaign, consumer)[DAY]["state"] == "open"  # not all have said their last
        net.worlds[0].refused(409, "POST", f"/v1/campaigns/{campaign}/periods/{DAY}/close", consumer)
        for _ in range(6):
            net.round()
        seen = [w.periods(campaign, token)[DAY] for w, token in zip(net.worlds, tokens, strict=True)]
        assert seen == [seen[0]] * 5
        assert (seen[0]["state"], seen[0]["producers"], seen[0]["reports"]) == ("closed", 10, 120)
        assert round(seen[0]["sum"]["estimate"] * 1000) == total


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_faults_and_a_cut_change_no_total(tmp_path: Path, seed: int) -> None:
    with started(tmp_path, FULL, rng=random.Random(seed)) as (net, campaign, _):
        total = 0
        rng = random.Random(seed)
        for turn in range(4):
            net.cut = {(one, two) for one in (0, 1) for two in (2, 3, 4)} if turn in (1, 2) else set()
            for world in net.worlds:
                if rng.random() < 0.5:
                    total += shared(world, campaign, 1, rng.randrange(1000))
            net.round()
        assert sum(each.faults for each in net.faulty) > 20
        net.heal()
        net.round()  # all speak to all: one round is enough
        assert net.totals(campaign) == [total] * 5


def test_a_node_that_is_cut_off_closes_with_the_others_once_it_hears_them(tmp_path: Path) -> None:
    with started(tmp_path, THREE) as (net, campaign, consumer):
        total = sum(shared(world, campaign, 1, 100 * place) for place, world in enumerate(net.worlds))
        net.round()
        tokens = [consumer, *net.consumers(campaign)]
        net.cut = {(0, 2), (1, 2)}
        total += shared(net.worlds[2], campaign, 1, 5000)
        for world in net.worlds:
            world.clock.set(AFTER)
        for _ in range(4):
            net.round()
        states = [w.periods(campaign, token)[DAY]["state"] for w, token in zip(net.worlds, tokens, strict=True)]
        assert states == ["open"] * 3  # nobody closes without what the third took
        net.heal()
        for _ in range(3):
            net.round()
        seen = [w.periods(campaign, token)[DAY] for w, token in zip(net.worlds, tokens, strict=True)]
        assert seen == [seen[0]] * 3
        assert (seen[0]["state"], round(seen[0]["sum"]["estimate"] * 1000)) == ("closed", total)


def test_what_comes_after_a_nodes_last_word_is_not_taken(tmp_path: Path) -> None:
    """Asked before the deadline and written long after: the others have its last cells, so the total stays theirs."""
    with services(tmp_path, "a", "b") as worlds:
        net = Net(worlds, [(0, 1)])
        first = worlds[0]
        consumer = first.consumer()
        campaign = first.campaign(consumer, least_producers=1)
        net.round()
        token, leaving = first.join(campaign), first.join(campaign)
        for each, steps in ((token, 5), (leaving, 7)):
            assert first.report(each, (f"{DAY}T10:00:00Z", steps, "N"))[0]["status"] == "accepted"
        early = instant("2026-11-17T00:59:59Z")
        for world in worlds:
            world.clock.set("2026-11-17T01:00:30Z")
        for _ in range(2):
            net.round()
        late = Post(digest(token), early, [instant(f"{DAY}T11:00:00Z")], [1000], ["N"])
        with first.store.transaction() as tx:
            assert first.service.accept(tx, [late]) == [[{"status": "refused", "code": "closed"}]]
        after, first.clock.now = first.clock.now, early
        assert first.ok("DELETE", "/v1/me", leaving)["withdrawn"] == 0
        first.clock.now = after
        assert net.totals(campaign) == [12, 12]
        assert first.periods(campaign, consumer)[DAY]["sum"]["estimate"] == 0.012


def test_a_node_that_is_gone_for_good_is_dropped_by_the_operator(tmp_path: Path) -> None:
    with started(tmp_path, THREE) as (net, campaign, consumer):
        total = sum(shared(world, campaign, 1, 100 * place) for place, world in enumerate(net.worlds))
        net.round()
        lost = net.worlds[2].service.node
        net.cut = {(0, 2), (1, 2)}
        for world in net.worlds:
            world.clock.set(AFTER)
        for _ in range(2):
            net.round()
        path = f"/v1/campaigns/{campaign}/peers/"
        net.worlds[1].refused(404, "DELETE", path + "0" * 16, net.worlds[1].operator)
        assert net.worlds[1].ok("DELETE", path + lost, net.worlds[1].operator) == {"periods": ["2026-11-15", DAY]}
        for _ in range(3):
            net.round()
        period = net.worlds[0].periods(campaign, consumer)[DAY]
        assert (period["state"], round(period["sum"]["estimate"] * 1000)) == ("closed", total)


def test_a_peer_that_hangs_delays_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked once and then left alone until its answer comes; the others hear of everything meanwhile."""
    monkeypatch.setattr(peers, "PATIENCE", 0.05)
    with services(tmp_path, "a", "b") as worlds:
        net = Net(worlds, [(0, 1)])
        consumer = worlds[0].consumer()
        campaign = worlds[0].campaign(consumer)
        net.round()
        total = shared(worlds[0], campaign, 3, 100)
        answers, asked = threading.Event(), []

        def hangs(*request: Any) -> Any:
            asked.append(request)
            answers.wait(60)
            raise OSError("gone")

        others = {
            Peer("http://hangs", hangs, tries=1): SECRET,
            Peer("http://b", link(worlds[1]), tries=1): secret_of(0, 1),
        }
        node = Peers(worlds[0].service, worlds[0].app.state.writer, others)
        try:
            wait_until(lambda: worlds[0].wait(node.round()) == 1 and net.totals(campaign)[1] == total, "b did not hear")
            for _ in range(5):
                worlds[0].wait(node.round())
            assert len(asked) == 1
        finally:
            answers.set()
        wait_until(lambda: worlds[0].wait(node.round()) >= 0 and len(asked) > 1, "it was not asked again")


def test_a_peer_that_fails_slowly_is_left_alone_for_longer_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "SLOW", 0.0)
    with services(tmp_path, "a") as (world,):
        asked = []

        def fails(*request: Any) -> Any:
            asked.append(request)
            raise OSError("gone")

        node = Peers(world.service, world.app.state.writer, {Peer("http://gone", fails, tries=1): SECRET})
        (turn,) = node._turns.values()
        for number in (1, 2, 3):
            turn.pause, began = 0.0, time.monotonic()
            wait_until(lambda number=number: world.wait(node.round()) == 0 and turn.slow >= number, "no failure noted")
            assert turn.pause > began
            turn.pause = math.inf
            before = len(asked)
            assert world.wait(node.round()) == 0
            assert len(asked) == before


def test_moving_to_another_home_counts_nothing_twice_and_loses_nothing(tmp_path: Path) -> None:
    with started(tmp_path, THREE) as (net, campaign, _):
        first, second = net.worlds[0], net.worlds[2]
        total = sum(shared(world, campaign, 1, 100 * place) for place, world in enumerate(net.worlds))
        reports = [(f"2026-11-16T{hour:02}:30:00Z", 7000 + hour, "N") for hour in range(12)]
        old = first.join(campaign, "N")
        first.report(old, *reports[:9])
        net.round()
        second.refused(401, "POST", "/v1/reports", old, {"reports": []})  # valid at its home alone
        first.ok("DELETE", "/v1/me", old)
        first.refused(403, "POST", "/v1/reports", old, {"reports": []})
        new = second.join(campaign, "N")
        assert {each["status"] for each in second.report(new, *reports)} == {"accepted"}
        net.round()
        assert net.totals(campaign) == [total + sum(steps for _, steps, _ in reports)] * 3


def test_what_peers_say_is_checked(tmp_path: Path) -> None:
    with services(tmp_path, "a") as (world,):
        consumer = world.consumer()
        join_peers(world.service, [SECRET])
        campaign = world.campaign(consumer)
        path = f"/v1/campaigns/{campaign}/exchange"
        node, cell = "0" * 16, {"reports": 1, "producers": 1, "sum": 5, "squares": 25}

        def sent(**changed: Any) -> dict[str, Any]:
            entry = {"version": 1, "final": False, "cells": {"N": cell}} | changed
            return {"open": [], "cells": {node: {DAY: entry}}}

        world.ok("POST", path, SECRET, sent())
        for wrong in (
            *(sent(version=-1), sent(version=True), sent(final=1), sent(cells={"N": cell | {"sum": 6}})),
            *(sent(cells={"X": cell}), {"open": [], "cells": {"x": {}}}, {"open": [], "cells": {node: {"day": {}}}}),
            *(sent() | {"after": "day"}, sent() | {"to": 5}),
            *({"cells": {}}, {"open": [1], "cells": {}}, {"open": [], "cells": []}),
        ):
            world.refused(422, "POST", path, SECRET, wrong)
        world.refused(404, "POST", "/v1/campaigns/none/exchange", SECRET, sent())
        mine = world.service.node
        world.ok("POST", path, SECRET, {"open": [], "cells": {mine: sent(version=99)["cells"][node]}})
        with world.store.reading() as tx:  # what is said of this node is not believed
            row = tx.campaign(campaign)
            assert row is not None
            assert [each.node for each in tx.known(row.key, [DAY])] == [node]


def test_a_refused_exchange_leaves_no_campaign_behind(tmp_path: Path) -> None:
    with services(tmp_path, "a", "b") as (here, there):
        for world in (here, there):
            join_peers(world.service, [SECRET])
        offer = there.ok("GET", f"/v1/campaigns/{there.campaign(there.consumer())}")
        path = f"/v1/campaigns/{offer['campaign']}/exchange"
        here.refused(422, "POST", path, SECRET, {"offer": offer, "open": [], "cells": {"x": {}}})
        own = here.campaign(here.consumer())
        here.ok("POST", path, SECRET, {"offer": offer, "open": [], "cells": {"0" * 16: {DAY: ENTRY}}})
        with here.store.reading() as tx:
            first, second = tx.campaign(own), tx.campaign(offer["campaign"])
            assert first is not None
            assert second is not None
            assert [len(tx.known(row.key, [DAY])) for row in (first, second)] == [0, 1]


ENTRY = {"version": 1, "final": False, "cells": {"N": {"reports": 1, "producers": 1, "sum": 5, "squares": 25}}}


def test_the_order_of_what_is_heard_does_not_matter(tmp_path: Path) -> None:
    entries: list[dict[str, Any]] = [
        {f"{node:016}": {DAY: {"version": version, "final": False, "cells": {}}}}
        for node in (1, 2)
        for version in (1, 5, 9)
    ]
    with services(tmp_path, "a") as (world,):
        campaign = world.campaign(world.consumer())
        seen = set()
        for seed in range(6):
            order = [*entries, *entries]
            random.Random(seed).shuffle(order)
            with world.store.transaction() as tx, tx.connection.begin_nested():
                mine = world.service.campaign(tx, campaign)
                assert mine is not None
                for each in order:
                    learn(tx, mine, "own", each)
                seen.add(tuple((row.node, row.version) for row in tx.known(mine.key, [DAY])))
        assert seen == {(("0000000000000001", 9), ("0000000000000002", 9))}


def test_a_backlog_of_empty_periods_closes_at_once_with_all_that_was_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "MOST_TOLD", 200)  # so that answers come in several parts, too
    with services(tmp_path, "a", "b") as worlds:
        net, alone = Net(worlds, [(0, 1)]), 0
        consumer = worlds[0].consumer()
        campaign = worlds[0].campaign(consumer, period="hour", least_producers=1, ends="2027-12-01T00:00:00Z")
        net.round()
        totals = {}
        for world, hour, steps in zip(worlds, ("11", "12"), (5000, 7000), strict=True):
            token = world.join(campaign, "N")
            assert world.report(token, (f"{DAY}T{hour}:00:00Z", steps, "N"))[0]["status"] == "accepted"
            totals[f"{DAY}T{hour}Z"] = steps / 1000
        tokens = [consumer, *net.consumers(campaign)]

        def counted(_: Any, __: Any, statement: str, *___: Any) -> None:
            nonlocal alone
            alone += statement.startswith("DELETE FROM looks")  # once per transaction that publishes

        for world in worlds:
            event.listen(world.store.engine, "before_cursor_execute", counted)
            world.clock.set("2026-12-10T00:00:11Z")
        for _ in range(3):
            net.round()
        seen = [world.periods(campaign, token) for world, token in zip(worlds, tokens, strict=True)]
        alike = [{key: each | {"at_bounds": None} for key, each in one.items()} for one in seen]
        assert alike[0] == alike[1]
        at_bounds = [{key for key, each in one.items() if each["at_bounds"]} for one in seen]
        assert at_bounds == [{key} for key in totals]  # it needs all reports, and a node has its own
        closed = [key for key, period in seen[0].items() if period["state"] == "closed"]
        assert len(closed) > 590
        assert len(seen[0]) - len(closed) <= 2  # the last hour's grace is not over
        assert 2 <= alone <= len(closed) / 10  # at two nodes
        assert {key: each["sum"]["estimate"] for key, each in seen[0].items() if each["sum"]} == totals


def test_messages_leave_no_period_out_and_an_answer_can_be_asked_on_for() -> None:
    keys = [f"2026-01-{day:02}" for day in range(1, 31)]
    entry = {"version": 1, "final": False, "cells": {number: {} for number in range(500)}}
    known = [(key, dict.fromkeys("ab" if key >= keys[10] else "", entry)) for key in keys]
    said = list(portions(known, 2000))
    assert len(said) > 8
    assert [key for part, _, _ in said for key in part] == keys
    assert sum(len(own) for _, cells, _ in said for own in cells.values()) == 40
    assert (
        max(sum(len(each["cells"]) for own in cells.values() for each in own.values()) for _, cells, _ in said) <= 2000
    )
    assert [last for _, _, last in said] == [*(part[-1] for part, _, _ in said[:-1]), None]
    assert list(portions([], 2000)) == [([], {}, None)]
    asked = Part(keys[:3], {"a": {}}, Window(None, keys[4]))
    assert asked.rest(None) is asked.rest(keys[4]) is None
    assert asked.rest(keys[1]) == Part(keys[2:3], {}, Window(keys[1], keys[4]))
    with pytest.raises(ValueError, match="outside"):
        Part([], {}, Window(keys[1], None)).rest(keys[1])  # an answer that gets nowhere would be asked for ever


def test_a_secret_is_long_and_old_ones_are_not_taken_again(tmp_path: Path) -> None:
    with services(tmp_path, "a") as (world,):
        with refused("option.short"):
            join_peers(world.service, ["short"])
        join_peers(world.service, [SECRET])
        name = world.service.node
        join_peers(world.service, ["t" * 43])
        assert world.service.node == name
        with refused("option.used"):
            join_peers(world.service, [SECRET])


def test_each_peer_has_its_own_secret_and_one_alone_is_shut_out(tmp_path: Path) -> None:
    first, second = "a" * 43, "b" * 43
    with services(tmp_path, "a") as (world,):
        with refused("option.same"):
            join_peers(world.service, [first, first])
        join_peers(world.service, [first, second])
        path = f"/v1/campaigns/{world.campaign(world.consumer())}/exchange"
        for secret in (first, second):
            world.ok("POST", path, secret, {"open": [], "cells": {}})
        join_peers(world.service, [second])
        world.refused(401, "POST", path, first, {"open": [], "cells": {}})
        world.ok("POST", path, second, {"open": [], "cells": {}})
