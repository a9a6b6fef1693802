"""The section about a sharing that ran: published totals with their intervals, and the truth."""

import math

from halfmask.figures.simulated_days import SimulatedDays
from halfmask.pages.page_parts import Markup, html_table, joined_markup, paragraph


def sharing_section(days: SimulatedDays, unit: str = "") -> Markup:
    """Return the section with what the service published on each day of sharing.csv."""
    most = max(sum(counts) for counts in zip(*days.producers.values(), strict=True))
    of = f", each reading in {unit}" if unit else ""
    return joined_markup(
        [
            paragraph(
                f"'halfmask simulate' ran the sharing itself, for {len(days.day)} days: up to {most:.0f} devices "
                "masked their readings, and a service added up the reports and published each day's total, with an "
                "interval. "
                f"{days.inside} of {days.published} published intervals hold the true total, which only the simulation "
                "knows; 95 of 100 are meant to. The file is sharing.csv."
            ),
            html_table(
                f"What was published. Totals are sums of all readings of a day{of}; off is in % of the true one.",
                ["Day", "Devices, by level", "True total", "Published", "Interval", "Off", "Holds the truth"],
                [_row(days, place) for place in range(len(days.day))],
                numbers=(2, 3, 4, 5),
            ),
        ]
    )


def _row(days: SimulatedDays, place: int) -> list[str]:
    taken = ", ".join(f"{id} {counts[place]:.0f}" for id, counts in days.producers.items() if counts[place])
    truth, estimate, low, high = (days.totals[name][place] for name in ("truth", "estimate", "low", "high"))
    first = [f"{days.day[place]:.0f}", taken, f"{truth:,.0f}"]
    if math.isnan(estimate):
        return [*first, "withheld", "–", "–", "–"]
    off = "–" if math.isnan(days.off["estimate"][place]) else f"{abs(days.off['estimate'][place]):.1f} %"
    held = "yes" if low <= truth <= high else "no"
    return [*first, f"{estimate:,.0f}", f"{low:,.0f} to {high:,.0f}", off, held]
