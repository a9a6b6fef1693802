"""The two services of a split campaign, as a device sees them: checked when it joins, named to its owner, sent to.

A total is cut into two shares, each uniformly random alone: one for the leader, one for the helper.
"""

import os
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from halfmask_device.errors import OptionError, RunError
from halfmask_device.http_client import ServiceClient
from halfmask_device.prio3.prio3 import NONCE_BYTES
from halfmask_device.prio3.turboshake import SEED_BYTES
from halfmask_device.protocol import CampaignTerms
from halfmask_device.split_terms import SplitTerms, carries_shares


def cut_total(terms: SplitTerms, steps: int) -> tuple[bytes, bytes, bytes]:
    """Return a fresh nonce, the leader's share and the helper's share of a total in steps of the lattice."""
    leader, helper = terms.prio3.shard(steps - terms.lowest, os.urandom(2 * SEED_BYTES))
    return os.urandom(NONCE_BYTES), leader, helper


def check_services(leader: str, offer: dict[str, Any], service: Callable[[str], ServiceClient]) -> SplitTerms:
    """Return the terms of a split campaign if both services show the same, and they are those of the offer.

    ``leader``   the address at which the campaign was offered
    ``offer``    the campaign with its split setting
    ``service``  makes the client for an address
    """
    terms, split = CampaignTerms.read(offer), offer["split"]
    if not split.get("campaign") or not isinstance(split.get("terms"), str):
        raise OptionError(
            f"the helper of campaign {offer.get('campaign')} has not agreed to it yet: join later", kind="not_ready"
        )
    for address in (leader, split["helper"]):
        if not carries_shares(address):
            raise OptionError(
                f"{address} does not encrypt what is sent: shares go to https:// addresses only", kind="plain_http"
            )
    shown = service(split["helper"]).ask("GET", f"/v1/split/{split['campaign']}")
    found = SplitTerms.read(split["terms"])
    stated = SplitTerms.of(terms, leader, str(offer["campaign"]), split["helper"], found.verify_key_hash)
    expected = {"leader": leader, "campaign": offer["campaign"], "terms": split["terms"]}
    same = isinstance(shown, dict) and {name: shown.get(name) for name in expected} == expected
    if not same or stated.text() != split["terms"]:
        raise OptionError(
            f"{leader} and {split['helper']} do not show the same terms as the campaign's offer, so nothing is shared: "
            f"ask the campaign's consumer; if you used another address of {found.leader}, use that one",
            kind="split_terms",
        )
    return found


def ticket_of(answer: dict[str, Any], address: str) -> str:
    """Return the ticket for the helper from a leader's answer."""
    ticket = answer.get("ticket")
    if not isinstance(ticket, str) or not ticket or not ticket.isascii() or not ticket.isprintable():
        raise RunError(f"{address} gave no ticket for the helper, so nothing can be shared", kind="protocol")
    return ticket


def trust_words(terms: SplitTerms) -> list[str]:
    """Return in words what a split level rests on: one sentence per item."""
    words = [
        f"each total is cut into two shares, one for {terms.leader} and one for {terms.helper}: neither can look into "
        "it, and these two must not work together, because together they can",
        "the promise holds against everyone but these two together, as long as nobody can break the hash function "
        "Keccak; that, when and from which address you report is not hidden",
    ]
    if _owner(terms.leader) == _owner(terms.helper):
        words.append("both addresses are of one owner: two services in one hand are one, and nothing is hidden from it")
    return words


def _owner(address: str) -> str:
    """Return the last two parts of a host's name, which mostly show whose it is."""
    return ".".join((urlsplit(address).hostname or "").split(".")[-2:])
