"""Privacy settings as text, as JSON, in order, and refused with a reason."""

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.errors import SettingError
from halfmask.mechanisms.setting import PrivacySetting

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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "unknown mechanism ''; known are clip, gaussian, geometric, laplace"),
        ("laplacee:1", "unknown mechanism 'laplacee'; known are clip, gaussian, geometric, laplace"),
        ("laplace", "takes 1 parameter.*write laplace:b"),
        ("laplace:", "no parameter follows"),
        ("laplace:1,2", "takes 1 parameter.*2 given"),
        ("none:1", "takes 0 parameter.*write none"),
        ("laplace:-1", "b is -1; it must be finite, 0 or above"),
        ("laplace:nan", "'nan' in 'laplace:nan' is not a number"),
        ("laplace:inf", "is not a number"),
        ("laplace:1_0", "is not a number"),
        ("laplace:１", "is not a number"),
        ("laplace:1,", "takes 1|is not a number"),
        ("laplace:1e999", "beyond the largest number"),
        ("sine", "at least one coefficient"),
        ("sine:0.3,-0.3", "theta_1 is -0.3"),
        ("gaussian:-0.1", "sigma is -0.1"),
        ("uniform:-2", "a is -2"),
        ("staircase:0,1,0.5", "epsilon is 0"),
        ("staircase:1,-1,0.5", "delta is -1"),
        ("staircase:1,1,1.5", "gamma is 1.5; it is a share"),
        ("staircase:1,1", "write staircase:epsilon,delta,gamma"),
        ("geometric:1,0", "step is 0"),
        ("relative-laplace:-1", "b is -1"),
        ("relative-gaussian:-1", "sigma is -1"),
        ("tabulated:1,0.5,2", "takes 2 parameter"),
        ("tabulated:1,0.5", "last c is 0.5; a distribution function ends at 1"),
        ("tabulated:1,0.5,1,1", "y2 is 1, not above 1"),
        ("tabulated:0,0.5,1,1", "y1 is 0, not above 0"),
        ("tabulated:1,0.5,2,0.4,3,1", "c2 is 0.4, below 0.5"),
        ("round:-1", "step is -1"),
        ("microaggregate:0", "k is 0"),
        ("microaggregate:2.5", "k is 2.5; it counts clusters"),
        ("clip:2,1", "lo 2 and hi 1 do not bound a range"),
        ("clip:1", "write clip:lo,hi"),
        ("clip:0,1/", "unknown mechanism ''"),
        ("clip:0,1/clip:0,2", "one clip does for both"),
        ("clip:0,1/clip:0,2/laplace:1", "more than one inner setting"),
        ("laplace:1/laplace:2", "only clip holds another setting"),
    ],
)
def test_bad_text_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(SettingError, match=reason) as caught:
        PrivacySetting.parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["laplace", "sine", "round"])
def test_a_setting_cannot_be_made_of_numbers_that_are_none(name: str, value: float) -> None:
    with pytest.raises(SettingError, match="finite"):
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
