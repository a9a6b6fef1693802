"""Diagnostics that one can hand to somebody else: no reading, no report, no token, and not who the producer is."""

from typing import Any

from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import HomeAssistant

from halfmask_device.instants import at

from .coordinator import HalfmaskEntry
from .statistics_readings import ReadingPlan


async def async_get_config_entry_diagnostics(_hass: HomeAssistant, entry: HalfmaskEntry) -> dict[str, Any]:
    """Return the state of the sharing."""
    if entry.state is not ConfigEntryState.LOADED:
        return {"entry": dict(entry.data), "state": entry.state.value}
    coordinator = entry.runtime_data
    standing = coordinator.data
    member, history = standing.member, standing.history
    plan = ReadingPlan.of(member.terms)
    return {
        "entry": dict(entry.data),
        "terms": member.terms.terms() | {"pinned": member.pinned},
        "level": member.setting,
        "left": member.left,
        "statistics": {"rows": plan.rows, "minutes": plan.minutes},
        "reports": {
            "last": None if history.last is None else at(history.last).isoformat(),
            "accepted": history.accepted,
            "waiting": history.waiting,
        },
        "readings_kept_for_totals": standing.gathered,
        "budget": list(standing.budget_words),
        "problem": standing.problem[0],
        "next_attempt_in": None if coordinator.update_interval is None else str(coordinator.update_interval),
    }
