"""The helper's side: it holds one share of each report, verifies with the leader, and gives one noisy sum per period.

It trusts nobody: not the leader, who may invent producers, ask for subsets and repeat itself, nor producers.
"""

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

from halfmask.errors import HalfmaskError
from halfmask.service.campaign import LONGEST_GRACE, check_whole
from halfmask.service.refusal import Refusal, forbidden, not_found, unfit
from halfmask.service.request import Call, new_name
from halfmask.service.split.sent_shares import check_nonces, read_bytes, set_hash
from halfmask.service.split.split_campaign import (
    KEPT,
    MOST_SHARES,
    MOST_VERIFIED,
    SplitCampaign,
    ValidShares,
    check_limits,
    epsilon_of_total,
    helped_campaign,
    share_bytes,
    stored_number,
)
from halfmask.service.split.split_options import plain_address
from halfmask.service.storage.split_rows import INVALID, UNDECIDED, VALID, HelpedSplit, SumRow
from halfmask.service.storage.sql_store import Transaction
from halfmask.service.storage.tables import Plain
from halfmask_device.campaign_calendar import Span
from halfmask_device.instants import Instant, instant_text
from halfmask_device.prio3.turboshake import SEED_BYTES
from halfmask_device.protocol import MessageError
from halfmask_device.split_terms import SplitTerms

RESTORED = "restored"
"""The fact that holds when this database was last restored from a backup."""
OUTCOMES = {UNDECIDED: "missing", VALID: "valid", INVALID: "invalid"}


def add_split(call: Call) -> Plain:
    """Take part in a leader's campaign. The same request again gets the same answer."""
    body, options = call.body(), call.service.split
    if not options.public_url:
        raise unfit("", "this service has no address of its own to state: its operator sets `public_url`")
    terms = _read_terms(body, options.public_url)
    keys = [read_bytes(body.get(name), SEED_BYTES) for name in ("verify_key", "ticket_key")]
    if keys[0] is None or hashlib.sha256(keys[0]).hexdigest() != terms.verify_key_hash:
        raise unfit("verify_key", "the verify key must be 32 bytes as base64, with the hash that the terms state")
    if keys[1] is None:
        raise unfit("ticket_key", "the ticket key must be 32 bytes as base64")
    verify_key, ticket_key = keys[0].hex(), keys[1].hex()
    row = HelpedSplit(0, new_name(), call.subject, terms.leader, terms.campaign, terms.text(), verify_key, ticket_key)
    stands = call.tx.helped_for(terms.leader, terms.campaign)
    if stands is None:
        _check_floors(call, helped_campaign(row))
        call.tx.add_helped(row)
    elif stands != row._replace(key=stands.key, public=stands.public):
        raise Refusal(409, "conflict", "this campaign of this leader is here with other terms or keys", "campaign")
    return {"campaign": (stands or row).public}


def _read_terms(body: dict[str, Any], own: str) -> SplitTerms:
    """Return the terms that were sent. They must name this service, and the leader and campaign of the body."""
    try:
        terms = SplitTerms.read(body.get("terms"))
    except MessageError as error:
        raise unfit("terms", error.message) from None
    if terms.leader != body.get("leader") or terms.campaign != body.get("campaign"):
        raise unfit("terms", "leader and campaign must be those of the terms")
    if terms.helper != own or terms.leader == own:
        raise unfit("terms", "the terms must name this service as helper, by its own address, and another as leader")
    if len(terms.leader) > 200 or len(terms.campaign) > 32 or not terms.campaign.isalnum():
        raise unfit("terms", "leader or campaign is not a name that a service has")
    try:
        plain = plain_address(terms.leader, "leader")
    except HalfmaskError as error:
        raise unfit("leader", error.message) from None
    if plain != terms.leader:
        raise unfit("leader", "write the leader's address without a slash at the end")
    return terms


