"""A campaign from an offer: what it takes over, what it refuses, and that a service takes it and devices join it."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from halfmask.commands.campaign import CampaignOptions, OfferedCampaign, campaign
from halfmask.commands.offer import offer as offer_command
from halfmask.errors import FileFormatError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import OWN, Menu, none_setting, sign
from halfmask.menus.public_summary import PublicSummary
from halfmask.menus.question import Question
from halfmask_device.protocol import CampaignTerms, MessageError
from halfmask_device.signed_offer import SignedOffer
from tests.audits.cards import card, two_settings
from tests.commands.program import error_of, halfmask
from tests.pages.studies import menu_of
from tests.refusals import refused
from tests.service.process import init, served
from tests.service.split_processes import two_services
from tests.service.world import sqlite_url

TERMS: dict[str, Any] = {"name": "Old town", "purpose": "size it", "begin": "2027-03-01", "end": "2027-06-01"}
PAID: dict[str, Any] = {"rewards": "A=4,N=5", "budget": 100_000, "most_per_period": 5}


def offer(**changed: Any) -> Menu:
    """An offer of daily totals."""
    made = menu_of({"A": ("laplace:2.5@total", 0.3, 0.9), "B": ("laplace:5@total", 0.7, 0.8)})
    question = Question(40.0, 1, unit="kWh", protect="whole-day", release="total", readings=48, high=40.0)
    settings = (*made.settings[:-1], none_setting("total"))
    return replace(made, settings=settings, question=replace(question, **changed))


def signed(tmp_path: Path, until: str = "2027-12-31", **changed: Any) -> Path:
    """A signed offer's file."""
    offer(**changed).write(tmp_path / "offer.json")
    offer_command(tmp_path / "offer.json", tmp_path / "signed.json", sign="A. Officer", until=until)
    return tmp_path / "signed.json"


def of_readings() -> Menu:
    return replace(menu_of({"A": ("laplace:0.5", 0.3, 0.9)}), question=Question(0.5, 48, unit="kW"))


def test_the_offer_decides_what_its_promises_depend_on() -> None:
    made = campaign(offer(), **TERMS, time_zone="Europe/Berlin")
    plain = made.plain
    assert plain["lattice"] == {"step": "0.001", "low": "0", "high": "40"}
    assert (plain["release"], plain["readings_expected"], plain["period"]) == ("total", 48, "day")
    assert (plain["unit"], plain["least_producers"]) == ("kWh", 20)
    assert plain["begins"] == "2027-02-28T23:00:00Z"
    assert plain["ends"] == "2027-05-31T22:00:00Z"  # summer time
    assert made.terms.menu == {"A": "laplace:2.5@total", "B": "laplace:5@total", "N": "none@total"}
    assert "rewards" not in plain
    half_hours = campaign(offer(period="30m", readings=1), **TERMS)
    assert half_hours.plain["period"] == "half_hour"


def test_an_interval_that_is_lost_in_the_noise_is_asked_for() -> None:
    """Else devices would wait for as many readings as the noise says, and send no total."""
    counts = PublicSummary(first=0, share=(1.0,), zeros=0.0, strength=1.0, a_period=86_400, epsilon=1.0)
    with refused("option.missing", "readings"):
        campaign(replace(offer(), public=counts), **TERMS)
    known = replace(offer(), public=replace(counts, interval_known=True))
    assert campaign(known, **TERMS).plain["readings_expected"] == 48


@pytest.mark.parametrize(
    ("field", "given"), [("high", "80"), ("low", "-1"), ("step", "0.01"), ("unit", "kW"), ("period", "week")]
)
def test_an_option_does_not_change_what_was_promised(field: str, given: str) -> None:
    with refused("option.promise", field):
        campaign(offer(), **TERMS, **{field: given})


def test_an_option_may_repeat_what_was_promised() -> None:
    assert campaign(offer(), **TERMS, high="40.0", step="1e-3").plain == campaign(offer(), **TERMS).plain


def test_readings_need_their_range() -> None:
    with refused("option.missing", "low"):
        campaign(of_readings(), **TERMS)
    made = campaign(of_readings(), **TERMS, low="0", high="20", period="week", readings=336, every=30)
    assert (made.plain["period"], made.plain["every_minutes"], made.plain["release"]) == ("week", 30, "reading")
    with refused("option.campaign", "high"):  # not a multiple of the step
        campaign(of_readings(), **TERMS, low="0", high="20.0005")


def test_totals_are_not_cut_off() -> None:
    for field in ("begin", "end"):
        with refused("option.boundary", field):
            campaign(offer(), **TERMS | {field: "2027-04-01T06:00:00Z"})
    with refused("option.time", "begin"):
        campaign(offer(), **TERMS | {"begin": "2027-04-01T00:00:00"})
    with refused("option.zone", "time_zone"):
        campaign(offer(), **TERMS, time_zone="Europe")
    with refused("option.campaign", "end"):
        campaign(offer(), **TERMS | {"end": "2027-03-01"})


