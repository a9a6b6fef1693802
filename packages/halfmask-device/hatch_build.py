"""What is built takes the package from the repository's source folder, or from the source distribution that it is
built from; an editable installation only points there.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKED = "source"
"""The folder of a source distribution that holds package and licence. Under `src` the builder would take it twice."""


class SourceFolder(BuildHookInterface):  # type: ignore[type-arg, misc]
    """Adds the files to what is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        packed, repository = Path(self.root) / PACKED, Path(self.root).parent.parent
        source, licence = (packed, packed) if packed.is_dir() else (repository / "src", repository)
        to = f"{PACKED}/" if self.target_name == "sdist" else ""
        files = {licence / "LICENSE": f"{to}LICENSE" if to else "halfmask_device/LICENSE"}
        for path in (source / "halfmask_device").rglob("*"):
            if path.suffix == ".py" or path.name == "py.typed":
                files[path] = f"{to}{path.relative_to(source)}"
        build_data["force_include"] |= {str(path): name for path, name in files.items()}
