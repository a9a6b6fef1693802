"""Mixes: exact shares, the same numbers as masking every reading, and bad input."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from halfmask.arrays import FloatArray
from halfmask.choice import mix as mixes
from halfmask.choice.mix import Mix, by_dominant, compositions, keeping, mix, parse_shares
from halfmask.choice.mixed_groups import build_groups
from halfmask.evaluation.analytic.evaluate_analytic import evaluate_analytic
from halfmask.evaluation.sampling import Subset, eligible
from halfmask.mechanisms.grid import Grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu
from tests.choice.cases import homes, menu
from tests.evaluation import brute
from tests.evaluation.direct_cases import Case, entropy, household
from tests.evaluation.same_answer import opened
from tests.refusals import refused
from tests.statistics import share

REPEATS = 100
COMPARISONS = 6 * 10
ENTROPY_SLACK = 0.02
"""Bits that the grid of logarithmic cells may be off; the docs of the analytic method state the same order."""


def naive_mix(
    case: Case, settings: Sequence[PrivacySetting], hand_of: dict[str, int], aggregate: str, error: str, repeats: int
) -> FloatArray:
    """Mask each user's readings with its own setting, and measure: what anybody would write."""
    rng = np.random.default_rng(17)
    users = [(case.users == user, settings[hand]) for user, hand in hand_of.items()]
    scale = np.zeros(len(case.values))
    for mine, _ in users:
        scale[mine] = np.abs(case.values[mine]).mean()
    divisor = scale if error == "scaled" else np.abs(case.values)
    days = [np.flatnonzero(case.days == day) for day in np.unique(case.days)]
    function = {"sum": np.sum, "mean": np.mean, "variance": np.var}[aggregate]
    totals = np.array([function(case.values[day]) for day in days])
    over = np.full(len(totals), np.abs(totals).mean()) if error == "scaled" else np.abs(totals)
    known = np.zeros(len(case.values))
    for mine, setting in users:
        known[mine] = setting.law.moments(np.array(setting.parameters)[None])[0, 1]
    out = np.empty((repeats, 6))
    for repeat in range(repeats):
        masked = case.values.copy()
        for mine, setting in users:
            masked[mine] = setting.mask(case.values[mine], rng)
        local = np.abs(masked - case.values)[divisor > 0] / divisor[divisor > 0]
        sums = np.array([function(masked[day]) - (aggregate == "variance") * known[day].mean() for day in days])
        errors = np.abs(sums - totals) / over
        out[repeat] = [local.mean(), local.std(), entropy(local), errors.mean(), errors.std(), entropy(errors)]
    return out


def analytic_mix(case: Case, settings: Sequence[PrivacySetting], hands: int, aggregate: str, error: str) -> FloatArray:
    """The same by parts that add up: hand k has setting k, new noise in each repeat."""
    deal = np.array_split(eligible(case.profile), hands)
    systems = build_groups(
        case.profile, settings, [deal] * REPEATS, aggregate=aggregate, error=error, seed=4  # type: ignore[arg-type]
    )  # fmt: skip
    return np.array([system.metrics(np.arange(hands)[None])[0] for system in systems])


def agree(one: FloatArray, other: FloatArray) -> list[bool]:
    """For each metric, whether the means can be equal at the suite's false-alarm rate."""
    bound = math.sqrt(2 * math.log(2 / share(COMPARISONS)))
    spread = np.sqrt(one.var(axis=0, ddof=1) / len(one) + other.var(axis=0, ddof=1) / len(other))
    slack = np.array([0, 0.003 * other[:, 1].mean(), ENTROPY_SLACK] * 2)
    return list(np.abs(one.mean(axis=0) - other.mean(axis=0)) <= bound * spread + slack)


MENUS = {
    "additive": (("laplace:0.3", "sine:0.6,0.9", "none", "gaussian:1"), "sum", "relative"),
    "mean, scaled": (("laplace:0.3", "sine:0.6,0.9", "none", "uniform:2"), "mean", "scaled"),
    "with relative noise": (
        ("relative-laplace:0.4", "sine:0.6,0.9", "relative-gaussian:0.1", "none"),
        "sum",
        "relative",
    ),
    "variance": (("laplace:0.3", "gaussian:0.5", "none", "sine:0.6"), "variance", "relative"),
    "lattices": (("geometric:0.5,0.1", "laplace:0.3", "geometric:2,0.5", "none"), "sum", "relative"),
    "lattices, scaled": (("geometric:0.5,0.1", "sine:0.9", "geometric:2,0.5", "none"), "sum", "scaled"),
}


