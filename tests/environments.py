"""Fresh environments for tests: what is installed there is linked from this one, so that none takes minutes to fill."""

import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def closure(requirements: Iterable[str]) -> set[str]:
    """The distributions that these requirements install, with all that those need in turn."""
    found: set[str] = set()
    waiting = [Requirement(each) for each in requirements]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in found or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        try:
            needs = distribution(name).requires or []
        except PackageNotFoundError:  # not of this system or this version of Python
            continue
        found.add(name)
        waiting += [each for each in map(Requirement, needs) if not each.marker or "extra" not in str(each.marker)]
    return found


def fresh(folder: Path, requirements: Iterable[str]) -> Path:
    """The interpreter of a new environment that holds what these requirements install, and nothing else."""
    venv.create(folder, with_pip=False)
    (site,) = (folder / "lib").glob("python*/site-packages")
    for name in closure(requirements):
        held = distribution(name)
        for top in {path.parts[0] for path in held.files or [] if path.parts[0] not in ("..", "__pycache__")}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(held.locate_file(top))))
    return folder / "bin" / "python"


def install(python: Path, *what: object) -> None:
    """Install files without what they need, and without an index."""
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, *map(str, what)], check=True, timeout=300)
