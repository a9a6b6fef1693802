"""A sensor is shared with a service that runs as a program: from the form to the sum that the consumer sees."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from homeassistant.config_entries import SOURCE_USER, ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers import issue_registry as ir
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done

from custom_components.halfmask import device
from custom_components.halfmask.const import DOMAIN
from custom_components.halfmask.device import find_offers
from custom_components.halfmask.diagnostics import async_get_config_entry_diagnostics
from halfmask_device.http_client import urllib_transport

from .conftest import MENU, METER, Service, record

RAW = 0.7317
YESTERDAY = dt_util.utcnow().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
NOON = YESTERDAY + timedelta(hours=12)
DAY = [RAW] * 24


async def form(hass: HomeAssistant, service: Service, campaign: str, sensor: str = METER) -> Any:
    """The form of levels, reached with a campaign's link."""
    flow = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    assert flow["step_id"] == "user"
    link = {"address": f"{service.address}/v1/campaigns/{campaign}"}
    flow = await hass.config_entries.flow.async_configure(flow["flow_id"], link)
    assert flow["step_id"] == "sensor", flow
    return await hass.config_entries.flow.async_configure(flow["flow_id"], {"sensor": sensor})


async def shared(hass: HomeAssistant, service: Service, campaign: str, level: str = "A") -> Any:
    """An entry that was made yesterday at noon, and has sent what was due since."""
    flow = await form(hass, service, campaign)
    assert flow["step_id"] == "level", flow
    given = {"level": level, "small_cohort": True}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("custom_components.halfmask.config_flow.dt_util", SimpleNamespace(utcnow=lambda: NOON))
        made = await hass.config_entries.flow.async_configure(
            flow["flow_id"], {"level": level, "small_cohort": True, **given}
        )
    assert made["type"] is FlowResultType.CREATE_ENTRY, made
    await hass.async_block_till_done(wait_background_tasks=True)
    return made["result"]


def state(hass: HomeAssistant, key: str) -> Any:
    return hass.states.get(f"sensor.street_{key}")


def devices(hass: HomeAssistant) -> Path:
    """The folder of all devices: that of the meter's device has the meter's id."""
    return Path(hass.config.config_dir) / ".storage" / DOMAIN


@contextmanager
def nothing_sent() -> Iterator[None]:
    """What is due is not even masked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device.SensorDevice, "share", lambda self, *a: self.standing(a[0], a[2]))
        yield


@contextmanager
def changed(folder: Path) -> Iterator[dict[str, Any]]:
    """What a device stored of its membership, to be changed."""
    with sqlite3.connect(folder / "memory.sqlite") as memory:
        (plain,) = memory.execute("SELECT plain FROM campaigns").fetchone()
        member = json.loads(plain)
        yield member
        memory.execute("UPDATE campaigns SET plain = ?", (json.dumps(member),))
    memory.close()


async def fixing(hass: HomeAssistant, hass_client: Any, issue: str) -> Callable[..., Any]:
    """Begin to repair an issue: what is called with the answers to each form."""
    assert await async_setup_component(hass, "repairs", {})
    client = await hass_client()
    flow = await (await client.post("/api/repairs/issues/fix", json={"handler": DOMAIN, "issue_id": issue})).json()

    async def answer(**given: str) -> Any:
        return await (await client.post(f"/api/repairs/issues/fix/{flow['flow_id']}", json=given)).json()

    return answer


async def test_a_sensor_is_shared_once_per_period(
    hass: HomeAssistant, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    await record(hass, YESTERDAY - timedelta(hours=2), [1.0, 1.0, *DAY])
    campaign = service.campaign()
    entry = await shared(hass, service, campaign)
    assert entry.state is ConfigEntryState.LOADED
    assert state(hass, "reports_waiting").state == "0"
    assert state(hass, "reports_waiting").attributes["accepted"] == 1
    assert state(hass, "level").state == "A"
    assert state(hass, "sharing_since").state == NOON.isoformat()
    assert state(hass, "earned_this_month").state == ("0.02" if YESTERDAY.month == dt_util.utcnow().month else "0.0")
    assert state(hass, "earned_this_month").attributes["unit_of_measurement"] == "EUR"
    assert 400 < float(state(hass, "budget_left").state) < 480  # 30 days of epsilon 16, without the day that was sent
    await entry.runtime_data.async_refresh()
    assert await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert state(hass, "reports_waiting").attributes["accepted"] == 1
    period = service.closed(campaign, f"{YESTERDAY:%Y-%m-%d}")
    assert (period["reports"], period["settings"]["A"]["reports"]) == (1, 1)
    assert abs(period["sum"]["estimate"] - 24 * RAW) < 60  # laplace:2.5 exceeds it once in 10^10
    assert str(RAW) not in caplog.text


async def test_a_restart_loses_nothing(hass: HomeAssistant, service: Service) -> None:
    """Six hours without Home Assistant: the register's next change holds them, so the total is whole."""
    await record(hass, YESTERDAY - timedelta(hours=1), [1.0, *[0.5] * 8, *[None] * 6, 7.5, *[0.5] * 9])
    campaign = service.campaign()
    await shared(hass, service, campaign, level="B")
    period = service.closed(campaign, f"{YESTERDAY:%Y-%m-%d}")
    assert period["sum"]["estimate"] == pytest.approx(8 * 0.5 + 7.5 + 9 * 0.5)


