"""Join with an idempotency key that is stored before it is sent, so that a lost answer does not lose the token.

The same join, repeated within 24 hours, even after a power failure, gives the same pseudonym and token.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from halfmask_device.http_client import AGAIN, ServiceClient, ServiceError
from halfmask_device.membership import not_of_the_protocol
from halfmask_device.private_files import own_folder, private, replace
from halfmask_device.random_bits import KEY_BYTES, keyed

NAME = "joining"


def ask_to_join(folder: Path, service: ServiceClient, path: str, body: dict[str, str]) -> dict[str, Any]:
    """Join a campaign, and return the answer with producer and token. Call `forget_key` when these are stored.

    If the join is refused, nothing is left in the device's folder.
    """
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    key = _key(folder, [service.address, path, body])
    try:
        answer = service.ask("POST", path, None, body, key=key)
    except ServiceError as error:
        if error.status not in AGAIN:
            forget_key(folder)
            with suppress(OSError):
                for each in new:
                    each.rmdir()
        raise
    if not isinstance(answer, dict) or not all(isinstance(answer.get(name), str) for name in ("producer", "token")):
        raise not_of_the_protocol(service)
    return answer


def forget_key(folder: Path) -> None:
    (folder / NAME).unlink(missing_ok=True)


def _key(folder: Path, asked: object) -> str:
    """Return the stored key if the same join was begun and not answered; else store and return a new key."""
    own_folder(folder)
    path = folder / NAME
    with suppress(OSError, ValueError, KeyError, TypeError):
        plain = json.loads(private(path).read_bytes())
        key = bytes.fromhex(plain["key"])
        if plain["asked"] == _hash(key, asked):
            return key.hex()
    key = os.urandom(KEY_BYTES)
    replace(path, json.dumps({"key": key.hex(), "asked": _hash(key, asked)}).encode())
    return key.hex()


def _hash(key: bytes, asked: object) -> str:
    """Return a keyed hash of a join. The join itself is not stored, because it may contain an invitation."""
    return keyed(key, b"join", json.dumps(asked, sort_keys=True).encode()).hex()
