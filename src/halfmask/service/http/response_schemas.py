"""What the answers of routes look like, for the service's OpenAPI description."""

from typing import Any

from halfmask.service.storage.tables import Plain

TEXT: Plain = {"type": "string"}
WHOLE: Plain = {"type": "integer"}
NUMBER: Plain = {"type": "number"}


def _object(required: dict[str, Any], **optional: Any) -> Plain:
    return {"type": "object", "properties": required | optional, "required": list(required)}


def _list(items: Plain) -> Plain:
    return {"type": "array", "items": items}


def _maybe(schema: Plain) -> Plain:
    return {"anyOf": [schema, {"type": "null"}]}


ERROR = _object({"error": _object({"code": TEXT, "message": TEXT, "field": TEXT})})
_INTERVAL = _object({"estimate": NUMBER, "standard_error": NUMBER, "low": NUMBER, "high": NUMBER})
_COUNTS = {"type": "object", "additionalProperties": _object({"reports": WHOLE, "producers": WHOLE})}
_PERIOD = _object(
    {
        "period": TEXT,
        "state": {"enum": ["open", "closing", "closed"]},
        "reports": _maybe(WHOLE),
        "producers": _maybe(WHOLE),
        "settings": _maybe(_COUNTS),
        **dict.fromkeys(("sum", "mean", "variance", "smoothed", "trimmed"), _maybe(_INTERVAL)),
        "influence": _maybe({"type": "object", "additionalProperties": NUMBER}),
        "at_bounds": _maybe(_object({"low": NUMBER, "high": NUMBER})),
        "withheld": _maybe(TEXT),
    }
)
_ENTRY = {"entry": TEXT, "amount": WHOLE}
_TOKEN = _object({"token": TEXT})
_STATE = _object(
    {
        **dict.fromkeys(("producer", "campaign", "setting", "joined", "currency"), TEXT),
        "state": {"enum": ["joined", "left"]},
        "left": _maybe(TEXT),
        "expected": WHOLE,
        "earned": WHOLE,
    },
    withdrawn=WHOLE,
)
RECEIPTS = _object(
    {
        "results": _list(
            _object({"status": {"enum": ["accepted", "known", "refused"]}}, code=TEXT, reward={"type": "integer"})
        )
    }
)
ANSWERS: dict[str, Plain] = {
    "health": _object({"status": TEXT}),
    "add_consumer": _object({"consumer": TEXT, "token": TEXT}),
    **dict.fromkeys(("renew_consumer", "renew_token", "renew_node"), _TOKEN),
    "add_campaign": _object({"campaign": TEXT}, warnings=_list(TEXT)),
    "list_campaigns": _object({"campaigns": _list({"type": "object"})}),
    "invite": _object({"invitations": _list(TEXT)}),
    "join": _object({"producer": TEXT, "token": TEXT}),
    **dict.fromkeys(("show_me", "change_me", "leave"), _STATE),
    "list_periods": _object({"periods": _list(_PERIOD)}, next=_maybe(TEXT)),
    "close_period": _PERIOD,
    "ledger": _object({"entries": _list(_object(_ENTRY, reverses=TEXT)), "expected": WHOLE, "next": _maybe(TEXT)}),
    "my_ledger": _object(
        {
            "entries": _list(
                _object({**_ENTRY, "period": TEXT, "state": TEXT, "booked": TEXT}, reverses=TEXT),
            ),
            "next": _maybe(TEXT),
        }
    ),
    "add_node": _object({"node": TEXT, "token": TEXT}),
    "reports": RECEIPTS,
}
"""The answers of routes by the name of their function; of other routes any object."""


def answers(work: str, status: int) -> Plain:
    """Return the described answers of a route: its success, and the errors that all have one form."""
    success = {"description": "done", "content": _json(ANSWERS.get(work, {"type": "object"}))}
    return {str(status): success, "default": {"description": "an error", "content": _json(ERROR)}}


def _json(schema: Plain) -> Plain:
    return {"application/json": {"schema": schema}}