def _check_floors(call: Call, split: SplitCampaign) -> None:
    """Refuse terms that are not well formed, or below this service's floors."""
    terms, most = split.terms, call.service.split.most_epsilon
    check_whole(terms.grace_minutes, "terms", 1, LONGEST_GRACE)
    check_whole(terms.least_producers, "terms", 1, MOST_SHARES)
    try:
        texts = [instant_text(split.begins), instant_text(split.ends)]
        aligned = split.begins < split.ends and all(map(split.calendar.begins_at, (split.begins, split.ends)))
        aligned = aligned and texts == [terms.begins, terms.ends]  # also false for a time that cannot be read
    except (KeyError, ValueError):
        aligned = False
    if not aligned:
        raise unfit("terms", "begins and ends must be first instants of periods, of a known kind and time zone")
    try:
        check_limits(split, "terms")
    except HalfmaskError as error:
        raise unfit("terms", error.message) from None
    if terms.least_producers < call.service.floors.least_producers:
        least = call.service.floors.least_producers
        raise Refusal(422, "below_floor", f"this helper takes campaigns from {least} producers on", "least_producers")
    if epsilon_of_total(terms) > most:
        message = f"replacing a whole total has an epsilon above {most:g}, the most that this helper takes"
        raise Refusal(422, "below_floor", message, "setting")


def show_split(call: Call) -> Plain:
    row = _named(call)
    return {"leader": row.leader, "campaign": row.led, "terms": row.terms}


def _named(call: Call) -> HelpedSplit:
    row = call.tx.helped_named(call.request.path["h"])
    if row is None:
        raise not_found("campaign")
    return row


def _led_by_caller(call: Call) -> tuple[SplitCampaign, Span]:
    """Return the campaign and period that the path names, if the caller is the campaign's leader."""
    row = _named(call)
    if row.consumer != call.subject:
        raise forbidden("this campaign is another leader's")
    split = helped_campaign(row)
    return split, split.named_span(call.request.path["p"])


Decisions = dict[str, tuple[bytes, int, int]]
"""By nonce: the share that was verified, the verdict, and the share's number."""


def prepare_verdicts(call: Call) -> Decisions:
    """Verify the shares that are here and lack a verdict. Nothing is written."""
    from halfmask.service.split.batch_verification import valid_reports  # a service starts without it

    split, span = _led_by_caller(call)
    nonces, verifiers = _read_verifiers(call)
    held = call.tx.named_shares(split.holding, span.begins, nonces)
    asked = [nonce for nonce in nonces if nonce in held and held[nonce].verdict == UNDECIDED]
    if not asked:
        return {}
    shares = [held[nonce].share for nonce in asked]
    mine = split.verifier.helper([bytes.fromhex(nonce) for nonce in asked], shares)
    valid = valid_reports(mine, [verifiers[nonce] for nonce in asked])
    return {
        nonce: (share, VALID if right else INVALID, stored_number(int(number)))
        for nonce, share, right, number in zip(asked, shares, valid, mine.numbers, strict=True)
    }


def _read_verifiers(call: Call) -> tuple[list[str], dict[str, bytes]]:
    """Return the nonces that were sent in order, and each one's verifier; one that is not base64 proves nothing."""
    sent = call.body().get("reports")
    if not isinstance(sent, list) or not all(isinstance(each, dict) for each in sent):
        raise unfit("reports", "reports must be a list of objects with report and verifier")
    if len(sent) > MOST_VERIFIED:
        raise Refusal(413, "too_many_reports", f"a request may have at most {MOST_VERIFIED} reports", "reports")
    nonces = check_nonces([each.get("report") for each in sent])
    return nonces, {nonce: read_bytes(each.get("verifier")) or b"" for nonce, each in zip(nonces, sent, strict=True)}


def verify(call: Call) -> Plain:
    """Store the verdicts. The first verifier of a report decides for good; what is not here stays undecided."""
    split, span = _led_by_caller(call)
    nonces, decisions = _read_verifiers(call)[0], call.prepared
    call.tx.lock_helped(split.holding.split)
    held = call.tx.named_shares(split.holding, span.begins, nonces)
    verdicts = {nonce: row.verdict for nonce, row in held.items()}
    new = []
    for nonce, (share, verdict, number) in decisions.items():
        row = held.get(nonce)
        if row is not None and row.verdict == UNDECIDED and row.share == share:  # else it changed since it was verified
            new.append((nonce, verdict, number))
            verdicts[nonce] = verdict
    call.tx.decide(split.holding, span.begins, new)
    return {"results": [OUTCOMES[verdicts.get(nonce, UNDECIDED)] for nonce in nonces]}


