"""What bodies and answers look like, by name, for the service's OpenAPI description."""

from typing import Any

from halfmask.service.campaign import DEFAULTS, JOIN, LONGEST_GROUP, MOST_GROUPS, REQUIRED
from halfmask.service.storage.tables import Plain
from halfmask_device.campaign_calendar import KINDS
from halfmask_device.protocol import MOST_READINGS
from halfmask_device.setting import READING, TOTAL


def _object(required: dict[str, Any] | None = None, **optional: Any) -> Plain:
    required = required or {}
    found: Plain = {"type": "object", "properties": required | optional}
    return found | {"required": list(required)} if required else found


def _list(items: Plain, **more: Any) -> Plain:
    return {"type": "array", "items": items, **more}


def _map(values: Plain) -> Plain:
    return {"type": "object", "additionalProperties": values}


def _maybe(schema: Plain) -> Plain:
    return {"anyOf": [schema, {"type": "null"}]}


def schema_reference(name: str) -> Plain:
    return {"$ref": f"#/components/schemas/{name}"}


TEXT: Plain = {"type": "string"}
_NAME: Plain = {"type": "string", "minLength": 1, "maxLength": 200}
WHOLE: Plain = {"type": "integer"}
COUNT: Plain = {"type": "integer", "minimum": 0}
POSITIVE: Plain = {"type": "integer", "minimum": 1}
NUMBER: Plain = {"type": "number"}
YES: Plain = {"type": "boolean"}
_TIME: Plain = {"type": "string", "format": "date-time"}
_NONCE: Plain = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_BASE64: Plain = {"type": "string", "contentEncoding": "base64"}
_MOST = 10_000
_INTERVAL = dict.fromkeys(("estimate", "standard_error", "low", "high"), NUMBER)
_TERMS: Plain = {
    **dict.fromkeys(("name", "purpose"), _NAME),
    "unit": {**_NAME, "maxLength": 40},
    "lattice": schema_reference("Lattice"),
    **dict.fromkeys(("begins", "ends"), _TIME),
    "menu": schema_reference("Menu"),
    "release": {"enum": [READING, TOTAL]},
    "readings_expected": _maybe({**POSITIVE, "maximum": MOST_READINGS}),
    "period": {"enum": list(KINDS)},
    "time_zone": TEXT,
    "grace_minutes": COUNT,
    "rewards": schema_reference("Rewards"),
    "currency": TEXT,
    "budget": COUNT,
    "least_producers": POSITIVE,
    "join": {"enum": list(JOIN)},
    "keep_reports": {"enum": ["until_closed", "always"]},
    "live": YES,
    "clock_skew_minutes": COUNT,
    **dict.fromkeys(("every_minutes", "most_per_period"), _maybe(COUNT)),
    "groups": _list({"type": "string", "maxLength": LONGEST_GROUP}, maxItems=MOST_GROUPS),
    "nouns": schema_reference("Nouns"),
}
_FIXED = {name: _TERMS[name] for name in REQUIRED}
_CHOSEN = {name: schema for name, schema in _TERMS.items() if name in DEFAULTS}
_TOKEN = {"token": TEXT}
_ENTRY = {"entry": TEXT, "amount": WHOLE}
_PERIOD: Plain = {
    "period": TEXT,
    "state": {"enum": ["open", "closing", "closed"]},
    **dict.fromkeys(("reports", "producers"), _maybe(COUNT)),
    "settings": _maybe(_map(schema_reference("Counts"))),
    **dict.fromkeys(("sum", "mean", "smoothed"), _maybe(schema_reference("Interval"))),
    "variance": _maybe(schema_reference("Variance")),
    "influence": _maybe(_map(NUMBER)),
    "at_bounds": _maybe(schema_reference("AtBounds")),
    "trimmed": _maybe(schema_reference("Trimmed")),
    "withheld": _maybe(TEXT),
}

