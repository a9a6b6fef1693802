"""The paper's claims: every measure can say yes and can say no, on inputs made by hand; and the whole page for real."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reproduction.__main__ import main, parse
from reproduction.claim import Claim, ClaimFinding, counted, graded, shown
from reproduction.page import page
from reproduction.run import CLAIMS, ReproductionPlan, measure, read_findings, reproduce
from reproduction.trial import Trial, few_users, run_trial

from halfmask.data.open_panel import open_panel
from halfmask.data.synth import synth
from halfmask.errors import OptionError
from halfmask.figures.heatmaps import HeatMaps
from halfmask.figures.study_samples import MenuSamples, Samples, read_samples
from halfmask.menus.menu import Menu
from reproduction import corrections, heterogeneous, homogeneous
from tests.pages.studies import local, menu_of, study_of
from tests.real_data import SWISS, needs_data
from tests.refusals import refused

DOCS = Path(__file__).parents[2] / "docs" / "reproduction.md"
STORED: dict[str, Any] = json.loads(DOCS.with_suffix(".json").read_text())
SMALL = ReproductionPlan(
    grid="laplace:b=0.02..1/0.02;sine:k=5,values=0|0.3|0.9", sizes="20,40,all", step=0.5, mix_repeats=2, trial_users=20,
    threads=1, seeds=(7, 8),
)  # fmt: skip


def samples_of(folder: Path, metrics: dict[str, Sequence[Sequence[float]]], users: Sequence[int] = (10, 20)) -> Samples:
    study_of(metrics, users).write(folder / "study.parquet")
    return read_samples(folder / "study.parquet")


def two_mechanisms(laplace: Sequence[float], sine: Sequence[float]) -> dict[str, Sequence[Sequence[float]]]:
    """Settings whose six metrics are all one number, a hundredth of it in the global error."""
    made = {f"laplace:{0.1 * (i + 1):.3g}": [local(x, x / 100)] * 2 for i, x in enumerate(laplace)}
    return made | {f"sine:{0.1 * (i + 1):.3g}": [local(x, x / 100)] * 2 for i, x in enumerate(sine)}


@pytest.mark.parametrize(("laplace", "sine", "verdict"), [
    ([1.0, 2.0], [0.5, 4.0], "holds"),
    ([0.5, 4.0], [1.0, 2.0], "does not hold"),
])  # fmt: skip
def test_the_wider_range(tmp_path: Path, laplace: list[float], sine: list[float], verdict: str) -> None:
    assert homogeneous.wider_range(samples_of(tmp_path, two_mechanisms(laplace, sine))).verdict == verdict


def test_the_range_counts_metrics(tmp_path: Path) -> None:
    rows = {"laplace:1": [[1, 1, 1, 0, 0, 0]] * 2, "laplace:2": [[2, 2, 2, 0.01, 0.01, 0.01]] * 2}
    rows |= {"sine:1": [[1, 1, 1, 0, 0, 0]] * 2, "sine:2": [[3, 3, 3, 0.001, 0.001, 0.001]] * 2}
    found = homogeneous.wider_range(samples_of(tmp_path, rows))
    assert "wider in 3 of 6" in found.measured
    assert "local mean 2," in found.measured
    assert found.verdict == "holds in part"


@pytest.mark.parametrize(("sine", "verdict"), [([0.5, 1.0, 9.0], "holds"), ([0.5, 3.0, 9.0], "does not hold")])
def test_the_likelier_low_error(tmp_path: Path, sine: list[float], verdict: str) -> None:
    found = homogeneous.lower_errors(samples_of(tmp_path, two_mechanisms([1.0, 2.0, 3.0], sine)))
    assert found.verdict == verdict


@pytest.mark.parametrize(("privacy", "utility", "verdict"), [
    (0.01, 0.01, "holds"),
    (0.01, -0.01, "holds in part"),
    (0.1, 0.1, "holds in part"),
    (-0.01, -0.01, "does not hold"),
])  # fmt: skip
def test_gaps_at_equal_noise(tmp_path: Path, privacy: float, utility: float, verdict: str) -> None:
    noise = np.linspace(0.2, 0.9, 15)
    rows = {f"laplace:{x:.4g}": [[*([x] * 3), *([x / 20] * 3)]] * 2 for x in noise}
    for x in noise:  # (theta sin)^1 has a mean |noise| of 2 theta / pi
        text = f"sine:{float(f'{x:.4g}') * np.pi / 2:.15g}"
        rows[text] = [[*([x - privacy] * 3), *([(x - utility) / 20] * 3)]] * 2
    rows["laplace:1"] = [[1, 1, 1, 0.05, 0.05, 0.05]] * 2
    found = homogeneous.equal_noise(samples_of(tmp_path, rows))
    assert found.verdict == verdict
    assert f"Laplace has {privacy:+.2%} privacy, sine {utility:+.2%} utility" in found.measured
    assert "mean |noise| 1.11" in found.measured


@pytest.mark.parametrize(("slope", "verdict"), [(1, "holds"), (-1, "does not hold")])
def test_the_trade_off(tmp_path: Path, slope: int, verdict: str) -> None:
    levels = np.linspace(0.1, 1, 10)
    errors = 0.05 * (levels if slope > 0 else 1.1 - levels)
    rows = {
        f"{name}:{q:.3g}": [[*([q] * 3), *([e] * 3)]] * 2
        for name in ("laplace", "sine") for q, e in zip(levels, errors, strict=True)
    }  # fmt: skip
    assert homogeneous.trade_off(samples_of(tmp_path, rows)).verdict == verdict


def test_the_menu_against_the_table() -> None:
    paper = {name: ("laplace:1", *scores) for name, scores in homogeneous.PAPER_MENU.items()}
    assert homogeneous.menu_values(menu_of(paper)).verdict == "holds"
    shifted = {name: (text, q, u - 0.1) for name, (text, q, u) in paper.items()}
    assert homogeneous.menu_values(menu_of(shifted)).verdict == "holds in part"
    far = homogeneous.menu_values(menu_of({"A": ("laplace:1", 0.15, 0.5), "E": ("laplace:2", 0.95, 0.2)}))
    assert far.verdict == "does not hold"
    assert "B: empty" in far.measured


def menu_samples_of(utility: Sequence[Sequence[float]], users: Sequence[int]) -> MenuSamples:
    ids = [*"ABCDE"[: len(utility)], "N"]
    values = np.array([*utility, [1.0] * len(users)])
    privacy = np.repeat(np.array([*np.linspace(0.1, 0.8, len(utility)), 0.0])[:, None], len(users), axis=1)
    return MenuSamples(ids, np.array(users), np.full((*values.shape, 6), 0.2), privacy, values, [])


def test_dispersion_over_privacy() -> None:
    users = (50, 50, 2000, 2000)
    growing = [[0.9, 0.9, 0.95, 0.95], [0.7, 0.7, 0.9, 0.9], [0.4, 0.4, 0.8, 0.8]]
    found = homogeneous.dispersion_grows(menu_samples_of(growing, users))
    assert found.verdict == "holds"
    assert "100% of that variance is between sizes" in found.measured
    assert homogeneous.dispersion_grows(menu_samples_of(growing[::-1], users)).verdict == "does not hold"


@pytest.mark.parametrize(("users", "utility", "verdict"), [
    ((50, 60, 2000, 3000), [0.5, 0.6, 0.9, 0.91], "holds"),
    ((50, 60, 2000, 3000), [0.9, 0.91, 0.5, 0.9], "does not hold"),
    ((50, 60, 200, 300), [0.5, 0.6, 0.9, 0.91], "holds in part"),
])  # fmt: skip
def test_dispersion_over_users(users: tuple[int, ...], utility: list[float], verdict: str) -> None:
    large = np.array(users) > 100
    found = homogeneous.dispersion_shrinks(menu_samples_of([utility, utility], users), large, "more users")
    assert found.verdict == verdict


def test_a_setting_whose_utility_varies_by_rounding_alone_is_not_asked_whether_it_varies_less() -> None:
    users, large = (50, 60, 2000, 3000), np.array([False, False, True, True])
    still = [1.0, 1.0, 1.0, 1 - 1e-12]
    assert np.std(still[2:]) > np.std(still) > 0
    found = homogeneous.dispersion_shrinks(menu_samples_of([still, [0.5, 0.6, 0.9, 0.91]], users), large, "more")
    assert found.verdict == "holds"
    assert homogeneous.dispersion_shrinks(menu_samples_of([still], users), large, "more").verdict == "does not hold"


def maps_of(privacy: Sequence[Sequence[float]], utility: Sequence[Sequence[float]], iqr: float) -> HeatMaps:
    cells = {"privacy_median": np.array(privacy), "utility_median": np.array(utility)}
    cells |= {name: np.full(cells["privacy_median"].shape, iqr) for name in ("privacy_iqr", "utility_iqr")}
    return HeatMaps(np.array([1.0, 0.5]), ["N", "A", "B"], cells, np.ones((2, 3), np.int64), {})


OF_MENU = menu_samples_of([[0.9, 0.9, 0.9], [0.3, 0.5, 0.8]], (50, 400, 6000))
MENU = menu_of({"A": ("laplace:1", 0.2, 0.9), "B": ("laplace:2", 0.6, 0.8)})


def test_the_trade_off_in_mixes() -> None:
    right = maps_of([[0, 0.2, 0.6], [0.1, 0.2, 0.4]], [[1, 0.9, 0.8], [0.95, 0.9, 0.85]], 0.1)
    assert heterogeneous.mix_trade_off(right, MENU).verdict == "holds"
    flat = maps_of([[0, 0.2, 0.6], [0.1, 0.2, 0.4]], [[1, 0.999, 0.8], [0.95, 0.96, 0.85]], 0.1)
    found = heterogeneous.mix_trade_off(flat, MENU)
    assert found.verdict == "holds in part"
    assert "7 of 8 steps" in found.measured
    assert "6 of 6 between" in found.measured
    wrong = maps_of([[0.6, 0.2, 0.0], [0.4, 0.2, 0.1]], [[1, 0.9, 0.8], [0.95, 0.9, 0.85]], 0.1)
    assert heterogeneous.mix_trade_off(wrong, MENU).verdict == "does not hold"


@pytest.mark.parametrize(("iqr", "verdict"), [(0.15, "holds"), (0.18, "holds in part"), (0.25, "does not hold")])
def test_the_dispersion_of_privacy_in_mixes(iqr: float, verdict: str) -> None:
    assert heterogeneous.privacy_dispersion(maps_of([[0.0] * 3] * 2, [[1.0] * 3] * 2, iqr)).verdict == verdict


@pytest.mark.parametrize(("low", "verdict"), [(0.9, "holds"), (0.8, "holds in part"), (0.2, "holds in part")])
def test_the_floor_of_utility_in_mixes(low: float, verdict: str) -> None:
    found = heterogeneous.utility_floor(maps_of([[0.0] * 3] * 2, [[1.0, 1.0, low]] * 2, 0.1), OF_MENU)
    assert found.verdict == verdict
    assert f"Least {low - 0.1:.3f}, where B has 100 %" in found.measured
    assert "0.50 with 400 users, 0.80 with 6,000 users" in found.measured


def test_a_floor_that_most_cells_miss() -> None:
    found = heterogeneous.utility_floor(maps_of([[0.0] * 3] * 2, [[1.0, 0.7, 0.5]] * 2, 0.1), OF_MENU)
    assert found.verdict == "does not hold"


def test_individuals_and_the_choices_of_others() -> None:
    rng = np.random.default_rng(3)
    people = rng.uniform(0.2, 0.6, 100)
    alone, again, among = people + rng.normal(0, 0.001, (3, 100))
    assert heterogeneous.individual_privacy(alone, again, among).verdict == "holds"
    assert heterogeneous.individual_privacy(alone, again, among + 0.001).verdict == "does not hold"
    scattered = people + rng.normal(0, 0.003, 100)
    assert heterogeneous.individual_privacy(alone, again, scattered).verdict == "does not hold"


def trial_of(mean_error: float, formula: float = 0.1, uncorrected: Sequence[float] = (40.0, 40.0)) -> Trial:
    some = np.zeros(1)
    one = np.full((1, 2), formula)
    return Trial(
        ("A",), np.array([50, 200]), np.full((1, 2), mean_error), one, np.array([1.0, 0.5]), np.array(uncorrected),
        np.array([40.0, 40.0]), some, some, some,
    )  # fmt: skip


@pytest.mark.parametrize(("error", "verdict"), [(0.1, "does not hold"), (0.001, "holds"), (0.03, "holds in part")])
def test_the_mean_of_an_absolute_error(error: float, verdict: str) -> None:
    found = corrections.zero_mean(trial_of(error), menu_samples_of([[0.5, 0.9]], (50, 200)))
    assert found.verdict == verdict
    assert f"measured over formula {error / 0.1:.3f}" in found.measured


@pytest.mark.parametrize(("uncorrected", "verdict"), [((40.0, 39.0), "does not hold"), ((40.0, 20.0), "holds")])
def test_noise_in_a_variance(uncorrected: tuple[float, float], verdict: str) -> None:
    found = corrections.variance_cancels(trial_of(0.1, uncorrected=uncorrected))
    assert found.verdict == verdict
    assert "corrected 1 to 0.5" in found.measured


def test_larger_coefficients(tmp_path: Path) -> None:
    levels = (0.3, 0.6, 0.9)
    grid = [(a, b) for a in levels for b in levels]
    rising = {f"sine:{a:g},{b:g}": [local(a + b, (a + b) / 20)] * 2 for a, b in grid}
    found = corrections.harmless_coefficients(samples_of(tmp_path, rising))
    assert found.verdict == "does not hold"
    assert "12 of 12 steps" in found.measured
    # Up and down in turn, as chance would have it.
    turns = {f"sine:{a:g},{b:g}": [local(a + b, 0.01 * (1 + round((a + b) / 0.3) % 2))] * 2 for a, b in grid}
    assert corrections.harmless_coefficients(samples_of(tmp_path, turns)).verdict == "holds"


def test_the_number_of_settings() -> None:
    found = corrections.ten_thousand_settings()
    assert found.verdict == "does not hold"
    assert "1,048,575" in found.measured
    assert corrections.ten_thousand_settings(values=10, coefficients=4).verdict == "holds"


YES, NO = ClaimFinding("1.", "holds"), ClaimFinding("2.", "does not hold", "Because.")


def test_one_claim_of_several_datasets() -> None:
    assert Claim("x", {"a": {7: YES}, "b": {7: YES}}).verdict == "holds"
    failed = Claim("x", {"a": {7: NO}, "b": {7: NO}})
    assert (failed.verdict, failed.why) == ("does not hold", "Because.")
    mixed = Claim("x", {"a": {7: YES}, "b": {7: NO}})
    assert (mixed.verdict, mixed.why) == ("holds in part", "Because.")
    assert "every dataset: 2. *Does not hold in 1 of 1 seeds.*" in page({"part": [failed]}, {})
    assert "every dataset:" not in page({"part": [mixed]}, {})


def test_one_seed_that_differs_changes_the_verdict_and_is_counted() -> None:
    findings = {7: NO, 8: YES, 9: replace(YES, measured="3.")}
    assert counted(findings) == "holds in 2 of 3 seeds, does not hold in 1"
    assert shown(findings) == {8: YES, 7: NO}
    differing = Claim("x", {"a": findings})
    assert differing.verdict == "holds in part"
    text = page({"part": [differing]}, {"a": "b"})
    assert "| 1 | x | holds in part | holds in 2 of 3 seeds, does not hold in 1 |" in text
    assert "  - seed 8: 1. *Holds.*\n  - seed 7: 2. *Does not hold.*\n" in text
    assert Claim("x", {"a": {8: YES, 9: YES}}).verdict == "holds"


def test_grades() -> None:
    assert [graded(met, 6, enough=5) for met in (6, 5, 3, 2)] == ["holds", "holds", "holds in part", "does not hold"]


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reproduction") / "homes.parquet"
    synth(path, users=60, days=14, seed=1)
    return path


def test_a_trial_is_of_whole_users_drawn_at_random(panel: Path) -> None:
    everything = open_panel(panel)
    few = few_users(everything, 10, seed=7)
    found = sorted(set(few["user"].to_pylist()))
    assert len(found) == 10
    assert few.num_rows == sum(everything.collect(everything.frame)["user"].to_pylist().count(user) for user in found)
    assert found != sorted(set(few_users(everything, 10, seed=8)["user"].to_pylist()))


def test_masking_agrees_with_the_formulas(panel: Path) -> None:
    menu = menu_of({name: (f"laplace:{b}", 0.1, 0.9) for name, b in zip("ABCDE", (0.5, 1, 2, 3, 4), strict=True)})
    settings = [replace(each, noise_std=np.sqrt(2) * sum(each.setting.parameters)) for each in menu.settings]
    trial = run_trial(open_panel(panel), replace(menu, settings=tuple(settings)), users=40)
    ratio = (trial.mean_error / trial.formula).mean()
    assert abs(ratio - 1) < 0.1
    assert abs(1.3 * ratio - 1) > 0.1
    assert abs((trial.uncorrected / trial.bias).mean() - 1) < 0.05
    assert trial.corrected.mean() < 0.3 * trial.uncorrected.mean()
    assert heterogeneous.individual_privacy(trial.alone, trial.again, trial.among).verdict == "holds"


@pytest.fixture(scope="module")
def small(panel: Path) -> dict[str, Any]:
    """A page on a small panel and its findings, read back."""
    target = panel.parent / "page.md"
    reproduce({"homes": panel}, target, plan=SMALL)
    return {"text": target.read_text(), "findings": json.loads(target.with_suffix(".json").read_text())}


def test_the_page_for_real(panel: Path, tmp_path: Path, small: dict[str, Any]) -> None:
    claims = reproduce({"homes": panel}, tmp_path / "again.md", plan=SMALL)
    text = (tmp_path / "again.md").read_text()
    assert text == small["text"] == page(*read_findings(small["findings"]))
    assert [each.text for each in claims] == [text for _, text, _ in CLAIMS]
    for each in claims:
        findings = each.findings["homes"]
        assert list(findings) == [7, 8]
        assert f"| {each.text} | {each.verdict} | {counted(findings)} |" in text
        assert findings[7].measured in text or findings[7].verdict != findings[8].verdict
        assert each.why in text
    assert str(panel.parent) not in text


def test_every_seed_draws_its_own(small: dict[str, Any]) -> None:
    """All claims but the one that counts a grid's settings, and the one on steps that all go one way."""
    one, other = small["findings"]["homes"]["seeds"].values()
    same = [number for number, pair in enumerate(zip(one, other, strict=True), 1) if pair[0] == pair[1]]
    assert set(same) <= {13, 14}


