"""It installs: wheel and source archive, in environments that hold the core alone; a missing extra is named."""

import ast
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from packaging.utils import canonicalize_name

from halfmask.commands import names
from halfmask.extras import EXTRAS, naming_extras
from halfmask.service.lake import SCHEMA
from tests.environments import PROJECT, ROOT, closure, fresh, install
from tests.test_imports import modules
from tests.test_pythons import ENDS, pythons

SOURCE = ROOT / "src"
OPTIONAL = PROJECT["optional-dependencies"]
PACKAGES = ("halfmask", "halfmask_device")
RUNS = Path(__file__).with_name("installed.py")
"""Runs commands and calls in one process of another environment."""

STUDY = """
import halfmask, sys
halfmask.synth("panel.parquet", users=5, days=2)
study = halfmask.evaluate(halfmask.profile("panel.parquet"), "study.parquet", settings=("laplace:0.5", "none"))
print(sys.prefix if halfmask.__file__.startswith(sys.prefix) else halfmask.__file__, len(study.grid))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel, the source archive, and the wheel that the archive builds."""
    folder = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], check=True, cwd=ROOT, timeout=300)
    (wheel,), (archive,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, str(archive), "-w", str(folder / "again")], check=True, timeout=300)
    return {"wheel": wheel, "archive": archive, "again": folder / "again" / wheel.name}


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds what the core needs, and halfmask from its source folder.

    From there its compiled kernels are already in the cache.
    """
    python = fresh(tmp_path_factory.mktemp("core"), PROJECT["dependencies"])
    (site,) = (python.parents[1] / "lib").glob("python*/site-packages")
    (site / "source.pth").write_text(str(SOURCE))
    return python


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as files:
        return {name: files.read(name) for name in files.namelist()}


def test_the_wheel_holds_both_packages_and_no_more(built: dict[str, Path]) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *PACKAGES],
        cwd=SOURCE, capture_output=True, text=True, check=False,
    ).stdout.split()  # fmt: skip
    held = contents(built["wheel"])
    packed = {name for name in held if ".dist-info/" not in name}
    assert {name for name in packed if name.endswith(".py")} == {
        str(path.relative_to(SOURCE)) for package in PACKAGES for path in (SOURCE / package).rglob("*.py")
    }
    assert not tracked or packed == set(tracked)
    assert {"halfmask/pages/page.css", "halfmask/service/storage/migrations/script.py.mako"} <= packed
    (metadata,) = (held[name].decode() for name in held if name.endswith("METADATA"))
    assert "halfmask-device" not in "".join(re.findall(r"^Requires-Dist: .*$", metadata, flags=re.MULTILINE))
    assert set(re.findall(r"^Provides-Extra: (.*)$", metadata, flags=re.MULTILINE)) == {*EXTRAS, "all"}


def test_the_source_archive_holds_no_more_than_it_needs_and_builds_the_same_wheel(built: dict[str, Path]) -> None:
    with tarfile.open(built["archive"]) as files:
        paths = [Path(name).parts[1:] for name in files.getnames()]
    assert {path[0] for path in paths} == {
        *("src", "docs", "pyproject.toml", "PKG-INFO", "README.md", "LICENSE", "CHANGELOG.md", ".gitignore"),
    }
    assert not [path for path in paths if "__pycache__" in path]
    assert contents(built["again"]) == contents(built["wheel"])


@pytest.mark.parametrize("kind", ["wheel", pytest.param("again", id="archive", marks=pytest.mark.slow)])
def test_what_is_installed_runs_a_study(kind: str, built: dict[str, Path], tmp_path: Path) -> None:
    python = fresh(tmp_path / "environment", PROJECT["dependencies"])
    install(python, built[kind])
    without = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*words: str) -> str:
        ended = subprocess.run(
            [str(python.with_name(words[0])), *words[1:]],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
            env=without | {"NUMBA_DISABLE_JIT": "1"},  # a small study is sooner done than its kernels are compiled
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    assert run("halfmask", "--version").strip() == PROJECT["version"]
    assert run("python", "-c", STUDY).split() == [str(tmp_path / "environment"), "2"]
    assert (tmp_path / "study.parquet").is_file()


def third_party() -> dict[str, set[str]]:
    """The modules of others that the packages import, at the top or within, and where."""
    found: dict[str, set[str]] = {}
    for package in PACKAGES:
        for path in (SOURCE / package).rglob("*.py"):
            for name in modules(ast.parse(path.read_text(encoding="utf-8"))):
                top = name.partition(".")[0]
                if top not in sys.stdlib_module_names and top not in PACKAGES:
                    found.setdefault(top, set()).add(str(path.relative_to(SOURCE)))
    return found


def test_every_import_is_of_the_core_or_of_a_known_extra() -> None:
    """A module that is imported and not declared would be an ImportError in a plain installation."""
    of = {top: {canonicalize_name(each) for each in held} for top, held in packages_distributions().items()}
    direct = {canonicalize_name(re.split(r"[\[<>=;]", each)[0]) for each in PROJECT["dependencies"]}
    known = {library: extra for extra, libraries in EXTRAS.items() for library in libraries}
    assert len(known) == sum(map(len, EXTRAS.values()))  # no library of two extras: the message names one
    for top, places in third_party().items():
        assert of[top] & direct or top in known, f"{top}, which {sorted(places)[0]} imports, is in no requirement"
    for library, extra in known.items():
        assert of[library] & closure(OPTIONAL[extra]), f"[{extra}] does not install {library}"
        assert not of[library] & closure(PROJECT["dependencies"]), f"{library} is of the core"


def test_the_extra_all_is_all_others() -> None:
    (line,) = OPTIONAL["all"]
    assert set(re.findall(r"[a-z]+", line)) - {"halfmask"} == OPTIONAL.keys() - {"all"} == EXTRAS.keys()


def test_the_lock_of_the_demo_has_core_pages_and_service() -> None:
    locked = re.findall(r"^([\w.-]+)==", (ROOT / "requirements" / "run.txt").read_text(), flags=re.MULTILINE)
    wanted = closure([*PROJECT["dependencies"], *OPTIONAL["pages"], *OPTIONAL["service"]])
    assert wanted <= set(locked)
    assert not {"pyspark", "pandas"} & set(locked)


CORE = {
    "synth": "synth -o panel.parquet --users 40 --days 7",
    "look": "look latin.csv",
    "profile": "profile panel.parquet -o x.profile",
    "show": "show x.profile",
    "evaluate": "evaluate x.profile -o study.parquet --grid laplace:b=0.1..2/0.2;sine:k=5,values=0|1.2 --repeats 2",
    "optimize": "optimize study.parquet -o menu.json --max-mean 1 --max-std 1",
    "offer": "offer x.profile -o offer.json --epsilon 8,4 --low 0 --high 100",
    "compare": "compare menu.json menu.json --profile x.profile",
    "mix": "mix x.profile menu.json -o mix.parquet --step 0.5 --repeats 2",
    "choose": "choose menu.json --from B --delta 0.1",
    "vote": "vote offer.json --preferences ballots.csv",
    "solve": "solve --epsilon 1 --change 2 --window 48",
    "check": "check --aggregate max --mechanism laplace",
    "audit": "audit menu.json --profile x.profile -o card.json",
    "merge": "merge x.profile x.profile -o twice.profile",
    "recommend": "recommend mine.csv --menu menu.json --profile x.profile --privacy 0.4",
    "mask": "mask --state device --setting laplace:0.5 --low 0 --high 10",
    "ledger": "ledger --state device",
    "aggregate": "aggregate lake",
    "campaign": "campaign offer.json --name n --purpose p --unit kW --readings 48 --begin 2031-01-01 --end 2031-02-01",
    "reward_fit": "reward fit choices.csv -o model.json",
    "reward_design": "reward design menu.json -o groups.csv",
    "reward": "reward menu.json --profile x.profile --model model.json --budget 100",
    "auction": "auction bids.csv --budget 3",
    "bargain": "bargain menu.json --from B --model model.json --delta 0.1 --c 0.05",
    "join": "join nowhere --state sharing",
    "send": "send mine.csv --state device",
    "status": "status --state device",
    "leave": "leave --state device",
}
"""Commands that a plain installation runs, one after another in one folder."""
NO_SERVICE = {"join": 2, "send": 2, "leave": 2}
"""Those that need a service to speak to, and how they end without one."""


def run_in(python: Path, folder: Path, lines: dict[str, str]) -> dict[str, dict[str, Any]]:
    """How each command line ends in another environment."""
    ended = subprocess.run(
        [str(python), "-I", str(RUNS)],
        input=json.dumps(lines), cwd=folder, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def given(folder: Path) -> None:
    """What the command lines read."""
    rng = np.random.default_rng(1)
    rows = [f"{'äö'[n % 2]};0{1 + n // 48}.01.2026 {n % 48 // 2:02}:{n % 2 * 30:02};1,5" for n in range(200)]
    (folder / "latin.csv").write_bytes("\n".join(["Zähler;Zeit;Wert", *rows]).encode("cp1252"))
    (folder / "ballots.csv").write_text("L1,L2,N\nL2,L1,N\n")
    times = [f"2026-01-{1 + n // 48:02}T{n % 48 // 2:02}:{n % 2 * 30:02}:00Z,{0.1 + n % 7 / 10}" for n in range(336)]
    (folder / "mine.csv").write_text("\n".join(["time,value", *times]))
    (folder / "bids.csv").write_text("producer,cost\n" + "".join(f"p{n},{n + 1}\n" for n in range(20)))
    lines = ["producer,occasion,setting,privacy,reward,chosen"]
    for producer in range(200):
        pay = rng.uniform(0, 5, 3)
        best = int(np.argmax([*(pay - 2 + rng.gumbel(size=3)), rng.gumbel()]))  # the last: takes no part
        lines += [f"p{producer},1,{'ABC'[k]},{k / 2},{pay[k]:.2f},{int(k == best)}" for k in range(3)]
    (folder / "choices.csv").write_text("\n".join(lines))
    lake = folder / "lake" / "c" / "2026-01-01"
    lake.mkdir(parents=True)
    columns: dict[str, list[Any]] = {"campaign": ["c"], "period": ["2026-01-01"], "node": ["n"], "producer": [1]}
    pq.write_table(
        pa.table(columns | {"time": [0], "steps": [3], "setting": ["none"], "group_name": [None]}, SCHEMA),
        lake / "n.parquet",
    )


@pytest.fixture(scope="module")
def folder(core: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, Any]]]:
    """A folder in which all commands of the core have run, and how each ended."""
    made = tmp_path_factory.mktemp("folder")
    given(made)
    return made, run_in(core, made, CORE)


def test_the_core_goes_from_readings_to_an_offer(folder: tuple[Path, dict[str, dict[str, Any]]]) -> None:
    made, ended = folder
    assert {name: how for name, how in ended.items() if how["code"] != NO_SERVICE.get(name, 0)} == {}
    assert (made / "offer.json").is_file()


MISSING = {
    "report .": ("pages",),
    "explore .": ("pages",),
    "leaflet offer.json -o leaflet.html": ("pages",),
    "show x.profile --png x.png": ("pages",),
    "serve --init --db sqlite:///x.db": ("service",),
    "serve --db sqlite:///x.db": ("service",),
    "payout --db sqlite:///x.db": ("service",),
    "admin list campaigns --db sqlite:///x.db": ("service",),
    "suspects c --db sqlite:///x.db": ("service",),
    "simulate --producers 10 --days 2": ("service",),
    "demo -o demo": ("pages", "service"),
    "profile panel.parquet -o y.profile --engine spark": ("spark",),
    "aggregate lake --engine spark": ("spark",),
    "profile sheet.xlsx -o y.profile": ("formats",),
    "look readings.avro": ("formats",),
    "look postgresql://me@127.0.0.1:9/x?table=y": ("postgres",),
    "look mysql://me@127.0.0.1:9/x?table=y": ("mysql",),
    "send mine.csv --state device --mqtt mqtt://127.0.0.1:9": ("mqtt",),
}
"""Command lines that need an extra."""


def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    core: Path, folder: tuple[Path, dict[str, dict[str, Any]]]
) -> None:
    made, _ = folder
    (made / "sheet.xlsx").write_bytes(b"PK")
    (made / "readings.avro").write_bytes(b"Obj\x01")
    for line, ended in run_in(core, made, {line: line for line in MISSING}).items():
        assert ended["code"] == 1, (line, ended)
        *_, last = ended["said"]
        assert [each for each in ended["said"] if each.startswith("halfmask: ")] == [last], (line, ended)
        assert last.endswith(f": pip install 'halfmask[{','.join(MISSING[line])}]'"), line
        assert not {"unexpected", "Traceback", "Error"} & set(" ".join(ended["said"]).split()), line
    assert not (made / "demo").exists()  # refused before the work


def test_every_command_is_of_the_core_or_names_its_extra() -> None:
    assert {*CORE, *(line.split()[0] for line in MISSING)} == set(names())


CALLS = """
import halfmask, json
from halfmask.errors import HalfmaskError, RunError
study = halfmask.Study.read("study.parquet")
profile, menu = halfmask.Profile.read("x.profile"), halfmask.Menu.read("menu.json")
calls = {
    "report": lambda: halfmask.report("."),
    "serve": lambda: halfmask.serve(init=True, db="sqlite:///x.db"),
    "demo": lambda: halfmask.demo("demo"),
    "profile": lambda: halfmask.profile("panel.parquet", engine="spark"),
    **{f"plot {type(each).__name__}": each.plot for each in (study, profile, menu, halfmask.Mix.read("mix.parquet"))},
    "to_pandas": study.to_pandas,
    "to_polars": study.to_polars,
}
found = {"html": study._repr_html_(), "card": len(halfmask.ReportCard.read("card.json").cards)}
for name, call in calls.items():
    try:
        found[name] = call()
    except HalfmaskError as error:
        found[name] = [error.code, *error.fields, isinstance(error, RunError), error.hint]
