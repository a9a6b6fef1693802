"""What cannot be used ends in one line that names the place, and in exit code 2; a failure ends in exit code 1."""

import math
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.commands.program import halfmask, process, refused
from tests.profiles.panels import plain, table

HEADER = "user,time,value\n"
GOOD = HEADER + "a,2026-01-01 00:00,1.5\na,2026-01-01 00:30,2.5\nb,2026-01-01 00:00,0\n"


def text(content: str) -> Callable[[Path], Path]:
    """A CSV file of this content."""

    def make(folder: Path) -> Path:
        (folder / "source.csv").write_text(content)
        return folder / "source.csv"

    return make


def truncated(folder: Path) -> Path:
    """A Parquet file that ends too soon."""
    path = folder / "source.parquet"
    pq.write_table(table(plain(3, 500)), path)
    path.write_bytes(path.read_bytes()[:-200])
    return path


def one_broken(folder: Path) -> Path:
    """A folder of Parquet files, one of which is broken."""
    (folder / "source").mkdir()
    for name in ("a", "b", "c"):
        pq.write_table(table(plain(3, 50)), folder / "source" / f"{name}.parquet")
    (folder / "source" / "b.parquet").write_bytes(b"PAR1 nothing of the kind PAR1")
    return folder / "source"


BAD: dict[str, tuple[Callable[[Path], Path], str]] = {
    "missing file": (lambda folder: folder / "nowhere.csv", "nowhere.csv"),
    "empty file": (text(""), "source.csv"),
    "header only": (text(HEADER), "source.csv"),
    "no such columns": (text("x,y\n1,2\n3,4\n"), "column"),
    "two columns for the user": (text("user,meter,time,value\na,b,2026-01-01,1\na,b,2026-01-02,1\n"), "meter"),
    "unparsable time": (text(GOOD + "a,yesterday,1\n"), "row 4"),
    "unparsable number": (text(GOOD + "a,2026-01-02 00:00,many\n"), "row 4"),
    "mixed time zones": (text(GOOD + "a,2026-01-02T00:00+01:00,1\n"), "zone"),
    "all NaN": (text(HEADER + "a,2026-01-01,nan\na,2026-01-02,inf\n"), "no usable reading"),
    "truncated Parquet": (truncated, "source.parquet"),
    "one broken file": (one_broken, "b.parquet"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_source_is_refused(case: str, tmp_path: Path) -> None:
    make, word = BAD[case]
    assert word in refused("profile", make(tmp_path), "-o", tmp_path / "x.profile")
    assert not (tmp_path / "x.profile").exists()


SLOW = pytest.mark.slow  # a process of its own takes seconds to start, and one shows what it adds


@pytest.mark.parametrize(
    "case", ["unparsable number", *(pytest.param(name, marks=SLOW) for name in ("missing file", "one broken file"))]
)
def test_a_bad_source_is_refused_by_the_program_itself(case: str, tmp_path: Path) -> None:
    make, word = BAD[case]
    assert word in refused("profile", make(tmp_path), "-o", tmp_path / "x.profile", run=process)


GOOD_SOURCES = {
    "huge": HEADER + "a,2026-01-01,1e300\na,2026-01-02,1.7e308\nb,2026-01-01,1.7e308\nb,2026-01-02,-1e300\n",
    "all zero": HEADER + "a,2026-01-01,0\na,2026-01-02,0\nb,2026-01-01,0\n",
    "negative": HEADER + "a,2026-01-01,-1e300\na,2026-01-02,-2e300\n",
    "one reading": HEADER + "a,2026-01-01,3\n",
    "one user": HEADER + "a,2026-01-01,1\na,2026-01-02,2\n",
    "one period": HEADER + "a,2026-01-01 01:00,1\nb,2026-01-01 02:00,2\n",
    "unsorted": HEADER + "b,2026-01-03,1\na,2026-01-01,2\nb,2026-01-01,4\na,2026-01-02,8\n",
    "some lost": HEADER + "a,2026-01-01,1\na,2026-01-02,nan\na,2026-01-03,\na,2026-01-04,inf\na,2026-01-05,2\n",
    "odd columns": '"us""er; x",ti me,"værdi, DROP TABLE"\na,2026-01-01,1\na,2026-01-02,2\n',
}


@pytest.mark.parametrize("case", GOOD_SOURCES)
def test_an_awkward_source_is_profiled_shown_and_drawn(case: str, tmp_path: Path) -> None:
    source = text(GOOD_SOURCES[case])(tmp_path)
    columns = ("--user", 'us"er; x', "--time", "ti me", "--value", "værdi, DROP TABLE") if case == "odd columns" else ()
    made = halfmask("profile", source, "-o", tmp_path / "x.profile", *columns)
    shown = halfmask("show", tmp_path / "x.profile", "--png", tmp_path / "x.png")
    for ended in (made, shown, halfmask("show", "--json", tmp_path / "x.profile")):
        assert ended.returncode == 0, ended.stderr
        assert "Warning" not in ended.stderr
        assert "readings" in ended.stdout
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("command", ["evaluate", "offer"])
def test_readings_too_large_to_square_are_refused(command: str, tmp_path: Path) -> None:
    source = text(GOOD_SOURCES["huge"])(tmp_path)
    halfmask("profile", source, "-o", tmp_path / "x.profile")
    assert "1e+60" in refused(command, tmp_path / "x.profile", "-o", tmp_path / "out")


def test_a_name_with_brackets_is_printed_as_it_is(tmp_path: Path) -> None:
    source = tmp_path / "a [bold] name.csv"
    source.write_text(GOOD)
    shutil.copy(source, tmp_path / "b.csv")
    ended = halfmask("profile", source.name, "--dry-run", cwd=tmp_path)
    assert (ended.returncode, "a [bold] name.csv" in ended.stdout) == (0, True), ended.stderr


DUPLICATES = GOOD + "a,2026-01-01 00:30,7\n"


def test_policies(tmp_path: Path) -> None:
    source = text(DUPLICATES)(tmp_path)
    message = refused("profile", source, "--duplicates", "error", "--dry-run")
    assert "user a at 2026-01-01T00:30:00" in message
    lost = text(GOOD + "c,2026-01-01 00:00,nan\n")(tmp_path)
    assert "user c" in refused("profile", lost, "--nonfinite", "error", "--dry-run")
    bounded = halfmask("profile", lost, "--min", "-1", "--max", "2", "--dry-run")
    assert "above the bounds" in " ".join(bounded.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("profile", "source.csv"), "-o NAME.profile"),
        (("profile", "source.csv", "-o", "nowhere/x.profile"), "nowhere"),
        (("profile", "source.csv", "-o", "x", "--period", "moon"), "moon"),
        (("profile", "source.csv", "-o", "x", "--min", "2", "--max", "1"), "bounds"),
        (("profile", "source.csv", "-o", "x", "--min", "few"), "few"),
        (("profile", "source.csv", "-o", "x", "--duplicates", "some"), "some"),
        (("profile", "source.csv", "-o", "x", "--buckets", "-1"), "buckets"),
        (("profile", "source.csv", "-o", "x", "--engine", "abacus"), "abacus"),
        (("profile", "source.csv", "-o", "x", "--user", "nobody"), "nobody"),
        (("profile", "source.csv", "-o", "x", "--tz", "Mars/Olympus"), "Mars/Olympus"),
        (("profile", "source.csv", "-o", "x", "--frobnicate"), "frobnicate"),
        (("profile",), "source"),
        (("show", "nowhere.profile"), "no such profile"),
        (("show", "source.csv"), "not a whole profile"),
        (("show", "."), "directory"),
        (("frobnicate",), "frobnicate"),
        (("synth", "-o", "x.parquet", "--users", "0"), "users"),
        (("synth", "-o", "x.parquet", "--days", "none"), "none"),
        (("simulate", "--operator", "-abc"), "if its value begins with a hyphen, write --operator=VALUE; see halfmask"),
        (("simulate", "--operator"), "see halfmask simulate --help"),
        (("reward", "fit", "--menu"), "see halfmask reward fit --help"),
        (("campaign", "offer.json", "--begin", "2027-01-01"), "campaign needs --name, --purpose, --end ("),
        (("join",), "join needs URL, --state ("),
        (("frobnicate", "-o"), "see halfmask --help"),
        (("demo", "-o", "source.csv"), "cannot write to source.csv: it is a file"),
        (("demo", "--folder", "source.csv/deep"), "cannot write to source.csv/deep: it is a file, or lies in one"),
    ],
)
def test_bad_arguments_are_refused(arguments: tuple[str, ...], word: str, tmp_path: Path) -> None:
    text(GOOD)(tmp_path)
    assert word in refused(*arguments, cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["source.csv"]


def test_a_picture_of_a_kind_that_is_not_drawn(tmp_path: Path) -> None:
    halfmask("profile", text(GOOD)(tmp_path), "-o", tmp_path / "x.profile")
    ended = halfmask("show", tmp_path / "x.profile", "--png", tmp_path / "x.bmp")
    assert ended.returncode == 2
    assert "png, svg, pdf" in ended.stderr


@pytest.mark.parametrize("command", ["profile", pytest.param("synth", marks=SLOW)])
def test_a_full_disk_is_a_failure_and_leaves_the_old_file(command: str, tmp_path: Path) -> None:
    """A limit on the size of files fails a write as a full disk does."""
    source = tmp_path / "source.parquet"
    pq.write_table(table(plain(50, 400)), source)
    target = tmp_path / "out" / "x"
    target.parent.mkdir()
    target.write_text("old")
    what = {"profile": ("profile", source), "synth": ("synth", "--users", 20, "--days", 50)}[command]
    ended = process(*what, "-o", target, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000)))
    assert ended.returncode == 1, ended.stderr
    assert ended.stderr.splitlines()[-1].startswith(f"halfmask: cannot write {target}")
    assert "Traceback" not in ended.stderr
    assert target.read_text() == "old"
    assert [path.name for path in target.parent.iterdir()] == ["x"]


def test_mixed_types_in_a_column(tmp_path: Path) -> None:
    content = GOOD + "".join(f"a,2026-02-{d:02d} 00:00,{d}\n" for d in range(1, 29)) + "a,2026-03-01 00:00,true\n"
    assert "row 32" in refused("profile", text(content)(tmp_path), "--dry-run")
    odd = pa.table({"user": ["a"], "time": pa.array([0], pa.timestamp("us")), "value": [[math.pi]]})
    pq.write_table(odd, tmp_path / "odd.parquet")
    refused("profile", tmp_path / "odd.parquet", "--dry-run")
