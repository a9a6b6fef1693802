"""A campaign in a file, as the consumer offers it and as the service shows it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from halfmask.errors import FileFormatError, SourceError

T = TypeVar("T")


def from_campaign(path: Path | str, wanted: str, take: Callable[[Any], T]) -> T:
    """What is taken from a campaign; ``wanted`` says in words what it must have for that."""
    try:
        return take(json.loads(Path(path).read_bytes()))
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}; `campaign` names a file", place=str(path)) from error
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(
            f"{path} is no campaign with {wanted}: save what is offered, or what the service shows of it",
            place=str(path),
        ) from error
