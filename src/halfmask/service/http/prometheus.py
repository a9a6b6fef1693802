"""Metrics for Prometheus, of all processes of a service together.

Anyone may see that the service runs. Counts reveal the sizes of cohorts, so they need the operator's token.
"""

from bisect import bisect_left

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from halfmask import __version__
from halfmask.service.counters import STEPS
from halfmask.service.http.read_request import read_request
from halfmask.service.service import Service, Writer
from halfmask_device.instants import SECOND

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the histograms of seconds per request."""
_LABELS = (*map(str, BOUNDS), "+Inf")
KINDS = {
    "halfmask_reports_total": "counter",
    "halfmask_requests_total": "counter",
    "halfmask_request_seconds": "histogram",
    STEPS: "counter",
}


class Metrics:
    """What is counted of requests, and the page that shows it. Numbers are kept under the names of their series."""

    def __init__(self, service: Service, writer: Writer) -> None:
        self.service, self.writer = service, writer

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request. ``route`` is its path without names: a path may hold anything."""
        count = self.service.counters.add
        count(f'halfmask_requests_total{{method="{method}",route="{route}",status="{status}"}}')
        count(f'halfmask_request_seconds_in{{route="{route}",le="{_LABELS[bisect_left(BOUNDS, seconds)]}"}}')
        count(f'halfmask_request_seconds_sum{{route="{route}"}}', seconds)

    async def endpoint(self, request: HttpRequest) -> Response:
        asked = await read_request(request, self.service.clock)
        text = self.public()
        if asked.token is not None:
            await run_in_threadpool(self.service.store.read, lambda tx: self.service.identify(tx, asked, ("operator",)))
            text += await run_in_threadpool(self.private)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    def public(self) -> str:
        return (
            "# TYPE halfmask_up gauge\nhalfmask_up 1\n"
            f'# TYPE halfmask_build_info gauge\nhalfmask_build_info{{version="{__version__}"}} 1\n'
        )

    def private(self) -> str:
        totals = self.service.counters.totals()
        counts = {name: value for name, value in totals.items() if not name.startswith("halfmask_request_seconds")}
        lines = [f"{name} {value:.0f}" for name, value in counts.items()] + _histograms(totals)
        typed: dict[str, list[str]] = {}
        for line in sorted(lines, key=_family):
            typed.setdefault(_family(line), []).append(line)
        text = [each for name, of in typed.items() for each in (f"# TYPE {name} {KINDS.get(name, 'gauge')}", *of)]
        text += [each for name, value in self._now() for each in (f"# TYPE {name} gauge", f"{name} {value:g}")]
        return "\n".join(text) + "\n"

    def _now(self) -> list[tuple[str, float]]:
        """Return what is measured now: how late closing is, and the room on the disk."""
        now = self.service.clock()
        late = [(now - campaign.deadline(span)) / SECOND for campaign, spans in self.service.due(now) for span in spans]
        found = [("halfmask_periods_due", float(len(late))), ("halfmask_closing_lag_seconds", max(late, default=0.0))]
        room = self.service.store.room()
        return found if room is None else [*found, ("halfmask_disk_free_bytes", float(room))]


def _family(line: str) -> str:
    name = line.partition("{")[0].partition(" ")[0]
    found = next((name.removesuffix(end) for end in ("_bucket", "_sum", "_count") if name.endswith(end)), name)
    return found if found in KINDS else name


def _histograms(totals: dict[str, float]) -> list[str]:
    """Return the histograms of all routes: counts up to each bound, as Prometheus has them."""
    begin = 'halfmask_request_seconds_sum{route="'
    lines = []
    for route in sorted(name.removeprefix(begin)[:-2] for name in totals if name.startswith(begin)):
        count = 0.0
        for bound in _LABELS:
            count += totals.get(f'halfmask_request_seconds_in{{route="{route}",le="{bound}"}}', 0.0)
            lines.append(f'halfmask_request_seconds_bucket{{route="{route}",le="{bound}"}} {count:.0f}')
        lines.append(f'halfmask_request_seconds_sum{{route="{route}"}} {totals[begin + route + chr(34) + "}"]:.6f}')
        lines.append(f'halfmask_request_seconds_count{{route="{route}"}} {count:.0f}')
    return lines
