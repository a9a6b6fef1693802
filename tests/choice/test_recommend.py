"""Advice to single producers: personal privacy against masking, the peak's game, and wishes."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from halfmask.arrays import FloatArray
from halfmask.choice.advice_table import advice_rows
from halfmask.choice.evening_peak import HOUR, peak_shows, split_evenings
from halfmask.choice.held_out_trial import _true_privacy, evaluate_recommendations
from halfmask.choice.personal_privacy import (
    PersonalLaws,
    Prior,
    middle,
    own_counts,
    personal_laws,
    personal_privacy,
    population_prior,
    privacy_interval,
    public_prior,
)
from halfmask.choice.recommend import OwnReadings, Wish, own_readings, recommend
from halfmask.commands.recommend import trial_rows
from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.metrics import local_error, summary
from halfmask.evaluation.scores import privacy
from halfmask.mechanisms.grid import grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu
from halfmask.menus.offer import offer
from halfmask.menus.public_summary import public_summary
from tests.choice.cases import homes, menu
from tests.evaluation.direct_cases import Case, household
from tests.menus.cases import QUESTION, street, studied
from tests.refusals import refused


@pytest.fixture(scope="module")
def prior() -> Prior:
    return population_prior(homes().profile, menu())


def readings_of(number: int) -> OwnReadings:
    """Everything that one of the homes has."""
    mine = homes().users == f"user-{number:03d}"
    hours = np.tile(np.arange(0, 24 * 12, 2), 30)[mine]
    return OwnReadings(homes().values[mine], hours.astype(np.int64) * HOUR)


def test_personal_privacy_is_what_masking_ones_own_readings_gives() -> None:
    """Metrics of 40 maskings against the law's, and a producer of twice the size is told from it."""
    values = np.random.default_rng(4).lognormal(0, 0.6, 4000)
    bins, counts, _ = own_counts(values)
    law = PersonalLaws(bins, counts[None] / counts.sum(), np.zeros(1))
    expected = personal_privacy(menu(), law, len(values))[:, 0]
    other = personal_privacy(menu(), PersonalLaws(bins + 64, law.share, law.zeros), len(values))[:, 0]
    rng = np.random.default_rng(5)
    for number, each in enumerate(menu().settings[:-1]):
        found = []
        for _ in range(40):
            errors = local_error(each.setting.mask(values, rng), values)
            metrics = np.array([*summary(errors), 0, 0, 0])
            found.append(privacy(metrics, menu().largest, menu().weights))
        mean, spread = float(np.mean(found)), float(np.std(found)) / 40**0.5
        assert abs(mean - expected[number]) < 5 * spread + 0.003, each.id
        assert abs(mean - other[number]) > 5 * spread + 0.003, each.id
    assert expected[-1] == 0


def test_the_same_noise_protects_a_small_consumer_more() -> None:
    bins, counts, _ = own_counts(np.random.default_rng(4).lognormal(0, 0.6, 2000))
    shares = PersonalLaws(bins, counts[None] / counts.sum(), np.zeros(1))
    large = PersonalLaws(bins + 128, shares.share, shares.zeros)
    small, big = (personal_privacy(menu(), law, 1e5)[:-1, 0] for law in (shares, large))
    assert (small > big).all()


def test_under_the_scaled_error_the_mean_counts() -> None:
    """All errors divide by one number, so a producer with the same mean has the same privacy, whatever its spread."""
    scaled = menu().__class__(**{**vars(menu()), "provenance": {"error": "scaled"}})
    bins = np.array([0, 64])
    even = PersonalLaws(np.array([32]), np.ones((1, 1)), np.zeros(1))
    sizes = 2 ** ((bins + 0.5) / 64)
    mean = 2 ** (32.5 / 64)
    weight = (mean - sizes[0]) / (sizes[1] - sizes[0])
    wide = PersonalLaws(bins, np.array([[1 - weight, weight]]), np.zeros(1))
    one, other = (personal_privacy(scaled, law, 1e4) for law in (even, wide))
    assert one == pytest.approx(other, abs=1e-9)
    with_zeros = PersonalLaws(bins, wide.share, np.full(1, 0.5))
    assert (personal_privacy(scaled, with_zeros, 1e4)[:-1] > one[:-1]).all()


