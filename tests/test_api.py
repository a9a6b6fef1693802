"""The commands as Python functions."""

import inspect
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfmask
from halfmask.commands import names
from tests.refusals import refused


def test_every_command_and_every_result_is_there() -> None:
    assert {*names(), "Menu", "Mix", "Profile", "ReportCard", "Study"} == set(halfmask.__all__)
    for name in halfmask.__all__:
        assert callable(getattr(halfmask, name)), name


def test_only_public_names_are_listed() -> None:
    assert set(dir(halfmask)) == {*halfmask.__all__, "__version__"}


def described(function: Callable[..., Any]) -> list[str]:
    """The parameters that a docstring describes, each with a text below its name."""
    _, _, parameters = (function.__doc__ or "").partition("\nParameters\n----------\n")
    return re.findall(r"^(\w+)\n(?=[ ]{4}\S)", parameters, re.MULTILINE)


@pytest.mark.parametrize("name", names())
def test_help_describes_every_parameter_once_and_no_other(name: str) -> None:
    function = getattr(halfmask, name)
    signature = inspect.signature(function)
    assert described(function) == list(signature.parameters)
    kinds = {each.kind for each in signature.parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    assert "Annotated" not in str(signature)
    assert "Parameter(" not in str(signature)


def test_a_parameter_without_a_description_would_be_noticed() -> None:
    def function(one: int, two: int) -> None:
        """Do it.

        Parameters
        ----------
        one
            The first.
        """

    function.__doc__ = inspect.cleandoc(function.__doc__ or "")
    assert described(function) == ["one"] != list(inspect.signature(function).parameters)


def test_mask_of_an_array_and_its_exact_twin() -> None:
    values, how = [0.4, 0.7, math.nan], "laplace:0.5"
    simulated = halfmask.mask(values, how, rng=np.random.default_rng(3))
    assert np.array_equal(simulated, halfmask.mask(values, how, rng=np.random.default_rng(3)), equal_nan=True)
    exact = halfmask.mask(values * 50, how, step="0.25", low="0", high="10")
    present = exact[~np.isnan(exact)]
    assert len(present) == 100
    assert (present * 4 == np.round(present * 4)).all()  # on the lattice, as a device reports
    assert (simulated[:2] * 4 != np.round(simulated[:2] * 4)).all()  # the continuous law


def test_mask_writes_the_same_reports_again(tmp_path: Path) -> None:
    (tmp_path / "readings.csv").write_text("time,value\n1,0.5\n2,0.7\n")
    first = {"state": tmp_path / "device", "setting": "laplace:0.5", "low": "0", "high": "10"}
    assert halfmask.mask(tmp_path / "readings.csv", output=tmp_path / "one.csv", **first) == 2
    assert halfmask.mask(tmp_path / "readings.csv", output=tmp_path / "two.csv", state=tmp_path / "device") == 2
    masked = (tmp_path / "one.csv").read_text()
    assert masked == (tmp_path / "two.csv").read_text()
    assert masked != (tmp_path / "readings.csv").read_text()


def test_mask_leaves_no_half_file(tmp_path: Path) -> None:
    (tmp_path / "readings.csv").write_text("time,value\n1,0.5\n2,secret\n")
    first = {"state": tmp_path / "device", "setting": "laplace:0.5", "low": "0", "high": "10"}
    with pytest.raises(halfmask.errors.ReadingError) as caught:
        halfmask.mask(tmp_path / "readings.csv", output=tmp_path / "one.csv", **first)
    assert "row 2" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "one.csv").exists()
    with refused("source.missing"):
        halfmask.mask(tmp_path / "none.csv", output=tmp_path / "one.csv", **first)
