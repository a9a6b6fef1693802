"""The form in which a level is chosen: when joining, when changing, and when the terms have changed."""

import math
from collections.abc import Mapping
from typing import Any

import voluptuous as vol
from homeassistant.core import HomeAssistant
from homeassistant.helpers.selector import (
    BooleanSelector,
    NumberSelector,
    NumberSelectorConfig,
    NumberSelectorMode,
    SelectOptionDict,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
    TextSelector,
)
from homeassistant.helpers.translation import async_get_translations

from halfmask_device.consent import LEAST_PRODUCERS, Consent
from halfmask_device.errors import HalfmaskError
from halfmask_device.protocol import CampaignTerms

from .const import CONF_ALSO, CONF_BUDGET, CONF_INVITATION, CONF_LEVEL, CONF_SMALL, DOMAIN
from .level_picture import inline, picture, shown_levels

ERRORS = {
    "option.also": "also",
    "option.budget": "budget",
    "option.least_producers": "small_cohort",
    "option.address": "address",
    "option.interval": "interval",
    "run.no_answer": "cannot_connect",
    "run.protocol": "cannot_connect",
}
"""Keys of the translated errors by the device's codes."""


def error_key(error: HalfmaskError) -> str:
    """Return the key of the translated error; others show the device's own words."""
    return ERRORS.get(error.code, "other")


async def month_words(hass: HomeAssistant) -> str:
    """Return what a level earns in a month, in the language of this Home Assistant, with a place for the money."""
    texts = await async_get_translations(hass, hass.config.language, "common", {DOMAIN})
    return texts[f"component.{DOMAIN}.common.month"]


def level_field(terms: CampaignTerms, chosen: str | None, month: str) -> dict[Any, Any]:
    """Return the field of the levels, with none chosen before the person has; ``month`` is of `month_words`."""
    options = [SelectOptionDict(value=each.id, label=each.label(terms.unit, month)) for each in shown_levels(terms)]
    field = vol.Required(CONF_LEVEL) if chosen is None else vol.Required(CONF_LEVEL, default=chosen)
    return {field: SelectSelector(SelectSelectorConfig(options=options, mode=SelectSelectorMode.LIST))}


def budget_field() -> dict[Any, Any]:
    number = NumberSelectorConfig(min=0, step="any", mode=NumberSelectorMode.BOX)
    return {vol.Optional(CONF_BUDGET): NumberSelector(number)}


def invitation_field(terms: CampaignTerms) -> dict[Any, Any]:
    """Return the field of the invitation, if the campaign asks for one."""
    return {vol.Required(CONF_INVITATION): TextSelector()} if terms.offer.get("join") == "invitation" else {}


def join_form(terms: CampaignTerms, given: Mapping[str, Any], month: str, *, also: bool) -> vol.Schema:
    """Return the form for joining: consent that is not needed is not asked for."""
    fields = level_field(terms, given.get(CONF_LEVEL), month) | budget_field() | invitation_field(terms)
    if terms.least_producers < LEAST_PRODUCERS:
        fields[vol.Required(CONF_SMALL, default=False)] = BooleanSelector()
    if also:
        fields[vol.Required(CONF_ALSO, default=False)] = BooleanSelector()
    return vol.Schema(fields)


def consent_of(terms: CampaignTerms, given: Mapping[str, Any]) -> Consent:
    """Return what the person allows by the form."""
    least = terms.least_producers if given.get(CONF_SMALL) else LEAST_PRODUCERS
    also = bool(given.get(CONF_ALSO))
    return Consent(also, budget_of(given), least, again=True)  # an entry may have been removed without an answer


def budget_of(given: Mapping[str, Any]) -> float | None:
    """Return the budget that the form names: None without one, and infinite, which keeps none, for 0."""
    budget = given.get(CONF_BUDGET)
    return None if budget is None else budget or math.inf


def words(terms: CampaignTerms, reason: str = "") -> dict[str, str]:
    """Return what the texts of the form say about a campaign."""
    return {
        "campaign": str(terms.offer.get("name", "")),
        "purpose": terms.purpose,
        "producers": str(terms.least_producers),
        "period": terms.period.replace("_", " "),
        "picture": inline(picture(shown_levels(terms), terms)),
        "reason": reason,
    }