print(json.dumps(found))
"""


def test_python_names_a_missing_extra_by_an_error_of_its_tree(
    core: Path, folder: tuple[Path, dict[str, dict[str, Any]]]
) -> None:
    ended = subprocess.run(
        [str(core), "-I", "-c", CALLS], cwd=folder[0], capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found.pop("html") is None  # a notebook then shows the plain text
    assert found.pop("card") >= 4
    wanted = {"report": "pages", "serve": "service", "profile": "spark", "to_pandas": "pandas", "to_polars": "polars"}
    wanted |= {name: "pages" for name in found if name.startswith("plot ")}
    assert found.pop("demo") == ["extra", "pages", "service", True, "pip install 'halfmask[pages,service]'"]
    assert found == {name: ["extra", extra, True, f"pip install 'halfmask[{extra}]'"] for name, extra in wanted.items()}


def test_a_library_that_is_of_no_extra_is_still_an_import_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_library"), naming_extras():
        import no_such_library  # type: ignore[import-not-found]  # noqa: F401


def test_a_service_without_a_driver_names_the_extra(tmp_path: Path) -> None:
    python = fresh(tmp_path / "environment", [*PROJECT["dependencies"], *OPTIONAL["service"]])
    (site,) = (python.parents[1] / "lib").glob("python*/site-packages")
    (site / "source.pth").write_text(str(SOURCE))
    lines = {
        "serve --init --db sqlite:///x.db": None,
        "serve --init --db postgresql://me@127.0.0.1:9/x": "postgres",
        "serve --init --db mysql://me@127.0.0.1:9/x": "mysql",
        "serve --db sqlite:///x.db --mqtt mqtt://127.0.0.1:9 --port 0": "mqtt",
    }
    for line, ended in run_in(python, tmp_path, {line: line for line in lines}).items():
        assert ended["code"] == (0 if lines[line] is None else 1), (line, ended)
        if lines[line]:
            assert ended["said"][-1].endswith(f": pip install 'halfmask[{lines[line]}]'"), line


README = """
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
exec(re.search(r"```python\\n(.*?)```", text, flags=re.DOTALL).group(1))
"""


@pytest.mark.slow  # minutes: all is fetched from the index that pip is set to
@pytest.mark.parametrize("version", ENDS, ids=lambda version: ".".join(map(str, version)))
def test_a_plain_installation_from_the_index_runs_the_readme(version: tuple[int, int], tmp_path: Path) -> None:
    """From a clone of the repository as it stands, by its address: what is not committed yet is not in it."""
    clone = tmp_path / "halfmask.git"
    subprocess.run(["git", "clone", "--quiet", "--bare", str(ROOT), str(clone)], check=True, timeout=300)
    subprocess.run([pythons()[version], "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, timeout=300)
    python = tmp_path / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    without = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            list(map(str, words)),
            cwd=tmp_path, env=without, capture_output=True, text=True, check=False, timeout=1800,
        )  # fmt: skip

    assert run(*pip, f"git+file://{clone}").returncode == 0
    ended = run(python, "-c", README, ROOT / "README.md")
    assert ended.returncode == 0, ended.stderr
    assert [line.split()[0] for line in ended.stdout.splitlines()] == ["L1", "L2", "L3", "L4", "N"]
    refused = run(python.with_name("halfmask"), "report", ".")
    assert refused.stderr.endswith(": pip install 'halfmask[pages]'\n")
    assert run(*pip, "halfmask[pages]").returncode == 0  # the words of the message
    ended = run(python.with_name("halfmask"), "report", ".")
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "report.html").stat().st_size > 100_000
