"""The table of all routes: path, allowed roles and work. The application and the tests are built on it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from halfmask.service import campaign_requests as campaigns
from halfmask.service import campaign_standing as standing
from halfmask.service import level_promises, pairing, peers
from halfmask.service import membership_requests as members
from halfmask.service.http.read_request import MOST_BYTES
from halfmask.service.request import Call, Request
from halfmask.service.split import helper_requests as helper
from halfmask.service.storage.identity_rows import Role
from halfmask.service.storage.tables import Plain
from halfmask_device.campaign_calendar import KINDS
from halfmask_device.protocol import MOST_READINGS
from halfmask_device.setting import READING, TOTAL

ALL: tuple[Role, ...] = ("operator", "consumer", "producer", "node")


@dataclass(frozen=True)
class Route:
    """A route of the protocol.

    ``roles``   who may ask; empty for anyone
    ``work``    the function that answers
    ``body``    JSON schema of the body
    ``query``   names of the query's parameters
    ``first``   slow work without the store, which is done first so that other requests need not wait for it
    ``prepare`` slow work that reads the store, done before the transaction that writes; `Call.prepared` is its result
    ``most``    most bytes of the body
    ``small``   whether it is also done while the disk is nearly full
    ``once``    whether an idempotency key is heeded: the request makes something, and its answer may be lost
    ``then``    the function that answers after ``work``, once closed periods are published
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    roles: tuple[Role, ...]
    work: Callable[[Call], Plain]
    status: int = 200
    body: Plain | None = None
    query: tuple[str, ...] = ()
    first: Callable[[Request], object] | None = None
    prepare: Callable[[Call], object] | None = None
    most: int = MOST_BYTES
    once: bool = False
    small: bool = False
    then: Callable[[Call], Plain] | None = None


def _object(**fields: Any) -> Plain:
    return {"type": "object", "properties": fields, "required": list(fields)}


TEXT = {"type": "string", "minLength": 1, "maxLength": 200}
WHOLE = {"type": "integer", "minimum": 0}
REWARDS = {"type": "object", "additionalProperties": WHOLE}
_CAMPAIGN = _object(
    name=TEXT,
    purpose=TEXT,
    unit={"type": "string", "minLength": 1, "maxLength": 40},
    lattice=_object(step={"type": "string"}, low={"type": "string"}, high={"type": "string"}),
    begins={"type": "string", "format": "date-time"},
    ends={"type": "string", "format": "date-time"},
    menu=_object(settings={"type": "array", "items": _object(id={"type": "string"}, setting={"type": "string"})}),
)
CAMPAIGN = {
    **_CAMPAIGN,
    "properties": {
        **_CAMPAIGN["properties"],
        "release": {"enum": [READING, TOTAL], "default": READING},
        "readings_expected": {"type": ["integer", "null"], "minimum": 1, "maximum": MOST_READINGS},
        "period": {"enum": list(KINDS), "default": "day"},
    },
}
REPORTS = _object(
    reports={
        "type": "array",
        "maxItems": 10_000,
        "items": _object(
            time={"type": "string", "format": "date-time"}, steps={"type": "integer"}, setting={"type": "string"}
        ),
    }
)
CELL = _object(reports=WHOLE, producers=WHOLE, sum={"type": "integer"}, squares=WHOLE)
CELLS = _object(
    version=WHOLE,
    periods={"type": "object", "additionalProperties": {"type": "object", "additionalProperties": CELL}},
)
EXCHANGE = _object(open={"type": "array", "items": {"type": "string"}}, cells={"type": "object"})

MOST_SET_BYTES = 64 * 2**20
NONCE = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
BASE64 = {"type": "string", "format": "byte"}
SPLIT = _object(leader=TEXT, campaign=TEXT, terms={"type": "string"}, verify_key=BASE64, ticket_key=BASE64)
SHARES = _object(
    shares={
        "type": "array",
        "maxItems": 10_000,
        "items": _object(time={"type": "string", "format": "date-time"}, report=NONCE, share=BASE64),
    }
)
VERIFY = _object(reports={"type": "array", "maxItems": 10_000, "items": _object(report=NONCE, verifier=BASE64)})
SUM = _object(reports={"type": "array", "items": NONCE})

