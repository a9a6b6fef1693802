"""The server's answers, asked as a browser asks and as an attacker does."""

import base64
import itertools
import json
import math
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from halfmask.figures.study_samples import read_samples
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu
from halfmask.menus.question import question_of
from halfmask.menus.total_error import total_error
from halfmask.pages.explore.explore_server import ExploreServer
from halfmask.pages.explore.explorer import Explorer
from tests.refusals import refused


def asked(server: ExploreServer, path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, bytes]:
    """One request, its path sent as it is written."""
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def found(server: ExploreServer, path: str, **query: Any) -> dict[str, Any]:
    """What the server knows."""
    answer, body = asked(server, f"{path}?{urlencode(query)}")
    assert answer.status == 200, body
    content: dict[str, Any] = json.loads(body)
    return content


def complaint(server: ExploreServer, path: str, **query: Any) -> str:
    """What the server says of a question that it cannot answer."""
    answer, body = asked(server, f"{path}?{urlencode(query)}")
    assert answer.status == 400
    assert b"Traceback" not in body
    content = json.loads(body)
    assert content.keys() == {"error"}
    return str(content["error"])


def test_other_hosts_are_refused(server: ExploreServer) -> None:
    for host in ("evil.example", "evil.example:80", f"evil.example:{server.server_port}", "127.0.0.1.evil.example", ""):
        answer, body = asked(server, "/", Host=host)
        assert answer.status == 421, host
        assert b"panel" not in body
    for host in ("localhost", f"127.0.0.1:{server.server_port}", "LOCALHOST:9000", "[::1]:80"):
        assert asked(server, "/static/icon.svg", Host=host)[0].status == 200, host


def test_a_server_on_every_address_takes_numbers_but_no_names(explorer: Explorer) -> None:
    with ExploreServer(explorer, "0.0.0.0") as everywhere:
        assert everywhere.accepts("192.168.1.7:8000")
        assert everywhere.accepts("[2001:db8::1]:8000")
        assert not everywhere.accepts("evil.example")
        assert everywhere.address.startswith("http://127.0.0.1:")