def test_few_readings_rest_on_the_population_and_many_on_themselves(prior: Prior) -> None:
    rng = np.random.default_rng(6)
    values = rng.lognormal(3, 0.2, 50_000)
    weights, spreads = [], []
    for number in (12, 600, 50_000):
        found = recommend(menu(), OwnReadings(values[:number]), Wish(min_privacy=0.1), prior)
        weights.append(found.own_weight)
        spreads.append(found.chosen.high - found.chosen.low)
        assert found.chosen.low <= found.chosen.privacy + 0.02
    assert weights == sorted(weights)
    assert weights[0] < 0.9 < weights[2]
    none, many = (
        personal_privacy(menu(), personal_laws(*own_counts(values[:n]), prior, rng, 60), 1e5) for n in (1, 50_000)
    )
    assert np.ptp(none[0, 1:]) > 3 * np.ptp(many[0, 1:])
    own = PersonalLaws(*_shares(values))
    assert many[:, 0] == pytest.approx(personal_privacy(menu(), own, 1e5)[:, 0], rel=0.1, abs=0.02)


def _shares(values: np.ndarray) -> tuple:
    bins, counts, _ = own_counts(values)
    return bins, counts[None] / counts.sum(), np.zeros(1)


def test_the_prior_is_the_populations_and_knows_how_users_differ() -> None:
    found = population_prior(homes().profile, menu())
    values = np.abs(homes().values)
    assert found.share.sum() == pytest.approx(1)
    assert found.zeros == pytest.approx(np.mean(values == 0))
    assert found.a_period == pytest.approx(12)
    logs = [np.log(values[(homes().users == user) & (values > 0)]) for user in np.unique(homes().users)]
    within, between = np.mean([each.var() for each in logs]), np.var([each.mean() for each in logs])
    assert found.strength == pytest.approx(within / between, rel=0.05)
    assert found.errors == pytest.approx(20 * np.sum(values > 0) / 30)


def test_a_wish_for_privacy_gets_the_most_useful_setting_that_gives_it(prior: Prior) -> None:
    for number in (0, 7, 13):
        found = recommend(menu(), readings_of(number), Wish(min_privacy=0.3), prior)
        meeting = [each for each in found.settings if each.low >= 0.3]
        assert found.meets == bool(meeting)
        if meeting:
            assert found.chosen.entry.objective == max(each.entry.objective for each in meeting)
    greedy = recommend(menu(), readings_of(0), Wish(min_privacy=1.0), prior)
    assert not greedy.meets
    assert greedy.chosen.low == max(each.low for each in greedy.settings)
    assert any("no setting" in note for note in greedy.notes)


def test_a_wish_for_reward_gets_the_most_private_setting_that_pays_it(prior: Prior) -> None:
    pay = {id: float(number) for number, id in enumerate(menu().ids)}
    found = recommend(menu(), readings_of(2), Wish(min_reward=1.0, rewards=pay), prior)
    paid = [each for each in found.settings if each.reward is not None and each.reward >= 1]
    assert found.chosen.privacy == max(each.privacy for each in paid)
    assert advice_rows(found)[0][-1] == "reward"
    both = recommend(menu(), readings_of(2), Wish(min_privacy=1.0, min_reward=1.0, rewards=pay), prior)
    assert not both.meets


def test_the_evening_peak_hides_with_noise_and_the_game_is_fair() -> None:
    """One evening hour stands out: without noise always named, with very much as often as by guessing."""
    hours = np.arange(24 * 40)
    values = np.where(hours % 24 == 19, 2.0, 1.0) + 50.0 * (hours % 24 < 6)  # nights do not matter
    evenings = split_evenings(values, hours * HOUR)
    rng = np.random.default_rng(8)
    assert peak_shows(evenings, PrivacySetting.parse("none"), rng) == 1
    assert evenings.guessing == pytest.approx(1 / 6)
    drowned = peak_shows(evenings, PrivacySetting.parse("laplace:1000"), rng)
    assert drowned == pytest.approx(1 / 6, abs=5 * (1 / 6 / 4000) ** 0.5)
    # P(2 + U0 > max of five 1 + U), all U uniform on [-1, 1]: the mean of min((U0 + 2)/2, 1)^5
    u = (np.arange(20_000) + 0.5) / 10_000 - 1
    exact = float(np.mean(np.minimum((u + 2) / 2, 1) ** 5))
    error = (exact * (1 - exact) / 4000) ** 0.5
    found = peak_shows(evenings, PrivacySetting.parse("uniform:1"), rng)
    assert found == pytest.approx(exact, abs=5 * error)
    assert abs(peak_shows(evenings, PrivacySetting.parse("uniform:1.3"), rng) - exact) > 5 * error
    half_hours = split_evenings(np.repeat(values, 2), np.repeat(hours, 2) * HOUR)
    assert peak_shows(half_hours, PrivacySetting.parse("uniform:1"), rng) > found


