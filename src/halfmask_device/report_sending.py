"""Sending the queued reports of one campaign: each stays in the queue until the service has answered for it."""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from halfmask_device.budget_guard import Spending
from halfmask_device.campaign_calendar import Calendar
from halfmask_device.device_state import State
from halfmask_device.errors import OptionError
from halfmask_device.http_client import ServiceClient, ServiceError
from halfmask_device.instants import MINUTE, Instant
from halfmask_device.masking import Channel
from halfmask_device.membership import Membership
from halfmask_device.privacy_budget import Trust, read_budgets, trust_of
from halfmask_device.protocol import CampaignTerms, ReportResult, read_instant
from halfmask_device.reading_times import day_of

SHARES = 400
"""Split reports per request: their bodies stay below one mebibyte at 32 bits."""

BATCH = 1000
"""Reports per request: well below the protocol's limits of 10,000 reports and one mebibyte."""
CONTESTED = "contested"
"""The outcome of a report that was refused as closed, although its period is open by the device's clock."""
STAY = ("future", CONTESTED)
"""Outcomes of reports that stay queued, because one of two clocks may be wrong."""
Row = tuple[int, str, str, str]
"""A queued report: its number in the queue, time, steps and setting."""


_calendar = lru_cache(maxsize=16)(Calendar)


