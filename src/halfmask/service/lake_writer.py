"""Writing closed periods to a lake of reports (see `lake`), as long as the service runs."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from starlette.concurrency import run_in_threadpool

from halfmask.files import whole_file
from halfmask.service.background_tasks import BackgroundTask, repeated
from halfmask.service.campaign import Campaign
from halfmask.service.lake import SCHEMA
from halfmask.service.service import Service, Writer

log = logging.getLogger("halfmask.service")
EVERY = 2.0
"""Seconds between two checks for closed periods that are not in the lake."""
ROWS = 100_000
"""Reports held in memory at once."""


def fill(service: Service, folder: Path, node: str) -> int:
    """Write the closed periods that are not in the lake yet. Return how many were written."""
    written = 0
    with service.store.reading() as tx:
        campaigns = [found for row in tx.campaigns() if (found := service.campaign(tx, row.key)) and found.keeps]
        for campaign in campaigns:
            for key in sorted(tx.closed_keys(campaign.key)):
                path, span = folder / campaign.public / key / f"{node}.parquet", campaign.span(key)
                if span is not None and not path.exists():
                    groups = tx.groups_of(campaign.key) if campaign.groups else {}
                    _write(path, campaign, key, node, tx.reports_in(campaign.bucket(span)), groups)
                    written += 1
    return written


def _write(path: Path, campaign: Campaign, key: str, node: str, rows: Iterator[Any], groups: Mapping[int, str]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with whole_file(path, mode=0o600) as temporary, pq.ParquetWriter(temporary, SCHEMA, compression="zstd") as file:
        while held := list(islice(rows, ROWS)):
            columns: dict[str, Any] = {
                "campaign": [campaign.public] * len(held),
                "period": [key] * len(held),
                "node": [node] * len(held),
                "producer": [row.producer for row in held],
                "time": [row.time for row in held],
                "steps": [row.steps for row in held],
                "setting": [row.setting for row in held],
                "group_name": [groups.get(row.producer) for row in held],
            }
            file.write_table(pa.table(columns, SCHEMA))


def background_task(folder: Path) -> BackgroundTask:
    """Return the background task that fills the lake as long as the service runs."""

    def make(service: Service, _: Writer) -> Callable[[], Awaitable[None]]:
        async def turn() -> None:
            count = await run_in_threadpool(lambda: fill(service, folder, service.name))
            if count:
                log.info("periods written to the lake", extra={"count": count})

        return turn

    return repeated(make, EVERY, "the lake could not be filled")
