"""The report card: its parts stand side by side, and it warns where they disagree."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from halfmask.audits.audit import audit_menu, reports_of
from halfmask.audits.card import CURVE, ReportCard, StepAudited
from halfmask.audits.card_sentences import Alternative, sentence, warnings
from halfmask.audits.card_table import card_notes, card_rows, share_cell
from halfmask.audits.device_audit import audit_device, device_objections
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Score, noise_std
from halfmask.protection.attacks import ATTACKS, Finding
from halfmask.protection.attacks.reconstruction import lattice_errors
from halfmask.protection.evidence import population_of
from halfmask.protection.guarantees.guarantee import guarantee
from halfmask.protection.guarantees.promises import guarantee_rows
from tests.audits.cards import card, few_attacks, two_settings
from tests.choice.cases import homes, menu
from tests.refusals import refused

DAY = {"day": 48, "month": 1440, "year": 17520}
NOISY, SLIGHT = PrivacySetting.parse("sine:1.2,0.3,1.2,1.5,1.5"), PrivacySetting.parse("laplace:1")


@pytest.fixture(autouse=True)
def few_seeds() -> Iterator[None]:
    with few_attacks():
        yield


def finding(name: str, value: float, baseline: float, **details: object) -> Finding:
    return Finding(name, "", value, baseline, "", details)


def test_a_card_has_score_guarantee_and_attacks_of_every_setting() -> None:
    made = card()
    assert [each.id for each in made.cards] == ["A", "B", "N"]
    laplace, sine, none = made.cards
    assert len(laplace.attacks) == len(sine.attacks) == len(ATTACKS) + 6
    typical = made.about.sensitivity.typical
    assert laplace.typical.epsilon == pytest.approx(math.ceil(typical * 1000) / 1000 / 0.6)
    assert laplace.guarantee.sensitivity == made.about.sensitivity.range > typical
    assert sine.typical.epsilon is None
    assert none.typical.certain == 1
    assert laplace.limit is not None
    assert 0.5 < (laplace.limit.share or 0) <= 1


def test_a_day_is_counted_by_the_sampling_step() -> None:
    assert reports_of(homes().profile) == {"day": 12, "month": 360, "year": 4380}
    assert set(card().cards[0].typical.composed) == {12, 360, 4380}


def test_laplace_of_the_same_variance_is_named_beside_bounded_noise() -> None:
    laplace, sine, none = card().cards
    assert laplace.instead is none.instead is None
    assert sine.instead is not None
    assert sine.instead.setting.parameters[0] == pytest.approx(1.2 / math.sqrt(2) / math.sqrt(2), rel=1e-3)
    assert sine.instead.epsilon == pytest.approx(
        sine.typical.sensitivity / sine.instead.setting.parameters[0], rel=0.01
    )


def test_the_curve_is_the_guarantee_at_more_places() -> None:
    for each in card().cards:
        for place, epsilon in enumerate(CURVE):
            if epsilon in each.typical.delta:
                assert each.curve[1][place] == pytest.approx(each.typical.delta[epsilon], abs=1e-3)
                assert each.curve[12][place] == pytest.approx(each.typical.composed[12][epsilon], abs=1e-9)


def test_the_same_seed_gives_the_same_card_but_for_the_device() -> None:
    """And the company of other settings, or the order that they are done in, changes nothing."""
    alone = replace(two_settings(), settings=two_settings().settings[1:2])
    (again,) = audit_menu(alone, homes().profile, seed=3, window=4).cards
    assert replace(again, sampler=None) == replace(card().cards[1], sampler=None)


def test_progress_is_told_to_the_end() -> None:
    heard: list[tuple[int, int]] = []
    few = replace(two_settings(), settings=two_settings().settings[-1:])
    audit_menu(few, homes().profile, advance=lambda done, all_: heard.append((done, all_)))
    assert heard[-1] == (len(ATTACKS), len(ATTACKS))
    assert sorted(heard) == heard


def test_the_file_says_what_the_card_says(tmp_path: Path) -> None:
    card().write(tmp_path / "card.json")
    page = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))
    assert page == json.loads(json.dumps(card().to_json(), allow_nan=False))
    first = page["settings"][0]
    assert first["epsilon"] == card().cards[0].guarantee.epsilon
    assert list(first["delta"]) == ["0", "0.1", "0.5", "1", "2", "5", "inf"]
    assert set(first["composed"]) == {"12", "360", "4380"}
    assert "Calibrate" in page["calibration"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "file.not-ours"),
        ("[]", "file.not-ours"),
        ('{"format": "halfmask card", "version": 9, "settings": []}', "file.version"),
    ],
)
def test_a_bad_card_is_refused(tmp_path: Path, text: str, code: str) -> None:
    (tmp_path / "card.json").write_text(text)
    with refused(code):
        ReportCard.read(tmp_path / "card.json")


def test_a_missing_card_names_the_command(tmp_path: Path) -> None:
    with refused("file.missing"):
        ReportCard.read(tmp_path / "card.json")


def test_a_menu_of_other_data_is_refused() -> None:
    other = replace(menu(), provenance={**menu().provenance, "fingerprint": "f" * 16})
    with refused("option.other", "other_data"):
        audit_menu(other, homes().profile)


def test_the_table_has_a_line_a_setting() -> None:
    rows = card_rows(card())
    assert [row[0] for row in rows[1:]] == ["A", "B", "N"]
    assert all(len(row) == len(rows[0]) for row in rows)
    assert rows[1][2] != "no promise"
    assert rows[2][2] == rows[2][3] == "no promise"
    assert rows[3][4] == "100%"
    assert any("Calibrate" in told for told in card_notes(card()))


def test_a_guarantee_as_a_table() -> None:
    rows = guarantee_rows(guarantee(SLIGHT, 0.1, (48,)))
    assert rows[0][1:] == ["0", "0.1", "0.5", "1", "2", "5", "inf"]
    assert [row[0] for row in rows[1:]] == ["1 report", "48 reports"]
    assert rows[1][2] == "0"


def test_shares_read_well() -> None:
    assert [share_cell(value) for value in (None, 0.0, 1e-9, 0.0123, 0.5)] == ["-", "0%", "< 0.01%", "1.23%", "50%"]


def test_the_device_keeps_its_promise_and_a_narrower_one_would_not() -> None:
    for text in ("laplace:0.6", "sine:1.2", "gaussian:0.5"):
        found = audit_device(PrivacySetting.parse(text), 0.01)
        assert found is not None
        assert not found.caught
        assert found.bound > 0.5 * found.claimed
    assert audit_device(PrivacySetting.parse("none"), 0.01) is None
    assert audit_device(PrivacySetting.parse("relative-laplace:0.5"), 0.01) is None


def test_a_high_score_with_a_weak_guarantee_is_warned_of() -> None:
    weak, strong = guarantee(NOISY, 0.1, (48,)), guarantee(SLIGHT, 0.01, (48,))
    high, low = Score(0.7, 0.6), Score(0.1, 0.1)
    assert "weak guarantee" in warnings(high, weak, [], DAY)[0]
    assert warnings(low, weak, [], DAY) == ()
    assert warnings(high, strong, [], DAY) == ()


def test_what_would_serve_better_is_said_only_where_it_would() -> None:
    weak, strong = guarantee(NOISY, 0.1, (48,)), guarantee(SLIGHT, 0.01, (48,))
    better = Alternative(SLIGHT, 0.1, 0.1, 3.0, 0.68, 0.7, {})
    assert "laplace:1" in warnings(Score(0.7, 0.6), weak, [], DAY, better)[-1]
    assert warnings(Score(0.7, 0.6), strong, [], DAY, better) == ()
    assert not any("laplace:1" in told for told in warnings(Score(0.7, 0.6), weak, [], DAY, replace(better, day=34)))


def test_successful_attacks_are_warned_of() -> None:
    strong = guarantee(SLIGHT, 0.01, (48,))

    def told(*findings: Finding) -> str:
        return " ".join(warnings(Score(0.7, 0.6), strong, findings, DAY))

    assert "next to nothing" in told(finding("reconstruction", 0.01, 1.0))
    assert "takes 70 % off" in told(finding("reconstruction", 0.3, 1.0))
    assert told(finding("reconstruction", 0.9, 1.0)) == ""
    assert "takes 80 % off" in told(finding("smoothing", 0.4, 1.0, rmse_smoothed=0.1, rmse_prior=0.5))
    assert told(finding("smoothing", 0.01, 1.0, rmse_smoothed=0.49, rmse_prior=0.5)) == ""  # it learned nothing
    assert told(finding("smoothing", 1.0, 1.0, rmse_smoothed=0.1, rmse_prior=0.5)) == ""  # the reports alone did
    assert "named by half" in told(finding("reidentification-half", 0.3, 0.4, chance=0.002))
    assert told(finding("reidentification-half", 0.03, 0.4, chance=0.002)) == ""


def test_the_sentence_says_what_an_attacker_gets() -> None:
    findings = [
        finding("reconstruction", 0.5, 0.9),
        finding("averaging", 0.1, 2.0, reports_until_10_percent=94),
        finding("reidentification-half", 0.15, 0.22, chance=0.002),
    ]
    text = sentence(guarantee(NOISY, 0.1, (48,)), findings, DAY)
    assert text == (
        "Who sees one report guesses the reading 0.5 off (0.9 without it); a steady value shows to 10 % after 94 "
        "reports, 2 days; 15 % of users are named by half of their reports (22 % unmasked, under 1 % by chance); no "
        "epsilon guarantee: one report in 153 gives a change of 0.1 in one reading away for certain, and an attacker "
        "who knows all but this reading guesses right at most 52 times of 100."
    )
    assert sentence(guarantee(SLIGHT, 0.1, (48,)), [], DAY) == (
        "An attacker who knows all but this reading guesses right at most 53 times of 100 (epsilon 0.1 for a change of "
        "0.1 in one reading, delta 0)."
    )


def test_the_highest_score_is_attacked_beside_the_setting_of_its_variance() -> None:
    best = card().best
    assert best is not None
    like = next(each for each in card().cards if each.id == best.like)
    assert like.limit is not None
    assert best.privacy > (like.limit.privacy or 1)
    assert noise_std(best.setting) == pytest.approx(noise_std(like.setting), rel=1e-3)
    of = [{found.name: found.value for found in each.attacks} for each in (best, like)]
    assert (of[0]["reconstruction"] or 1) < (of[1]["reconstruction"] or 0)


def test_a_gaussian_says_its_epsilon_at_a_small_delta() -> None:
    weak = sentence(guarantee(PrivacySetting.parse("gaussian:0.01"), 1, (48,)), [], DAY)
    strong = sentence(guarantee(PrivacySetting.parse("gaussian:10"), 1, (48,)), [], DAY)
    assert "at most 52 times of 100 (epsilon 0.4 for a change of 1 in one reading, delta 1e-6)" in strong
    assert weak.startswith("An attacker who knows all but this reading guesses right every time (epsilon 5500 ")


@pytest.mark.parametrize("text", ["relative-laplace:0.5", "round:0.5", "clip:0,5", "microaggregate:3"])
def test_a_rule_is_not_said_to_give_every_reading_away(text: str) -> None:
    """Its delta of 1 bounds the worst reading: the reason is told, and the table says that it is a bound."""
    found = guarantee(PrivacySetting.parse(text), 0.1, (48,))
    assert found.label[len("no ") :] in sentence(found, [], DAY)
    (told,) = warnings(Score(0.7, 0.6), found, [], DAY)
    assert told == f"High score (0.70), {found.label}."
    entry = replace(card().cards[0], guarantee=found, typical=replace(found, composed={12: found.delta}))
    assert card_rows(replace(card(), cards=(entry,)))[1][4:6] == ["≤ 100%", "≤ 100%"]


def test_nothing_is_hidden_without_noise() -> None:
    text = sentence(guarantee(PrivacySetting.parse("none"), 0.1, (48,)), [finding("reconstruction", 0.0, 1.0)], DAY)
    assert text.startswith(
        "A report shows the reading as it is; no epsilon guarantee: every report gives a change of 0.1"
    )


def test_other_noise_is_named_only_where_a_day_of_it_is_better() -> None:
    own = guarantee(PrivacySetting.parse("gaussian:0.2"), 0.2, (48,))
    day = own.epsilon_at(1e-6, 48)
    assert day is not None
    for other, told in ((4.0, True), (8.0, False), (day * 2, False), (None, False)):
        said = warnings(Score(0.7, 0.6), own, [], DAY, Alternative(SLIGHT, 0.2, 1.0, other, 0.7, 0.7, {}))
        assert any("0.70, as this does" in each for each in said) == told


def test_almost_all_is_not_all() -> None:
    assert [share_cell(value) for value in (0.999, 1.0, 0.994)] == ["> 99%", "100%", "99%"]
    wide = guarantee(NOISY, 0.1, (48,))
    sure = replace(wide, composed={48: {**wide.composed[48], math.inf: 0.9999}})
    assert "certain all but always" in warnings(Score(0.7, 0.6), sure, [], DAY)[0]


def test_the_card_says_what_it_was_drawn_on() -> None:
    coarse = audit_menu(replace(two_settings(), settings=two_settings().settings[:1]), homes().profile, step=0.5)
    assert coarse.about.step == StepAudited(0.5, "as given")
    assert card().about.step == StepAudited(0.001, "the device's default")
    first = coarse.cards[0]
    assert first.typical.step == 0.5
    guess, people = first.found("reconstruction"), population_of(homes().profile)
    assert guess is not None
    assert guess.value == lattice_errors(first.setting, people, 0.5).best_absolute
    assert guess.value != lattice_errors(first.setting, people).best_absolute
    assert first.typical.epsilon == pytest.approx(math.ceil(coarse.about.sensitivity.typical / 0.5) * 0.5 / 0.6)
    assert first.sampler is not None
    assert not first.sampler.caught
    assert any("steps of 0.5 (as given)" in told for told in card_notes(coarse))


def test_a_setting_that_devices_refuse_on_the_lattice_says_so() -> None:
    def told(text: str, step: float) -> str:
        return " ".join(device_objections(PrivacySetting.parse(text), step))

    assert "Devices refuse it" in told("laplace:0.00002", 0.001)
    assert "Devices refuse it" in told("round:1", 0.001)
    assert "Devices warn" in told("laplace:0.0005", 0.001)
    assert told("laplace:0.5", 0.001) == told("geometric:1,0.1", 0.001) == told("none", 0.001) == ""
