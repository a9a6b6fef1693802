"""The oldest and the newest Python on this machine that the package allows: both understand it, and mask a day."""

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.device.test_distribution import DAY
from tests.environments import PROJECT, ROOT

LEAST = tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))
ASK = "import sys; print(*sys.version_info[:2], sys.implementation.name)"
COMPILE = """
import sys, warnings
from pathlib import Path
warnings.simplefilter("error")
files = [path for folder in sys.argv[1:] for path in Path(folder).rglob("*.py")]
for path in files:
    compile(path.read_bytes(), str(path), "exec")
print(len(files))
"""


@cache
def pythons() -> dict[tuple[int, int], Path]:
    """The interpreters on the path and those of pyenv, by version: of several, the first that is found."""
    folders = [*map(Path, os.get_exec_path()), *(Path.home() / ".pyenv" / "versions").glob("*/bin")]
    found: dict[tuple[int, int], Path] = {}
    for path in (path for folder in folders if folder.is_dir() for path in sorted(folder.glob("python3.*"))):
        named = re.fullmatch(r"python3\.(\d+)", path.name)
        if not named or (3, int(named[1])) < LEAST or (3, int(named[1])) in found or "shims" in path.parts:
            continue
        asked = subprocess.run([path, "-I", "-c", ASK], capture_output=True, text=True, check=False, timeout=60)
        if asked.stdout.split() == ["3", named[1], "cpython"]:
            found[3, int(named[1])] = path
    return found


ENDS = sorted({min(pythons()), max(pythons())})


def test_the_versions_of_the_metadata_begin_where_the_package_does() -> None:
    named = re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["classifiers"]))
    assert min(map(int, named)) == LEAST[1]
    assert set(ENDS) - {(3, int(each)) for each in named} <= {max(ENDS)}  # one may be newer than any that was tried


@pytest.mark.parametrize("version", ENDS, ids=lambda version: ".".join(map(str, version)))
def test_this_python_understands_every_file_and_masks_a_day(version: tuple[int, int], tmp_path: Path) -> None:
    def run(code: str, *arguments: object) -> str:
        ended = subprocess.run(
            [pythons()[version], "-IS", "-W", "error", "-c", code, *map(str, arguments)],
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    assert int(run(COMPILE, ROOT / "src", ROOT / "scripts", ROOT / "packages")) > 400
    (tmp_path / "menu.json").write_text(
        '{"format": "halfmask menu", "version": 1, "settings": [{"id": "C", "setting": "laplace:0.25"}]}'
    )
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "halfmask_device").symlink_to(ROOT / "src" / "halfmask_device")
    path = f"import sys; sys.path.insert(0, {str(tmp_path / 'only')!r}); sys.dont_write_bytecode = True\n"
    said = run(path + DAY, tmp_path / "state", tmp_path / "menu.json").splitlines()
    assert said == ["49 ['__main__', 'halfmask_device']", "no halfmask"]


def test_a_file_that_is_too_new_would_be_noticed(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text("def f[T](x: T) -> T:\n    return x\n" if min(ENDS) < (3, 12) else "x = = 1\n")
    ended = subprocess.run([pythons()[min(ENDS)], "-I", "-c", COMPILE, tmp_path], capture_output=True, check=False)
    assert b"SyntaxError" in ended.stderr