SCHEMAS: dict[str, Plain] = {
    "Refusal": _object({"error": schema_reference("ErrorDetails")}),
    "ErrorDetails": _object(dict.fromkeys(("code", "message", "field"), TEXT)),
    "Status": _object({"status": TEXT}, clock={"enum": ["steady", "settling"]}),
    "Token": _object(_TOKEN),
    "NewConsumer": _object({"name": _NAME}, expires=_TIME),
    "Consumer": _object({"consumer": TEXT, **_TOKEN}),
    "Lattice": _object(dict.fromkeys(("step", "low", "high"), TEXT)),
    "Setting": _object({"id": TEXT, "setting": TEXT}, name=TEXT),
    "Menu": _object({"settings": _list(schema_reference("Setting"), minItems=1)}),
    "Rewards": _map(COUNT),
    "Nouns": _object({"one": TEXT, "many": TEXT}),
    "Helper": _object({"helper": TEXT, "token": TEXT}, wait_minutes=COUNT),
    "Campaign": _object(_FIXED, **_CHOSEN, split=_maybe(schema_reference("Helper"))),
    "MadeCampaign": _object({"campaign": TEXT}, warnings=_list(TEXT)),
    "LedBy": _object(
        {"helper": TEXT, "wait_minutes": COUNT, **dict.fromkeys(("campaign", "terms", "refused"), _maybe(TEXT))}
    ),
    "LaterRewards": _object({"from": TEXT, "rewards": schema_reference("Rewards")}),
    "Offer": _object(
        {"campaign": TEXT, **_FIXED, **_CHOSEN, "split": _maybe(schema_reference("LedBy"))}
        | {"later_rewards": _list(schema_reference("LaterRewards"))}
    ),
    "Offers": _object({"campaigns": _list(schema_reference("Offer"))}),
    "Level": _object(
        {"id": TEXT, "name": TEXT, "setting": TEXT, "noise_std": NUMBER}
        | {"against": {"enum": ["nobody", "everyone", "one_service"]}}
        | dict.fromkeys(("reports", "odds", "epsilon"), schema_reference("Windows"))
        | {"hides_day": YES, "reward": COUNT, "month_reward": _maybe(NUMBER)}
    ),
    "Windows": _object(dict.fromkeys(("one", "day", "month"), _maybe(NUMBER))),
    "OfferedLevels": _object(
        {**dict.fromkeys(("change", "range", "delta"), NUMBER), "levels": _list(schema_reference("Level"))}
    ),
    "Check": _object(
        {"refused": _maybe(schema_reference("ErrorDetails"))},
        terms={"type": "object"},
        **dict.fromkeys(("change", "range", "delta"), NUMBER),
        levels=_list(schema_reference("Level")),
    ),
    "Standing": _object(
        dict.fromkeys(("joined", "budget", "earned", "expected"), WHOLE)
        | dict.fromkeys(("by_period", "refused"), _map(WHOLE))
    ),
    "Forecast": _object(
        {"basis": {"enum": ["observed", "unchanged", "nothing"]}, "shares": _maybe(_map(NUMBER))}
        | dict.fromkeys(("producers", "error"), _maybe(NUMBER))
        | {"cost": _maybe(WHOLE)}
    ),
    "Count": _object({"count": {**POSITIVE, "maximum": _MOST}}),
    "Invited": _object({"invitations": _list(TEXT)}),
    "Join": _object({"setting": TEXT}, group=TEXT, invitation=TEXT),
    "Joined": _object({"producer": TEXT, **_TOKEN}, ticket=TEXT),
    "ChosenSetting": _object({"setting": TEXT}),
    "Producer": _object(
        dict.fromkeys(("producer", "campaign", "setting"), TEXT)
        | {"state": {"enum": ["joined", "left"]}, "joined": _TIME, "left": _maybe(_TIME)}
        | {"expected": WHOLE, "earned": WHOLE, "currency": TEXT},
        group=TEXT,
        ticket=TEXT,
        withdrawn=COUNT,
    ),
    "PairingCode": _object({"code": TEXT, "campaign": TEXT, "expires": _TIME}),
    "TypedCode": _object({"code": TEXT}),
    "Report": _object({"time": _TIME, "setting": TEXT}, steps=WHOLE, report=_NONCE, share=_BASE64),
    "SentReports": _object({"reports": _list(schema_reference("Report"), maxItems=_MOST)}),
    "Receipt": _object({"status": {"enum": ["accepted", "known", "refused"]}}, code=TEXT, reward=COUNT),
    "Receipts": _object({"results": _list(schema_reference("Receipt"))}),
    "Counts": _object({"reports": COUNT, "producers": COUNT}),
    "Interval": _object(_INTERVAL),
    "Variance": _object(_INTERVAL, left_out=_list(TEXT)),
    "Trimmed": _object({**_INTERVAL, "left_out": COUNT}),
    "Population": _object({"producers": COUNT, **_INTERVAL, "assumes": TEXT}),
    "Test": _object({**dict.fromkeys(("statistic", "p"), NUMBER), "degrees": COUNT, "differ": YES}),
    "WeightedMean": _object(
        {"estimate": _maybe(NUMBER), "test": _maybe(schema_reference("Test")), "assumes": TEXT},
        **dict.fromkeys(("standard_error", "low", "high"), NUMBER),
    ),
    "AtBounds": _object({"low": NUMBER, "high": NUMBER}),
    "SplitCounts": _object(dict.fromkeys(("counted", "invalid", "missing"), COUNT)),
    "Period": _object(
        _PERIOD,
        begins=TEXT,
        release={"enum": [TOTAL]},
        groups=_maybe(_map(schema_reference("Period"))),
        split=schema_reference("SplitCounts"),
        left_out=_list(TEXT),
        population=_maybe(schema_reference("Population")),
        weighted_mean=_maybe(schema_reference("WeightedMean")),
    ),
    "ListedPeriods": _object({"periods": _list(schema_reference("Period"))}, next=_maybe(TEXT)),
    "RewardsFrom": _object({"rewards": schema_reference("Rewards"), "from": TEXT}),
    "LedgerEntry": _object(_ENTRY, reverses=TEXT),
    "Ledger": _object({"entries": _list(schema_reference("LedgerEntry")), "expected": WHOLE, "next": _maybe(TEXT)}),
    "Booking": _object(
        {**_ENTRY, "period": TEXT, "state": {"enum": ["expected", "earned"]}, "booked": _TIME}, reverses=TEXT
    ),
    "Bookings": _object({"entries": _list(schema_reference("Booking")), "next": _maybe(TEXT)}),
    "NewNode": _object({"name": _NAME}, expires=_TIME),
    "Node": _object({"node": TEXT, **_TOKEN}),
    "OwnNode": _object({"node": TEXT, "campaign": TEXT}),
    "Cell": _object({"reports": COUNT, "producers": COUNT, "sum": WHOLE, "squares": COUNT}),
    "Cells": _object({"version": COUNT, "periods": _map(_map(schema_reference("Cell")))}),
    "StoredCells": _object({"periods": _map({"enum": ["stored", "closed", "not_newer"]})}),
    "Exchange": _object(
        {"open": _list(TEXT), "cells": {"type": "object"}},
        offer={"type": "object"},
        **dict.fromkeys(("after", "to"), _maybe(TEXT)),
    ),
    "Given": _object({"consumer": TEXT}, campaign=TEXT),
    "PeriodNames": _object({"periods": _list(TEXT)}),
    "SplitTerms": _object(
        {"leader": _NAME, "campaign": _NAME, "terms": TEXT},
        **dict.fromkeys(("verify_key", "ticket_key"), _BASE64),
    ),
    "Share": _object({"time": _TIME, "report": _NONCE, "share": _BASE64}),
    "SentShares": _object({"shares": _list(schema_reference("Share"), maxItems=_MOST)}),
    "Withdrawn": _object({"withdrawn": COUNT}),
    "Verifier": _object({"report": _NONCE, "verifier": _BASE64}),
    "Verifiers": _object({"reports": _list(schema_reference("Verifier"), maxItems=_MOST)}),
    "Verdicts": _object({"results": _list({"enum": ["valid", "invalid", "missing"]})}),
    "Nonces": _object({"reports": _list(_NONCE)}),
    "SplitSum": _object({"share": _maybe(_BASE64), "reports": COUNT}),
    "SessionToken": _object(_TOKEN),
    "SignedIn": _object({"campaigns": _maybe(_list(TEXT))}),
}
ANSWERS: dict[str, str] = {
    **dict.fromkeys(("health", "live", "ready", "revoke_token", "begin_session", "end_session"), "Status"),
    "add_consumer": "Consumer",
    **dict.fromkeys(("renew_consumer", "renew_token", "renew_node", "open_page"), "Token"),
    "add_campaign": "MadeCampaign",
    "list_campaigns": "Offers",
    **dict.fromkeys(("show_campaign", "put_rewards"), "Offer"),
    "show_levels": "OfferedLevels",
    "check_offered": "Check",
    "show_standing": "Standing",
    "forecast_rewards": "Forecast",
    "invite": "Invited",
    "join": "Joined",
    **dict.fromkeys(("show_me", "change_me", "leave"), "Producer"),
    "make_code": "PairingCode",
    **dict.fromkeys(("send_reports", "send_shares"), "Receipts"),
    "list_periods": "ListedPeriods",
    "close_period": "Period",
    "ledger": "Ledger",
    "my_ledger": "Bookings",
    "reverse": "LedgerEntry",
    "add_node": "Node",
    "show_node": "OwnNode",
    "put_cells": "StoredCells",
    "exchange": "Exchange",
    "give": "Given",
    "drop": "PeriodNames",
    "add_split": "MadeCampaign",
    "show_split": "SplitTerms",
    "withdraw_shares": "Withdrawn",
    "verify": "Verdicts",
    "give_sum": "SplitSum",
    "show_session": "SignedIn",
}
"""The schema of an answer by the name of its operation."""
QUERY: dict[str, Plain] = {"limit": POSITIVE, "population": POSITIVE, "weighted": YES}
"""Schemas of a query's parameters; others are text."""