def test_the_wish_to_hide_the_peak_is_served(prior: Prior) -> None:
    found = recommend(menu(), readings_of(3), Wish(peak_limit=0.5), prior)
    shows = {each.entry.id: each.peak for each in found.settings}
    assert shows["N"] == 1
    meeting = [each for each in found.settings if each.peak is not None and each.peak <= 0.5]
    assert found.meets
    assert found.chosen.entry.objective == max(each.entry.objective for each in meeting)
    assert "peak shows" in advice_rows(found)[0]
    with refused("option.no-times", "peak_limit"):
        recommend(menu(), OwnReadings(np.ones(5)), Wish(peak_limit=0.5), prior)
    with refused("option.too-low", "peak_limit"):
        recommend(menu(), readings_of(3), Wish(peak_limit=0.1), prior)
    with refused("option.no-evenings"):
        split_evenings(np.ones(3), np.array([1, 2, 17]) * HOUR)


def test_readings_come_from_arrays_and_any_source(tmp_path: Path) -> None:
    assert own_readings([1.0, np.nan, 2.0]).values.tolist() == [1.0, 2.0]
    path = tmp_path / "mine.csv"
    path.write_text("user,time,value\nme,2024-01-01 00:00,1.5\nme,2024-01-01 01:00,2.5\nme,2024-01-01 02:00,\n")
    mine = own_readings(str(path))
    assert mine.values.tolist() == [1.5, 2.5]
    assert mine.times is not None
    assert np.diff(mine.times).tolist() == [HOUR]
    with refused("option.several-producers", "producer"):
        own_readings(homes().table)
    with refused("option.unknown-user", "producer"):
        own_readings(homes().table, producer="me")
    one = own_readings(homes().table, producer="user-004")
    assert sorted(one.values.tolist()) == sorted(readings_of(4).values.tolist())


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        ({}, "option.wish"),
        ({"min_privacy": float("nan")}, "option.number"),
        ({"min_privacy": 4.0}, "option"),
        ({"min_privacy": -0.1}, "option"),
        ({"peak_limit": 0.0}, "option.peak"),
        ({"min_reward": 1.0}, "option.rewards"),
    ],
)
def test_wishes_that_are_none_are_refused(wish: dict[str, float], code: str) -> None:
    with refused(code):
        Wish(**wish)  # type: ignore[arg-type]


def test_advice_without_readings_or_for_unknown_settings_is_refused(prior: Prior) -> None:
    with refused("option.empty"):
        recommend(menu(), OwnReadings(np.zeros(0)), Wish(min_privacy=0.1), prior)
    with refused("option.setting"):
        recommend(menu(), readings_of(0), Wish(min_reward=1, rewards={"Q": 2.0}), prior)


def test_advice_meets_the_wish_of_held_out_users_more_often_than_one_setting_for_all() -> None:
    """Users differ by far more than the menu's bins; and more readings never serve at a higher cost."""
    case = household(users=60, days=20, step=2)
    trials = evaluate_recommendations(case.profile, menu(), min_privacy=0.35, readings=(12, 240), other_data=True)
    few, many = trials
    assert few.users == many.users == 15
    assert few.met >= few.population_met
    assert few.met >= 0.85 * few.reachable
    assert many.met >= 0.85 * many.reachable
    assert many.utility >= few.utility - 0.02
    assert min(few.inside, many.inside) >= 0.5
    assert len(trial_rows(trials)) == 3
    for options, code in (({"held_out": 0.0}, "option.share"), ({"held_out": 0.99}, "option.too-few-users")):
        with refused(code, "held_out"):
            evaluate_recommendations(homes().profile, menu(), min_privacy=0.3, **options)
    with refused("option", "buckets"):
        evaluate_recommendations(homes().profile.bucketed(4), menu(), min_privacy=0.3, other_data=True)


HELD = 150
ALLOWED = 4.5 * 0.5 / np.sqrt(HELD)
"""What a share of one half of the held-out users may be off by chance."""
SUMMARIES = 5
"""Draws of the offer's summary, each for a part of the users: what is tested is no single draw of its noise."""


@cache
def town() -> tuple[Case, Menu]:
    """Four hundred homes and their offer: its menu's scale, and what it tells households, are of 250 of them."""
    case = household(users=400, days=30, step=2)
    others = case.profile.subset(case.profile.labels[HELD:])
    study = evaluate_grid(others, grid("laplace:b=0.05..3/0.05"), Experiment(sizes=(100, 250), repeats=3))
    return case, offer(others, study, question=QUESTION).menu


