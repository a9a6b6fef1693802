"""Metrics for Prometheus.

Anyone may see that the service runs; counts, which reveal cohort sizes, need the operator.
"""

from collections import Counter

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from halfmask import __version__
from halfmask.service.http.read_request import read_request
from halfmask.service.service import Service, Writer


class Metrics:
    """Counters of this process."""

    def __init__(self, service: Service, writer: Writer) -> None:
        self.service, self.writer = service, writer
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: dict[str, float] = {}

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        self.requests[method, route, status] += 1
        self.seconds[route] = self.seconds.get(route, 0.0) + seconds

    async def endpoint(self, request: HttpRequest) -> Response:
        asked = await read_request(request, self.service.clock)
        text = self.public()
        if asked.token is not None:
            await run_in_threadpool(self.service.store.read, lambda tx: self.service.identify(tx, asked, ("operator",)))
            text += self.private()
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    def public(self) -> str:
        return (
            "# TYPE halfmask_up gauge\nhalfmask_up 1\n"
            f'# TYPE halfmask_build_info gauge\nhalfmask_build_info{{version="{__version__}"}} 1\n'
        )

    def private(self) -> str:
        lines = ["# TYPE halfmask_writer_waiting gauge", f"halfmask_writer_waiting {self.writer.waiting}"]
        lines.append("# TYPE halfmask_reports_total counter")
        for (campaign, status, code), count in sorted(self.service.counted.items()):
            lines.append(f'halfmask_reports_total{{campaign="{campaign}",status="{status}",code="{code}"}} {count}')
        lines.append("# TYPE halfmask_requests_total counter")
        for (method, path, answer), count in sorted(self.requests.items()):
            lines.append(f'halfmask_requests_total{{method="{method}",route="{path}",status="{answer}"}} {count}')
        lines.append("# TYPE halfmask_request_seconds_total counter")
        for path, seconds in sorted(self.seconds.items()):
            lines.append(f'halfmask_request_seconds_total{{route="{path}"}} {seconds:.6f}')
        return "\n".join(lines) + "\n"
