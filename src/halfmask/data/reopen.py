"""Open the readings of a profile again, in the way in which they were opened for it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from halfmask.data.open_panel import open_panel
from halfmask.data.options import ReadOptions
from halfmask.data.panel import Panel


@dataclass(frozen=True)
class Opening(ReadOptions):
    """How the readings of a profile were opened.

    ``source`` is the name of the source without its folders, which are nobody's business. ``duplicates``,
    ``nonfinite``, ``low`` and ``high`` are the policies for readings that are not plainly usable.
    """

    source: str | None = None
    duplicates: str = "auto"
    nonfinite: str = "drop"
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> Self:
        """Return what a profile says of itself; a profile merged from differently opened sources says nothing."""
        said = about.get("asked")
        known = {field.name for field in fields(cls)}
        sources = about.get("sources") or [None]
        name = None if sources[0] is None or "://" in sources[0] else sources[0].rstrip("/").rpartition("/")[2]
        plain = {key: value for key, value in said.items() if key in known} if isinstance(said, Mapping) else {}
        return cls(source=name, **plain)

    def panel(self, source: Any, **named: Any) -> Panel:
        """Open a source in this way, except for the options that are named."""
        own = {each.name: getattr(self, each.name) for each in fields(ReadOptions)}
        return open_panel(source, **{**own, **named})
