"""The commands as Python functions: each takes and returns objects, and writes a file where told to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from halfmask.data.sources import open_panel
from halfmask.data.synth import synth
from halfmask.errors import OptionError
from halfmask.profiles.build import DEFAULT_BUCKETS, Duplicates, NonFinite, Policies, build_profile
from halfmask.profiles.profile import Profile
from halfmask.profiles.store import load_profile, save_profile

__all__ = ["load_profile", "profile", "save_profile", "synth"]


def profile(
    source: Any,
    output: str | Path | None = None,
    *,
    user: str | None = None,
    time: str | None = None,
    value: str | None = None,
    period: str = "day",
    tz: str | None = None,
    format: str = "auto",
    table: str | None = None,
    wide: bool = False,
    duplicates: Duplicates = "first",
    nonfinite: NonFinite = "drop",
    low: float = float("-inf"),
    high: float = float("inf"),
    buckets: int = DEFAULT_BUCKETS,
    engine: Literal["duckdb", "spark"] = "duckdb",
    master: str | None = None,
    advance: Callable[[int], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Profile:
    """Readings to a profile, in one pass.

    ``source`` is a path, glob, folder, database or any frame that Narwhals takes; columns are guessed where not
    named. ``tell`` hears what was guessed, ``advance`` how many rows were read. See `Policies` for the rest.
    """
    if output is not None and not Path(output).absolute().parent.is_dir():
        raise OptionError(f"there is no folder {Path(output).parent} to write {output} in: make it first")
    panel = open_panel(
        source,
        user=user,
        time=time,
        value=value,
        format=format,
        table=table,
        wide=wide,
        tz=tz,
        engine=engine,
        master=master,
    )
    if tell:
        for note in panel.notes:
            tell(note)
    policies = Policies(duplicates, nonfinite, low, high)
    result = build_profile(panel, period=period, policies=policies, buckets=buckets, advance=advance)
    if output is not None:
        save_profile(result, output)
    return result
