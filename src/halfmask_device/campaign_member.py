"""A producer in one campaign, created from the campaign's address and the producer's token."""

import time as clocks
from collections.abc import Callable, Iterable
from pathlib import Path

from halfmask_device.consent import Consent
from halfmask_device.errors import OptionError
from halfmask_device.http_client import ServiceClient
from halfmask_device.lattice import Value
from halfmask_device.membership import Membership
from halfmask_device.report_queue import Queued
from halfmask_device.report_sending import Sent
from halfmask_device.sharing import ALONE, Sharer


class Member:
    """A producer that joined one campaign.

    ``campaign``  the address ``http://HOST/v1/campaigns/ID``
    ``token``     the producer's secret
    ``state``     the state folder

    It masks each reading once, queues the report on disk, and sends it until the service answers with a receipt. If the
    service does not answer, it retries after growing, random pauses. The queue survives a restart.
    """

    def __init__(
        self,
        campaign: str,
        token: str,
        state: str | Path = "halfmask-device",
        *,
        service: Callable[[str], ServiceClient] = ServiceClient,
        clock: Callable[[], float] = clocks.time,
        consent: Consent = ALONE,
    ) -> None:
        address, path, id = campaign.rstrip("/").partition("/v1/campaigns/")
        if not path or not id or "/" in id:
            raise OptionError(
                "the campaign's address is not valid: write it like https://host/v1/campaigns/ID", kind="address"
            )
        self.sharer = Sharer(state, service, clock=clock)
        self.membership = self.sharer.adopt(address, id, token, consent)

    def report(self, time: str, value: Value) -> Queued:
        """Mask one reading and queue its report. The report is on disk when this returns."""
        return self.reports([(time, value)])

    def reports(self, readings: Iterable[tuple[str, Value]]) -> Queued:
        return self.sharer.put(readings)

    def send(self, *, partial: bool = False) -> Sent:
        """Send the queued reports, and keep those without a receipt; for ``partial`` see `Sharer.send`."""
        return self.sharer.send(partial=partial)

    def leave(self) -> Membership:
        return self.sharer.leave(self.membership.campaign)