@pytest.mark.parametrize("lost", [range(22, 26), range(-4, 3)])
async def test_a_total_whose_ends_are_not_known_is_not_reported(
    hass: HomeAssistant, service: Service, lost: range
) -> None:
    """The register is not known within a tenth of the day before one of its midnights."""
    changes = [None if hour in lost else 0.5 for hour in range(-5, 28)]
    await record(hass, YESTERDAY - timedelta(hours=5), changes)
    await shared(hass, service, service.campaign(), level="B")
    assert state(hass, "reports_waiting").attributes["accepted"] == 0


async def test_readings_of_intervals_are_shared(hass: HomeAssistant, service: Service) -> None:
    await record(hass, YESTERDAY - timedelta(hours=1), [1.0, *DAY])
    campaign = service.campaign(
        release="reading", readings_expected=None, every_minutes=60, rewards={"A": 1, "B": 1},
        menu={"settings": [{"id": "A", "setting": "laplace:0.5"}, {"id": "B", "setting": "none"}]},
    )  # fmt: skip
    await shared(hass, service, campaign, level="B")
    period = service.closed(campaign, f"{YESTERDAY:%Y-%m-%d}")
    assert period["reports"] == 12  # since noon
    assert period["sum"]["estimate"] == pytest.approx(12 * 0.7)


async def test_what_cannot_be_sent_waits(hass: HomeAssistant, service: Service) -> None:
    await record(hass, YESTERDAY - timedelta(hours=1), [1.0, *DAY])
    campaign = service.campaign()
    real = service.address
    with nothing_sent():
        entry = await shared(hass, service, campaign)
    assert state(hass, "reports_waiting").attributes["accepted"] == 0
    with pytest.MonkeyPatch.context() as patch:  # nobody listens there
        patch.setattr(device, "client", lambda _: device.ServiceClient("http://127.0.0.1:9", tries=1))
        await entry.runtime_data.async_refresh()
    assert state(hass, "reports_waiting").state == "1"
    assert state(hass, "reports_waiting").attributes["problem"].startswith("http://127.0.0.1:9 does not answer")
    assert real not in state(hass, "reports_waiting").attributes["problem"]
    await entry.runtime_data.async_refresh()
    assert state(hass, "reports_waiting").state == "0"
    assert state(hass, "reports_waiting").attributes["accepted"] == 1


async def test_the_level_changes_and_the_owner_leaves(hass: HomeAssistant, service: Service, meter: str) -> None:
    await record(hass, YESTERDAY - timedelta(hours=1), [1.0, *DAY])
    wider = {"id": "C", "setting": "laplace:5@total"}
    campaign = service.campaign(menu={"settings": [MENU[0], wider]}, rewards={"A": 20, "C": 10})
    entry = await shared(hass, service, campaign)
    flow = await hass.config_entries.options.async_init(entry.entry_id)
    flow = await hass.config_entries.options.async_configure(flow["flow_id"], {"next_step_id": "level"})
    assert "data:image/svg+xml;base64," in flow["description_placeholders"]["picture"]
    small = await hass.config_entries.options.async_configure(flow["flow_id"], {"level": "C", "budget": 1})
    assert small["errors"] == {"base": "budget"}
    done = await hass.config_entries.options.async_configure(flow["flow_id"], {"level": "C", "budget": 900})
    assert done["type"] is FlowResultType.CREATE_ENTRY
    await hass.async_block_till_done(wait_background_tasks=True)
    assert state(hass, "level").state == "C"
    assert 850 < float(state(hass, "budget_left").state) < 900
    flow = await hass.config_entries.options.async_init(entry.entry_id)
    flow = await hass.config_entries.options.async_configure(flow["flow_id"], {"next_step_id": "leave"})
    await hass.config_entries.options.async_configure(flow["flow_id"], {})
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.config_entries.async_entries(DOMAIN) == []
    assert service.closed(campaign, f"{YESTERDAY:%Y-%m-%d}")["withheld"]  # its report was withdrawn
    assert (devices(hass) / f"{meter}.secret").exists()  # the same readings, the same noise


