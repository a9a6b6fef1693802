"""Privacy settings as text, as JSON, in order, and refused with a reason."""

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.mechanisms.setting import PrivacySetting
from tests.refusals import refused

scales = st.floats(min_value=0, allow_infinity=False, allow_nan=False)
any_number = st.floats(allow_infinity=False, allow_nan=False)
positive = st.floats(min_value=5e-324, allow_infinity=False, allow_nan=False)


def tables() -> st.SearchStrategy[PrivacySetting]:
    y = st.lists(positive, min_size=1, max_size=5, unique=True).map(sorted)
    c = st.lists(st.floats(0, 1), min_size=4, max_size=4).map(sorted)
    return st.tuples(y, c).map(
        lambda yc: PrivacySetting(
            "tabulated", tuple(v for i, a in enumerate(yc[0]) for v in (a, 1.0 if i == len(yc[0]) - 1 else yc[1][i]))
        )
    )


def of(name: str, *parameters: st.SearchStrategy[float]) -> st.SearchStrategy[PrivacySetting]:
    return st.tuples(*parameters).map(lambda p: PrivacySetting(name, p))


plain = st.one_of(
    st.just(PrivacySetting("none")),
    *(
        of(name, scales)
        for name in ("laplace", "gaussian", "uniform", "relative-laplace", "relative-gaussian", "round")
    ),
    st.lists(scales, min_size=1, max_size=8).map(lambda p: PrivacySetting("sine", tuple(p))),
    of("staircase", positive, scales, st.floats(0, 1)),
    of("geometric", scales, positive),
    of("microaggregate", st.integers(1, 10**9).map(float)),
    tables(),
)
clips = st.tuples(any_number, any_number, st.none() | plain).map(
    lambda c: PrivacySetting("clip", (min(c[:2]), max(c[:2])), c[2])
)
settings = plain | clips


@given(settings)
def test_text_comes_back_as_the_same_setting(setting: PrivacySetting) -> None:
    assert PrivacySetting.parse(str(setting)) == setting
    assert hash(PrivacySetting.parse(str(setting))) == hash(setting)
    assert str(PrivacySetting.parse(str(setting))) == str(setting)


@given(st.lists(settings, min_size=3, max_size=3))
def test_order_is_total(three: list[PrivacySetting]) -> None:
    a, b, c = sorted(three)
    assert a <= b <= c
    assert (a < b) + (a == b) + (a > b) == 1


def test_a_clip_without_inner_comes_before_one_with() -> None:
    bare, holding = PrivacySetting.parse("clip:0,1"), PrivacySetting.parse("clip:0,1/laplace:2")
    assert sorted([holding, bare]) == [bare, holding]
    assert bare != holding


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("sine:0,0.18,0,0,0", "sine:0,0.18,0,0,0"),
        ("laplace:1.0", "laplace:1"),
        ("laplace: 0.50 ", "laplace:0.5"),
        ("laplace:1e-7", "laplace:1e-7"),
        ("laplace:0.0000001", "laplace:1e-7"),
        ("laplace:1E+300", "laplace:1e300"),
        ("laplace:-0.0", "laplace:0"),
        ("laplace:.5", "laplace:0.5"),
        ("laplace:0.30000000000000004", "laplace:0.30000000000000004"),
        ("none", "none"),
        ("clip:-1,10/laplace:0.50", "clip:-1,10/laplace:0.5"),
        ("clip:0,10/none", "clip:0,10/none"),
        ("microaggregate:3", "microaggregate:3"),
    ],
)
def test_printed_in_the_shortest_form(text: str, printed: str) -> None:
    assert str(PrivacySetting.parse(text)) == printed


REFUSED = {
    "unknown": ("", "laplacee:1", "clip:0,1/"),
    "count": (
        *("laplace", "laplace:", "laplace:1,2", "none:1", "sine", "staircase:1,1", "tabulated", "tabulated:1,0.5,2"),
        "clip:1",
    ),
    "number": ("laplace:nan", "laplace:inf", "laplace:1_0", "laplace:１", "laplace:1,", "laplace:1e999"),
    "range": ("clip:2,1",),
    "inner": ("clip:0,1/clip:0,2", "clip:0,1/clip:0,2/laplace:1", "laplace:1/laplace:2"),
}
OUT_OF_RANGE = {
    "b": ("laplace:-1", "relative-laplace:-1", "geometric:-1,1"),
    "sigma": ("gaussian:-0.1", "relative-gaussian:-1"),
    "theta_1": ("sine:0.3,-0.3",),
    "a": ("uniform:-2", "triangular:-1"),
    "epsilon": ("staircase:0,1,0.5",),
    "delta": ("staircase:1,-1,0.5",),
    "gamma": ("staircase:1,1,1.5",),
    "step": ("geometric:1,0", "round:-1"),
    "y1": ("tabulated:0,0.5,1,1",),
    "c1": ("tabulated:1,0.5",),
    "y2": ("tabulated:1,0.5,1,1",),
    "c2": ("tabulated:1,0.5,2,0.4,3,1",),
    "k": ("microaggregate:0", "microaggregate:2.5"),
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in REFUSED.items() for text in texts])
def test_bad_text_is_refused_with_the_reason(text: str, kind: str) -> None:
    with refused(f"setting.{kind}") as caught:
        PrivacySetting.parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("field", "text"), [(field, text) for field, texts in OUT_OF_RANGE.items() for text in texts])
def test_a_number_out_of_range_is_named(text: str, field: str) -> None:
    with refused("setting.range", field):
        PrivacySetting.parse(text)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["laplace", "sine", "round"])
def test_a_setting_cannot_be_made_of_numbers_that_are_none(name: str, value: float) -> None:
    with refused("setting.range"):
        PrivacySetting(name, (value,))


def test_a_setting_does_not_change() -> None:
    with pytest.raises(AttributeError):
        PrivacySetting("laplace", (1,)).parameters = (2.0,)


def test_settings_are_light_to_import() -> None:
    """A command that only reads settings must not wait for numba or SciPy."""
    code = (
        "import sys; from halfmask.mechanisms.grid import grid; grid('paper').texts();"
        "print(sorted({'numba', 'scipy', 'duckdb', 'pyarrow', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
