"""Requests about members of campaigns: joining, changing, leaving, invitations and tokens."""

from typing import Any

from halfmask.service import snapshots
from halfmask.service.campaign import Campaign, check_text, check_whole
from halfmask.service.campaign_periods import shut
from halfmask.service.cells import cell_name, count_reports, negated
from halfmask.service.groups import choose_group
from halfmask.service.refusal import Refusal, forbidden, not_found, unfit
from halfmask.service.report_decisions import take_back
from halfmask.service.request import Call, digest, new_name
from halfmask.service.split.leading import ready, ticket, withdraw_split
from halfmask.service.storage.identity_rows import ProducerRow, Role
from halfmask.service.storage.sql_store import Transaction
from halfmask.service.storage.tables import Plain
from halfmask_device.campaign_calendar import Span
from halfmask_device.instants import DAY, Instant, instant_text, parse_instant

MOST_INVITATIONS = 10_000


def add_consumer(call: Call) -> Plain:
    body = call.body()
    name, expires = check_text(body.get("name"), "name", 200), _expires(body, call.now)
    public = new_name()
    key = call.tx.add_consumer(public, name, call.now)
    return {"consumer": public, "token": call.issue("consumer", key, expires)}


def renew_consumer(call: Call) -> Plain:
    """Issue a new token to a consumer who lost its token. Its earlier tokens are revoked."""
    return _renewed(call, "consumer", call.tx.consumer(call.request.path["consumer"]))


def renew_node(call: Call) -> Plain:
    """Issue a new token to a node whose token was lost or stolen. Its earlier tokens are revoked."""
    return _renewed(call, "node", call.tx.node(call.campaign().key, call.request.path["node"]))


def _renewed(call: Call, role: Role, key: int | None) -> Plain:
    if key is None:
        raise not_found(role)
    call.tx.revoke_tokens(role, key, call.now)
    return {"token": call.issue(role, key)}


def renew_token(call: Call) -> Plain:
    """Issue a new token to the caller. The one that was sent is valid until the new one is used: no answer is lost."""
    who, token = call.who, call.request.token
    if who is None or token is None:
        raise forbidden("a token is needed")
    return {"token": call.issue(who.role, who.subject, who.expires, replaces=token)}


def revoke_token(call: Call) -> Plain:
    if call.request.token is not None:
        call.tx.revoke_token(call.request.token, call.now)
    return {"status": "revoked"}


def invite(call: Call) -> Plain:
    campaign = call.own_campaign()
    count = check_whole(call.body().get("count"), "count", 1, MOST_INVITATIONS)
    invitations = [call.secrets.new() for _ in range(count)]
    call.tx.add_invitations(campaign.key, [digest(each) for each in invitations])
    return {"invitations": invitations}


def join(call: Call) -> Plain:
    """Add a producer under a new pseudonym. An invitation that is sent is used up, even if joining is open."""
    campaign, body = call.campaign(), call.body()
    setting, group = _setting(campaign, body), choose_group(campaign, body.get("group"))
    if call.now >= campaign.ends + campaign.grace:
        raise Refusal(409, "ended", "this campaign has ended, and its last period is closed: nothing can be reported")
    ready(call.tx, campaign)
    invitation = body.get("invitation")
    if invitation is None and campaign.terms["join"] == "invitation":
        raise Refusal(403, "invitation_needed", "this campaign takes producers by invitation alone", "invitation")
    if invitation is not None and not isinstance(invitation, str):
        raise unfit("invitation", "an invitation is text")
    public = new_name()
    key = call.tx.add_producer(public, campaign.key, setting, call.now, group)
    if isinstance(invitation, str) and not call.tx.use_invitation(campaign.key, digest(invitation), key):
        raise Refusal(403, "invitation_unknown", "this invitation is unknown, or was used before", "invitation")
    # last: joins without an invitation must not use up those of the invited
    call.service.joins.take(campaign.key, "this join was not made")
    made = {"producer": public, "token": call.issue("producer", key)}
    return made | ticket(call.tx, campaign, call.tx.producer(key))


