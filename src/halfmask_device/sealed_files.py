"""Seals: a keyed hash shows that a file was written with the device's secret."""

import hmac
import json
from pathlib import Path
from typing import Any

from halfmask_device.device_state import State
from halfmask_device.errors import FileFormatError, RunError
from halfmask_device.random_bits import keyed


def sealed(plain: dict[str, Any], state: State) -> bytes:
    """Return the content as JSON, with a seal over all of it."""
    return (json.dumps({**plain, "seal": _seal(plain, state)}, indent=2) + "\n").encode()


def read_sealed(path: Path, state: State) -> dict[str, Any] | None:
    """Return the content of a sealed file, or None if there is no file.

    Raise a FileFormatError if this device did not write the content.
    """
    try:
        plain = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror or error}", kind="read") from error
    except ValueError as error:
        raise FileFormatError(f"{path} is damaged ({error}): bring it back from a copy", kind="damaged") from error
    seal = plain.pop("seal", None) if isinstance(plain, dict) else None
    if not isinstance(seal, str) or not hmac.compare_digest(seal, _seal(plain, state)):
        message = f"{path} was changed by somebody without this device's secret: bring it back from a copy"
        raise FileFormatError(message, kind="seal")
    return dict(plain)


def _seal(plain: dict[str, Any], state: State) -> str:
    return keyed(state.keys.seal, b"terms", json.dumps(plain, sort_keys=True).encode()).hex()
