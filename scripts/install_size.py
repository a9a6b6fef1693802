"""How large an installation is: packages and megabytes, of the core and with each extra, in fresh environments.

    python scripts/install_size.py            the core, each extra on top of it, and all
    python scripts/install_size.py core all   these alone

Needs an index of packages, and a pip that knows ``--python`` (22.3).
"""

import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]


def main(names: list[str]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    print(f"{'':14}{'packages':>10}{'MB':>8}", flush=True)
    for name in names or ["core", *extras]:
        with TemporaryDirectory() as folder:
            packages, size = installed(Path(folder), "" if name == "core" else f"[{name}]")
        print(f"{name:14}{packages:>10}{size / 1e6:>8.0f}", flush=True)


def installed(folder: Path, extra: str) -> tuple[int, int]:
    """Packages and bytes in an environment that holds nothing else."""
    venv.create(folder, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "-qq"]
    subprocess.run([*pip, f"{ROOT}{extra}"], check=True)
    (site,) = (folder / "lib").glob("python*/site-packages")
    return len(list(site.glob("*.dist-info"))), sum(path.stat().st_size for path in site.rglob("*") if path.is_file())


if __name__ == "__main__":
    main(sys.argv[1:])