async def test_a_sensor_is_shared_with_one_campaign(hass: HomeAssistant, service: Service) -> None:
    await record(hass, YESTERDAY - timedelta(hours=1), [1.0, *DAY])
    await shared(hass, service, service.campaign(), level="B")
    again = await form(hass, service, service.campaign())
    assert (again["step_id"], again["errors"]) == ("sensor", {"sensor": "shared_already"})


async def test_few_homes_need_consent(hass: HomeAssistant, service: Service) -> None:
    await record(hass, YESTERDAY - timedelta(hours=1), [1.0, *DAY])
    flow = await form(hass, service, service.campaign())
    refused = await hass.config_entries.flow.async_configure(flow["flow_id"], {"level": "A", "small_cohort": False})
    assert refused["errors"] == {"base": "small_cohort"}
    assert not devices(hass).exists() or not list(devices(hass).iterdir())


async def test_the_page_of_a_campaign_leads_to_it(service: Service) -> None:
    id = service.campaign()
    for link in (f"{service.address}/?campaign={id}", f"{service.address}/v1/campaigns/{id}/"):
        assert list(find_offers(link)[1]) == [id]
    assert id in find_offers(service.address)[1]


async def test_a_wrong_address_is_said(hass: HomeAssistant, service: Service) -> None:
    flow = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    unknown = f"{service.address}/v1/campaigns/no"
    for address, error in (("street", "address"), ("http://127.0.0.1:9", "cannot_connect"), (unknown, "other")):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(device, "client", lambda at: device.ServiceClient(at, tries=1))
            flow = await hass.config_entries.flow.async_configure(flow["flow_id"], {"address": address})
        assert flow["errors"] == {"address": error}


@pytest.mark.parametrize("loaded", [1, 0])
async def test_changed_terms_stop_the_sharing_until_the_owner_decides(
    hass: HomeAssistant,
    hass_client: Any,
    service: Service,
    meter: str,
    issue_registry: ir.IssueRegistry,
    *,
    loaded: int,
) -> None:
    """The terms that were joined are replaced on the device, so that to it the service's have changed."""
    await record(hass, YESTERDAY - timedelta(hours=1), [1.0, *DAY])
    entry = await shared(hass, service, service.campaign(), level="B")
    with changed(devices(hass) / meter) as member:
        member["pinned"] = "0" * 64
        member["offer"]["purpose"] = "another purpose"
    await entry.runtime_data.async_refresh()
    issue = issue_registry.async_get_issue(DOMAIN, f"terms_changed_{entry.entry_id}")
    assert issue is not None
    assert issue.is_fixable
    if not loaded:
        assert await hass.config_entries.async_unload(entry.entry_id)
    answer = await fixing(hass, hass_client, issue.issue_id)
    accept = await answer(next_step_id="accept")
    assert "purpose: another purpose → size the transformer" in accept["description_placeholders"]["changes"]
    with pytest.MonkeyPatch.context() as patch:

        def no_joins(method: str, *rest: Any) -> Any:
            if method == "POST":
                raise ConnectionRefusedError
            return urllib_transport(method, *rest)

        patch.setattr(device, "client", lambda at: device.ServiceClient(at, no_joins, tries=1))
        assert (await answer(level="B"))["errors"] == {"base": "cannot_connect"}
    assert not device.SensorDevice(devices(hass) / meter).member(entry.data["campaign"]).left
    done = await answer(level="B")
    assert done["type"] == "create_entry", done
    await hass.async_block_till_done(wait_background_tasks=True)
    assert issue_registry.async_get_issue(DOMAIN, issue.issue_id) is None
    assert state(hass, "reports_waiting").attributes["accepted"] == 1


async def test_a_refused_token_is_repaired(
    hass: HomeAssistant, hass_client: Any, service: Service, meter: str, issue_registry: ir.IssueRegistry
) -> None:
    await record(hass, YESTERDAY - timedelta(hours=1), [1.0, *DAY])
    with nothing_sent():
        entry = await shared(hass, service, service.campaign(), level="B")
    with changed(devices(hass) / meter) as member:
        member["token"] = "of nobody"
    await entry.runtime_data.async_refresh()
    issue = issue_registry.async_get_issue(DOMAIN, f"token_refused_{entry.entry_id}")
    assert issue is not None
    assert state(hass, "reports_waiting").state == "1"
    answer = await fixing(hass, hass_client, issue.issue_id)
    assert (await answer(next_step_id="accept"))["step_id"] == "accept"
    assert (await answer(level="B"))["type"] == "create_entry"
    await hass.async_block_till_done(wait_background_tasks=True)
    assert issue_registry.async_get_issue(DOMAIN, issue.issue_id) is None
    assert state(hass, "reports_waiting").state == "0"
    assert state(hass, "reports_waiting").attributes["accepted"] == 1


