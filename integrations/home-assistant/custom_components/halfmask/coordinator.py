"""Sharing: at the end of each period the statistics become readings, and the device masks and sends them."""

import logging
import random
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from homeassistant.components.recorder import get_instance
from homeassistant.components.recorder.statistics import async_list_statistic_ids, statistics_during_period
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.update_coordinator import DataUpdateCoordinator
from homeassistant.util import dt as dt_util
from homeassistant.util import slugify

from halfmask_device.campaign_calendar import Calendar
from halfmask_device.instants import DAY, HOUR, MINUTE, SECOND, Instant, at, of_datetime, parse_instant
from halfmask_device.protocol import CampaignTerms

from .const import CONF_CAMPAIGN, CONF_SENSOR, CONF_SINCE, DOMAIN
from .device import TERMS_CHANGED, TOKEN_REFUSED, SensorDevice, Standing
from .statistics_readings import SLACK, ReadingPlan, Row, open_periods, readings_of_slots, readings_of_totals

LOGGER = logging.getLogger(__package__)
AGAIN = 15 * MINUTE
"""Pause before another attempt, while something waits."""
SETTLED = 2 * MINUTE
"""After this the recorder has written the statistics of an hour that is over."""
SPREAD = 10 * MINUTE
"""Homes send at random times within this, so that a service is not asked by all of them at once."""

NO_STATISTICS = "source.statistics"
"""Code of the problem that the sensor has no statistics, as after it was removed."""
ISSUES = {TERMS_CHANGED: "terms_changed", TOKEN_REFUSED: "token_refused", NO_STATISTICS: "no_statistics"}
"""Repair issues, which their owner must decide about, by the code of the problem."""

HalfmaskEntry = ConfigEntry["HalfmaskCoordinator"]


def sensor_key(hass: HomeAssistant, statistic: str) -> str:
    """Return what a sensor keeps when it is renamed: its id in the entity registry, or that of its statistics."""
    entity = er.async_get(hass).async_get(statistic)
    return entity.id if entity else statistic


def device_of(hass: HomeAssistant, sensor: str) -> SensorDevice:
    """Return the device of a sensor, given its key. Its folder, with secret and budget, outlives an entry."""
    return SensorDevice(Path(hass.config.path(".storage", DOMAIN, slugify(sensor))))


def issue_id(entry: ConfigEntry, issue: str) -> str:
    """Return the id of an entry's repair issue."""
    return f"{issue}_{entry.entry_id}"


class HalfmaskCoordinator(DataUpdateCoordinator[Standing]):
    """Shares one sensor with one campaign."""

    config_entry: HalfmaskEntry

    def __init__(self, hass: HomeAssistant, entry: HalfmaskEntry) -> None:
        super().__init__(hass, LOGGER, config_entry=entry, name=entry.title, update_interval=None)
        self.device = device_of(hass, entry.data[CONF_SENSOR])
        self.campaign: str = entry.data[CONF_CAMPAIGN]
        self.since = parse_instant(entry.data[CONF_SINCE]) or 0

    @property
    def statistic(self) -> str:
        """The id of the sensor's statistics, which have the name that its entity has now."""
        sensor: str = self.config_entry.data[CONF_SENSOR]
        entity = er.async_get(self.hass).async_get(sensor)
        return entity.entity_id if entity else sensor

    async def async_standing(self) -> Standing:
        """Return what was shared so far, without sending anything."""
        return await self.hass.async_add_executor_job(self.device.standing, self.campaign, _month())

    async def _async_update_data(self) -> Standing:
        before = await self.async_standing()
        known = await async_list_statistic_ids(self.hass, {self.statistic})
        readings = [] if before.member.left or not known else await self._readings(before)
        after: Standing = await self.hass.async_add_executor_job(self.device.share, self.campaign, readings, _month())
        if not known and not after.problem[0]:
            after = replace(after, problem=(NO_STATISTICS, f"{self.statistic} has no statistics"))
        self._report(after)
        self.update_interval = timedelta(microseconds=self._pause(after))
        return after

    async def _readings(self, standing: Standing) -> list[tuple[str, str]]:
        """Return the readings that were not masked yet, of periods that still take reports."""
        terms, now = standing.member.terms, _now()
        plan, calendar = ReadingPlan.of(terms), Calendar(terms.period, terms.time_zone)
        last = standing.history.last
        if not plan.minutes:
            after = self.since if last is None else max(self.since, calendar.span_of(last).ends)
            spans = open_periods(calendar, after, now, terms)
            if not spans:
                return []
            slack = (spans[0].ends - spans[0].begins) // SLACK + plan.row
            rows, _ = await self._rows(plan, spans[0].begins - slack, spans[-1].ends, terms.unit)
            return list(readings_of_totals(spans, rows))
        begins = max(self.since if last is None else last + plan.minutes * MINUTE, terms.begins)
        rows, mean = await self._rows(plan, begins, now, terms.unit)
        return list(readings_of_slots(rows, plan.minutes, terms.time_zone, mean=mean))

    async def _rows(self, plan: ReadingPlan, begins: Instant, ends: Instant, unit: str) -> tuple[list[Row], bool]:
        """Return the sensor's rows in the campaign's unit, and whether they are means."""
        sensor = self.statistic
        (known,) = await async_list_statistic_ids(self.hass, {sensor})
        kind = "change" if known["has_sum"] else "mean"
        unit_class = known["unit_class"]
        ask = partial(
            statistics_during_period, self.hass, at(begins), at(ends), {sensor}, plan.rows,
            {unit_class: unit} if unit_class else None, {kind},
        )  # fmt: skip
        found: list[Any] = (await get_instance(self.hass).async_add_executor_job(ask)).get(sensor, [])
        rows = [(round(each["start"] * SECOND), each.get(kind)) for each in found]
        return [Row(start, start + plan.row, value) for start, value in rows if value is not None], kind == "mean"

    def _pause(self, standing: Standing) -> int:
        """Return the microseconds until the next attempt: at the end of the period, at most a day."""
        now, terms = _now(), standing.member.terms
        code = standing.problem[0]
        if (code or standing.history.waiting) and code not in (TERMS_CHANGED, TOKEN_REFUSED):
            return AGAIN
        ends = Calendar(terms.period, terms.time_zone).span_of(now).ends
        return min(ends - now, DAY) + SETTLED + random.randrange(min(SPREAD, _grace(terms) // 4) + 1)

    def _report(self, standing: Standing) -> None:
        """Keep the repair issues in step with what the device found."""
        code, words = standing.problem
        for problem, issue in ISSUES.items():
            id = issue_id(self.config_entry, issue)
            if code != problem:
                ir.async_delete_issue(self.hass, DOMAIN, id)
                continue
            ir.async_create_issue(
                self.hass,
                DOMAIN,
                id,
                data={"entry_id": self.config_entry.entry_id},
                is_fixable=problem != NO_STATISTICS,
                is_persistent=True,
                severity=ir.IssueSeverity.WARNING,
                translation_key=issue,
                translation_placeholders={"campaign": self.config_entry.title},
            )
        if code and (self.data is None or self.data.problem != standing.problem):
            LOGGER.warning("%s: %s", self.config_entry.title, words)


def _now() -> Instant:
    return of_datetime(dt_util.utcnow())


def _month() -> Instant:
    """Return the begin of this month in Home Assistant's time zone."""
    today: datetime = dt_util.start_of_local_day()
    return of_datetime(today.replace(day=1))


def _grace(terms: CampaignTerms) -> Instant:
    grace = terms.offer.get("grace_minutes")
    return grace * MINUTE if isinstance(grace, int) else HOUR