@pytest.mark.parametrize("name", MENUS)
def test_a_mix_is_what_masking_every_reading_gives(name: str) -> None:
    """And a system whose noise is 10 % too strong is not."""
    texts, aggregate, error = MENUS[name]
    case = household(users=24, days=20, step=2, zeros=0.05)
    settings = [PrivacySetting.parse(text) for text in texts]
    parts = np.array_split(eligible(case.profile), len(settings))
    hand_of = {str(case.profile.labels[row]): hand for hand, rows in enumerate(parts) for row in rows}
    direct = naive_mix(case, settings, hand_of, aggregate, error, REPEATS)
    assert all(agree(analytic_mix(case, settings, 4, aggregate, error), direct))
    wrong = [PrivacySetting(each.mechanism, tuple(1.1 * p for p in each.parameters)) for each in settings]
    assert not all(agree(analytic_mix(case, wrong, 4, aggregate, error), direct))


def test_small_periods_are_drawn_noise_by_noise() -> None:
    """A period with two readings of sine noise is far from normal: its deviation and shape must be the noise's own."""
    case = household(users=4, days=40, step=12, zeros=0.0)
    settings = [PrivacySetting.parse("sine:2"), PrivacySetting.parse("none")]
    hand_of = {str(label): int(row >= 2) for row, label in enumerate(case.profile.labels)}
    direct = naive_mix(case, settings, hand_of, "sum", "relative", 400)
    systems = build_groups(
        case.profile, settings, [np.split(eligible(case.profile), 2)] * 400, aggregate="sum", error="relative", seed=4
    )
    assert agree(np.array([system.metrics(np.array([[0, 1]]))[0] for system in systems]), direct)[3:] == [True] * 3


def test_the_variance_of_few_and_unequal_readings_is_that_of_masking() -> None:
    """Eight readings a period with heavy tails: a normal error of the variance is 10 % too large on average."""
    values = brute.heavy(8, 40, 1)
    profile = opened(brute.panel(values))[1]
    settings = [PrivacySetting.parse("laplace:0.5"), PrivacySetting.parse("none")]
    deals = [np.split(np.arange(8), 2)] * 400
    systems = build_groups(profile, settings, deals, aggregate="variance", error="relative", seed=4)
    found = np.array([system.metrics(np.array([[0, 0]]))[0] for system in systems])
    masked = brute.samples(values, brute.laplace(0.5), 8, 400, aggregate="variance")
    assert agree(found, masked)[3:] == [True] * 3
    assert not all(agree(found + np.array([0, 0, 0, 0.05, 0, 0]), masked)[3:])


def test_the_variance_scatters_over_repeats_as_masking_does() -> None:
    """By mean distances from the median: deviations of so heavy tails say nothing in some hundred repeats."""
    values = np.exp(np.random.default_rng(101).normal(0, 1.2, (10, 20, 2)))
    profile, deal = opened(brute.panel(values))[1], np.array_split(np.arange(10), 2)
    settings = [PrivacySetting.parse("laplace:0.5")] * 2
    systems = build_groups(profile, settings, [deal] * 300, aggregate="variance", error="relative", seed=4)
    found = np.array([system.metrics(np.arange(2)[None])[0] for system in systems])
    masked = brute.samples(values, brute.laplace(0.5), 10, 2000, aggregate="variance")
    for metric in (3, 4, 5):
        ours, true = (np.abs(each[:, metric] - np.median(each[:, metric])) for each in (found, masked))
        bound = math.sqrt(2 * math.log(2 / share(3)))
        within = bound * math.hypot(ours.std() / math.sqrt(len(ours)), true.std() / math.sqrt(len(true)))
        assert ours.mean() == pytest.approx(true.mean(), abs=within)
        assert 0.18 / 0.27 * ours.mean() != pytest.approx(true.mean(), abs=within)


