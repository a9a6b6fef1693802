"""A client that openapi-python-client makes from the service's own description: it is typed, and it works."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.process import init, served
from tests.service.world import sqlite_url

UNKNOWN = "application/vnd.apache.parquet"
"""The media type that the generator does not know."""
PROGRAM = """
import sys
from datetime import UTC, datetime, timedelta
from typing import TypeVar, assert_type

from made import AuthenticatedClient, Client
from made.api.default import (
    add_campaign, add_consumer, close_period, join, ledger, list_periods, my_ledger, send_reports, show_campaign,
    show_me,
)
from made.models import (
    Booking, Campaign, CampaignPeriod, ErrorDetails, Interval, Join, Lattice, LedgerEntry, Menu, NewConsumer,
    Offer, Period, PeriodState, Receipt, ReceiptStatus, Refusal, Report, Rewards, SentReports, Setting,
)
from made.types import UNSET, Unset

T = TypeVar("T")
PRODUCERS, HOUR = 3, timedelta(hours=1)


def done(answer: T | Refusal | None) -> T:
    if answer is None or isinstance(answer, Refusal):
        raise SystemExit(str(answer))
    return answer


def main(address: str, operator: str) -> None:
    def known(token: str) -> AuthenticatedClient:
        return AuthenticatedClient(base_url=address, token=token)

    anyone = Client(base_url=address)
    utility = done(add_consumer.sync(client=known(operator), body=NewConsumer(name="utility")))
    consumer = known(utility.token)
    begins = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - 3 * HOUR
    rewards = Rewards()
    rewards["A"] = 2
    wanted = Campaign(
        name="street", purpose="size the transformer", unit="kWh", lattice=Lattice(step="0.001", low="0", high="20"),
        begins=begins, ends=begins + 24 * HOUR, menu=Menu(settings=[Setting(id="A", setting="laplace:0.5")]),
        period=CampaignPeriod.HOUR, grace_minutes=1440, rewards=rewards, budget=1000, most_per_period=9,
        least_producers=PRODUCERS,
    )
    public = done(add_campaign.sync(client=consumer, body=wanted, idempotency_key="1")).campaign
    assert done(add_campaign.sync(client=consumer, body=wanted, idempotency_key="1")).campaign == public
    offer = assert_type(done(show_campaign.sync(public, client=anyone)), Offer)
    assert offer.begins == begins and offer.rewards["A"] == 2 and offer.every_minutes is None

    for number in range(PRODUCERS):
        producer = known(done(join.sync(public, client=anyone, body=Join(setting="A"))).token)
        times = (begins, begins + HOUR, begins - HOUR)
        sent = [Report(time=time, steps=number, setting="A") for time in times]
        answer = done(send_reports.sync(client=producer, body=SentReports(reports=sent)))
        results = assert_type(answer.results, list[Receipt])
        assert [(each.status, each.code, each.reward) for each in results] == [
            (ReceiptStatus.ACCEPTED, UNSET, 2), (ReceiptStatus.ACCEPTED, UNSET, 2),
            (ReceiptStatus.REFUSED, "outside_campaign", UNSET),
        ]
        booked = assert_type(done(my_ledger.sync(client=producer)).entries, list[Booking])
        assert [(each.amount, each.booked > begins) for each in booked] == [(2, True), (2, True)]
        assert done(show_me.sync(client=producer)).expected == 4

    periods = assert_type(done(list_periods.sync(public, client=consumer)).periods, list[Period])
    assert [(each.state, each.sum_) for each in periods][:3] == [(PeriodState.OPEN, None)] * 3
    page = done(list_periods.sync(public, client=consumer, limit=1, from_=periods[1].period))
    assert [each.period for each in page.periods] == [periods[1].period] and page.next_ == periods[2].period
    refused = list_periods.sync(public, client=known("x"))
    assert isinstance(refused, Refusal) and assert_type(refused.error, ErrorDetails).code == "unauthenticated"

    for period in periods[:2]:
        closed = assert_type(done(close_period.sync(public, period.period, client=consumer)), Period)
        total = assert_type(closed.sum_, Interval | None)
        assert (closed.state, closed.producers, closed.withheld) == (PeriodState.CLOSED, PRODUCERS, None)
        assert total is not None and total.low < total.estimate == 0.003 < total.high
    found: list[LedgerEntry] = []
    after: str | Unset = UNSET
    for _ in range(2 * PRODUCERS):
        entries = done(ledger.sync(public, client=consumer, limit=2, after=after))
        found += entries.entries
        if not isinstance(entries.next_, str):
            break
        after = entries.next_
    assert [each.amount for each in found] == [2] * 2 * PRODUCERS
    assert len({each.entry for each in found}) == 2 * PRODUCERS


main(*sys.argv[1:])
"""


def run(*words: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_generated_client_is_typed_and_shares_a_street(tmp_path: Path) -> None:
    url, program = sqlite_url(tmp_path), tmp_path / "street.py"
    operator = init(url)
    with served(url, tmp_path / "log") as service:
        (tmp_path / "api.json").write_text(json.dumps(service.ok("GET", "/openapi.json")))
        config = {"content_type_overrides": {UNKNOWN: "application/octet-stream"}, "post_hooks": []}
        (tmp_path / "config.json").write_text(json.dumps(config))
        options = ("--path", "api.json", "--output-path", "made", "--config", "config.json", "--meta", "none")
        run("-m", "openapi_python_client", "generate", *options, "--fail-on-warning", folder=tmp_path)
        program.write_text(PROGRAM)
        run("-m", "mypy", "--strict", "street.py", folder=tmp_path)
        run("street.py", f"http://{service.host}:{service.port}", operator, folder=tmp_path)
        program.write_text(PROGRAM.replace("[2] * 2 * PRODUCERS", "[3] * 2 * PRODUCERS"))
        with pytest.raises(AssertionError, match="AssertionError"):
            run("street.py", f"http://{service.host}:{service.port}", operator, folder=tmp_path)
