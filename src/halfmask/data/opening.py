"""How readings were opened: one value, kept in the profile, so that they open again without naming columns again."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halfmask.data.panel import Panel


@dataclass(frozen=True)
class Opening:
    """What was said of a source when a profile was made of it; None is what was guessed.

    ``source`` is the name of the source without its folders: where it lay is nobody's business. ``duplicates``,
    ``nonfinite``, ``low`` and ``high`` are the policies: what became of readings that are not plainly usable.
    """

    source: str | None = None
    user: str | None = None
    time: str | None = None
    value: str | None = None
    format: str = "auto"
    table: str | None = None
    wide: bool = False
    tz: str | None = None
    date: str | None = None
    sheet: str | None = None
    sql: str | None = None
    decimal: str | None = None
    date_format: str | None = None
    encoding: str | None = None
    skip: int | None = None
    unit: str | None = None
    register: bool | None = None
    duplicates: str = "auto"
    nonfinite: str = "drop"
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> "Opening":
        """From what a profile says of itself; profiles that were merged from differently opened sources say nothing."""
        said = about.get("asked")
        known = {field.name for field in fields(cls)}
        sources = about.get("sources") or [None]
        name = None if sources[0] is None or "://" in sources[0] else sources[0].rstrip("/").rpartition("/")[2]
        plain = {key: value for key, value in said.items() if key in known} if isinstance(said, Mapping) else {}
        return cls(source=name, **plain)

    def panel(self, source: Any, **named: Any) -> "Panel":
        """A source opened in this way, but for what is named."""
        from halfmask.data.sources import open_panel

        policies = ("source", "duplicates", "nonfinite", "low", "high")
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in policies}
        return open_panel(source, **{**own, **named})
