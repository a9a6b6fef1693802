"""The recipes for TLS by a proxy, of docs/operating.md and deploy/Caddyfile, in front of a running service."""

import json
import os
import re
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.process import Served, init, served
from tests.service.servers import free_port, wait_for_port
from tests.service.world import CAMPAIGN, sqlite_url

ROOT = Path(__file__).parents[2]
SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin"
PATIENCE = 60
MOST_BYTES = 2**20
AT_ONCE = 21
"""Joins that nginx lets pass at once from one address: one, and the burst."""
SELF_SIGNED = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost "
    "-addext subjectAltName=DNS:localhost -keyout meters.key -out meters.pem"
)


def nginx(folder: Path, service: Served, port: int) -> Path:
    """Write the recipe with other names and ports. Return the certificate."""
    (recipe,) = re.findall(r"```nginx\n(.*?)```", (ROOT / "docs/operating.md").read_text(), re.DOTALL)
    for written, here in (
        ("listen 443 ", f"listen 127.0.0.1:{port} "),
        ("meters.example.org", "localhost"),
        ("/etc/ssl/meters", str(folder / "meters")),
        ("http://127.0.0.1:8080", f"http://{service.host}:{service.port}"),
    ):
        assert written in recipe
        recipe = recipe.replace(written, here)
    subprocess.run(SELF_SIGNED.split(), check=True, capture_output=True, cwd=folder)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    user = "user root;" if os.geteuid() == 0 else ""
    text = f"daemon off; pid {folder}/nginx.pid; {user} events {{}}\nhttp {{ access_log off; {paths}\n{recipe}\n}}"
    (folder / "nginx.conf").write_text(text)
    return folder / "meters.pem"


def caddy(folder: Path, service: Served, port: int) -> Path:
    """Write a configuration that runs the recipe with Caddy's own certificates. Return that of its authority."""
    options = f"local_certs\nskip_install_trust\nadmin off\nauto_https disable_redirects\nstorage file_system {folder}"
    site = f"HALFMASK_SITE=localhost:{port}\nHALFMASK_UPSTREAM={service.host}:{service.port}\n"
    (folder / "caddy.env").write_text(site)
    (folder / "Caddyfile").write_text(f"{{\n{options}\n}}\nimport {ROOT / 'deploy/Caddyfile'}\n")
    return folder / "pki/authorities/local/root.crt"


PROXIES = {
    "nginx": (nginx, "nginx -e stderr -c {}/nginx.conf"),
    "caddy": (caddy, "caddy run --envfile {0}/caddy.env --config {0}/Caddyfile"),
}


@contextmanager
def proxied(name: str, folder: Path, service: Served) -> Iterator[httpx.Client]:
    """A client that speaks to the service through the proxy alone, and trusts its certificate alone."""
    port, (write, command) = free_port(), PROXIES[name]
    certificate = write(folder, service, port)
    with (folder / "proxy.log").open("wb") as log:
        env = {**os.environ, "PATH": SBIN}
        proxy = subprocess.Popen(command.format(folder).split(), stdout=log, stderr=log, env=env)
        try:
            wait_for_port(port, proxy)
            until = time.monotonic() + PATIENCE
            while (client := _trusting(certificate, port)) is None:
                assert time.monotonic() < until, (folder / "proxy.log").read_text()
                time.sleep(0.1)
            with closing(client):
                yield client
            proxy.terminate()
            proxy.wait(PATIENCE)  # it waits for requests that are open: none is left behind
        finally:
            proxy.kill()
            proxy.wait()


def _trusting(certificate: Path, port: int) -> httpx.Client | None:
    """A client, once the proxy has its certificate and answers by it."""
    try:
        trusted = ssl.create_default_context(cafile=str(certificate))
        client = httpx.Client(base_url=f"https://localhost:{port}", verify=trusted, timeout=PATIENCE)
        client.get("/v1/health").raise_for_status()
    except (OSError, httpx.HTTPError):
        return None
    return client


def send(client: httpx.Client, method: str, path: str, token: str = "", **more: Any) -> httpx.Response:
    headers = {**more.pop("headers", {}), **({"Authorization": f"Bearer {token}"} if token else {})}
    return client.request(method, path, headers=headers, **more)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROXIES)
def test_the_recipe_for_tls_lets_the_protocol_pass(name: str, tmp_path: Path) -> None:
    if shutil.which(name, path=SBIN) is None:
        pytest.skip(f"{name} is not installed: apt-get install {name}")
    url, folder = sqlite_url(tmp_path), tmp_path / "proxy"
    folder.mkdir()
    operator = init(url)
    begins = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)
    times = {"begins": begins.isoformat(), "ends": (begins + timedelta(days=1)).isoformat(), "grace_minutes": 1440}
    with served(url, tmp_path / "log") as service, proxied(name, folder, service) as client:
        consumer = send(client, "POST", "/v1/consumers", operator, json={"name": "n"}).json()["token"]
        offer = CAMPAIGN | times | {"period": "hour", "least_producers": 1}
        made = send(client, "POST", "/v1/campaigns", consumer, json=offer)
        path = f"/v1/campaigns/{made.json()['campaign']}"
        key = {"Idempotency-Key": "k" * 64}
        joins = [send(client, "POST", f"{path}/producers", json={"setting": "N"}, headers=key) for _ in range(2)]
        assert [each.status_code for each in joins] == [201, 201]
        assert joins[0].json() == joins[1].json()  # the header has passed
        producer = joins[0].json()["token"]

        report = {"time": begins.isoformat(), "steps": 7, "setting": "N"}
        with client.stream("GET", f"{path}/stream", headers={"Authorization": f"Bearer {consumer}"}) as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith(":")  # it has begun before anything happens
            answer = send(client, "POST", "/v1/reports", producer, json={"reports": [report]})
            assert answer.json()["results"][0]["status"] == "accepted"
            period = send(client, "GET", f"{path}/periods", consumer).json()["periods"][0]["period"]
            assert send(client, "POST", f"{path}/periods/{period}/close", consumer).json()["reports"] == 1
            data = next(line for line in lines if line.startswith("data: "))
            assert json.loads(data.removeprefix("data: "))["sum"]["estimate"] == 0.007

        whole = b'{"reports":[]}'.ljust(MOST_BYTES)
        assert send(client, "POST", "/v1/reports", producer, content=whole).json() == {"results": []}
        assert send(client, "POST", "/v1/reports", producer, content=whole + b" ").status_code == 413
        assert send(client, "GET", "/v1/me", producer).json()["state"] == "joined"

        page = {"Origin": str(client.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
        signed_in = send(client, "POST", "/session", headers=page, json={"token": consumer})
        assert signed_in.status_code == 200, signed_in.text
        assert "Secure" in signed_in.headers["set-cookie"]
        elsewhere = page | {"Origin": "https://other.example"}
        assert send(client, "POST", "/session", headers=elsewhere, json={"token": consumer}).status_code == 403

        client.cookies.clear()
        bodies = [send(client, "POST", f"{path}/producers", json={"setting": "N"}) for _ in range(AT_ONCE)]
        statuses = [each.status_code for each in bodies]
        if name == "nginx":  # two of them were spent above
            assert statuses[: AT_ONCE - 2] == [201] * (AT_ONCE - 2)
            assert 429 in statuses[AT_ONCE - 2 :]
        else:
            assert statuses == [201] * AT_ONCE
