"""Requests with an `Idempotency-Key`: done once, and answered alike for a day, because an answer may be lost.

No secret is stored. The secrets of an answer follow from the key and a secret of the service by HMAC-SHA256, and the
stored answer has their places instead. So a copy of the database gives no token to those who do not know the key.
"""

import hmac
from collections.abc import Callable
from typing import Any, TypeVar

from halfmask.service.refusal import Refusal
from halfmask.service.request import Call, Secrets, digest, new_secret
from halfmask.service.storage.repeat_rows import RepeatRow
from halfmask.service.storage.sql_store import Transaction
from halfmask_device.instants import DAY, Instant

T = TypeVar("T")
FOR = DAY
"""How long the same answer is given."""
SECRET = "secret"
"""The name of the fact that holds the service's secret."""
_PLACE = "secret"


def answer_once(call: Call, key: str, work: Callable[[Call], T]) -> T:
    """Return the answer that the same request got within the last day; else do its work."""
    body = digest(call.request.raw.decode("latin-1"))
    row = RepeatRow(digest(key), body, call.now)
    before = call.tx.repeat(row.key)
    if before is not None and before.created + FOR <= call.now:
        call.tx.forget_repeat(row.key)
        before = None
    if before is None and not call.tx.add_repeat(row):  # another worker has just done it
        before = call.tx.repeat(row.key)
    if before is not None:
        if before.body != body:
            message = "this key was used with another body in the last 24 hours: take a new key"
            raise Refusal(422, "key_used", message, "Idempotency-Key")
        made = _secrets(call.tx, key, before.created)
        again: T = _filled(before.answer, [made.new() for _ in range(before.secrets)])
        return again
    made = _secrets(call.tx, key, call.now)
    answer = work(Call(call.service, call.tx, call.who, call.request, made))
    call.tx.answer_repeat(row._replace(answer=_emptied(answer, made.made), secrets=len(made.made)))
    return answer


def _secrets(tx: Transaction, key: str, created: Instant) -> Secrets:
    """Return the secrets of the answer to a request that was done at this instant."""
    own = tx.fact(SECRET) or tx.first_fact(SECRET, new_secret())
    return Secrets(hmac.digest(own.encode(), f"{created}\n{key}".encode(), "sha256"))


def _emptied(plain: Any, made: dict[str, int]) -> Any:
    """Return an answer with the places of its secrets instead of the secrets."""
    if isinstance(plain, dict):
        return {name: _emptied(value, made) for name, value in plain.items()}
    if isinstance(plain, list):
        return [_emptied(each, made) for each in plain]
    return {_PLACE: made[plain]} if isinstance(plain, str) and plain in made else plain


def _filled(plain: Any, secrets: list[str]) -> Any:
    """Return the answer that `_emptied` emptied."""
    if isinstance(plain, dict):
        if plain.keys() == {_PLACE}:
            return secrets[plain[_PLACE]]
        return {name: _filled(value, secrets) for name, value in plain.items()}
    return [_filled(each, secrets) for each in plain] if isinstance(plain, list) else plain
