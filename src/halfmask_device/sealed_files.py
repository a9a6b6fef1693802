"""Seals: a keyed hash shows that a file was written with the device's secret."""

import hmac
import json
from pathlib import Path
from typing import Any

from halfmask_device.device_state import State
from halfmask_device.errors import FileFormatError
from halfmask_device.random_bits import keyed


def sealed(plain: dict[str, Any], state: State) -> bytes:
    """Return the content as JSON, with a seal over all of it."""
    return (json.dumps({**plain, "seal": _seal(plain, state)}, indent=2) + "\n").encode()


def unsealed(plain: dict[str, Any], state: State, path: Path) -> None:
    """Remove the seal from ``plain``; raise a FileFormatError if this device did not write the content."""
    seal = plain.pop("seal", None)
    if not isinstance(seal, str) or not hmac.compare_digest(seal, _seal(plain, state)):
        raise FileFormatError(
            f"{path} was changed by somebody without this device's secret: bring it back from a copy", kind="seal"
        )


def _seal(plain: dict[str, Any], state: State) -> str:
    return keyed(state.keys.seal, b"terms", json.dumps(plain, sort_keys=True).encode()).hex()
