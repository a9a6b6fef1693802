"""The device is a distribution of its own: its wheel, alone in an empty environment, masks a day."""

import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import halfmask
import halfmask_device
from tests.refusals import refused

ROOT = Path(__file__).parents[2]
DAY = """
import io, sys
from halfmask_device import Asked, Producer, State, agree, mask_csv, read_ledger
terms = agree(__import__("pathlib").Path(sys.argv[1]), Asked(setting="C", menu=__import__("pathlib").Path(sys.argv[2]),
    low="0", high="10"))
device = Producer(terms.setting_text, terms.lattice, sys.argv[1])
rows = "time,value\\n" + "".join(f"2026-01-01T{h:02}:{m:02}:00Z,0.{h:02}{m:02}\\n" for h in range(24) for m in (0, 30))
first, second = io.BytesIO(), io.BytesIO()
for target in (first, second):
    mask_csv(io.BytesIO(rows.encode()), target, device, **terms.columns)
assert first.getvalue() == second.getvalue() != rows.encode()
assert read_ledger(State(sys.argv[1]), "1").days[0].reports == 48
outside = sorted({name.split(".")[0] for name in sys.modules} - set(sys.stdlib_module_names))
print(first.getvalue().count(b"\\n"), outside)
try:
    import halfmask
except ImportError:
    print("no halfmask")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    package = ROOT / "packages" / "halfmask-device"
    subprocess.run([*command, str(package), "-w", str(folder)], check=True, timeout=300)
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_is_small_and_holds_the_device_alone(wheel: Path) -> None:
    assert wheel.stat().st_size < 150_000
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        metadata = files.read(next(name for name in names if name.endswith("METADATA"))).decode()
    source = ROOT / "src" / "halfmask_device"
    shipped = {name for name in names if name.endswith(".py")}
    assert shipped == {str(path.relative_to(source.parent)) for path in source.rglob("*.py")}
    assert {name.split("/")[0].split("-")[0] for name in names} == {"halfmask_device"}
    assert "Requires-Dist" not in metadata


def test_the_source_distribution_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path), "-t"]
    subprocess.run([*build, "sdist"], check=True, timeout=300, cwd=ROOT / "packages" / "halfmask-device")
    (packed,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(packed) as files:
        files.extractall(tmp_path, filter="data")
    subprocess.run([*build, "wheel"], check=True, timeout=300, cwd=tmp_path / packed.name.removesuffix(".tar.gz"))
    (made,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(made) as ours, zipfile.ZipFile(wheel) as theirs:
        assert sorted(ours.namelist()) == sorted(theirs.namelist())


def test_there_is_one_version() -> None:
    ours, device = (
        tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        for folder in (ROOT, ROOT / "packages" / "halfmask-device")
    )
    said = {ours["version"], device["version"], halfmask.__version__, halfmask_device.__version__}
    assert len(said) == 1
    assert f"## {halfmask.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_both_distributions_hold_the_same_device(wheel: Path, tmp_path: Path) -> None:
    """Whichever of them is installed last in one environment, the device there is the same."""
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path), "-t", "wheel"]
    subprocess.run(build, check=True, timeout=300, cwd=ROOT)
    (whole,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(whole) as ours, zipfile.ZipFile(wheel) as theirs:
        shared = set(ours.namelist()) & set(theirs.namelist())
        assert {name for name in theirs.namelist() if name.endswith((".py", ".typed"))} == shared
        assert [name for name in sorted(shared) if ours.read(name) != theirs.read(name)] == []


def test_the_wheel_alone_masks_a_day_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    target = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    install = ["install", "--quiet", "--no-index", "--no-deps", "--target", str(target), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, timeout=300)
    menu = tmp_path / "menu.json"
    menu.write_text('{"format": "halfmask menu", "version": 1, "settings": [{"id": "C", "setting": "laplace:0.25"}]}')
    arguments = [str(python), "-I", "-c", DAY, str(tmp_path / "state"), str(menu)]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=300)
    assert ended.stderr == ""
    assert ended.stdout.splitlines() == ["49 ['__main__', 'halfmask_device']", "no halfmask"]


@pytest.mark.parametrize(
    ("menu", "code"),
    [
        ('{"format": "halfmask menu", "version": 2, "settings": [{"id": "C", "setting": "none"}]}', "file.version"),
        ('{"format": "a study", "version": 1, "settings": [{"id": "C", "setting": "none"}]}', "file.menu"),
        ("[]", "file.menu"),
    ],
)
def test_a_menu_of_another_format_or_version_is_refused(tmp_path: Path, menu: str, code: str) -> None:
    from halfmask_device import Asked, agree

    (tmp_path / "menu.json").write_text(menu)
    with refused(code):
        agree(tmp_path / "state", Asked(setting="C", menu=tmp_path / "menu.json", low="0", high="1"))
