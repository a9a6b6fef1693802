"""Chance comes from the operating system alone: nothing can seed it, no process repeats another's."""

import ast
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import halfmask_device as producer
from halfmask_device import Lattice, Producer, State, noise
from halfmask_device.masking import Channel
from halfmask_device.random_bits import Bits
from tests.device.laws import TESTS
from tests.statistics import fair_coin

FOLDER = Path(producer.__file__).parent
SOURCE = Bits.fresh()
LATTICE = Lattice("0.001", "0", "10")
HEAVY = {"numpy", "scipy", "numba", "pandas", "polars", "random", "secrets", "pyarrow", "duckdb", "matplotlib"}
SEEDS = {"rng", "seed", "generator", "random", "random_state", "entropy"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(FOLDER.glob("*.py")):
        yield path.name, ast.parse(path.read_text())


def imported(tree: ast.Module) -> set[str]:
    """Top-level names of all that a module imports."""
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in names}


def parameters(tree: ast.Module) -> set[str]:
    """Names of all parameters of all functions."""
    return {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def test_the_device_imports_nothing_that_could_be_seeded() -> None:
    allowed = set(sys.stdlib_module_names) - HEAVY | {"halfmask_device"}
    assert {name: found for name, tree in modules() if (found := imported(tree) - allowed)} == {}
    assert imported(ast.parse("def f():\n    from numpy.random import default_rng")) - allowed == {"numpy"}


def test_no_function_of_the_device_takes_a_generator() -> None:
    assert {name: found for name, tree in modules() if (found := parameters(tree) & SEEDS)} == {}
    assert parameters(ast.parse("def f(a, *, rng=None): pass")) & SEEDS == {"rng"}


def test_seeds_elsewhere_do_not_reach_the_device() -> None:
    seen = []
    for _ in range(2):
        random.seed(1)
        np.random.seed(1)
        seen.append([noise(setting, LATTICE, 20) for setting in ("laplace:1", "sine:1", "uniform:1")])
    assert all(one != other for one, other in zip(*seen, strict=True))


def test_the_device_is_light(tmp_path: Path) -> None:
    """Import and mask in a fresh process."""
    code = f"""
import io, sys
from halfmask_device import Lattice, Producer, mask_csv
for setting in ("laplace:0.5", "gaussian:0.5", "sine:0.9,0.3", "staircase:1,0.1,0.5"):
    device = Producer(setting, Lattice("0.001", "0", "10"), {str(tmp_path)!r} + "/" + setting)
    out = io.BytesIO()
    mask_csv(io.BytesIO(b"time,value\\n1,0.5\\n2,0.75\\n"), out, device, time="time", value="value")
    assert out.getvalue().count(b"\\n") == 3
print(sorted({HEAVY!r} & sys.modules.keys()))
print(sorted(name for name in sys.modules if name.startswith("halfmask.") or name == "halfmask"))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    heavy, ours = ended.stdout.splitlines()
    assert heavy == "[]"
    assert ours == "[]"


def in_children(work: Callable[[], str], count: int = 4) -> list[str]:
    """What forked processes say of ``work``."""
    said = []
    for _ in range(count):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writer, work().encode())
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as words:
            said.append(words.read())
        os.waitpid(child, 0)
    return said


def test_forked_processes_draw_streams_of_their_own() -> None:
    def work() -> str:
        return repr(noise("laplace:10", LATTICE, 8))

    before = work()
    said = [before, *in_children(work), work()]
    assert all(word.startswith("[") for word in said)
    assert len(set(said)) == len(said)


def test_a_device_goes_on_in_forked_processes(tmp_path: Path) -> None:
    device = Producer("laplace:1", LATTICE, tmp_path / "state")
    first = device.report("1", 5)
    said = in_children(lambda: f"{device.report('1', 5)} {device.report(str(os.getpid()), 5)}")
    assert {word.split()[0] for word in said} == {str(first)}
    assert len({word.split()[1] for word in said}) > 1


def test_a_million_draws_do_not_repeat() -> None:
    assert len({SOURCE.bits(128) for _ in range(1_000_000)}) == 1_000_000


def test_keys_do_not_repeat(tmp_path: Path) -> None:
    key, channel = State(tmp_path / "state").keys.of(20_000), Channel.of("laplace:100", LATTICE)
    looks = [("", str(number // 1000), 20_000, key, number % 1000) for number in range(20_000)]
    assert len(set(channel.drawn(looks).tags)) == 20_000
    apart = [(sensor, when, 20_000, key, 1) for sensor, when in (("a", "b"), ("ab", ""), ("", "ab"), ("a:", "b"))]
    assert len(set(channel.drawn(apart).slots)) == 4


def test_no_two_devices_share_a_secret(tmp_path: Path) -> None:
    for number in range(60):
        State(tmp_path / str(number))
    secrets = {(tmp_path / str(number) / "secret").read_bytes() for number in range(60)}
    assert len(secrets) == 60
    assert (
        len({each for secret in secrets for each in (json.loads(secret)["chain"], json.loads(secret)["fixed"])}) == 120
    )


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 1000, 2**70 + 1])
def test_integers_are_uniform_below_their_bound(bound: int) -> None:
    drawn = [SOURCE.below(bound) for _ in range(3000)]
    assert 0 <= min(drawn) <= max(drawn) < bound
    if bound <= 5:
        assert set(drawn) == set(range(bound))
    if bound % 2 == 0:
        assert fair_coin(sum(2 * each < bound for each in drawn), len(drawn), TESTS)
