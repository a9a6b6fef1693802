"""The commands as Python functions."""

from pathlib import Path

import pytest

import halfmask
from halfmask.commands import names
from tests.refusals import refused


def test_every_command_and_every_result_is_there() -> None:
    assert {*names(), "Menu", "Mix", "Profile", "ReportCard", "Study"} == set(halfmask.__all__)
    for name in halfmask.__all__:
        assert callable(getattr(halfmask, name)), name


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