@dataclass
class Sent:
    """The result of sending the queue.

    ``outcomes``  number of reports by outcome
    ``earned``    rewards by currency
    ``waiting``   number of reports still without a receipt
    ``held``      number of these that wait because the budget is spent
    ``notes``     messages for the user
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    earned: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    held: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class CampaignSender:
    """Sends the queued reports of one campaign, and adds the result to ``sent``.

    ``now``  the device's clock
    """

    state: State
    service: ServiceClient
    member: Membership
    sent: Sent
    now: Instant
    helper: ServiceClient | None = None
    """The helper of a split campaign."""

    def send(self) -> None:
        """Send what is queued. Reports of windows in which the budget is exceeded wait.

        The budget is charged when a reading is masked, so this happens only after the budget was made smaller. If
        nothing but such reports is queued, raise an OptionError.
        """
        now = CampaignTerms.read(self.service.ask("GET", f"/v1/campaigns/{self.member.campaign}"))
        if now.terms_hash() != self.member.pinned:
            raise OptionError(
                f"the terms of campaign {self.member.campaign} are not those that were joined (menu, lattice, period, "
                "least cohort or purpose): nothing is sent; leave it, and join again if the new terms are fine",
                kind="terms",
            )
        posted, held = 0, 0
        for rows in self._waiting():
            free = self._within_budget(rows)
            posted, held = posted + len(free), held + len(rows) - len(free)
            split = [row for row in free if row[3] == self.member.terms.split_id]
            for start in range(0, len(split), SHARES):
                self._post_shares(split[start : start + SHARES])
            if plain := [row for row in free if row not in split]:
                self._post(plain)
        self.sent.held += held
        if held and not posted:
            raise OptionError(
                f"{held} report(s) to campaign {self.member.campaign} wait, because the budget of their days is spent: "
                "a larger `budget` sends them",
                kind="budget",
                field="budget",
            )

    def _deadline(self, time: str) -> Instant:
        """Return when the period of a report closes."""
        terms, grace = self.member.terms, self.member.offer.get("grace_minutes")
        span = _calendar(terms.period, terms.time_zone).span_of(read_instant(time))
        return min(span.ends, terms.ends) + (grace if isinstance(grace, int) else 0) * MINUTE

    def _waiting(self) -> Iterator[list[Row]]:
        after = 0
        while True:
            with self.state.memory() as memory:
                rows = memory.execute(
                    "SELECT number, time, steps, setting FROM queue WHERE campaign = ? AND outcome IS NULL "
                    "AND number > ? ORDER BY number LIMIT ?",
                    (self.member.campaign, after, BATCH),
                ).fetchall()
            if not rows:
                return
            after = rows[-1][0]
            yield rows

    def _within_budget(self, rows: list[Row]) -> list[Row]:
        """Return the reports whose day lies in no window in which the budget is exceeded."""
        terms, budgets = self.member.terms, read_budgets(self.state)
        trusts = {id: trust_of(Channel.of(text, terms.lattice).name) for id, text in terms.menu.items()}
        over: set[tuple[Trust, int]] = set()
        for trust, budget in budgets.items():
            days = {day_of(time[:10]) for _, time, _, setting in rows if trusts[setting] == trust}
            if not days or not budget.kept or budget.then == "warn":
                continue
            with self.state.memory() as memory:
                spending = Spending(memory, budget, trust, days)
            if not budget.holds(spending.worst(dict.fromkeys(days, 0))[0]):
                over |= {(trust, day) for day in days if not budget.holds(spending.worst({day: 0})[0])}
        return [row for row in rows if (trusts[row[3]], day_of(row[1][:10])) not in over] if over else rows

    def _post(self, rows: list[Row]) -> None:
        reports = [{"time": time, "steps": int(steps), "setting": setting} for _, time, steps, setting in rows]
        try:
            answer = self.service.ask("POST", "/v1/reports", self.member.token, {"reports": reports})
        except ServiceError as error:
            if error.status != 413 or len(rows) == 1:
                raise
            half = len(rows) // 2
            self._post(rows[:half])
            self._post(rows[half:])
            return
        self._settle([row[:2] for row in rows], self._results(answer, len(rows), self.service))

    def _post_shares(self, rows: list[Row]) -> None:
        """Send the shares of split totals: first the helper's, then the leader's of those that the helper has.

        Both are stored, so the same bytes are sent again until there is an answer. If the helper refuses one, nothing
        of it goes to the leader.
        """
        marks = ",".join("?" * len(rows))
        with self.state.memory() as memory:
            stored = memory.execute(
                f"SELECT number, time, setting, nonce, leader, helper, at_helper FROM shares JOIN queue USING (number) "
                f"WHERE number IN ({marks}) ORDER BY number",
                [number for number, *_ in rows],
            ).fetchall()
        new = [row for row in stored if not row[6]]
        if new and self.helper is not None:
            shares = [{"time": row[1], "report": row[3].hex(), "share": _text(row[5])} for row in new]
            answer = self.helper.ask("POST", self.member.helper_path, self.member.ticket, {"shares": shares})
            results = self._results(answer, len(new), self.helper)
            taken = [row[0] for row, each in zip(new, results, strict=False) if each.status != "refused"]
            refused = [(row[:2], each) for row, each in zip(new, results, strict=False) if each.status == "refused"]
            with self.state.memory() as memory:
                memory.executemany("UPDATE shares SET at_helper = 1 WHERE number = ?", [(each,) for each in taken])
            self._settle([row for row, _ in refused], [each for _, each in refused])
            stored = [row for row in stored if row[6] or row[0] in taken]
        if stored:
            reports = [
                {"time": row[1], "setting": row[2], "report": row[3].hex(), "share": _text(row[4])} for row in stored
            ]
            answer = self.service.ask("POST", "/v1/reports", self.member.token, {"reports": reports})
            self._settle([row[:2] for row in stored], self._results(answer, len(stored), self.service))
        self.state.wipe()  # shares that were deleted

    def _results(self, answer: object, count: int, service: ServiceClient) -> list[ReportResult]:
        """Return a service's results for ``count`` reports; none if it did not answer for each."""
        told = answer.get("results") if isinstance(answer, dict) else None
        results = [ReportResult.read(each) for each in told] if isinstance(told, list) else []
        if len(results) != count:
            self.sent.notes.append(f"{service.address} answered {len(results)} of {count} reports: they stay queued")
            return []
        return results

    def _settle(self, rows: Sequence[tuple[int, str]], results: Sequence[ReportResult]) -> None:
        """Store the outcomes of reports, given by their number in the queue and time, and delete their shares."""
        done = []
        for (number, time), result in zip(rows, results, strict=False):
            outcome = result.code or "refused" if result.status == "refused" else result.status
            if outcome == "closed" and self.now < self._deadline(time):
                outcome = CONTESTED
            self.sent.outcomes[outcome] += 1
            if outcome not in STAY:
                self.sent.earned[str(self.member.offer.get("currency", ""))] += result.reward or 0
                done.append((outcome, result.reward or 0, number))
        if self.sent.outcomes[CONTESTED]:
            self.sent.notes.append(
                f"{self.service.address} says that periods are closed which are open by this device's clock: their "
                "reports stay queued until then. Is a clock wrong, or did the consumer close them early?"
            )
        with self.state.memory() as memory:
            memory.executemany("UPDATE queue SET outcome = ?, reward = ? WHERE number = ?", done)
            memory.executemany("DELETE FROM shares WHERE number = ?", [(number,) for *_, number in done])


def _text(share: bytes) -> str:
    return b64encode(share).decode()
