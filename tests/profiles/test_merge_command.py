"""Profiles of parts, merged by the command, are the profile of the whole; what may count twice is said."""

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import halfmask
from halfmask.errors import OptionError
from tests.commands.program import halfmask as program
from tests.commands.program import refused


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A panel, its two halves in time, and their profiles."""
    made = tmp_path_factory.mktemp("merge")
    halfmask.synth(made / "whole.parquet", users=8, days=6)
    table = pq.read_table(made / "whole.parquet")
    middle = pc.quantile(pc.cast(table["time"], "int64"), 0.5)[0].as_py()
    early = pc.less(pc.cast(table["time"], "int64"), int(middle))
    for name, rows in (("early", early), ("late", pc.invert(early))):
        pq.write_table(table.filter(rows), made / f"{name}.parquet")
    for name in ("whole", "early", "late"):
        halfmask.profile(made / f"{name}.parquet", made / f"{name}.profile")
    return made


def test_parts_merge_to_the_whole(folder: Path) -> None:
    ended = program("merge", "early.profile", "late.profile", "-o", "both.profile", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    assert "wrote both.profile" in ended.stderr
    both, whole = (halfmask.Profile.read(folder / f"{name}.profile") for name in ("both", "whole"))
    assert both.fingerprint() == whole.fingerprint()
    assert (both.readings, both.users, len(both.periods)) == (whole.readings, whole.users, len(whole.periods))
    assert both.fingerprint() != halfmask.Profile.read(folder / "early.profile").fingerprint()
    assert both.fingerprint() == halfmask.merge(folder / "late.profile", folder / "early.profile").fingerprint()


def test_readings_that_may_count_twice_are_said(folder: Path) -> None:
    ended = program("merge", "early.profile", "early.profile", "-o", "twice.profile", cwd=folder)
    assert ended.returncode == 0
    assert "8 users in 3 periods" in ended.stderr
    assert "count twice" in ended.stderr
    apart = program("merge", "early.profile", "late.profile", "-o", "both.profile", cwd=folder)
    assert "twice" not in apart.stderr


def test_profiles_that_are_not_alike_are_refused(folder: Path) -> None:
    halfmask.profile(folder / "late.parquet", folder / "hours.profile", period="hour")
    with pytest.raises(OptionError) as unalike:
        halfmask.merge(folder / "early.profile", folder / "hours.profile")
    assert (unalike.value.code, unalike.value.fields) == ("option.unalike", ("period",))
    assert "other.profile" in refused("merge", "early.profile", "other.profile", "-o", "x.profile", cwd=folder)
    assert not (folder / "x.profile").exists()
