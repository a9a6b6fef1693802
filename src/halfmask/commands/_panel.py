"""Readings that a command goes back to, opened as the profile's were."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halfmask.data.panel import Panel
    from halfmask.profiles.profile import Profile


def reopen(source: Any, profile: "Profile", named: Mapping[str, Any] | None = None, **engine: Any) -> "Panel":
    """A source of readings opened as those of the profile were, but for what is named."""
    from halfmask.data.options import Opening

    return Opening.of(profile.about).panel(source, **(named or {}), **engine)