def described(
    operation: str,
    path: str,
    body: str | None = None,
    query: tuple[str, ...] = (),
    *headers: str,
    statuses: tuple[int, ...] = (200,),
    media: str = "application/json",
    token: bool = True,
) -> Plain:
    """Return the OpenAPI description of an operation, whose request and answer FastAPI does not see.

    ``body``      name of the schema of its body
    ``query``     names of the query's parameters
    ``headers``   names of headers that it heeds, besides the token
    ``statuses``  statuses of success
    ``media``     media type of the answer
    ``token``     whether it needs a token
    """
    names = [part.partition("}")[0] for part in path.split("{")[1:]]
    parameters = [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in names]
    parameters += [{"name": name, "in": "query", "schema": QUERY.get(name, TEXT)} for name in query]
    parameters += [{"name": name, "in": "header", "schema": TEXT} for name in headers]
    text = TEXT if media.startswith("text/") else {"type": "string", "format": "binary"}
    schema = schema_reference(ANSWERS[operation]) if media == "application/json" else text
    done = {"description": "done", "content": {media: {"schema": schema}}}
    error = {"description": "an error", "content": {"application/json": {"schema": schema_reference("Refusal")}}}
    found: Plain = {"parameters": parameters} if parameters else {}
    if body is not None:
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema_reference(body)}}}
    found["responses"] = {**{str(status): done for status in statuses}, "default": error}
    return found | ({"security": [{"token": []}]} if token else {})
