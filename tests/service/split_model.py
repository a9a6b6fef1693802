"""The rules of a split sum as two state machines of plain functions, and a network that does its worst to them.

Noise is left out, so each published sum must be exact. A proof is a flag: a report is valid if both services hold
halves of the same cut, and the cut is good. Each function takes a state and a message, and returns the new state and an
answer. A crash before the commit drops the new state, and a crash after it drops the answer.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

PRIME = 2**61 - 1
LEAST, WAIT = 3, 4
MISSING, VALID, INVALID = "missing", "valid", "invalid"


@dataclass(frozen=True)
class Rules:
    """What the services obey; without any of these, sums go wrong or periods stay open.

    ``exact_sets``   the helper adds up exactly the reports that it is asked for
    ``fixed_set``    the leader fixes the set before it asks, and adds up the same one
    ``stored_sum``   the helper stores its only answer, and repeats it
    ``closing``      the leader takes neither reports nor withdrawals once a period is closing
    ``one_set``      the helper gives no sum over another set
    """

    exact_sets: bool = True
    fixed_set: bool = True
    stored_sum: bool = True
    closing: bool = True
    one_set: bool = True


@dataclass(frozen=True)
class Cut:
    """One cut of one total: two halves, and whether its proof is good."""

    owner: int
    nonce: int
    total: int
    mask: int
    good: bool = True

    def half(self, holder: int) -> int:
        return (self.total - self.mask) % PRIME if holder else self.mask


Cuts = Mapping[int, Cut]
"""Cuts by owner."""
Message = tuple[Any, ...]


@dataclass(frozen=True)
class Helper:
    shares: Cuts = field(default_factory=dict)
    verdicts: Mapping[int, str] = field(default_factory=dict)
    sum: tuple[frozenset[int], int | str] | None = None
    given: tuple[frozenset[int], ...] = ()
    """For the check alone: the sets whose sum was ever given."""


@dataclass(frozen=True)
class Leader:
    reports: Cuts = field(default_factory=dict)
    verdicts: Mapping[int, str] = field(default_factory=dict)
    state: str = "open"
    since: int = 0
    waited: bool = False
    fixed: bool = False
    left: frozenset[int] = frozenset()
    published: tuple[frozenset[int], int | None] | None = None


def take(held: Cuts, cut: Cut) -> tuple[Cuts, str]:
    """Store one half of a cut. The first of an owner stands, and so does the first of a nonce."""
    if cut.owner in held:
        return held, "known" if held[cut.owner] == cut else "conflict"
    if any(each.nonce == cut.nonce for each in held.values()):
        return held, "conflict"
    return {**held, cut.owner: cut}, "accepted"


def without(held: Cuts, owner: int) -> Cuts:
    return {key: cut for key, cut in held.items() if key != owner}


def helper_takes(state: Helper, message: Message, rules: Rules) -> tuple[Helper, Any]:
    kind, body = message
    if kind == "share":
        if state.sum is not None:
            return state, "closed"
        held, answer = take(state.shares, body)
        return replace(state, shares=held), answer
    if kind == "withdraw":
        gone = state.shares.get(body)
        verdicts = {nonce: each for nonce, each in state.verdicts.items() if gone is None or nonce != gone.nonce}
        return replace(state, shares=without(state.shares, body), verdicts=verdicts), "gone"
    if kind == "verify":
        held = {cut.nonce: cut for cut in state.shares.values()}
        new = {
            cut.nonce: VALID if cut.good and held[cut.nonce] == cut else INVALID
            for cut in body
            if cut.nonce in held and cut.nonce not in state.verdicts
        }
        verdicts = {**state.verdicts, **new}
        return replace(state, verdicts=verdicts), [verdicts.get(c.nonce, MISSING) for c in body]
    return _helper_sums(state, body, rules)


def _helper_sums(state: Helper, asked: frozenset[int], rules: Rules) -> tuple[Helper, Any]:
    if state.sum is not None and (state.sum[0] == asked or rules.one_set):
        return state, state.sum[1] if state.sum[0] == asked else "other set"
    halves = {c.nonce: c.half(1) for c in state.shares.values() if state.verdicts.get(c.nonce) == VALID}
    wrong = asked - halves.keys()
    if wrong:
        return state, ("not valid", wrong)
    if asked and len(asked) < LEAST:
        return state, "too few"
    chosen = asked if rules.exact_sets else frozenset(halves)
    total: int | str = sum(halves[nonce] for nonce in chosen) % PRIME if asked else "no sum"
    given = (*state.given, asked) if asked else state.given
    if not rules.stored_sum:
        return replace(state, shares={}, verdicts={}, given=given), total
    if not rules.one_set:
        return replace(state, given=given), total
    return Helper(sum=(asked, total), given=given), total


def leader_takes(state: Leader, message: Message, now: int, rules: Rules) -> tuple[Leader, Any]:
    kind, body = message
    taking = state.state == "open" or (state.state == "closing" and not rules.closing)
    if kind == "report":
        if not taking or body.owner in state.left:
            return state, "closed"
        held, answer = take(state.reports, body)
        return replace(state, reports=held), answer
    if kind == "leave":
        held = without(state.reports, body) if taking else state.reports
        return replace(state, reports=held, left=state.left | {body}), "left"
    if kind == "close" and state.state == "open":
        return replace(state, state="closing", since=now), "closing"
    return state, state.state


def counted(state: Leader) -> frozenset[int]:
    """The set to ask for: valid reports, or none if they are fewer than the least cohort."""
    found = frozenset(c.nonce for c in state.reports.values() if state.verdicts.get(c.nonce) == VALID)
    return found if len(found) >= LEAST else frozenset()


def leader_asks(state: Leader, rules: Rules) -> tuple[Leader, Message | None]:
    """The leader's next step with its helper: verify what has no verdict, then fix the set, then ask for its sum."""
    if state.state != "closing":
        return state, None
    undecided = tuple(c for c in state.reports.values() if c.nonce not in state.verdicts)
    if undecided and not state.waited:
        return state, ("verify", undecided)
    if not state.fixed and rules.fixed_set:
        state = replace(state, waited=True, fixed=True)
    return state, ("sum", counted(state))


