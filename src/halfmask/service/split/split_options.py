"""What an operator chooses for split sums: the service's own address, its helpers, and its floor as a helper."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from halfmask.errors import OptionError
from halfmask.service.refusal import Refusal, unfit
from halfmask_device.http_client import ServiceClient, Transport, urllib_transport
from halfmask_device.split_terms import carries_shares

MOST_EPSILON = 10.0
"""The largest epsilon of a whole total that a helper takes, unless its operator says otherwise."""


def plain_address(address: str, name: str) -> str:
    """Return an address without a slash at the end. Raise OptionError unless it is HTTPS, or within this machine."""
    found = ServiceClient(address).address
    if not carries_shares(found):
        raise OptionError(
            f"`{name}` {found} is not encrypted: write it like https://helper.example; plain HTTP is for this machine",
            kind="address",
            field=name,
        )
    return found


@dataclass(frozen=True)
class SplitOptions:
    """How a service takes part in split sums.

    ``public_url``    the address under which devices and the other service reach this one; empty for neither role
    ``helpers``       the addresses of services that it may ask for help
    ``most_epsilon``  as helper: the largest epsilon of replacing a total by any other
    ``transport``     how helpers are reached
    """

    public_url: str = ""
    helpers: tuple[str, ...] = ()
    most_epsilon: float = MOST_EPSILON
    transport: Transport = urllib_transport

    def helper(self, address: str) -> ServiceClient:
        return ServiceClient(address, self.transport, tries=1)

    def check(self, split: Mapping[str, Any]) -> None:
        """Refuse a campaign whose helper this service may not ask."""
        if not self.public_url:
            raise unfit("split", "this service has no address of its own to state: its operator sets `public_url`")
        if split["helper"] == self.public_url:
            raise unfit("split.helper", "a service cannot be its own helper: two services in one hand are one")
        if split["helper"] not in self.helpers:
            raise unfit("split.helper", "the operator of this service has not named this helper: add it to `helper`")


NO_SPLIT = SplitOptions()


def not_ready() -> Refusal:
    """Return the refusal of what needs the helper's consent, before it has answered (409)."""
    return Refusal(409, "not_ready", "the helper of this campaign has not answered yet: try again later", "split")