@dataclass(frozen=True)
class AskedSum:
    """What a leader asks for.

    ``nonces``  the set
    ``asked``   its hash
    ``valid``   the valid shares of the set; None if the period has had its sum
    """

    nonces: list[str]
    asked: str
    valid: ValidShares | None


def prepare_sum(call: Call) -> AskedSum:
    """Read and add up the shares of a set. Nothing is written, and others need not wait."""
    split, span = _led_by_caller(call)
    nonces = check_nonces(call.body().get("reports"))
    valid = None
    if call.tx.split_sum(split.holding.split, span.begins) is None:
        valid = split.valid_shares(call.tx, span).among(nonces)
        valid.total  # noqa: B018 - added up here, and kept
    return AskedSum(nonces, set_hash(nonces), valid)


def give_sum(call: Call) -> Plain:
    """Give a period's only sum: the shares of exactly this set and one draw of noise. The shares are then erased."""
    split, span = _led_by_caller(call)
    sum_of: AskedSum = call.prepared
    call.tx.lock_helped(split.holding.split)
    stands = call.tx.split_sum(split.holding.split, span.begins)
    if stands is None:
        if sum_of.valid is None or not split.unchanged(call.tx, span, sum_of.valid):
            sum_of = prepare_sum(call)
        stands = _first_sum(call, split, span, sum_of)
    elif stands.asked != sum_of.asked:
        raise Refusal(
            409, "other_set", "this period has had its sum, over another set: there is one for good", "reports"
        )
    share = base64.b64encode(bytes.fromhex(stands.share)).decode() if stands.share else None
    return {"share": share, "reports": stands.reports}


def _first_sum(call: Call, split: SplitCampaign, span: Span, sum_of: AskedSum) -> SumRow:
    """Store the noisy sum of a set and the hash of the set, and erase the period's shares."""
    nonces, valid = sum_of.nonces, sum_of.valid
    if call.now < span.ends:
        raise Refusal(409, "not_ended", "the period has not ended yet", "period")
    if wait := call.service.unsettled():
        raise Refusal(503, "unsettled", "the clock has not run steadily for long enough to give a sum", after=wait)
    if span.ends <= restored(call.tx):
        raise Refusal(409, "restored", "this helper was restored from a backup: such a period has no sum", "period")
    row = SumRow(sum_of.asked, "", 0)
    if nonces and valid is not None:
        if len(nonces) < split.terms.least_producers:
            raise Refusal(409, "too_few", f"fewer than {split.terms.least_producers} reports have no sum", "reports")
        if len(nonces) > MOST_SHARES:
            raise Refusal(413, "too_many_reports", f"a sum is over at most {MOST_SHARES} reports", "reports")
        unknown = [nonce for nonce in nonces if nonce not in valid.numbers]
        if unknown:
            message = "some reports are not valid here: leave them out, and ask again"
            raise Refusal(409, "not_valid", message, "reports", more={"reports": unknown})
        row = SumRow(sum_of.asked, share_bytes(split.noisy(valid.total, call.service.draws)).hex(), len(nonces))
    call.tx.add_split_sum(split.holding.split, span.begins, row)
    call.tx.erase_shares(split.holding, span.begins)
    return row


def restored(tx: Transaction) -> Instant:
    """Return when this database was restored from a backup, 0 if never. Earlier periods may have had their sum."""
    return int(tx.fact(RESTORED) or 0)


def forget_shares(tx: Transaction, now: Instant) -> None:
    """Erase the helper's shares that nobody has asked for within 30 days after their period, and delete some rows."""
    for row in tx.helped():
        split = helped_campaign(row)
        old = split.calendar.span_of(max(now - KEPT, 0)).begins  # periods before this one ended before then
        tx.erase_old_shares(split.holding, old)
    tx.clear_erased()