def leader_learns(state: Leader, message: Message, answer: Any, now: int, rules: Rules) -> Leader:
    """Take in an answer, which may be old: another worker of the same service may have gone on."""
    kind, body = message
    if state.state != "closing":
        return state
    if kind == "verify":
        found = {c.nonce: word for c, word in zip(body, answer, strict=True) if word != MISSING}
        waited = state.waited or now >= state.since + WAIT
        return state if state.fixed else replace(state, verdicts={**found, **state.verdicts}, waited=waited)
    if rules.fixed_set and body != counted(state):
        return state
    if isinstance(answer, tuple):
        return replace(state, verdicts={n: each for n, each in state.verdicts.items() if n not in answer[1]})
    if answer == "other set":
        return replace(state, state="closed", published=(frozenset(), None))
    own = sum(c.half(0) for c in state.reports.values() if c.nonce in counted(state))
    total = (own + answer) % PRIME if answer != "no sum" else None
    return replace(state, state="closed", published=(counted(state), total))


@dataclass
class Producer:
    """A device: it sends to the helper, then to the leader, again and again until both have answered."""

    cut: Cut
    kind: str
    todo: list[tuple[str, Message]]
    done: int = 0
    stored: int = 0


BAD = "bad proof", "one half", "leader first", "two cuts"