def show_me(call: Call) -> Plain:
    return _state(call, call.tx.producer(call.subject))


def change_me(call: Call) -> Plain:
    producer = call.tx.producer(call.subject)
    if producer.left is not None:
        raise Refusal(403, "left", "this producer has left the campaign; its state and ledger can still be read")
    campaign = call.service.campaign_of(call.tx, producer.campaign)
    setting = _setting(campaign, call.body())
    call.tx.set_setting(producer.key, setting)
    return _state(call, producer._replace(setting=setting))


def leave(call: Call) -> Plain:
    """Withdraw the producer's reports of open periods, and take back what they were to earn. Closed periods stay."""
    producer = call.tx.producer(call.subject)
    if producer.left is not None:
        return _state(call, producer)
    campaign = call.service.campaign_of(call.tx, producer.campaign)
    call.tx.lock(campaign.key)
    call.tx.set_left(producer.key, call.now)
    spans = campaign.spans(call.now + campaign.skew + DAY, call.now - campaign.grace)  # a device's clock may be ahead
    closed = shut(call.tx, campaign, spans)
    still = [span for span in spans if span.key not in closed and call.now < campaign.deadline(span)]
    take_back(call.tx, campaign.key, [producer.key], [span.key for span in still], call.now)
    withdrawn = sum(withdraw(call.tx, campaign, span, producer.key) for span in still)
    withdrawn += withdraw_split(call.tx, campaign, producer, [span.begins for span in still])
    return _state(call, producer._replace(left=call.now)) | {"withdrawn": withdrawn}


def withdraw(tx: Transaction, campaign: Campaign, span: Span, producer: int) -> int:
    """Withdraw a producer's reports of an open period. Return how many. The campaign must be locked."""
    rows = tx.withdraw(campaign.bucket(span), producer)
    if rows:
        group = tx.producer(producer).group
        gone = {cell_name(setting, group): cell for setting, cell in count_reports(rows).items()}
        tx.add_to_cells(campaign.key, span.key, negated(gone))
        if campaign.live:
            snapshots.withdrew(tx, campaign, span, producer)
    return len(rows)


def _state(call: Call, producer: ProducerRow) -> Plain:
    campaign = call.service.campaign_of(call.tx, producer.campaign)
    earned, expected = call.tx.earned(producer.key)
    return {
        "producer": producer.public,
        "campaign": campaign.public,
        "setting": producer.setting,
        **({"group": producer.group} if campaign.groups else {}),
        "state": "joined" if producer.left is None else "left",
        "joined": instant_text(producer.joined),
        "left": None if producer.left is None else instant_text(producer.left),
        "expected": expected,
        "earned": earned,
        "currency": campaign.terms["currency"],
        **ticket(call.tx, campaign, producer),
    }


def _setting(campaign: Campaign, body: dict[str, Any]) -> str:
    setting = body.get("setting")
    if not isinstance(setting, str) or setting not in campaign.noises:
        raise unfit("setting", "the setting must be an id of the campaign's menu")
    return setting


def _expires(body: dict[str, Any], now: Instant) -> Instant | None:
    text = body.get("expires")
    if text is None:
        return None
    found = parse_instant(text) if isinstance(text, str) else None
    if found is None or found <= now:
        raise unfit("expires", "expires must be a time to come, as RFC 3339 has it")
    return found


def show_node(call: Call) -> Plain:
    """Return the node to which a token belongs, and its campaign."""
    campaign = call.service.campaign_of(call.tx, call.who.campaign or 0) if call.who else call.campaign()
    return {"node": call.tx.node_name(call.subject), "campaign": campaign.public}


def add_node(call: Call) -> Plain:
    """Make a node. Only an operator does: who holds a node's token can invent producers."""
    campaign, body = call.campaign(), call.body()
    name, expires = check_text(body.get("name"), "name", 200), _expires(body, call.now)
    public = new_name()
    key = call.tx.add_node(public, campaign.key, name, call.now)
    return {"node": public, "token": call.issue("node", key, expires)}
