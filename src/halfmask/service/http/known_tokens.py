"""Tokens that exist, so that a body is parsed only for one that does."""

import time

from starlette.concurrency import run_in_threadpool

from halfmask.service.refusal import unauthenticated
from halfmask.service.storage.sql_store import Store

KEPT = 60.0
"""Seconds for which a token is known. Whether it is still valid is decided with its reports."""
MOST = 2_000_000


class KnownTokens:
    """The hashes of tokens that were found in the store lately. Others are looked up first."""

    def __init__(self, store: Store) -> None:
        self._store, self._seen, self._since = store, set[str](), time.monotonic()

    async def check(self, token: str) -> None:
        """Refuse a token that does not exist."""
        if len(self._seen) >= MOST or time.monotonic() - self._since > KEPT:
            self._seen, self._since = set(), time.monotonic()
        if token not in self._seen:
            if not await run_in_threadpool(self._store.read, lambda tx: tx.identities([token])):
                raise unauthenticated()
            self._seen.add(token)