def test_the_page_in_the_docs_is_what_its_findings_say() -> None:
    assert page(*read_findings(STORED)) == DOCS.read_text()
    for dataset in STORED.values():
        assert [*map(int, dataset["seeds"])] == [*ReproductionPlan().seeds]
        assert len(dataset["seeds"]) >= 5


def shape(text: str) -> str:
    """The words of a finding: without figures, settings, and which of the menu's levels it is about."""
    figures = re.sub(r"[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?%?", "#", re.sub(r"`[^`]*`", "`setting`", text))
    return re.sub(r"# with # users(, # with # users)*", "# with # users", re.sub(r"\b[A-E]\b", "level", figures))


def test_the_findings_in_the_docs_are_in_the_words_of_the_measures(small: dict[str, Any]) -> None:
    """So that a measure whose words change is seen, although the whole page takes too long to measure here."""
    stored = [each for dataset in STORED.values() for each in dataset["seeds"].values()]
    full = next(each for each in small["findings"]["homes"]["seeds"].values() if "empty" not in each[4]["measured"])
    for number, found in enumerate(full):
        assert shape(found["measured"]) in {shape(each[number]["measured"]) for each in stored}
        reasons = {shape(each[number]["why"]) for each in stored if each[number]["verdict"] == found["verdict"]}
        assert not reasons or shape(found["why"]) in reasons


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("swiss", marks=needs_data), "stand-in"])
def test_one_seed_of_the_page_in_the_docs_is_measured_again(name: str, tmp_path: Path) -> None:
    source = SWISS
    if name == "stand-in":
        source = tmp_path / "stand-in.parquet"
        synth(source, users=6435, days=536, seed=1)
    _, found = measure(name, source, replace(ReproductionPlan(), seeds=(8,)), lambda _: None)
    assert [asdict(each) for each in found[8]] == STORED[name]["seeds"]["8"]


def test_bad_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(["out.md", "a=x=1.csv", "b=y"]) == ("out.md", {"a": "x=1.csv", "b": "y"})
    for words in ([], ["out.md", "nothing"], ["out.md", "a=1", "a=2"], ["out.md", "=x"]):
        with pytest.raises(OptionError):
            parse(words)
    with refused("option.folder"):
        reproduce({"a": "x.csv"}, tmp_path / "missing" / "page.md")
    assert main([str(tmp_path / "page.md")]) == 2
    assert "at least one NAME=SOURCE" in capsys.readouterr().err
    assert not (tmp_path / "page.md").exists()


def test_the_menu_of_a_real_folder_is_judged(whole: Path) -> None:
    assert "of 10 numbers" in homogeneous.menu_values(Menu.read(whole / "menu.json")).measured