ROUTES: tuple[Route, ...] = (
    Route("GET", "/v1/health", (), campaigns.health),
    Route("POST", "/v1/consumers", ("operator",), members.add_consumer, 201, _object(name=TEXT), once=True),
    Route("POST", "/v1/consumers/{consumer}/token", ("operator",), members.renew_consumer, 201, once=True),
    Route("POST", "/v1/token", ALL, members.renew_token, 201, once=True),
    Route("DELETE", "/v1/token", ALL, members.revoke_token, small=True),
    Route(
        "POST",
        "/v1/campaigns",
        ("consumer",),
        campaigns.add_campaign,
        201,
        CAMPAIGN,
        first=campaigns.read_campaign,
        once=True,
    ),
    Route("GET", "/v1/campaigns", (), campaigns.list_campaigns),
    Route("GET", "/v1/campaigns/{c}", (), campaigns.show_campaign),
    Route("GET", "/v1/campaigns/{c}/levels", (), level_promises.show_levels),
    Route(
        "POST",
        "/v1/campaigns/{c}/invitations",
        ("consumer", "operator"),
        members.invite,
        200,
        _object(count={"type": "integer", "minimum": 1, "maximum": 10_000}),
        once=True,
    ),
    Route("POST", "/v1/campaigns/{c}/producers", (), members.join, 201, _object(setting={"type": "string"}), once=True),
    Route(
        "POST",
        "/v1/campaigns/check",
        ("consumer",),
        standing.check_offered,
        200,
        CAMPAIGN,
        first=standing.prepare_check,
    ),
    Route("GET", "/v1/campaigns/{c}/standing", ("consumer",), standing.show_standing),
    Route("GET", "/v1/campaigns/{c}/rewards/forecast", ("consumer",), standing.forecast_rewards, query=("rewards",)),
    Route("POST", "/v1/campaigns/{c}/pages", (), pairing.open_page, 201, _object(code=TEXT)),
    Route("POST", "/v1/me/code", ("producer",), pairing.make_code, 201),
    Route("GET", "/v1/me", ("producer", "page"), members.show_me),
    Route("PATCH", "/v1/me", ("producer",), members.change_me, 200, _object(setting={"type": "string"})),
    Route("DELETE", "/v1/me", ("producer", "page"), members.leave, small=True),
    Route("GET", "/v1/me/ledger", ("producer", "page"), campaigns.my_ledger, query=("after", "limit")),
    Route(
        "GET",
        "/v1/campaigns/{c}/periods",
        ("consumer",),
        campaigns.list_periods,
        query=("from", "to", "limit", "population", "weighted", "group"),
    ),
    Route(
        "POST",
        "/v1/campaigns/{c}/periods/{p}/close",
        ("consumer",),
        campaigns.close_period,
        then=campaigns.show_closed,
        small=True,
    ),
    Route(
        "PUT",
        "/v1/campaigns/{c}/rewards",
        ("consumer",),
        campaigns.put_rewards,
        200,
        {
            "type": "object",
            "properties": {"rewards": REWARDS, "from": {"type": "string"}},
            "required": ["rewards", "from"],
        },
    ),
    Route("GET", "/v1/campaigns/{c}/ledger", ("consumer",), campaigns.ledger, query=("after", "limit")),
    Route("POST", "/v1/campaigns/{c}/ledger/{entry}/reversal", ("operator",), campaigns.reverse, 201),
    Route(
        "POST",
        "/v1/campaigns/{c}/nodes",
        ("operator",),
        members.add_node,
        201,
        _object(name=TEXT),
        once=True,
    ),
    Route("POST", "/v1/campaigns/{c}/nodes/{node}/token", ("operator",), members.renew_node, 201, once=True),
    Route("POST", "/v1/campaigns/{c}/consumers", ("operator",), peers.give, 200, _object(consumer=TEXT)),
    Route("POST", "/v1/campaigns/{c}/exchange", ("peer",), peers.exchange, 200, EXCHANGE),
    Route("DELETE", "/v1/campaigns/{c}/peers/{node}", ("operator",), peers.drop),
    Route("POST", "/v1/split", ("consumer",), helper.add_split, 201, SPLIT),
    Route("GET", "/v1/split/{h}", (), helper.show_split),
    Route(
        "POST",
        "/v1/split/{h}/periods/{p}/verify",
        ("consumer",),
        helper.verify,
        200,
        VERIFY,
        prepare=helper.prepare_verdicts,
    ),
    Route(
        "POST",
        "/v1/split/{h}/periods/{p}/sum",
        ("consumer",),
        helper.give_sum,
        200,
        SUM,
        most=MOST_SET_BYTES,
        prepare=helper.prepare_sum,
    ),
    Route("GET", "/v1/node", ("node",), members.show_node),
    Route("PUT", "/v1/campaigns/{c}/cells/{node}", ("node",), campaigns.put_cells, 200, CELLS),
)