def test_a_bounded_noise_on_few_users_has_the_entropy_of_masking() -> None:
    """Six users under the scaled error are six values of z: the pile of sine noise at its bound shows in the bins."""
    rng = np.random.default_rng(8)
    values = rng.gamma(1.5, 0.7, (6, 20, 48)) * np.exp(rng.normal(0, 0.7, (6, 1, 1)))
    profile, deal = opened(brute.panel(values))[1], np.array_split(np.arange(6), 3)
    settings = [PrivacySetting.parse("sine:0.9")] * 3
    (system,) = build_groups(profile, settings, [deal], aggregate="sum", error="scaled", seed=4)
    found = system.metrics(np.arange(3)[None])[0, 2]
    masked = brute.samples(values, brute.sine(0.9), 6, 40, error="scaled")[:, 2]
    within = math.sqrt(2 * math.log(2 / share(2))) * masked.std() / math.sqrt(40)
    assert found == pytest.approx(masked.mean(), abs=within)
    assert found + 0.015 != pytest.approx(masked.mean(), abs=within)


def test_everybody_with_one_setting_is_the_homogeneous_study() -> None:
    """The corners of the simplex against the analytic method on all users."""
    profile = homes().profile
    whole = [Subset(30, repeat, eligible(profile), 30) for repeat in range(30)]
    made = mix(profile, menu(), step=1, repeats=30)
    held = made.table.to_pandas()
    settings = [each.setting for each in menu().settings]
    metrics = evaluate_analytic(profile, Grid.from_settings(settings), whole)
    order = [str(each) for each in Grid.from_settings(settings).settings()]
    for each in menu().settings:
        of_study = metrics[order.index(str(each.setting))]
        for column, score in (("privacy", mixes.privacy), ("utility", mixes.utility)):
            expected = score(of_study, menu().largest, menu().weights)
            found = held[held[each.id] == 1][column].to_numpy()
            spread = math.hypot(expected.std(), found.std()) / math.sqrt(30)
            assert abs(found.mean() - expected.mean()) <= 6 * spread + 1e-4, (each.id, column)
            assert len(found) == 30


def test_all_mixes_once_with_shares_that_add_up() -> None:
    made = mix(homes().profile, menu(), step=0.25, repeats=2)
    ids, table = made.ids, made.table
    shares = np.stack([table.column(name).to_numpy() for name in ids], axis=1)
    assert np.allclose(shares.sum(axis=1), 1)
    assert len(table) == 2 * math.comb(4 + len(ids) - 1, len(ids) - 1)
    assert len(np.unique(shares, axis=0)) == len(table) // 2
    assert table.column_names == [*ids, "repeat", "privacy", "utility", "error", "dominant", "dominant_share"]
    for row in table.to_pylist():
        ordered = sorted((row[name] for name in ids), reverse=True)
        leads = [name for name in ids if row[name] == ordered[0]]
        assert row["dominant"] == (leads[0] if len(leads) == 1 else None)
        assert row["dominant_share"] == (ordered[0] if len(leads) == 1 else None)


def test_the_paper_has_1287_mixes() -> None:
    held = compositions(8, 6)
    assert held.shape == (1287, 6)
    assert (held.sum(axis=1) == 8).all()
    assert (held >= 0).all()
    assert held[0].tolist() == [8, 0, 0, 0, 0, 0]


