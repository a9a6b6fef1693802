"""The server's answers, asked as a browser asks and as an attacker does."""

import json
import math
import re
from html import unescape
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from halfmask.choice.mix import mix
from halfmask.evaluation.scores import Weights
from halfmask.figures.results_folder import paper_name, read_inputs
from halfmask.figures.study_samples import read_samples, rescored
from halfmask.menus.menu import Menu
from halfmask.menus.optimize import optimize
from halfmask.pages.explore.explore_server import ExploreServer
from halfmask.pages.explore.explorer import Explorer
from halfmask.pages.explore.menu_options import MenuOptions
from halfmask.pages.explore.view_protection import Protecting
from halfmask.pages.page_numbers import epsilon, percent
from halfmask.profiles.store import load_profile
from tests.refusals import refused

OTHER = Weights((0.6, 0.2, 0.2), (0.2, 0.2, 0.6))


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
        assert asked(server, "/api/menu", Sec_Fetch_Site=site)[0].status == status
        assert asked(server, "/", Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors")[0].status == status
        assert asked(server, "/api/menu", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate")[0].status == status
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
    for path in ("/", "/static/figures.js", "/static/plotly.min.js", "/api/menu", "/api/mix", "/nowhere"):
        answer, _ = asked(server, path)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'; script-src 'self';" in policy
        assert "unsafe-eval" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    page = asked(server, "/")[1].decode()
    assert page.count("<script") == 1
    assert "http:" not in page
    assert "https:" not in page


def test_only_questions_are_answered(server: ExploreServer) -> None:
    assert asked(server, "/", "POST")[0].status == 501
    answer, body = asked(server, "/", "HEAD")
    assert (answer.status, body) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 1000


def test_the_menu_is_that_of_optimize(server: ExploreServer, folder: Path) -> None:
    options = {"bins": 4, "omega": 0.2, "weights": "0.6,0.2,0.2,0.2,0.2,0.6", "max-mean": 0.08, "max-std": 0.07}
    menu = optimize(folder / "study.parquet", bins=4, omega=0.2, weights=OTHER, max_mean=0.08, max_std=0.07).menu
    answer = found(server, "/api/menu", **options)
    assert answer["ids"] == [*map(paper_name, menu.ids)]  # the folder has an offer, with letters of its own
    saved = Menu.read(folder / "menu.json")
    assert [each.setting for each in menu.settings] != [each.setting for each in saved.settings]
    profile = load_profile(folder / "homes.profile")
    protect = Protecting(read_inputs(folder), profile)
    for each in menu.settings:
        assert f"<code>{each.setting}</code>" in answer["html"]
        known = protect.of(each.setting)
        row = re.search(rf"<code>{re.escape(str(each.setting))}</code>.*?</tr>", answer["html"], re.S)
        assert row
        cells = [unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<td.*?</td>", row[0], re.S)]
        assert percent(known.guess).replace("less than", "<") in cells
        assert epsilon(known.window) in cells
    assert protect.question.words() in answer["html"]
    users = next(each for each in answer["figures"] if each["name"] == "users")
    lines = {each["name"]: each["y"] for each in users["traces"] if each["mode"] == "lines+markers"}
    assert list(lines) == answer["ids"]
    assert {each["name"] for each in answer["figures"]} > {"mixes", "cdfs", "readings"}


def test_without_options_the_menu_is_the_folder_s(server: ExploreServer, folder: Path) -> None:
    assert found(server, "/api/menu")["ids"] == [*map(paper_name, Menu.read(folder / "menu.json").ids)]


def test_a_mix_is_that_of_the_function(server: ExploreServer, folder: Path) -> None:
    inputs = read_inputs(folder)
    assert inputs.profile is not None
    assert inputs.menu is not None
    first, second = inputs.menu.ids[1:3]
    answer = found(server, "/api/mix", shares=f"{first}=0.3,{second}=0.2,N=0.5")
    made = mix(inputs.profile, inputs.menu, shares={first: 0.3, second: 0.2, "N": 0.5}, repeats=10).table
    for score in ("privacy", "utility"):
        values = made[score].to_numpy()
        assert answer[score]["median"] == pytest.approx(float(np.median(values)))
        assert (answer[score]["low"], answer[score]["high"]) == (pytest.approx(values.min()), values.max())
    protect = Protecting(inputs, inputs.profile)
    guesses = [protect.of(inputs.menu[id].setting).guess for id in (first, second)]
    mean = 0.3 * (guesses[0] or 0) + 0.2 * (guesses[1] or 0)
    assert f"errs by {percent(mean)} of guessing" in answer["protection"]
    other = found(server, "/api/mix", shares=f"{first}=0.2,{second}=0.3,N=0.5")
    assert other["privacy"]["median"] != pytest.approx(answer["privacy"]["median"], rel=1e-3)


def test_a_setting_of_the_study_has_its_scores(server: ExploreServer, folder: Path) -> None:
    saved = Menu.read(folder / "menu.json")
    entry = saved.settings[-2]
    answer = found(server, "/api/setting", setting=f" {entry.setting} ")
    assert answer["setting"] == str(entry.setting)
    assert answer["keeps"] is True
    # the same subsets and the same draws; the grid of errors differs a little with the settings beside it
    assert answer["privacy"]["median"] == pytest.approx(entry.privacy.median, abs=1e-3)
    assert answer["utility"]["median"] == pytest.approx(entry.utility.median, abs=1e-3)
    other = found(server, "/api/setting", setting=str(saved.settings[1].setting))
    assert other["privacy"]["median"] != pytest.approx(entry.privacy.median, abs=0.1)
    assert "8 times out of 10" in answer["sentence"]
    assert answer["figure"]["name"] == "shown"
    assert all(math.isfinite(each["error"]) for each in answer["errors"])


def test_a_setting_that_breaks_the_constraint_is_told_so(server: ExploreServer) -> None:
    assert found(server, "/api/setting", setting="laplace:50")["keeps"] is False
    assert found(server, "/api/setting", setting="none")["figure"] is None
    beyond = found(server, "/api/setting", setting="laplace 500")
    assert beyond["outside"] is True
    assert all(0 <= value <= 1 for score in ("privacy", "utility") for value in beyond[score].values())
    assert found(server, "/api/setting", setting="laplace 0.3")["outside"] is False


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"bins": "many"}, "bins 'many' is not a whole number"),
        ({"bins": "0"}, "bins 0 is not between 1 and 25"),
        ({"omega": "x"}, "omega 'x' is not a number"),
        ({"omega": "nan"}, "omega nan is not above 0"),
        ({"omega": "0.5"}, "at most the width of a bin, 0.2"),
        ({"weights": "0.9,0.4,0.4,0.6,0.2,0.2"}, "the privacy weights (0.9, 0.4, 0.4) are not three numbers"),
        ({"weights": "1,0,0"}, "3 numbers instead of six"),
        ({"max-mean": "-1"}, "max-mean -1.0 is not above 0"),
        ({"max-mean": "1e-12", "max-std": "1e-12"}, "no setting keeps the constraint"),
        ({"colour": "red"}, "there is no option 'colour'"),
    ],
)
def test_a_bad_option_is_refused_in_words(server: ExploreServer, query: dict[str, str], words: str) -> None:
    assert words in complaint(server, "/api/menu", **query)


