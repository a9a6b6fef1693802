"""Grids: the paper's counts, the language, files of settings."""

from pathlib import Path

import numpy as np
import pytest

from halfmask.mechanisms.grid import Block, Grid, grid, read_settings
from halfmask.mechanisms.setting import PrivacySetting
from tests.refusals import refused


@pytest.mark.parametrize(
    ("name", "count"), [("laplace", 10_000), ("sine", 17_661), ("paper", 27_661), ("full", 1_058_575)]
)
def test_named_grids_have_the_documented_counts_without_repetition(name: str, count: int) -> None:
    made = grid(name)
    assert len(made) == count
    texts = made.texts()
    assert len(texts) == len(set(texts)) == count
    assert made.name == name


def test_paper_holds_the_settings_of_the_paper_s_table() -> None:
    texts = set(grid("paper").texts())
    assert {"sine:0,0.18,0,0,0", "sine:0.9,0.3,0.6,0.6,0.3", "laplace:0.001", "laplace:0.003", "laplace:10"} <= texts
    assert "sine:0,0,0,0,0" not in texts
    assert "sine:0.03,0.03,0.03,0,0" not in texts


def test_full_is_every_combination_of_the_sixteen_values() -> None:
    values = np.array([0, 0.03, 0.06, 0.09, 0.12, 0.15, 0.18, 0.21, 0.24, 0.27, 0.3, 0.6, 0.9, 1.2, 1.5, 1.8])
    (sine,) = (block.parameters for block in grid("full").blocks if block.mechanism == "sine")
    digits = np.searchsorted(values, sine)
    np.testing.assert_array_equal(values[digits], sine)
    numbers = np.sort(digits @ 16 ** np.arange(5))
    np.testing.assert_array_equal(numbers, np.arange(1, 16**5))


@pytest.mark.parametrize(
    "name", ["paper", "laplace:b=1e-7|1e300|0.1", "none", "clip:0,10/laplace:0.5", "clip:lo=0,hi=1|2"]
)
def test_texts_are_those_of_the_settings(name: str) -> None:
    made = grid(name)
    assert made.texts() == [str(setting) for setting in made.settings()]
    assert len(made) == len(made.texts())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("laplace:b=0.1..0.5/0.1", ["laplace:0.1", "laplace:0.2", "laplace:0.3", "laplace:0.4", "laplace:0.5"]),
        ("laplace:b=0..1/0.4", ["laplace:0", "laplace:0.4", "laplace:0.8"]),
        ("laplace:b=2..2/1", ["laplace:2"]),
        ("laplace:b=1e-3..2e-3/1e-3", ["laplace:0.001", "laplace:0.002"]),
        ("gaussian:sigma=0.1|0.2|0.1", ["gaussian:0.1", "gaussian:0.2"]),
        ("sine:k=2,values=0|0.3", ["sine:0,0.3", "sine:0.3,0", "sine:0.3,0.3"]),
        ("sine:theta_0=0.3,theta_1=0|0.6", ["sine:0.3,0", "sine:0.3,0.6"]),
        ("geometric:step=0.5,b=1|2", ["geometric:1,0.5", "geometric:2,0.5"]),
        ("laplace:2; laplace:b=1|2|3 ;none", ["laplace:2", "laplace:1", "laplace:3", "none"]),
        ("laplace:1;sine:1;sine:1,2;none;none", ["laplace:1", "sine:1", "sine:1,2", "none"]),
        ("clip:0,1/laplace:1;clip:0,1/laplace:2", ["clip:0,1/laplace:1", "clip:0,1/laplace:2"]),
        ("tabulated:y1=1|2,c1=1", ["tabulated:1,1", "tabulated:2,1"]),
    ],
)
def test_the_language(text: str, expected: list[str]) -> None:
    assert grid(text).texts() == expected


def test_a_range_is_the_named_grid_bit_by_bit() -> None:
    ranged, named = grid("laplace:b=0.001..10/0.001"), grid("laplace")
    np.testing.assert_array_equal(ranged.blocks[0].parameters, named.blocks[0].parameters)
    assert grid("sine:k=5,values=0|0.3|0.6|0.9|1.2|1.5|1.8").texts() == grid("sine").texts()[:16_806]


REFUSED = {
    "empty": ("", " ; "),
    "unknown": ("papper", "gauss:sigma=1"),
    "span": ("laplace:b=1..0/0.1", "laplace:b=0..1/-0.1", "laplace:b=0..1/0", "laplace:b=0..1"),
    "number": ("laplace:b=0..x/1", "laplace:b=1||2"),
    "names": ("laplace:b=", "laplace:b=1,2", "laplace:b=1,b=2", "laplace:sigma=1", "sine:k=x,values=0|1"),
    "many": (
        *("laplace:b=0..1e300/1e-300", "geometric:b=0..10/0.001,step=0.001..10/0.001"),
        "sine:k=9,values=0|1|2|3|4|5|6|7|8|9",
    ),
    "range": (
        *("laplace:b=-1|1", "sine:k=0,values=0|1", "sine:k=3,values=0", "sine:k=3,values=0|-1"),
        *("staircase:epsilon=0|1,delta=1,gamma=1", "clip:lo=0|5,hi=1", "laplace:0.5;laplace:-1"),
    ),
    "auto": ("laplace:1;auto",),
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in REFUSED.items() for text in texts])
def test_bad_grids_are_refused_with_the_reason(kind: str, text: str) -> None:
    with refused(f"setting.{kind}") as caught:
        grid(text)
    assert "\n" not in str(caught.value)


def test_from_settings_groups_and_keeps_the_order() -> None:
    texts = ["sine:1,2", "laplace:3", "sine:4", "laplace:1", "sine:0,5", "laplace:3"]
    made = Grid.from_settings(map(PrivacySetting.parse, texts), "mine")
    assert made.texts() == ["sine:1,2", "sine:0,5", "laplace:3", "laplace:1", "sine:4"]
    assert [(block.mechanism, block.parameters.shape) for block in made.blocks] == [
        ("sine", (2, 2)),
        ("laplace", (2, 1)),
        ("sine", (1, 1)),
    ]
    with refused("setting.empty"):
        Grid.from_settings([])


def test_a_block_of_bad_parameters_yields_no_setting() -> None:
    with refused("setting.range", "b"):
        list(Block("laplace", np.array([[-1.0]])).settings())


def test_settings_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(
        "\ufeff# low noise\nlaplace:0.5   # half\n\n  sine:0,0.18  \r\nclip:0,10/round:1\n", encoding="utf-8"
    )
    assert [str(setting) for setting in read_settings(path)] == ["laplace:0.5", "sine:0,0.18", "clip:0,10/round:1"]


@pytest.mark.parametrize(
    ("content", "kind", "line"),
    [
        (b"laplace:1\n\nlaplace:-1\n", "range", ", line 3"),
        (b"# nothing\n", "empty", ""),
        (b"", "empty", ""),
        (b"\xff\xfe\x00", "unreadable", ""),
        (None, "unreadable", ""),
    ],
)
def test_a_bad_file_is_refused_with_file_and_line(tmp_path: Path, content: bytes | None, kind: str, line: str) -> None:
    path = tmp_path / "mine.txt"
    if content is not None:
        path.write_bytes(content)
    with refused(f"setting.{kind}", place=f"{path}{line}"):
        read_settings(path)
