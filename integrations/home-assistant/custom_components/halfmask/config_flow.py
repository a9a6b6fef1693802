"""Set-up in the interface: where to share, which sensor, and at which level; later another level, or leaving."""

from typing import Any

import voluptuous as vol
from homeassistant.components.recorder.models import StatisticMeanType
from homeassistant.components.recorder.statistics import STATISTIC_UNIT_TO_UNIT_CONVERTER, async_list_statistic_ids
from homeassistant.config_entries import ConfigEntry, ConfigFlow, ConfigFlowResult, OptionsFlow
from homeassistant.core import callback, valid_entity_id
from homeassistant.helpers.selector import (
    SelectOptionDict,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
    TextSelector,
)
from homeassistant.util import dt as dt_util

from halfmask_device.errors import HalfmaskError
from halfmask_device.instants import instant_text, of_datetime
from halfmask_device.protocol import CampaignTerms, MessageError

from .const import CONF_ADDRESS, CONF_CAMPAIGN, CONF_INVITATION, CONF_LEVEL, CONF_SENSOR, CONF_SINCE, DOMAIN
from .coordinator import device_of, sensor_key
from .device import find_offers
from .level_form import budget_field, budget_of, consent_of, error_key, join_form, level_field, month_words, words
from .statistics_readings import ReadingPlan


