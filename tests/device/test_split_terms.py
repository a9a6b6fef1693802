"""A menu with a split setting, and the terms that both services of a split campaign show."""

import json
from dataclasses import replace
from typing import Any

import pytest

from halfmask_device.protocol import CampaignTerms, MessageError
from halfmask_device.split_terms import SplitTerms, carries_shares
from tests.service.test_totals import TOTALS
from tests.service.world import CAMPAIGN

HELPER = "https://helper.example"
SPLIT: dict[str, Any] = CAMPAIGN | TOTALS | {
    "menu": {"settings": [{"id": "A", "setting": "laplace:2.5@total"}, {"id": "S", "setting": "laplace:40@split"}]},
    "split": {"helper": HELPER, "campaign": "h", "terms": "text"},
    "rewards": {},
}  # fmt: skip
TERMS = SplitTerms.of(CampaignTerms.read(SPLIT), "https://leader.example", "c", HELPER, "ab" * 32)


def settings(*texts: str) -> dict[str, Any]:
    return {"menu": {"settings": [{"id": str(n), "setting": text} for n, text in enumerate(texts)]}}


def test_a_menu_may_have_one_split_setting_whose_helper_and_terms_are_pinned() -> None:
    terms = CampaignTerms.read(SPLIT)
    assert (terms.split_id, terms.terms()["split"]) == ("S", {"helper": HELPER, "campaign": "h", "terms": "text"})
    pinned = {terms.terms_hash()}
    for name in SPLIT["split"]:
        pinned.add(CampaignTerms.read(SPLIT | {"split": SPLIT["split"] | {name: "other"}}).terms_hash())
    assert len(pinned) == 4
    plain = CampaignTerms.read(SPLIT | settings("laplace:2.5@total") | {"split": None})
    assert plain.split_id is None
    assert "split" not in plain.terms()


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        (settings("laplace:40@split", "laplace:80@split"), "menu"),
        (settings("none@split"), "menu"),
        (settings("uniform:3@split"), "menu"),
        (settings("laplace:1e12@split"), "menu"),
        (settings("laplace:1@total"), "split"),
        (settings("laplace:1") | {"release": "reading", "split": None}, None),
        (settings("laplace:40@split") | {"release": "reading"}, "menu.settings[0]"),
        ({"split": None}, "split"),
        ({"split": {"campaign": "h"}}, "split.helper"),
        ({"groups": ["feeder 1"]}, "groups"),
        ({"groups": []}, None),
        ({"lattice": {"step": "0.1", "low": "0", "high": "429496729.6"}}, "lattice"),
        ({"lattice": {"step": "0.1", "low": "0", "high": "429496729.5"}}, None),
    ],
)
def test_what_is_no_split_campaign(changed: dict[str, Any], field: str | None) -> None:
    if field is None:
        CampaignTerms.read(SPLIT | changed)
        return
    with pytest.raises(MessageError) as caught:
        CampaignTerms.read(SPLIT | changed)
    assert caught.value.field == field


def test_terms_are_one_exact_text() -> None:
    text = TERMS.text()
    assert SplitTerms.read(text) == TERMS
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    assert TERMS.maximum == 400
    assert TERMS.context.startswith(b"halfmask/1/c/")
    others = [replace(TERMS, least_producers=2), replace(TERMS, verify_key_hash="cd" * 32), replace(TERMS, ends="x")]
    assert len({TERMS.context, *(each.context for each in others)}) == 4


@pytest.mark.parametrize(
    "text",
    [
        None, "", "{}", "[]", TERMS.text() + " ", TERMS.text().replace('"grace_minutes":60', '"grace_minutes":"60"'),
        TERMS.text().replace('"https://helper.example"', "5"), TERMS.text().replace('"high":"40.0"', '"high":"-1"'),
        json.dumps(json.loads(TERMS.text())), TERMS.text().replace("leader", "ruler"),
    ],
)  # fmt: skip
def test_other_texts_are_not_terms(text: Any) -> None:
    with pytest.raises(MessageError):
        SplitTerms.read(text)


def test_shares_go_by_https_or_within_the_machine() -> None:
    fine = ["https://helper.example", "http://127.0.0.1:8000", "http://localhost:1", "http://[::1]:80"]
    not_fine = ["http://helper.example", "http://127.0.0.1.example", "ftp://localhost", "http://10.0.0.1", ""]
    assert [carries_shares(each) for each in (*fine, *not_fine)] == [True] * 4 + [False] * 5