def producers(rng: random.Random) -> list[Producer]:
    """Honest ones, those who leave, and four kinds of bad ones."""
    found = []
    for owner in range(rng.randint(5, 10)):
        kind = rng.choice(("honest", "honest", "honest", "honest", "leaver", "leaver", "leaver", *BAD))
        cut = Cut(owner, rng.getrandbits(32), rng.randrange(1000), rng.randrange(PRIME), kind != "bad proof")
        if kind == "two cuts" and found:  # another one's nonce at the helper, another cut at the leader
            cut = replace(cut, nonce=found[0].cut.nonce)
        other = replace(cut, mask=rng.randrange(PRIME)) if kind == "two cuts" else cut
        todo: list[tuple[str, Message]] = [("helper", ("share", cut)), ("leader", ("report", other))]
        todo = {"one half": todo[rng.randrange(2) :][:1], "leader first": todo[::-1]}.get(kind, todo)
        if kind == "leaver":
            todo += [("leader", ("leave", owner)), ("helper", ("withdraw", owner))]
        found.append(Producer(cut, kind, todo))
    return found


class Network:
    """Delivers messages in any order, some twice, late or never, to services that crash before or after a commit."""

    def __init__(self, rng: random.Random, rules: Rules) -> None:
        self.rng, self.rules, self.now, self.calm = rng, rules, 0, False
        self.leader, self.helper = Leader(), Helper()
        self.sent: list[tuple[str, Message]] = []
        self.answers: list[tuple[Message, Any]] = []
        self.away_until = 0
        self.both: set[int] = set()
        """Owners whose halves both services had acknowledged before the period was closing."""

    def deliver(self, to: str, message: Message) -> Any:
        """The answer to a message, None if there is none."""
        self.sent.append((to, message))
        fate = "right" if self.calm else self.rng.choice(("right", "right", "right", "lost", "before", "after"))
        if fate == "lost" or (to == "helper" and self.now < self.away_until):
            return None
        if to == "helper":
            state, answer = helper_takes(self.helper, message, self.rules)
            self.helper = self.helper if fate == "before" else state
        else:
            own, answer = leader_takes(self.leader, message, self.now, self.rules)
            self.leader = self.leader if fate == "before" else own
        return None if fate in ("before", "after") else answer

    def ask(self) -> None:
        """One step of the leader with its helper; old answers may come in between, to another worker of the leader."""
        self.leader, message = leader_asks(self.leader, self.rules)
        if message is None:
            return
        answer = self.deliver("helper", message)
        if answer is not None:
            self.answers.append((message, answer))
            if self.calm or self.rng.random() < 0.2:
                self.leader = leader_learns(self.leader, message, answer, self.now, self.rules)
        while self.answers and not self.calm and self.rng.random() < 0.35:
            self.leader = leader_learns(self.leader, *self.rng.choice(self.answers), self.now, self.rules)

    def run(self) -> list[Producer]:
        rng, people = self.rng, producers(self.rng)
        begin = rng.randint(5, 20)
        for self.now in range(50):
            if rng.random() < 0.1:
                self.away_until = self.now + rng.randint(1, 8)
            for _ in range(rng.randint(0, 2)):
                one = rng.choice(people)
                answer = self.deliver(*one.todo[one.done]) if one.done < len(one.todo) else None
                one.done += answer is not None
                one.stored += answer in ("accepted", "known")
                if one.stored == 2 and self.leader.state == "open":
                    self.both.add(one.cut.owner)
            if self.sent and rng.random() < 0.4:
                self.deliver(*rng.choice(self.sent))
            if self.now >= begin:
                self.deliver("leader", ("close", None))
                self.ask()
        self.calm, self.away_until = True, 0
        for self.now in range(50, 70):
            self.deliver("leader", ("close", None))
            self.ask()
        return people


def violations(seed: int, rules: Rules) -> list[str]:
    """What went wrong in one random schedule."""
    network = Network(random.Random(seed), rules)
    people = network.run()
    leader, found = network.leader, []
    if leader.published is None:
        return ["stays open"]
    names, total = leader.published
    exact = sum(each.cut.total for each in people if each.cut.nonce in names and each.kind != "two cuts") % PRIME
    if total is not None and total != exact:
        found.append("wrong sum")
    if len(set(network.helper.given)) > 1:
        found.append("two sums")
    honest = {each.cut.nonce for each in people if each.kind == "honest" and each.cut.owner in network.both}
    if len(honest) >= LEAST and not honest <= names:
        found.append("not counted")
    return found
