"""A leader and a helper in this process, as the protocol has them, without noise: what a device needs of both.

Nothing is lost when a request raises, so a test can say before or after which request a device is cut off.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from halfmask_device.http_client import Answer, ServiceClient
from halfmask_device.instants import Instant, parse_instant
from halfmask_device.prio3 import total
from halfmask_device.protocol import CampaignTerms
from halfmask_device.split_terms import SplitTerms
from tests.device.test_split_terms import SPLIT

LEADER, HELPER = "https://leader.example", "https://helper.example"
KEY = bytes(range(32))
Plain = dict[str, Any]


class Pair:
    """Both services. ``log`` has all requests, ``faults`` what happens to the next ones."""

    def __init__(self, **changed: Any) -> None:
        self.now: Instant = parse_instant("2026-11-15T00:00:00Z") or 0
        self.offer: Plain = SPLIT | {"campaign": "c1", "least_producers": 1} | changed
        self.offer["split"] = {"helper": HELPER, "campaign": "h1", "terms": None}
        hashed = hashlib.sha256(KEY).hexdigest()
        self.terms = SplitTerms.of(CampaignTerms.read(self.offer), LEADER, "c1", HELPER, hashed)
        self.offer["split"]["terms"] = self.terms.text()
        self.shown: Plain = {"leader": LEADER, "campaign": "c1", "terms": self.terms.text()}
        self.settings: dict[str, str] = {}
        self.at_leader: dict[tuple[str, str], Plain] = {}
        self.at_helper: dict[tuple[str, str], Plain] = {}
        self.log: list[tuple[str, str, bytes]] = []
        self.faults: list[Callable[[], Answer | None]] = []
        self.refusals: dict[str, str] = {}
        """By path, the code with which all shares are refused."""

    def __call__(self, method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        self.log.append((method, address, body or b""))
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None and (answer := fault()) is not None:
            return answer
        token = headers.get("Authorization", "").removeprefix("Bearer ")
        told = self._answer(method, address, token, json.loads(body or b"{}"))
        if fault is not None:
            raise ConnectionResetError("after it was handled")
        return 200, {}, json.dumps(told).encode()

    def service(self, address: str) -> ServiceClient:
        return ServiceClient(address, self, tries=3, sleep=lambda _: None)

    def clock(self) -> float:
        return self.now / 1e6

    def _answer(self, method: str, address: str, token: str, body: Plain) -> Any:
        path = address.removeprefix(LEADER).removeprefix(HELPER)
        if address.startswith(HELPER) and method == "GET":
            return self.shown
        if address.startswith(HELPER) and method == "DELETE":
            self.at_helper = {key: each for key, each in self.at_helper.items() if key[0] != token}
            return {}
        if address.startswith(HELPER):
            return {"results": [self._take(self.at_helper, token, path, each) for each in body["shares"]]}
        if path == "/v1/reports":
            return {"results": [self._take(self.at_leader, token, path, each) for each in body["reports"]]}
        if path == "/v1/me" and method == "DELETE":
            self.at_leader = {key: each for key, each in self.at_leader.items() if key[0] != token}
            return {}
        if path == "/v1/me":
            self.settings[token] = body.get("setting", self.settings[token])
            return self._me(token)
        if method == "POST":
            token = f"producer{len(self.settings)}"
            self.settings[token] = body["setting"]
            return self._me(token)
        return self.offer

    def _me(self, token: str) -> Plain:
        ticket = {"ticket": f"ticket-{token}"} if self.settings[token] == "S" else {}
        return {"producer": token, "token": token, "campaign": "c1", "setting": self.settings[token]} | ticket

    def _take(self, stored: dict[tuple[str, str], Plain], token: str, path: str, each: Plain) -> Plain:
        key, begins = (token, each["time"]), parse_instant(each["time"]) or 0
        if path in self.refusals:
            return {"status": "refused", "code": self.refusals[path]}
        if self.now < begins + 86_400 * 1_000_000:
            return {"status": "refused", "code": "future"}
        if key in stored:
            known = stored[key] == each
            return {"status": "known", "reward": 0} if known else {"status": "refused", "code": "conflict"}
        stored[key] = each
        return {"status": "accepted", "reward": 0}

    def split_sum(self, time: str) -> tuple[int, int]:
        """The exact total of a period in steps, and the number of its reports; each must be valid."""
        prio3, sums, count = self.terms.prio3, [0, 0], 0
        helpers = {each["report"]: each for (_, at), each in self.at_helper.items() if at == time}
        for (_, at), report in self.at_leader.items():
            if at != time or "share" not in report:
                continue
            both = [report, helpers[report["report"]]]
            nonce = bytes.fromhex(report["report"])
            prepared = [
                prio3.verifier(KEY, holder, nonce, base64.b64decode(each["share"])) for holder, each in enumerate(both)
            ]
            prio3.check([verifier for _, verifier in prepared])
            sums = [total((_eight(mine), _eight(number))) for mine, (number, _) in zip(sums, prepared, strict=True)]
            count += 1
        return total(map(_eight, sums)) + count * self.terms.lowest, count


def _eight(number: int) -> bytes:
    return number.to_bytes(8, "little")
