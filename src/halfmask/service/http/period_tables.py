"""The periods of a campaign as a table: CSV or Parquet, one row per period."""

import csv
import io
from collections.abc import Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from halfmask.service import campaign_requests
from halfmask.service.http.read_request import read_request
from halfmask.service.request import Call
from halfmask.service.service import Service
from halfmask.service.storage.tables import Plain

NUMBERS = ("estimate", "standard_error", "low", "high")
KINDS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


def make_table(service: Service, kind: str) -> Callable[[HttpRequest], Awaitable[Response]]:
    """Return the endpoint that answers with the table of all periods, or of those ``from`` .. ``to``."""

    async def table(request: HttpRequest) -> Response:
        asked = await read_request(request, service.clock)

        def work(call: Call) -> tuple[str, list[Plain]]:
            campaign = call.own_campaign()
            entries = campaign_requests.list_periods(call)["periods"]
            return campaign.public, [_row(each, list(campaign.noises)) for each in entries]

        public, rows = await run_in_threadpool(
            service.store.read, lambda tx: service.answer(tx, asked, ("consumer",), work)
        )
        body = await run_in_threadpool(_csv if kind == "csv" else _parquet, rows)
        name = {"Content-Disposition": f'attachment; filename="periods-{public}.{kind}"', "Cache-Control": "no-store"}
        return Response(body, headers=name, media_type=KINDS[kind])

    return table


def _row(entry: Plain, ids: list[str]) -> Plain:
    row = {name: entry[name] for name in ("period", "state", "withheld", "reports", "producers")}
    for name in ("sum", "mean", "variance", "smoothed"):
        found = entry.get(name) or {}
        row |= {name if number == "estimate" else f"{name}_{number}": found.get(number) for number in NUMBERS}
    settings = entry.get("settings") or {}
    return row | {f"producers_{id}": settings.get(id, {}).get("producers") for id in ids}


def _csv(rows: list[Plain]) -> bytes:
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue().encode()


def _parquet(rows: list[Plain]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = ("period", "state", "withheld")
    whole = ("reports", "producers")
    kinds = {name: pa.string() if name in text else pa.int64() if name.startswith(whole) else pa.float64()
             for name in (rows[0] if rows else ())}  # fmt: skip
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(list(kinds.items()))), buffer)
    return buffer.getvalue()
