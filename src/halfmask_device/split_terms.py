"""The terms of a split campaign: one text that leader, helper and devices share, and that every share is bound to.

`split_services` compares the texts of both services byte by byte. Their hash is part of the context of each share, so
a share that was made for other terms does not verify.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from urllib.parse import urlsplit

from halfmask_device.canonical import canonical_json
from halfmask_device.errors import HalfmaskError
from halfmask_device.instants import instant_text
from halfmask_device.lattice import Lattice
from halfmask_device.prio3 import Prio3, SumCircuit
from halfmask_device.protocol import CampaignTerms, MessageError

LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class SplitTerms:
    """What both services of a split campaign have agreed on.

    ``leader``, ``helper``  their addresses, without a slash at the end
    ``campaign``            the campaign's id at the leader
    ``begins``, ``ends``    times in UTC, as text
    ``setting``             the split setting
    ``verify_key_hash``     SHA-256 of the key that no device knows, as hexadecimal text
    """

    leader: str
    campaign: str
    helper: str
    lattice: dict[str, str]
    period: str
    time_zone: str
    begins: str
    ends: str
    grace_minutes: int
    least_producers: int
    setting: str
    verify_key_hash: str

    @classmethod
    def of(cls, terms: CampaignTerms, leader: str, campaign: str, helper: str, verify_key_hash: str) -> "SplitTerms":
        """Return the terms of a campaign with a split setting."""
        lattice = {"step": terms.lattice.step, "low": terms.lattice.low, "high": terms.lattice.high}
        grace, setting = terms.offer.get("grace_minutes", 60), terms.menu[terms.split_id or ""]
        return cls(
            leader, campaign, helper, lattice, terms.period, terms.time_zone, instant_text(terms.begins),
            instant_text(terms.ends), grace, terms.least_producers, setting, verify_key_hash,
        )  # fmt: skip

    @classmethod
    def read(cls, text: object) -> "SplitTerms":
        """Parse the text of terms; raise a MessageError if it is not exactly what `text` gives."""
        try:
            found = cls(**json.loads(text)) if isinstance(text, str) else None
            if found is None or found.text() != text or found.maximum < 1 or not found._typed():
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError, HalfmaskError) as error:
            raise MessageError("terms", "are not the terms of a split campaign in their exact form") from error
        return found

    def _typed(self) -> bool:
        plain = asdict(self)
        del plain["lattice"]
        numbers = plain.pop("grace_minutes"), plain.pop("least_producers")
        return all(type(each) is int for each in numbers) and all(isinstance(each, str) for each in plain.values())

    def text(self) -> str:
        """Return the terms as JSON with sorted keys and no spaces."""
        return canonical_json(asdict(self)).decode()

    @property
    def context(self) -> bytes:
        """Return the context of all shares: the campaign, and the SHA-256 of these terms."""
        return f"halfmask/1/{self.campaign}/{hashlib.sha256(self.text().encode()).hexdigest()}".encode()

    @property
    def maximum(self) -> int:
        """Return the largest measurement: the lattice's width in steps."""
        low, high = Lattice(**self.lattice).ends
        return high - low

    @property
    def lowest(self) -> int:
        """Return the lattice's low end in steps, which the measurement 0 stands for."""
        return Lattice(**self.lattice).ends[0]

    @cached_property
    def prio3(self) -> Prio3:
        """Return what cuts and verifies this campaign's reports."""
        return Prio3(SumCircuit(self.maximum), self.context)


def carries_shares(address: str) -> bool:
    """Return whether shares may be sent to an address: by HTTPS, or within this machine."""
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
