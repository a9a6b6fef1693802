"""The form in which a level is chosen: when joining, when changing, and when the terms have changed."""

import math
from collections.abc import Mapping
from typing import Any

import voluptuous as vol
from homeassistant.helpers.selector import (
    BooleanSelector,
    NumberSelector,
    NumberSelectorConfig,
    NumberSelectorMode,
    SelectOptionDict,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
)

from halfmask_device.consent import LEAST_PRODUCERS, Consent
from halfmask_device.errors import HalfmaskError
from halfmask_device.protocol import CampaignTerms

from .const import CONF_ALSO, CONF_BUDGET, CONF_LEVEL, CONF_SMALL
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


def level_field(terms: CampaignTerms, chosen: str | None) -> dict[Any, Any]:
    """Return the field of the levels, with none chosen before the person has."""
    options = [SelectOptionDict(value=each.id, label=each.label(terms.unit)) for each in shown_levels(terms)]
    field = vol.Required(CONF_LEVEL) if chosen is None else vol.Required(CONF_LEVEL, default=chosen)
    return {field: SelectSelector(SelectSelectorConfig(options=options, mode=SelectSelectorMode.LIST))}


def budget_field() -> dict[Any, Any]:
    number = NumberSelectorConfig(min=0, step="any", mode=NumberSelectorMode.BOX)
    return {vol.Optional(CONF_BUDGET): NumberSelector(number)}


def join_form(terms: CampaignTerms, given: Mapping[str, Any], *, also: bool) -> vol.Schema:
    """Return the form for joining: consent that is not needed is not asked for."""
    fields = level_field(terms, given.get(CONF_LEVEL)) | budget_field()
    if terms.least_producers < LEAST_PRODUCERS:
        fields[vol.Required(CONF_SMALL, default=False)] = BooleanSelector()
    if also:
        fields[vol.Required(CONF_ALSO, default=False)] = BooleanSelector()
    return vol.Schema(fields)


def consent_of(terms: CampaignTerms, given: Mapping[str, Any]) -> Consent:
    """Return what the person allows by the form."""
    least = terms.least_producers if given.get(CONF_SMALL) else LEAST_PRODUCERS
    return Consent(bool(given.get(CONF_ALSO)), budget_of(given), least)


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