def stated_of_held_out(kind: str) -> tuple[FloatArray, list[FloatArray]]:
    """True privacy by setting and user, and what is stated of each user from its first two days."""
    case, made = town()
    others = case.profile.subset(case.profile.labels[HELD:])
    rng = np.random.default_rng(12)
    true, scores = [], []
    for users in np.split(np.arange(HELD), SUMMARIES):
        drawn = replace(made, public=public_summary(others))  # at the default epsilon
        prior = public_prior(drawn) if kind == "offer" else population_prior(others, made)
        true.append(_true_privacy(case.profile, made, users, prior))
        for user in users:
            first = case.values[case.users == f"user-{user:03d}"][:24]
            scores.append(personal_privacy(made, personal_laws(*own_counts(first), prior, rng, 40), prior.errors))
    return np.concatenate(true, axis=1), scores


@pytest.mark.parametrize("kind", ["offer", "profile"])
def test_what_is_stated_of_held_out_users_is_calibrated(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The truth is as often above as below what is stated, and within the 80 % interval as often as that says.

    Two days are little to go by, so that the prior counts. Readings here do not resemble their neighbours, so that the
    interval, which allows for that, holds more than 80 %; a third as wide it would not. A tenth more would be too much.
    The summary's noise has a seed here, so that every run tests the same summaries.
    """
    rng = np.random.default_rng(13)

    def noised(counts: list[int], scale: int) -> list[int]:
        up, down = rng.geometric(-np.expm1(-1 / scale), (2, len(counts)))
        return (np.array(counts) + up - down).tolist()  # type: ignore[no-any-return]

    monkeypatch.setattr("halfmask.menus.noisy_counts.noised", noised)
    true, scores = stated_of_held_out(kind)
    for setting, truth in enumerate(true[:-1]):
        stated = np.array([middle(each)[setting] for each in scores])
        assert abs((truth < stated).mean() - 0.5) < ALLOWED
        assert abs(np.median(stated - truth)) < 0.02
        low, high = np.array([privacy_interval(each) for each in scores])[:, :, setting].T
        assert ((low <= truth) & (truth <= high)).mean() > 0.8 - ALLOWED * 0.8
        third = (high - low) / 3
        assert ((low + third <= truth) & (truth <= high - third)).mean() < 0.8
        assert abs((truth < 1.1 * stated).mean() - 0.5) > ALLOWED


def test_masking_ones_few_readings_once_shows_less_than_the_scale_of_the_menu(prior: Prior) -> None:
    """What `once` says is what masking gives: the mean score of 60 maskings of 24 readings."""
    own = OwnReadings(readings_of(3).values[:24])
    found = recommend(menu(), own, Wish(min_privacy=0.1), prior)
    rng = np.random.default_rng(15)
    for each in found.settings[:-1]:
        scores = []
        for _ in range(60):
            errors = local_error(each.entry.setting.mask(own.values, rng), own.values)
            scores.append(privacy(np.array([*summary(errors), 0, 0, 0]), menu().largest, menu().weights))
        assert each.once == pytest.approx(np.mean(scores), abs=5 * np.std(scores) / 60**0.5 + 0.02)
        assert each.once < each.privacy
    assert "masked once" in advice_rows(found)[0]
    assert recommend(menu(), OwnReadings(np.zeros(5)), Wish(min_privacy=0.1), prior).chosen.once is None


def test_frames_need_no_file() -> None:
    table = pa.table({"user": ["a"] * 3, "time": ["2024-01-01", "2024-01-02", "2024-01-03"], "value": [1.0, 2.0, 3.0]})
    assert own_readings(table).values.tolist() == [1.0, 2.0, 3.0]


def test_an_offer_alone_advises_nearly_as_the_profile_does() -> None:
    """A household has its readings and the offer, and no profile; both priors see the same scale of privacy."""
    case = street()
    made = offer(case.profile, studied(), question=QUESTION, summary_epsilon=100.0).menu
    own = OwnReadings(case.values[case.users == "user-003"])
    wish = Wish(min_privacy=0.1)
    priors = (public_prior(made), population_prior(case.profile, made))
    alone, known = (recommend(made, own, wish, each) for each in priors)
    for one, other in zip(alone.settings, known.settings, strict=True):
        assert one.privacy == pytest.approx(other.privacy, abs=0.03)
    with refused("option.no-summary", "profile"):
        public_prior(replace(made, public=None))