def test_the_analysts_own_offer_is_refused() -> None:
    with refused("option.own"):
        campaign(replace(offer(), provenance={OWN: True}), **TERMS)


def test_rewards_are_whole_and_of_the_menu() -> None:
    assert campaign(offer(), **TERMS, **PAID).plain["rewards"] == {"A": 4, "N": 5}
    for wrong in ("A=0.5", "X=1", "A=-1"):
        with refused("option.rewards", "rewards"):
            campaign(offer(), **TERMS, **PAID | {"rewards": wrong})
    with refused("option.budget"):
        campaign(offer(), **TERMS, rewards="A=4")
    with refused("option.rewards"):
        campaign(offer(), **TERMS, most_per_period=5)


def test_the_cap_is_given() -> None:
    assert campaign(offer(), **TERMS, **PAID | {"most_per_period": 2}).plain["most_per_period"] == 2


def test_the_token_is_not_an_option(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HALFMASK_TOKEN", raising=False)
    with refused("option.token", "token_file"):
        campaign(offer(), **TERMS, service="http://127.0.0.1:9")
    with refused("source.token"):
        campaign(offer(), **TERMS, service="http://127.0.0.1:9", token_file=tmp_path / "none")
    with refused("option.service", "service"):
        campaign(offer(), **TERMS, token_file=tmp_path / "none")


def test_a_service_takes_it_and_a_device_joins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = sqlite_url(tmp_path)
    operator = init(url)
    path = signed(tmp_path)
    signature = json.loads(path.read_text())["signed"]
    line = ["campaign", path, *(f"--{name}={value}" for name, value in TERMS.items())]
    shown = halfmask(*line, "-o", tmp_path / "campaign.json")
    assert shown.returncode == 0, shown.stderr
    assert "light blur" not in shown.stdout  # a menu made by hand has no names
    for id, epsilon in (("A", "epsilon 16"), ("B", "epsilon 8"), ("N", "no finite epsilon")):
        assert any(row.startswith(id) and epsilon in row for row in shown.stdout.splitlines()), shown.stdout
    with served(url, tmp_path / "log") as service:
        address = f"http://{service.host}:{service.port}"
        token = service.ok("POST", "/v1/consumers", operator, {"name": "utility"})["token"]
        (tmp_path / "token").write_text(f"{token}\n")
        posted = halfmask(*line, "--service", address, "--token-file", tmp_path / "token")
        assert posted.returncode == 0, posted.stderr
        id = posted.stdout.splitlines()[-1]
        found = service.ok("GET", f"/v1/campaigns/{id}")
        sent = json.loads((tmp_path / "campaign.json").read_text())
        assert {name: found[name] for name in sent if sent[name] is not None} == {
            name: value for name, value in sent.items() if value is not None
        }
        joined = halfmask("join", address, "--campaign", id, "--setting", "A", "--state", tmp_path / "mine")
        assert joined.returncode == 0, joined.stderr
        asked = halfmask("status", "--state", tmp_path / "mine")
        for said in (joined.stdout + joined.stderr, asked.stdout):
            assert signature["hash"] in said
            assert "A. Officer" in said
        monkeypatch.setenv("HALFMASK_TOKEN", operator)  # not a consumer's
        error = error_of(*line, "--service", address)
        assert (error.code, getattr(error, "status", None)) == ("service", 403)


def split_offer() -> Menu:
    """An offer with a level whose totals are split."""
    made = offer()
    split = replace(made.settings[0], id="S", setting=PrivacySetting.parse("laplace:40@split"))
    return replace(made, settings=(*made.settings[:-1], split, made.settings[-1]))


def test_a_split_level_needs_a_helper_and_a_helper_a_split_level() -> None:
    for menu, helper in ((split_offer(), None), (offer(), "https://helper.example")):
        with refused("option.helper", "helper"):
            campaign(menu, **TERMS, helper=helper)
    with refused("option.plain_http", "helper"):
        campaign(split_offer(), **TERMS, helper="http://helper.example")
    with refused("option.helper", "helper"):
        campaign(offer(), **TERMS, helper_token_file="token")
    made = campaign(split_offer(), **TERMS, helper="https://helper.example/")
    assert made.plain["split"] == {"helper": "https://helper.example"}
    assert made.terms.split_id == "S"


@pytest.mark.parametrize("floor", [1, 50])
def test_leader_and_helper_agree_on_it_or_say_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, floor: int
) -> None:
    split_offer().write(tmp_path / "offer.json")
    with two_services(tmp_path, "--least-producers", str(floor)) as (leader, helper):
        for name, service in (("TOKEN", leader), ("HELPER_TOKEN", helper)):
            token = service.served.ok("POST", "/v1/consumers", service.operator, {"name": "utility"})["token"]
            monkeypatch.setenv(f"HALFMASK_{name}", token)
        words = ["campaign", tmp_path / "offer.json", *(f"--{name}={value}" for name, value in TERMS.items())]
        words += ["--service", leader.address, "--helper", helper.address]
        if floor > 20:
            assert error_of(*words).code == "run.helper_refused"
            return
        posted = halfmask(*words)
        assert posted.returncode == 0, posted.stderr
        state, id = ("--state", tmp_path / "mine"), posted.stdout.splitlines()[-1]
        joined = halfmask("join", leader.address, "--campaign", id, "--setting", "S", *state)
        assert joined.returncode == 0, joined.stderr
        assert leader.address in joined.stderr
        assert helper.address in joined.stderr
        assert helper.address in halfmask("status", *state).stderr
        assert halfmask("leave", *state).returncode == 0


