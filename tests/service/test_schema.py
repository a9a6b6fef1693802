"""Schemathesis: requests made from the service's own description, by everyone; none is answered by a 5xx."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.service.process import served
from tests.service.world import CAMPAIGN, World, sqlite_url


@pytest.mark.slow
def test_generated_requests_get_no_answer_of_5xx(tmp_path: Path) -> None:
    import schemathesis

    from halfmask.service.serve import initialise

    operator = initialise(sqlite_url(tmp_path))
    assert operator is not None
    with served(
        sqlite_url(tmp_path), tmp_path / "log", "--requests-per-second", "0", "--joins-per-minute", "0"
    ) as service:
        consumer = service.ok("POST", "/v1/consumers", operator, {"name": "n"})["token"]
        begins = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
        times = {"begins": begins.isoformat(), "ends": (begins + timedelta(days=14)).isoformat(), "time_zone": "UTC"}
        campaign = service.ok("POST", "/v1/campaigns", consumer, CAMPAIGN | times)["campaign"]
        producer = service.ok("POST", f"/v1/campaigns/{campaign}/producers", None, {"setting": "A"})["token"]
        node = service.ok("POST", f"/v1/campaigns/{campaign}/nodes", operator, {"name": "n"})
        base = f"http://{service.host}:{service.port}"
        schema = schemathesis.openapi.from_url(f"{base}/openapi.json")
        tokens = [None, operator, consumer, producer, node["token"]]
        seen = set()
        for found in schema.get_all_operations():
            operation = found.ok()
            if operation.path in ("/v1/campaigns/{c}/stream", "/v1/token"):
                continue  # a stream does not end, and tokens are needed for the rest

            @given(case=operation.as_strategy(), token=st.sampled_from(tokens), real=st.booleans())
            @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
            def ask(case: schemathesis.Case, token: str | None, real: bool) -> None:
                if real and case.path_parameters:
                    names = {"c": campaign, "node": node["node"], "p": begins.date().isoformat()}
                    case.path_parameters |= {name: names[name] for name in case.path_parameters if name in names}
                headers = {"Authorization": f"Bearer {token}"} if token else {}
                answer = case.call(base_url=base, headers=headers)
                assert answer.status_code < 500, (case.method, case.path, answer.text)
                if answer.status_code >= 400:
                    assert answer.json()["error"].keys() == {"code", "message", "field"}
                seen.add((case.method, case.path, answer.status_code < 300))

            ask()
        assert service.ok("GET", "/v1/health") == {"status": "ok"}
        assert len({path for _, path, _ in seen}) >= 15
        assert any(good for _, _, good in seen)
        assert "a request failed" not in (tmp_path / "log").read_text()


def test_answers_are_as_they_are_described(world: World) -> None:
    """Follow the description alone: each answer fits its schema, and one with a field less does not."""
    plain = world.ok("GET", "/openapi.json")
    assert plain["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    consumer = world.consumer()
    campaign = world.campaign(consumer, least_producers=1, most_per_period=9)
    shared = {"components": plain["components"]}
    token, path = world.join(campaign), "/v1/campaigns/{c}"
    report = {"reports": [{"time": "2026-11-16T11:00:00Z", "steps": 5, "setting": "A"}]}
    asked: list[tuple[str, str, str | None, Any]] = [
        ("GET", "/v1/health", None, None),
        ("POST", "/v1/consumers", world.operator, {"name": "n"}),
        ("POST", f"{path}/invitations", consumer, {"count": 2}),
        ("POST", f"{path}/producers", None, {"setting": "A"}),
        ("POST", "/v1/reports", token, report),
        ("GET", "/v1/me", token, None),
        ("GET", "/v1/me/ledger", token, None),
        ("GET", "/v1/campaigns", None, None),
        ("GET", path, None, None),
        ("GET", f"{path}/levels", None, None),
        ("GET", f"{path}/standing", consumer, None),
        ("GET", f"{path}/rewards/forecast", consumer, None),
        ("POST", "/v1/campaigns/check", consumer, CAMPAIGN),
        ("POST", "/v1/me/code", token, None),
        ("GET", f"{path}/periods", consumer, None),
        ("GET", "/ready", None, None),
        ("GET", f"{path}/ledger", consumer, None),
        ("POST", f"{path}/nodes", world.operator, {"name": "n"}),
    ]
    for method, template, who, body in asked:
        described = plain["paths"][template][method.lower()]
        assert ("security" in described) == (who is not None)
        answer = world.send(method, template.replace("{c}", campaign), who, body)
        schema = described["responses"][str(answer.status_code)]["content"]["application/json"]["schema"] | shared
        assert jsonschema_rs.is_valid(schema, answer.json()), (template, answer.json())
        assert not jsonschema_rs.is_valid(schema, dict(list(answer.json().items())[1:]))
        error = world.send(method, template.replace("{c}", campaign), "x", body)
        form = described["responses"]["default"]["content"]["application/json"]["schema"] | shared
        assert (error.status_code == 401) == (who is not None)
        assert error.is_success or jsonschema_rs.is_valid(form, error.json())
