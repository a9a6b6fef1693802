"""The device's secret, and the keys derived from it.

    chain_0 is random; chain_(d+1) = BLAKE2s("next") under chain_d; the key of day d = BLAKE2s("day") under chain_d

Days count from 1970. The secret stores chain_d of the oldest day that can still be masked. Later keys are derived from
it. Earlier keys cannot be recovered after `Secret.forget`. Another part, ``fixed``, seals the terms and masks undated
times.

The secret is stored twice: inside the folder and next to it (``mine/secret`` and ``mine.secret``). So a folder that was
emptied, restored or copied keeps its secret and gives the same reports.
"""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from halfmask_device.errors import FileFormatError, OptionError, ReadingError
from halfmask_device.private_files import create_once, private, replace
from halfmask_device.random_bits import KEY_BYTES, keyed
from halfmask_device.reading_times import UNDATED, day_text

FORMAT = "halfmask secret"
NAME = "secret"
WAY_OUT = "bring the folder back from a copy, or begin a new one and never mask again what was reported from this one"


@dataclass(frozen=True)
class Secret:
    """The stored secret of a device.

    ``day``    the oldest day that can still be masked
    ``chain``  the chain's link of that day
    ``fixed``  the part that never changes
    """

    day: int
    chain: bytes
    fixed: bytes

    @classmethod
    def new(cls) -> "Secret":
        """Return a new random secret."""
        return cls(0, os.urandom(KEY_BYTES), os.urandom(KEY_BYTES))

    def forget(self, before: int) -> "Secret":
        """Return the secret from which keys of days before ``before`` cannot be derived."""
        chain = self.chain
        for _ in range(max(before - self.day, 0)):
            chain = keyed(chain, b"next")
        return Secret(max(before, self.day), chain, self.fixed)

    def written(self) -> bytes:
        plain = {"format": FORMAT, "version": 1, "day": self.day, "chain": self.chain.hex(), "fixed": self.fixed.hex()}
        return (json.dumps({**plain, "check": self._check()}) + "\n").encode()

    @classmethod
    def read(cls, path: Path) -> "Secret":
        try:
            plain = json.loads(private(path).read_bytes())
            if plain["format"] != FORMAT or plain["version"] != 1:
                raise FileFormatError(f"{path} is of another version: update this program", kind="version")
            found = cls(int(plain["day"]), bytes.fromhex(plain["chain"]), bytes.fromhex(plain["fixed"]))
        except (ValueError, KeyError, TypeError) as error:
            raise FileFormatError(f"{path} is damaged: {WAY_OUT}", kind="damaged") from error
        if plain.get("check") != found._check():
            raise FileFormatError(f"{path} is damaged: {WAY_OUT}", kind="damaged")
        return found

    def _check(self) -> str:
        return keyed(self.fixed, b"check", self.chain, str(self.day).encode()).hex()[:16]


class Keys:
    """The keys of days, derived on demand and cached while the program runs."""

    def __init__(self, secret: Secret) -> None:
        self._secret, self._chains, self._lock = secret, [secret.chain], Lock()
        self.days: dict[int, bytes] = {UNDATED: keyed(secret.fixed, b"undated")}
        self.seal = keyed(secret.fixed, b"terms")

    def of(self, day: int, place: str = "the time") -> bytes:
        """Return the key of a day. Raise a ReadingError if it was deleted."""
        found = self.days.get(day)
        if found is None:
            if day < self._secret.day:
                raise ReadingError(
                    f"{place} lies before {day_text(self._secret.day)}: the keys of earlier days were deleted, "
                    "so their readings cannot be masked again",
                    kind="forgotten",
                    place=place.partition(":")[0],
                )
            with self._lock:  # two threads that add the same link would shift all later ones
                while len(self._chains) <= day - self._secret.day:
                    self._chains.append(keyed(self._chains[-1], b"next"))
            found = self.days[day] = keyed(self._chains[day - self._secret.day], b"day")
        return found


def find_secret(folder: Path, in_use: Callable[[], bool]) -> Secret:
    """Return the secret of a folder, from the file inside it or next to it, and write it to both places.

    ``in_use``  returns whether the device was used before

    If both files are missing, a new secret is created; for a device that was used before, a FileFormatError is raised
    instead. If both exist, they must be links of one chain. The later one is used, so that deleted keys stay deleted.
    """
    inside, beside = places(folder)
    found = [Secret.read(path) for path in (inside, beside) if path.exists()]
    if not found:
        if in_use():
            raise FileFormatError(f"{inside} is missing, but the device was in use: {WAY_OUT}", kind="missing")
        create_once(beside, Secret.new().written())
        found = [Secret.read(beside)]
    latest = max(found, key=lambda each: each.day)
    if any(each.forget(latest.day) != latest for each in found):
        raise OptionError(
            f"{inside} and {beside} are of two devices: remove the one that does not belong here", kind="two_devices"
        )
    store_secret(folder, latest)
    return latest


def store_secret(folder: Path, secret: Secret) -> None:
    """Write the secret to both places, unless a place has the same or a later link."""
    for path in places(folder):
        stored = None
        with suppress(FileFormatError):
            stored = Secret.read(path) if path.exists() else None
        if stored is None:
            create_once(path, secret.written())
        elif stored.day < secret.day:
            replace(path, secret.written())


def places(folder: Path) -> tuple[Path, Path]:
    """Return the two paths of the secret: inside the folder, and next to it."""
    whole = folder.absolute()
    return whole / NAME, whole.with_name(f"{whole.name}.secret")
