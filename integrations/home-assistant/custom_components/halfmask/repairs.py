"""Repairs: the terms changed or the token is refused, so nothing is sent until the owner has decided."""

from typing import Any

import voluptuous as vol
from homeassistant.components.repairs import RepairsFlow
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResult

from halfmask_device.errors import HalfmaskError
from halfmask_device.membership import find_campaign
from halfmask_device.protocol import CampaignTerms

from .const import CONF_CAMPAIGN, CONF_INVITATION, CONF_LEVEL, CONF_SENSOR
from .coordinator import device_of
from .device import client
from .level_form import error_key, invitation_field, level_field, month_words, words


async def async_create_fix_flow(hass: HomeAssistant, _issue_id: str, data: dict[str, Any] | None) -> RepairsFlow:
    """Return the flow of an issue."""
    entry = hass.config_entries.async_get_entry(str((data or {})["entry_id"]))
    if entry is None:
        raise ValueError("the entry of this issue was removed")
    return JoinAgainFlow(entry)


class JoinAgainFlow(RepairsFlow):
    """Show what changed, and join again with a level of the menu, or leave. The entry need not be loaded."""

    def __init__(self, entry: ConfigEntry) -> None:
        self._entry = entry

    async def async_step_init(self, _user_input: dict[str, Any] | None = None) -> FlowResult:
        return self.async_show_menu(step_id="init", menu_options=["accept", "leave"])

    async def async_step_accept(self, user_input: dict[str, Any] | None = None) -> FlowResult:
        """Join again on the terms that the campaign has now."""
        entry, errors, reason = self._entry, {}, ""
        device, campaign = device_of(self.hass, entry.data[CONF_SENSOR]), entry.data[CONF_CAMPAIGN]
        try:
            member = await self.hass.async_add_executor_job(device.member, campaign)
        except HalfmaskError as error:
            return self.async_abort(reason="other", description_placeholders={"reason": str(error)})
        try:
            if user_input is not None:
                await self.hass.async_add_executor_job(
                    device.rejoin, campaign, user_input[CONF_LEVEL], user_input.get(CONF_INVITATION)
                )
                self.hass.config_entries.async_schedule_reload(entry.entry_id)
                return self.async_create_entry(data={})
            offer = await self.hass.async_add_executor_job(find_campaign, client(member.address), campaign)
            terms = CampaignTerms.read(offer)
        except HalfmaskError as error:
            errors["base"], reason, terms = error_key(error), str(error), member.terms
        chosen = member.setting if terms.menu.get(member.setting) == member.terms.menu[member.setting] else None
        return self.async_show_form(
            step_id="accept",
            data_schema=vol.Schema(level_field(terms, chosen, await month_words(self.hass)) | invitation_field(terms)),
            errors=errors,
            description_placeholders=words(terms, reason) | {"changes": _changes(member.terms, terms)},
        )

    async def async_step_leave(self, user_input: dict[str, Any] | None = None) -> FlowResult:
        """Remove the entry, which leaves the campaign."""
        if user_input is None:
            return self.async_show_form(step_id="leave", data_schema=vol.Schema({}))
        await self.hass.config_entries.async_remove(self._entry.entry_id)
        return self.async_create_entry(data={})


def _changes(before: CampaignTerms, after: CampaignTerms) -> str:
    """Return a line for each term that changed."""
    old, new = before.terms(), after.terms()
    names = [name for name in old | new if old.get(name) != new.get(name)]
    return "\n".join(f"- {name}: {old.get(name)} → {new.get(name)}" for name in names)
