"""The table of all routes: path, allowed roles and work. The application and the tests are built on it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from halfmask.service import campaign_requests as campaigns
from halfmask.service import campaign_standing as standing
from halfmask.service import level_promises, pairing, peers
from halfmask.service import membership_requests as members
from halfmask.service.http.read_request import MOST_BYTES
from halfmask.service.request import Call, Request
from halfmask.service.split import helper_requests as helper
from halfmask.service.storage.identity_rows import Role
from halfmask.service.storage.tables import Plain

ALL: tuple[Role, ...] = ("operator", "consumer", "producer", "node")


@dataclass(frozen=True)
class Route:
    """A route of the protocol.

    ``roles``   who may ask; empty for anyone
    ``work``    the function that answers
    ``body``    name of the schema of its body
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
    body: str | None = None
    query: tuple[str, ...] = ()
    first: Callable[[Request], object] | None = None
    prepare: Callable[[Call], object] | None = None
    most: int = MOST_BYTES
    once: bool = False
    small: bool = False
    then: Callable[[Call], Plain] | None = None


MOST_SET_BYTES = 64 * 2**20

ROUTES: tuple[Route, ...] = (
    Route("GET", "/v1/health", (), campaigns.health),
    Route("POST", "/v1/consumers", ("operator",), members.add_consumer, 201, "NewConsumer", once=True),
    Route("POST", "/v1/consumers/{consumer}/token", ("operator",), members.renew_consumer, 201, once=True),
    Route("POST", "/v1/token", ALL, members.renew_token, 201, once=True),
    Route("DELETE", "/v1/token", ALL, members.revoke_token, small=True),
    Route(
        "POST",
        "/v1/campaigns",
        ("consumer",),
        campaigns.add_campaign,
        201,
        "Campaign",
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
        "Count",
        once=True,
    ),
    Route("POST", "/v1/campaigns/{c}/producers", (), members.join, 201, "Join", once=True),
    Route(
        "POST",
        "/v1/campaigns/check",
        ("consumer",),
        standing.check_offered,
        200,
        "Campaign",
        first=standing.prepare_check,
    ),
    Route("GET", "/v1/campaigns/{c}/standing", ("consumer",), standing.show_standing),
    Route("GET", "/v1/campaigns/{c}/rewards/forecast", ("consumer",), standing.forecast_rewards, query=("rewards",)),
    Route("POST", "/v1/campaigns/{c}/pages", (), pairing.open_page, 201, "TypedCode"),
    Route("POST", "/v1/me/code", ("producer",), pairing.make_code, 201),
    Route("GET", "/v1/me", ("producer", "page"), members.show_me),
    Route("PATCH", "/v1/me", ("producer",), members.change_me, 200, "ChosenSetting"),
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
        "RewardsFrom",
    ),
    Route("GET", "/v1/campaigns/{c}/ledger", ("consumer",), campaigns.ledger, query=("after", "limit")),
    Route("POST", "/v1/campaigns/{c}/ledger/{entry}/reversal", ("operator",), campaigns.reverse, 201),
    Route(
        "POST",
        "/v1/campaigns/{c}/nodes",
        ("operator",),
        members.add_node,
        201,
        "NewNode",
        once=True,
    ),
    Route("POST", "/v1/campaigns/{c}/nodes/{node}/token", ("operator",), members.renew_node, 201, once=True),
    Route("POST", "/v1/campaigns/{c}/consumers", ("operator",), peers.give, 200, "Given"),
    Route("POST", "/v1/campaigns/{c}/exchange", ("peer",), peers.exchange, 200, "Exchange"),
    Route("DELETE", "/v1/campaigns/{c}/peers/{node}", ("operator",), peers.drop),
    Route("POST", "/v1/split", ("consumer",), helper.add_split, 201, "SplitTerms"),
    Route("GET", "/v1/split/{h}", (), helper.show_split),
    Route(
        "POST",
        "/v1/split/{h}/periods/{p}/verify",
        ("consumer",),
        helper.verify,
        200,
        "Verifiers",
        prepare=helper.prepare_verdicts,
    ),
    Route(
        "POST",
        "/v1/split/{h}/periods/{p}/sum",
        ("consumer",),
        helper.give_sum,
        200,
        "Nonces",
        most=MOST_SET_BYTES,
        prepare=helper.prepare_sum,
    ),
    Route("GET", "/v1/node", ("node",), members.show_node),
    Route("PUT", "/v1/campaigns/{c}/cells/{node}", ("node",), campaigns.put_cells, 200, "Cells"),
)