def test_it_returns_what_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "campaign.json"
    made = campaign(CampaignOptions(menu=offer(), output=path, **TERMS))
    assert isinstance(made, OfferedCampaign)
    assert json.loads(path.read_text()) == json.loads(json.dumps(made.plain))


def test_a_campaign_of_a_signed_offer_carries_its_hash(tmp_path: Path) -> None:
    path = signed(tmp_path)
    held = json.loads(path.read_text())
    bare = {name: value for name, value in held.items() if name != "signed"}
    written = json.dumps(bare, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert held["signed"] == {"by": "A. Officer", "until": "2027-12-31", "hash": hashlib.sha256(written).hexdigest()}
    statement = (tmp_path / "signed-statement.html").read_text()
    assert held["signed"]["hash"] in statement
    assert "A. Officer" in statement
    terms = campaign(path, **TERMS).terms
    assert terms.signature == SignedOffer(**held["signed"])
    assert terms.terms_hash() != campaign(offer(), **TERMS).terms.terms_hash()
    assert "signed" not in campaign(offer(), **TERMS).terms.terms()


def test_a_card_is_shown_only_with_the_data_that_its_signer_declares_public(tmp_path: Path) -> None:
    """Figures of attacks follow from the card's data and not from the summary."""
    path = tmp_path / "offer.json"
    replace(two_settings(), question=Question(0.5, 48, unit="kW")).write(path)
    card().write(tmp_path / "card.json")
    asked: dict[str, Any] = {"sign": "A. Officer", "until": "2027-12-31"}
    for given in ({"card": tmp_path / "card.json"}, {"card_data": "a public panel"}):
        with refused("option.card_data", "card_data"):
            offer_command(path, tmp_path / "other.json", **asked, **given)
    offer_command(path, tmp_path / "other.json", **asked, card=tmp_path / "card.json", card_data="a <public> panel")
    page = (tmp_path / "other-statement.html").read_text()
    assert "A. Officer declares" in page
    assert "a &lt;public&gt; panel" in page
    signed_with = Menu.read(tmp_path / "other.json")
    digest = hashlib.sha256((tmp_path / "card.json").read_bytes()).hexdigest()
    assert signed_with.provenance["attacks"] == {"card": digest, "data": "a <public> panel"}
    assert digest in page
    offer_command(tmp_path / "other.json", tmp_path / "bare.json", **asked)
    assert "attacks" not in Menu.read(tmp_path / "bare.json").provenance
    text = (tmp_path / "other.json").read_text()
    (tmp_path / "other.json").write_text(text.replace("a <public> panel", "our own readings"))
    with pytest.raises(FileFormatError):
        Menu.read(tmp_path / "other.json")


def test_what_was_changed_after_it_was_signed_is_refused(tmp_path: Path) -> None:
    path = signed(tmp_path)
    plain = campaign(path, **TERMS).plain
    changed = json.loads(json.dumps(plain))
    changed["menu"]["settings"][0]["setting"] = "laplace:1@total"
    with pytest.raises(MessageError) as found:
        CampaignTerms.read(changed)
    assert found.value.field == "menu.signed"
    path.write_text(path.read_text().replace("laplace:2.5@total", "laplace:1@total"))
    with pytest.raises(FileFormatError):
        Menu.read(path)


def test_a_campaign_ends_before_the_signature(tmp_path: Path) -> None:
    path = signed(tmp_path, until="2027-05-31")
    assert campaign(path, **TERMS).terms.signature is not None  # the last day is May 31
    with refused("option.signed", "end"):
        campaign(path, **TERMS | {"end": "2027-06-02"})


def test_only_what_may_be_published_is_signed() -> None:
    with refused("option.own"):
        sign(replace(offer(), provenance={OWN: "computed from readings"}), "A. Officer", "2027-12-31")
    with refused("option.date", "until"):
        sign(offer(), "A. Officer", "next year")
    with refused("option.sign", "sign"):
        sign(offer(), "", "2027-12-31")
    with refused("option.sign", "sign"):
        sign(menu_of({"A": ("laplace:0.5", 0.3, 0.9)}), "A. Officer", "2027-12-31")
