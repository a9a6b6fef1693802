"""A wheel takes the package from the repository's source folder; an editable installation only points there."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SourceFolder(BuildHookInterface):  # type: ignore[type-arg, misc]
    """Adds the files to what is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root).parent.parent
        if version != "editable":
            build_data["force_include"][str(root / "src" / "halfmask_device")] = "halfmask_device"
            build_data["force_include"][str(root / "LICENSE")] = "halfmask_device/LICENSE"