def test_pages_of_other_sites_are_refused(server: ExploreServer) -> None:
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        assert asked(server, "/api/answer", Sec_Fetch_Site=site)[0].status == status
        assert asked(server, "/", Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors")[0].status == status
        assert asked(server, "/api/answer", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate")[0].status == status
    assert asked(server, "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0].status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/../../errors.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/static//etc/passwd",
        "/static/templates/page.html",
        "/etc/passwd",
        "/../../../../etc/passwd",
        "/static/",
        "/api",
        "/menu.json",
    ],
)
def test_nothing_but_the_page_is_served(server: ExploreServer, path: str) -> None:
    answer, body = asked(server, path)
    assert answer.status == 404
    assert json.loads(body) == {"error": "there is no such page"}


def test_every_answer_has_a_strict_policy(server: ExploreServer) -> None:
    for path in ("/", "/static/scatter.js", "/static/page.css", "/api/answer", "/api/setting", "/nowhere"):
        answer, _ = asked(server, path)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'; script-src 'self';" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    page = asked(server, "/")[1].decode()
    assert page.count("<script") == 1
    assert "http:" not in page
    assert "https:" not in page


def test_only_questions_are_answered(server: ExploreServer) -> None:
    assert asked(server, "/", "POST")[0].status == 404
    assert asked(server, "/", "PUT")[0].status == 501
    assert asked(server, "/api/file?name=a.csv", "POST", Content_Length="3")[0].status == 404, "a folder is shown"
    assert asked(server, "/api/offer", "POST", Sec_Fetch_Site="cross-site")[0].status == 403
    answer, body = asked(server, "/", "HEAD")
    assert (answer.status, body) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 1000


def column(text: str) -> list[float]:
    """The numbers of a column."""
    return np.frombuffer(base64.b64decode(text), "<f4").astype(float).tolist()


def test_all_settings_of_the_study_have_their_scores(server: ExploreServer, folder: Path) -> None:
    answer, texts = found(server, "/api/settings", release="reading"), found(server, "/api/texts", release="reading")
    samples = read_samples(folder / "study.parquet")
    assert set(texts) > set(samples.settings)
    row, own = texts.index("laplace:0.5"), samples.settings.index("laplace:0.5")
    assert column(answer["privacy"])[row] == pytest.approx(samples.scores["privacy_median"][own], rel=1e-6)
    assert column(answer["noise"])[row] == pytest.approx(0.5 * math.sqrt(2), rel=1e-6)
    assert answer["names"][int(column(answer["mechanism"])[row])] == "laplace"
    assert len(answer["limit"][0]) == len(answer["limit"][1]) > 5


@pytest.mark.parametrize("release", ["reading", "total", "split"])
@pytest.mark.parametrize("protect", ["whole-day", "month"])
def test_errors_and_epsilons_are_those_of_single_settings(
    server: ExploreServer, explorer: Explorer, release: str, protect: str
) -> None:
    query = {"release": release, "protect": protect, "producers": 500, "high": 40}
    answer, texts = found(server, "/api/answer", **query), found(server, "/api/texts", release=release)
    errors, epsilons = column(answer["error"]), column(answer["epsilon"])
    asked = question_of(protect, release, explorer.profile, low=explorer.default.low, high=40)
    rows = [row for row, text in enumerate(texts) if text.startswith("laplace")]
    for row in (rows[len(rows) // 3], rows[-1]):
        setting = PrivacySetting.parse(texts[row])
        assert errors[row] == pytest.approx(total_error(explorer.profile, setting, 500), rel=0.02)
        assert epsilons[row] == pytest.approx(asked.promise(setting).epsilon, rel=0.02)
        assert epsilons[row] != pytest.approx(asked.promise(setting).epsilon * 1.1, rel=0.02)
    sine = next(row for row, text in enumerate(texts) if text.startswith("sine"))
    assert math.isinf(epsilons[sine])


def test_the_page_opens_on_the_folder_s_offer(server: ExploreServer, folder: Path) -> None:
    offer = Menu.read(folder / "offer.json")
    levels = found(server, "/api/answer")["levels"]
    assert [each["setting"] for each in levels] == [str(each.setting) for each in offer.settings[:-1]]
    other = found(server, "/api/answer", producers=100_000)["levels"]
    assert [each["setting"] for each in other] != [each["setting"] for each in levels]


def test_levels_have_the_error_and_half_the_epsilon_of_the_one_before(server: ExploreServer) -> None:
    answer = found(server, "/api/answer", release="split", protect="whole-day", producers=5000, within=0.02)
    assert answer["fits"] is True
    epsilons = [each["values"]["epsilon"] for each in answer["levels"]]
    assert [one / other for one, other in itertools.pairwise(epsilons)] == pytest.approx([2] * 3, rel=0.01)
    assert answer["levels"][-1]["values"]["error"] <= 0.02
    assert "--release split" in answer["command"]
    assert "--epsilon" in answer["command"]


def test_what_comes_closest_fits(server: ExploreServer) -> None:
    query = {"release": "total", "protect": "whole-day", "producers": 100, "within": 0.01, "epsilon": 2}
    assert found(server, "/api/answer", **query)["fits"] is False
    ways = found(server, "/api/closest", **query)
    assert len(ways) == 4
    for way in ways:
        assert found(server, "/api/answer", **{**query, **way["set"]})["fits"] is True, way["words"]


def test_a_setting_is_understood_as_people_type_it(server: ExploreServer) -> None:
    card = found(server, "/api/setting", setting=" laplace 0.5 ", release="total")
    assert card["setting"] == "laplace:0.5@total"
    assert card["seen"]["band"][0] < sum(card["day"]) < card["seen"]["band"][1]
    line = found(server, "/api/setting", setting="laplace:0.5", release="reading")
    assert len(line["seen"]["line"]) == len(line["day"])
    assert found(server, "/api/setting", setting="laplace:0.5", release="split")["seen"] == {"split": True}


@pytest.mark.parametrize(
    ("path", "query", "words"),
    [
        ("/api/answer", {"producers": "many"}, "producers 'many' is not a whole number"),
        ("/api/answer", {"producers": "0"}, "producers '0' is not a whole number from 1"),
        ("/api/answer", {"within": "7"}, "within 7 is not between 0 and 1"),
        ("/api/answer", {"epsilon": "nan"}, "epsilon"),
        ("/api/answer", {"protect": "cats"}, "protect 'cats' is none of reading, day"),
        ("/api/answer", {"high": "-1", "release": "total"}, "totals from 0 to -1 hold nothing"),
        ("/api/answer", {"colour": "red"}, "there is no option 'colour'"),
        ("/api/setting", {}, "no setting is given"),
        ("/api/setting", {"setting": "laplacian:1"}, "unknown mechanism 'laplacian'"),
        ("/api/setting", {"setting": "laplace:<script>"}, "is not a number"),
        ("/api/setting", {"setting": "laplace:1@split", "release": "total"}, "masks a split total"),
    ],
)
def test_a_bad_question_is_refused_in_words(
    server: ExploreServer, path: str, query: dict[str, str], words: str
) -> None:
    assert words in complaint(server, path, **query)


def test_a_query_is_read_once(server: ExploreServer) -> None:
    assert "twice" in json.loads(asked(server, "/api/answer?producers=5&producers=6")[1])["error"]


def test_a_folder_without_a_profile_is_refused(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "menu.json").write_bytes((folder / "menu.json").read_bytes())
    with refused("source.profile"):
        Explorer(tmp_path)
