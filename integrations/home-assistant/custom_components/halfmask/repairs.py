"""Repairs: the terms of a campaign changed, so the device sends nothing until its owner has decided."""

from typing import Any

import voluptuous as vol
from homeassistant.components.repairs import RepairsFlow
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResult

from halfmask_device.errors import HalfmaskError
from halfmask_device.membership import find_campaign
from halfmask_device.protocol import CampaignTerms

from .const import CONF_LEVEL
from .coordinator import HalfmaskCoordinator
from .device import client
from .level_form import error_key, level_field, words


async def async_create_fix_flow(hass: HomeAssistant, _issue_id: str, data: dict[str, Any] | None) -> RepairsFlow:
    """Return the flow of an issue."""
    entry = hass.config_entries.async_get_entry(str((data or {})["entry_id"]))
    if entry is None:
        raise ValueError("the entry of this issue was removed")
    return TermsFlow(entry.runtime_data)


class TermsFlow(RepairsFlow):
    """Show what changed, and take the new terms with a level of their menu, or leave."""

    def __init__(self, coordinator: HalfmaskCoordinator) -> None:
        self._coordinator = coordinator

    async def async_step_init(self, _user_input: dict[str, Any] | None = None) -> FlowResult:
        return self.async_show_menu(step_id="init", menu_options=["accept", "leave"])

    async def async_step_accept(self, user_input: dict[str, Any] | None = None) -> FlowResult:
        """Join again on the new terms."""
        coordinator, errors, reason = self._coordinator, {}, ""
        member = coordinator.data.member
        try:
            if user_input is not None:
                level = user_input[CONF_LEVEL]
                await self.hass.async_add_executor_job(coordinator.device.rejoin, coordinator.campaign, level)
                await coordinator.async_refresh()
                return self.async_create_entry(data={})
            offer = await self.hass.async_add_executor_job(find_campaign, client(member.address), coordinator.campaign)
            terms = CampaignTerms.read(offer)
        except HalfmaskError as error:
            errors["base"], reason, terms = error_key(error), str(error), member.terms
        chosen = member.setting if terms.menu.get(member.setting) == member.terms.menu[member.setting] else None
        return self.async_show_form(
            step_id="accept",
            data_schema=vol.Schema(level_field(terms, chosen)),
            errors=errors,
            description_placeholders=words(terms, reason) | {"changes": _changes(member.terms, terms)},
        )

    async def async_step_leave(self, user_input: dict[str, Any] | None = None) -> FlowResult:
        """Remove the entry, which leaves the campaign."""
        if user_input is None:
            return self.async_show_form(step_id="leave", data_schema=vol.Schema({}))
        await self.hass.config_entries.async_remove(self._coordinator.config_entry.entry_id)
        return self.async_create_entry(data={})


def _changes(before: CampaignTerms, after: CampaignTerms) -> str:
    """Return a line for each term that changed."""
    old, new = before.terms(), after.terms()
    names = [name for name in old | new if old.get(name) != new.get(name)]
    return "\n".join(f"- {name}: {old.get(name)} → {new.get(name)}" for name in names)