class HalfmaskConfigFlow(ConfigFlow, domain=DOMAIN):
    """From an address or a campaign's link to a sensor that is shared."""

    VERSION = 1

    def __init__(self) -> None:
        self._address = ""
        self._offers: dict[str, CampaignTerms] = {}
        self._campaign = ""
        self._sensor = ""
        self._also = False

    @staticmethod
    @callback
    def async_get_options_flow(_config_entry: ConfigEntry) -> "HalfmaskOptionsFlow":
        return HalfmaskOptionsFlow()

    @property
    def _terms(self) -> CampaignTerms:
        return self._offers[self._campaign]

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for the service's address or a campaign's link."""
        errors, reason = {}, ""
        if user_input is not None:
            try:
                link = user_input[CONF_ADDRESS]
                self._address, self._offers = await self.hass.async_add_executor_job(find_offers, link)
            except (HalfmaskError, MessageError, KeyError, TypeError) as error:
                known = isinstance(error, HalfmaskError)
                errors[CONF_ADDRESS] = error_key(error) if known else "cannot_connect"
                reason = str(error) if known else ""
            else:
                if not self._offers:
                    return self.async_abort(reason="no_campaign")
                return await self.async_step_campaign()
        form = vol.Schema({vol.Required(CONF_ADDRESS): TextSelector()})
        return self.async_show_form(
            step_id="user",
            data_schema=self.add_suggested_values_to_schema(form, user_input),
            errors=errors,
            description_placeholders={"reason": reason, "example": "https://host/v1/campaigns/ID"},
        )

    async def async_step_campaign(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for the campaign, if the service has several."""
        if user_input is not None or len(self._offers) == 1:
            self._campaign = user_input[CONF_CAMPAIGN] if user_input else next(iter(self._offers))
            return await self.async_step_sensor()
        names = [SelectOptionDict(value=id, label=_name(terms)) for id, terms in self._offers.items()]
        form = vol.Schema({vol.Required(CONF_CAMPAIGN): SelectSelector(SelectSelectorConfig(options=names))})
        return self.async_show_form(step_id="campaign", data_schema=form)

    async def async_step_sensor(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for the sensor: one with statistics of the kind and unit that the campaign takes."""
        try:
            plan = ReadingPlan.of(self._terms)
        except HalfmaskError as error:
            return self.async_abort(reason=error_key(error))
        sensors = await self._sensors(meters_only=not plan.minutes)
        if not sensors:
            return self.async_abort(reason="no_sensor", description_placeholders={"unit": self._terms.unit})
        errors = {}
        if user_input is not None:
            self._sensor = sensor_key(self.hass, user_input[CONF_SENSOR])
            if await self.async_set_unique_id(self._sensor):
                errors[CONF_SENSOR] = "shared_already"
            else:
                return await self.async_step_level()
        options = [SelectOptionDict(value=id, label=name) for id, name in sensors.items()]
        select = SelectSelectorConfig(options=options, mode=SelectSelectorMode.DROPDOWN, sort=True)
        form = vol.Schema({vol.Required(CONF_SENSOR): SelectSelector(select)})
        return self.async_show_form(
            step_id="sensor",
            data_schema=self.add_suggested_values_to_schema(form, user_input),
            errors=errors,
            description_placeholders=words(self._terms) | {"unit": self._terms.unit},
        )

    async def _sensors(self, *, meters_only: bool) -> dict[str, str]:
        """Return the names of statistics that fit by id; ``meters_only``: those with a register."""
        found = {}
        for each in await async_list_statistic_ids(self.hass):
            kind = each["has_sum"] or (not meters_only and each["mean_type"] == StatisticMeanType.ARITHMETIC)
            if kind and _converts(each["statistics_unit_of_measurement"], self._terms.unit):
                id = each["statistic_id"]
                state = self.hass.states.get(id)
                name = each["name"] or (state.name if state else "")
                if state or sensor_key(self.hass, id) != id or not valid_entity_id(id):  # statistics outlive a sensor
                    found[id] = f"{name} ({id})" if name else id
        return found

    async def async_step_level(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for the level, with its words and its picture, and for the budget; then join."""
        errors, reason, terms = {}, "", self._terms
        if user_input is not None:
            try:
                await self.hass.async_add_executor_job(
                    device_of(self.hass, self._sensor).join,
                    self._address, self._campaign, user_input[CONF_LEVEL], user_input.get(CONF_INVITATION),
                    consent_of(terms, user_input),
                )  # fmt: skip
            except HalfmaskError as error:
                errors["base"], reason = error_key(error), str(error)
                self._also = self._also or errors["base"] == "also"
            else:
                since = instant_text(of_datetime(dt_util.utcnow().replace(microsecond=0)))
                data = {CONF_CAMPAIGN: self._campaign, CONF_SENSOR: self._sensor, CONF_SINCE: since}
                return self.async_create_entry(title=_name(terms), data=data)
        form = join_form(terms, user_input or {}, await month_words(self.hass), also=self._also)
        return self.async_show_form(
            step_id="level",
            data_schema=self.add_suggested_values_to_schema(form, user_input),
            errors=errors,
            description_placeholders=words(terms, reason),
        )


class HalfmaskOptionsFlow(OptionsFlow):
    """Another level or budget, or leaving the campaign."""

    async def async_step_init(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        return self.async_show_menu(step_id="init", menu_options=["level", "leave"])

    async def async_step_level(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for the level; reports that were made stay as they are."""
        entry, errors, reason = self.config_entry, {}, ""
        device, campaign = device_of(self.hass, entry.data[CONF_SENSOR]), entry.data[CONF_CAMPAIGN]
        try:
            member = await self.hass.async_add_executor_job(device.member, campaign)
        except HalfmaskError as error:
            return self.async_abort(reason="other", description_placeholders={"reason": str(error)})
        if user_input is not None:
            try:
                await self.hass.async_add_executor_job(
                    device.change, campaign, user_input[CONF_LEVEL], budget_of(user_input)
                )
            except HalfmaskError as error:
                errors["base"], reason = error_key(error), str(error)
            else:
                self.hass.config_entries.async_schedule_reload(entry.entry_id)
                return self.async_create_entry(data={})
        return self.async_show_form(
            step_id="level",
            data_schema=vol.Schema(
                level_field(member.terms, member.setting, await month_words(self.hass)) | budget_field()
            ),
            errors=errors,
            description_placeholders=words(member.terms, reason),
        )

    async def async_step_leave(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Leave once it is confirmed: the service withdraws reports of open periods; the entry is removed."""
        entry, errors, reason = self.config_entry, {}, ""
        if user_input is not None:
            try:
                device = device_of(self.hass, entry.data[CONF_SENSOR])
                await self.hass.async_add_executor_job(device.leave, entry.data[CONF_CAMPAIGN])
            except HalfmaskError as error:
                errors["base"], reason = error_key(error), str(error)
            else:
                self.hass.async_create_task(self.hass.config_entries.async_remove(entry.entry_id), eager_start=False)
                return self.async_create_entry(data={})
        return self.async_show_form(
            step_id="leave",
            data_schema=vol.Schema({}),
            errors=errors,
            description_placeholders={"campaign": entry.title, "reason": reason},
        )


def _name(terms: CampaignTerms) -> str:
    return str(terms.offer.get("name") or terms.purpose)[:100]


def _converts(unit: str | None, wanted: str) -> bool:
    """Return whether the recorder can give a statistic in the unit that is wanted."""
    converter = STATISTIC_UNIT_TO_UNIT_CONVERTER.get(unit)
    return unit == wanted or (converter is not None and wanted in converter.VALID_UNITS)