@pytest.mark.parametrize(
    ("path", "query", "words"),
    [
        ("/api/setting", {}, "no setting is given"),
        ("/api/setting", {"setting": "laplacian:1"}, "unknown mechanism 'laplacian'"),
        ("/api/setting", {"setting": "laplace:<script>"}, "is not a number"),
        ("/api/setting", {"setting": "round:0.5"}, "has no noise law to draw"),
        ("/api/mix", {}, "no shares is given"),
        ("/api/mix", {"shares": "A=0.5"}, "add up to 1 but to 0.5"),
        ("/api/mix", {"shares": "Z=1"}, "the menu has no setting 'Z'"),
        ("/api/mix", {"shares": "paper A=0.999,N=0.001"}, "leave a setting without a user"),
    ],
)
def test_a_bad_question_is_refused_in_words(
    server: ExploreServer, path: str, query: dict[str, str], words: str
) -> None:
    assert words in complaint(server, path, **query)


def test_a_query_that_cannot_be_read_is_refused(server: ExploreServer) -> None:
    for query in ("bins=5&bins=6", "bins=%ff", "&".join(f"a{n}=1" for n in range(50))):
        assert asked(server, f"/api/menu?{query}")[0].status == 400, query


def test_a_long_menu_is_mixed_in_larger_steps(explorer: Explorer) -> None:
    view = explorer.view(MenuOptions(bins=25, omega=0.04))
    assert len(view.inputs.menu.ids) > 7 if view.inputs.menu else False
    assert view.inputs.mix is not None
    assert view.inputs.mix.about["step"] == 0.5


def test_other_weights_score_samples_as_reading_them_anew_does(folder: Path) -> None:
    study = folder / "study.parquet"
    optimum = optimize(study, weights=OTHER, max_mean=0.01)
    anew, read = rescored(read_samples(study), optimum.menu), read_samples(study, optimum.menu)
    assert (anew.kept == read.kept).all()
    assert anew.kept.sum() < read_samples(study).kept.sum()
    assert anew.privacy == pytest.approx(read.privacy)
    assert anew.utility[anew.kept] == pytest.approx(read.utility[read.kept])
    for name, values in read.scores.items():
        assert anew.scores[name] == pytest.approx(values, nan_ok=True)
    assert anew.privacy != pytest.approx(read_samples(study).privacy)


def test_a_port_in_use_is_told(explorer: Explorer, server: ExploreServer) -> None:
    with refused("run.listen", "host", "port"):
        ExploreServer(explorer, port=server.server_port)
