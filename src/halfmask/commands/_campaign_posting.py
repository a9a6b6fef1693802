"""Posting a campaign to its service, with the consumer's tokens, which are never on the command line."""

import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from halfmask.commands._options import AnyPath
from halfmask.errors import OptionError, RunError, SourceError
from halfmask_device.http_client import ServiceClient
from halfmask_device.protocol import MessageError

TOKEN, HELPER_TOKEN = "HALFMASK_TOKEN", "HALFMASK_HELPER_TOKEN"
"""The environment variables that hold the consumer's tokens of the service and of the helper."""
AGREES_WITHIN = 60.0
"""Seconds that a helper has to agree to a new campaign."""


class ConsumerAccess(NamedTuple):
    """A service's address, and the file that holds the consumer's token of it; None: the environment holds it."""

    address: str
    token_file: AnyPath | None


def post_campaign(
    plain: Mapping[str, Any], access: ConsumerAccess, helper_token_file: AnyPath | None
) -> tuple[str, tuple[str, ...]]:
    """Post a campaign, and return its id and the service's warnings. If it has a helper, wait until that has agreed."""
    service, token, posted = ServiceClient(access.address), _token(access.token_file, TOKEN), dict(plain)
    if "split" in posted:
        posted["split"] = posted["split"] | {"token": _token(helper_token_file, HELPER_TOKEN)}
    answer = service.ask("POST", "/v1/campaigns", token, posted, key=secrets.token_hex(32))
    if not isinstance(answer, dict) or not isinstance(answer.get("campaign"), str):
        raise MessageError("campaign", "is missing in the service's answer: is it the right address?")
    if "split" in posted:
        _await_helper(service, answer["campaign"])
    warnings = answer.get("warnings")
    return answer["campaign"], tuple(str(each) for each in warnings) if isinstance(warnings, list) else ()


def _await_helper(service: ServiceClient, campaign: str) -> None:
    """Return when the helper has agreed to a campaign, because nobody can join before."""
    until = time.monotonic() + AGREES_WITHIN
    while time.monotonic() < until:
        split = service.ask("GET", f"/v1/campaigns/{campaign}").get("split") or {}
        if split.get("refused"):
            raise RunError(
                f"the helper refuses campaign {campaign} ({split['refused']}): take terms within its floors, and a "
                "consumer's token of its own",
                kind="helper_refused",
            )
        if split.get("terms"):
            return
        time.sleep(0.2)
    raise RunError(
        f"campaign {campaign} is posted, and its helper has not answered yet: {service.address} goes on asking it, and "
        "producers can join once it has agreed",
        kind="helper_silent",
    )


def _token(file: AnyPath | None, variable: str) -> str:
    """Return a consumer's token. It is never an option, because others can read the command line."""
    option = "token_file" if variable == TOKEN else "helper_token_file"
    if file is None:
        found = os.environ.get(variable, "").strip()
    else:
        try:
            found = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise SourceError(f"{file} cannot be read: `{option}` holds the consumer's token", kind="token") from error
    if not found:
        raise OptionError(
            f"the consumer's token is missing: set {variable}, or name `{option}`; 'halfmask admin add' makes one",
            kind="token",
            field=option,
        )
    return found