async def test_a_sensor_keeps_its_secret_under_another_name(
    hass: HomeAssistant, service: Service, meter: str, issue_registry: ir.IssueRegistry
) -> None:
    await record(hass, YESTERDAY - timedelta(hours=1), [1.0, *[0.5] * 24])
    campaign = service.campaign()
    with nothing_sent():
        entry = await shared(hass, service, campaign, level="B")
    er.async_get(hass).async_update_entity(METER, new_entity_id="sensor.cellar")
    await async_wait_recording_done(hass)
    await entry.runtime_data.async_refresh()
    assert state(hass, "reports_waiting").attributes["accepted"] == 1
    assert service.closed(campaign, f"{YESTERDAY:%Y-%m-%d}")["sum"]["estimate"] == pytest.approx(12)
    await hass.config_entries.async_remove(entry.entry_id)
    secret = (devices(hass) / f"{meter}.secret").read_bytes()
    flow = await form(hass, service, campaign, "sensor.cellar")
    made = await hass.config_entries.flow.async_configure(flow["flow_id"], {"level": "B", "small_cohort": True})
    assert made["type"] is FlowResultType.CREATE_ENTRY
    await hass.async_block_till_done(wait_background_tasks=True)
    assert (devices(hass) / f"{meter}.secret").read_bytes() == secret
    assert {path.stem for path in devices(hass).iterdir()} == {meter}
    er.async_get(hass).async_remove("sensor.cellar")
    await made["result"].runtime_data.async_refresh()
    issue = issue_registry.async_get_issue(DOMAIN, f"no_statistics_{made['result'].entry_id}")
    assert issue is not None
    assert not issue.is_fixable


async def test_an_entry_removed_without_an_answer_can_be_made_again(hass: HomeAssistant, service: Service) -> None:
    await record(hass, YESTERDAY - timedelta(hours=1), [1.0, *DAY])
    campaign = service.campaign()
    entry = await shared(hass, service, campaign, level="B")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "client", lambda _: device.ServiceClient("http://127.0.0.1:9", tries=1))
        await hass.config_entries.async_remove(entry.entry_id)
    await shared(hass, service, campaign, level="B")
    assert service.closed(campaign, f"{YESTERDAY:%Y-%m-%d}")["reports"] == 1  # the earlier report was withdrawn


async def test_a_sensor_is_set_up_once_at_a_time(hass: HomeAssistant, service: Service) -> None:
    await record(hass, YESTERDAY - timedelta(hours=1), [1.0, *DAY])
    first = await form(hass, service, service.campaign())
    second = await form(hass, service, service.campaign())
    assert (first["type"], second["type"]) == (FlowResultType.FORM, FlowResultType.ABORT)
    assert second["reason"] == "already_in_progress"


async def test_statistics_of_a_sensor_that_is_gone_cannot_be_shared(hass: HomeAssistant, service: Service) -> None:
    await record(hass, YESTERDAY - timedelta(hours=1), [1.0, *DAY])
    er.async_get(hass).async_remove(METER)
    flow = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    link = {"address": f"{service.address}/v1/campaigns/{service.campaign()}"}
    flow = await hass.config_entries.flow.async_configure(flow["flow_id"], link)
    assert (flow["type"], flow["reason"]) == (FlowResultType.ABORT, "no_sensor")


MONTH = {"en": "up to 0.600 EUR a month", "de": "bis zu 0.600 EUR im Monat"}


@pytest.mark.parametrize("language", MONTH)
async def test_a_level_says_what_a_month_earns(hass: HomeAssistant, service: Service, language: str) -> None:
    await record(hass, YESTERDAY - timedelta(hours=1), [1.0, *DAY])
    hass.config.language = language
    flow = await form(hass, service, service.campaign())
    strong, _ = flow["data_schema"].schema["level"].config["options"]
    assert strong["label"].endswith(MONTH[language])


async def test_diagnostics_hold_no_reading_and_no_token(hass: HomeAssistant, service: Service) -> None:
    await record(hass, YESTERDAY - timedelta(hours=1), [1.0, *DAY])
    entry = await shared(hass, service, service.campaign(), level="B")
    found = json.dumps(await async_get_config_entry_diagnostics(hass, entry))
    member = entry.runtime_data.data.member
    assert '"accepted": 1' in found
    await hass.config_entries.async_unload(entry.entry_id)
    stopped = json.dumps(await async_get_config_entry_diagnostics(hass, entry))
    assert '"not_loaded"' in stopped
    for secret in (str(RAW), "17.5", "17.6", member.token, member.producer):
        assert secret not in found + stopped
