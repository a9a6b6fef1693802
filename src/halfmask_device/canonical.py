"""JSON in canonical form, so that equal content has equal bytes and the same hash."""

import hashlib
import json


def canonical_json(plain: object) -> bytes:
    """Return JSON with sorted keys and without spaces, in UTF-8."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def content_hash(plain: object) -> str:
    """Return the SHA-256 of the canonical JSON as hexadecimal text."""
    return hashlib.sha256(canonical_json(plain)).hexdigest()