def test_users_are_dealt_in_exact_numbers() -> None:
    people = np.arange(30)
    plan = mixes._all_mixes(0.125, menu(), 1, 30)
    hands = mixes._deal(people, plan.cuts, np.random.default_rng(1))
    assert sorted(np.concatenate(hands).tolist()) == people.tolist()
    choice = plan.choice(np.random.default_rng(2))
    sizes = np.array([len(hand) for hand in hands])
    for shares, row in zip(plan.shares, choice, strict=True):
        counts = np.bincount(row, weights=sizes, minlength=len(shares))
        assert (np.abs(counts - shares * 30) < 1).all()


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        mix(homes().profile, menu(), step=0.5, repeats=2, seed=seed).write(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() != (tmp_path / "c").read_bytes()
    again = Mix.read(tmp_path / "a")
    assert again.table.equals(mix(homes().profile, menu(), step=0.5, repeats=2, seed=1).table)
    assert again.ids == list(menu().ids)


def test_one_mix_of_ones_own() -> None:
    ids = menu().ids
    shares = {ids[0]: 0.3, "N": 0.7}
    made = mix(homes().profile, menu(), shares=shares, repeats=40)
    assert len(made.table) == 40
    assert made.table.column("dominant").to_pylist() == ["N"] * 40
    whole = mix(homes().profile, menu(), shares={ids[-2]: 1.0}, repeats=40).table.column("privacy").to_numpy()
    part = mix(homes().profile, menu(), shares={ids[-2]: 0.5, "N": 0.5}, repeats=40).table.column("privacy").to_numpy()
    assert part.mean() < whole.mean()
    corner = mix(homes().profile, menu(), step=1, repeats=40).table.to_pandas()
    assert abs(whole.mean() - corner[corner[ids[-2]] == 1].privacy.mean()) < 0.01


def test_the_table_is_by_dominant_setting_and_share() -> None:
    made = mix(homes().profile, menu(), step=0.25, repeats=3)
    held = made.table.to_pandas().groupby(["dominant", "dominant_share"]).privacy.median()
    rows = by_dominant(made)
    assert len(rows) == len(held)
    for each in rows:
        assert each.privacy[1] == pytest.approx(held[each.id, each.share])


def test_mixes_that_keep_a_utility() -> None:
    made = mix(homes().profile, menu(), step=0.25, repeats=3)
    rows = made.table.to_pandas()
    bar = float(rows.utility.median())
    found = keeping(made, bar)
    kept = rows.groupby(made.ids).agg({"utility": "min", "privacy": "median"})
    kept = kept[kept.utility > bar]
    assert len(found.blends) == len(kept)
    assert found.best is not None
    assert found.best.privacy == pytest.approx(kept.privacy.max())
    nothing = keeping(made, 1.5)
    assert nothing.blends == ()
    assert nothing.best is None
    assert nothing.closest.shares["N"] >= 0
    assert nothing.closest.lowest_utility == pytest.approx(rows.groupby(made.ids).utility.min().max())


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"step": 0.3}, "option"),
        ({"step": 0}, "option"),
        ({"step": 0.001}, "option"),
        ({"step": 1 / 31}, "option"),
        ({"repeats": 0}, "option.repeats"),
        ({"shares": {"Z": 1.0}}, "option.setting"),
        ({"shares": {"N": 0.5}}, "option.shares"),
        ({"shares": {"N": 1.5, "A": -0.5}}, "option.shares"),
        ({"shares": {"N": math.nan}}, "option.shares"),
        ({"shares": {"N": 0.999, menu().ids[0]: 0.001}}, "option.few"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], code: str) -> None:
    with refused(code):
        mix(homes().profile, menu(), **options)  # type: ignore[arg-type]


def test_menus_that_cannot_be_mixed_are_refused() -> None:
    other = Menu(menu().settings, menu().normalisers, menu().weights, {}, (), {"fingerprint": "of others"})
    with refused("option.other", "other_data"):
        mix(homes().profile, other)
    assert len(mix(homes().profile, other, step=1, repeats=1, other_data=True).table) == len(menu().ids)
    of_max = Menu(menu().settings, menu().normalisers, menu().weights, {}, (), {"aggregate": "max"})
    with refused("option.aggregate"):
        mix(homes().profile, of_max, other_data=True)


def test_shares_are_read_as_written_or_refused() -> None:
    assert parse_shares("A=0.3, B=.2,N=0.5") == {"A": 0.3, "B": 0.2, "N": 0.5}
    for text in ("A", "A=x", "A=0.5,A=0.5", ""):
        with refused("option", "shares"):
            parse_shares(text)


def test_a_bad_file_is_refused(tmp_path: Path) -> None:
    with refused("file.missing"):
        Mix.read(tmp_path / "none.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    with refused("file.not-ours"):
        Mix.read(tmp_path / "bad.parquet")
