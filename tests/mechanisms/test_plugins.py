"""Mechanisms of other people: installed from the documentation's example, or registered in Python."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from halfmask.mechanisms import mechanism_registry as registry
from halfmask.mechanisms.grid import grid
from halfmask.mechanisms.mechanism_registry import mechanism, mechanisms, register
from halfmask.mechanisms.setting import PrivacySetting
from tests.refusals import refused
from tests.statistics import ks_one_sample

DOCUMENT = Path(__file__).parents[2] / "docs" / "plugins.md"
EXAMPLE = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)


@pytest.fixture(autouse=True)
def _forget_what_a_test_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_known", dict(registry._known))


class Tent:
    name = "tent"
    parameter_names = ("a",)

    def sample(self, parameters: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        return parameters[0] * (rng.random(size) - rng.random(size))


class StatedTent(Tent):
    name = "stated-tent"

    def cdf(self, parameters: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 1 - (1 - np.clip(y / parameters[:, :1], 0, 1)) ** 2


def run(folder: Path, *command: str, path: Path | None = None) -> str:
    environment = os.environ | ({"PYTHONPATH": str(path)} if path else {})
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_documented_example_installs_and_works(tmp_path: Path) -> None:
    files = dict(EXAMPLE.findall(DOCUMENT.read_text(encoding="utf-8")))
    assert files.keys() == {"tent.py", "pyproject.toml", "use.py"}
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    installed = tmp_path / "installed"
    pip = ("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--no-cache-dir")
    run(tmp_path, *pip, "--disable-pip-version-check", "--target", str(installed), ".")
    (tmp_path / "tent.py").unlink()
    printed = run(tmp_path, "use.py", path=installed).splitlines()
    promised = re.findall(r"^print.*  # (\S+?):?(?: .*)?$", files["use.py"], re.MULTILINE)
    assert printed == promised == ["True", "[[0.75]]", "20"]
    listing = "from halfmask.mechanisms.mechanism_registry import mechanisms; import sys;"
    listing += "print(mechanisms()[-1], 'tent' in sys.modules)"
    assert run(tmp_path, "-c", listing, path=installed).split() == ["tent", "False"]


def test_a_sampler_alone_has_an_estimated_law() -> None:
    of = register(Tent)
    assert of.estimated
    assert of.kind == "additive"
    assert mechanisms()[-1] == "tent"
    parameters = np.array([[1.0], [2.0]])
    y = np.array([-1.0, 0.25, 0.5, 1.0, 5.0])
    np.testing.assert_allclose(of.cdf(parameters, y)[0], [0, 0.4375, 0.75, 1, 1], atol=0.003)
    np.testing.assert_allclose(of.moments(parameters)[1], [2 / 3, 4 / 6, 8 / 10, 16 / 15], rtol=0.005)
    np.testing.assert_array_equal(of.cdf(parameters, y), of.cdf(parameters, y))
    assert of.support(parameters).tolist() == [np.inf, np.inf]
    assert of.sample_sum(parameters[0], np.array([3]), np.random.default_rng(1)) is None
    assert grid("tent:a=1|2").texts() == ["tent:1", "tent:2"]
    masked = PrivacySetting.parse("clip:0,1/tent:0.5").mask(np.full(100, 9.0), np.random.default_rng(1))
    assert 0.5 <= masked.min() < masked.max() <= 1.5


def test_the_estimate_does_not_assume_symmetry() -> None:
    class Shifted:
        name = "shifted"

        def sample(self, parameters: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
            return parameters[0] + rng.random(size)

    of = register(Shifted)
    np.testing.assert_allclose(of.cdf(np.array([[-0.5]]), np.array([0.25, 0.5]))[0], [0.5, 1], atol=0.003)
    assert of.moments(np.array([[1.0]]))[0, 0] == pytest.approx(1.5, rel=0.005)


def test_with_a_cdf_the_law_is_known_and_moments_are_integrated() -> None:
    of = register(StatedTent)
    assert not of.estimated
    parameters = np.array([[1.0], [2.0], [1e-200]])
    np.testing.assert_allclose(of.moments(parameters)[1], [2 / 3, 4 / 6, 8 / 10, 16 / 15], rtol=1e-9)
    assert of.moments(parameters)[2, 0] == pytest.approx(1e-200 / 3, rel=1e-9)
    sizes = np.abs(of.sample(parameters[0], 2**16, np.random.default_rng(4)))
    assert ks_one_sample(sizes, lambda y: of.cdf(parameters[:1], y)[0], tests=2)
    assert not ks_one_sample(sizes, lambda y: of.cdf(parameters[:1], y / 1.1)[0], tests=2)


@pytest.mark.parametrize("name", ["laplace", "gaussian", "sine", "uniform", "geometric", "staircase"])
def test_integrated_moments_are_those_of_our_closed_forms(name: str) -> None:
    ours = mechanism(name)

    class Copy:
        def sample(self, parameters: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
            return ours.sample(parameters, size, rng)

        def cdf(self, parameters: np.ndarray, y: np.ndarray) -> np.ndarray:
            return ours.cdf(parameters, y)

    Copy.name = f"copied-{name}"  # type: ignore[attr-defined]
    rows = {"geometric": [[2.0, 0.1], [1e9, 1.0]], "staircase": [[0.5, 1.0, 0.3], [1.0, 1e-9, 0.5]]}
    parameters = np.array(rows.get(name, [[1.0], [1e-40], [1e30]]))
    tolerance = {"geometric": 2e-2, "staircase": 1e-3}.get(name, 1e-9)
    np.testing.assert_allclose(register(Copy).moments(parameters), ours.moments(parameters), rtol=tolerance)


def test_a_tail_too_heavy_for_a_moment_gives_infinity() -> None:
    class Cauchy:
        name = "cauchy"

        def sample(self, parameters: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
            return parameters[0] * rng.standard_cauchy(size)

        def cdf(self, parameters: np.ndarray, y: np.ndarray) -> np.ndarray:
            return 2 / np.pi * np.arctan(np.maximum(y, 0) / parameters[:, :1])

    assert register(Cauchy).moments(np.array([[1.0]])).tolist() == [[np.inf] * 4]


def test_a_mask_alone_is_direct() -> None:
    class Floor:
        name = "floor"
        parameter_names = ("step",)

        def mask(self, parameters: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
            return np.floor(values / parameters[0]) * parameters[0]

    register(Floor)
    setting = PrivacySetting.parse("floor:2")
    assert setting.kind == "direct"
    assert setting.mask(np.array([3.0, -1.0]), np.random.default_rng(1)).tolist() == [2, -2]
    with refused("setting.law"):
        setting.law.moments(np.ones((1, 1)))


def test_parameters_without_names_may_be_any_numbers() -> None:
    class Anything(Tent):
        name = "anything"
        parameter_names = ()

    register(Anything)
    assert str(PrivacySetting.parse("anything:-1,2,3")) == "anything:-1,2,3"
    assert grid("anything:p1=1,p2=2|3").texts() == ["anything:1,2", "anything:1,3"]
    register(Tent)
    with refused("setting.count"):
        PrivacySetting.parse("tent:1,2")


class NoName:
    def sample(self) -> None: ...


class Capital(NoName):
    name = "My Noise"


class Empty:
    name = "empty"


class Stolen(NoName):
    name = "laplace"


class Odd(NoName):
    name = "odd"
    kind = "strange"


class Needy(NoName):
    name = "needy"

    def __init__(self, wanted: int) -> None: ...


@pytest.mark.parametrize(
    ("plugin", "kind"),
    [
        (NoName, "name"),
        (Capital, "name"),
        (Empty, "sampler"),
        (Stolen, "name"),
        (Odd, "kind"),
        (Needy, "class"),
        (Tent(), "class"),
    ],
)
def test_a_class_that_cannot_work_is_refused_with_the_reason(plugin: type, kind: str) -> None:
    with refused(f"setting.{kind}"):
        register(plugin)


@pytest.mark.parametrize("draws", [np.zeros(3), np.full(2**20, np.nan)], ids=["too few", "not numbers"])
def test_a_sampler_that_breaks_its_word_is_named(draws: np.ndarray) -> None:
    class Broken:
        name = "broken"

        def sample(self, parameters: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
            return draws

    with refused("setting.sampler"):
        register(Broken).cdf(np.ones((1, 1)), np.ones(1))


def distribution(folder: Path, name: str, entry: str) -> None:
    """What an installer leaves behind: metadata with one entry point."""
    info = folder / f"{name}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[halfmask.mechanisms]\n{entry}\n")


def test_a_plugin_that_cannot_be_loaded_is_named_and_disturbs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution(tmp_path, "faulty", "faulty = no_such_module:Thing")
    distribution(tmp_path, "misnamed", "wrong = good_mechanism:Good")
    distribution(tmp_path, "good", "good = good_mechanism:Good")
    distribution(tmp_path, "twin_one", "twin = good_mechanism:Good")
    distribution(tmp_path, "twin_two", "twin = good_mechanism:Better")
    body = "    name = 'good'\n\n    def sample(self, parameters, size, rng):\n        return rng.random(size)\n"
    (tmp_path / "good_mechanism.py").write_text(f"class Good:\n{body}")
    monkeypatch.syspath_prepend(tmp_path)
    assert {"faulty", "good", "wrong", "twin"} <= set(mechanisms())
    assert mechanism("good").estimated
    with refused("setting.import"):
        mechanism("faulty")
    with refused("setting.name"):
        mechanism("wrong")
    with refused("setting.several"):
        mechanism("twin")
