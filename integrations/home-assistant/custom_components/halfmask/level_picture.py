"""The levels of a campaign for the person who chooses: words, and a picture of what others would see."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from halfmask_device.consent import level_words
from halfmask_device.decimals import money
from halfmask_device.level_epsilon import CampaignLevel, month_reward
from halfmask_device.protocol import CampaignTerms
from halfmask_device.setting import law_of

OFTEN = 0.95
"""A report lies this often within ``reach`` of what was measured."""
WIDTH, ROW, LEFT, AXIS = 480, 34, 90, 22


@dataclass(frozen=True)
class ShownLevel:
    """A level of a campaign's menu as it is shown.

    ``reach``    19 of 20 reports lie within this of the truth, in the campaign's unit; 0 without a mask
    ``promise``  epsilon of a whole day's reports, in words
    ``month``    the most that a month of reports earns; empty if that is nothing or not known
    """

    id: str
    name: str
    setting: str
    reach: float
    promise: str
    month: str

    def label(self, unit: str, month: str) -> str:
        """Return the level in one line; ``month`` is the words for its money of a month."""
        seen = f"±{self.reach:.3g} {unit}" if self.reach else f"±0 {unit}"
        earned = month.format(money=self.month) if self.month else ""
        return " · ".join(part for part in (f"{self.id} {self.name}".strip(), seen, self.promise, earned) if part)


def shown_levels(terms: CampaignTerms) -> list[ShownLevel]:
    """Return the levels of a campaign in the order of its menu."""
    offer, found = terms.offer, []
    names = {each["id"]: each.get("name") for each in offer["menu"]["settings"]}
    for id, setting in terms.menu.items():
        level = CampaignLevel.of(terms, id)
        most = month_reward(terms, id)
        month = money(most, str(offer.get("currency", ""))) if most else ""
        name = names[id] if isinstance(names[id], str) else ""
        found.append(ShownLevel(id, name, setting, _reach(terms, setting), level_words([level], None, "day"), month))
    return found


def _reach(terms: CampaignTerms, setting: str) -> float:
    """Return the distance that a report's noise exceeds in one case of 20."""
    law = law_of(setting, terms.lattice.step)
    return law.furthest((1 - OFTEN) / 2) * float(terms.lattice.step)


def picture(levels: Sequence[ShownLevel], terms: CampaignTerms) -> str:
    """Return an SVG with a band for each level: where the report of a value in the middle of the range may lie."""
    low, high = float(terms.lattice.low), float(terms.lattice.high)
    middle, span = (low + high) / 2, high - low
    widest = max([span / 2, *(each.reach for each in levels)])
    scale = (WIDTH - LEFT - 16) / (2 * widest)
    centre = LEFT + widest * scale
    parts = []
    for number, each in enumerate(levels):
        y, half = AXIS + number * ROW, each.reach * scale
        parts.append(
            f'<text x="4" y="{y + 17}">{escape(f"{each.id} {each.name}"[:13].strip())}</text>'
            f'<rect x="{centre - max(half, 1):.1f}" y="{y + 4}" width="{2 * max(half, 1):.1f}" height="18" rx="3" '
            'fill="#3b82c4" fill-opacity="0.75"/>'
        )
    end = AXIS + len(levels) * ROW
    marks = "".join(
        f'<text x="{centre + (at - middle) * scale:.1f}" y="14" text-anchor="middle">{at:g}</text>'
        for at in (low, middle, high)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {end + 20}" width="{WIDTH}" height="{end + 20}" '
        'font-family="sans-serif" font-size="12" fill="#777">'
        f'{marks}<path d="M{centre:.1f} {AXIS}V{end}" stroke="#777" stroke-width="2"/>{"".join(parts)}'
        f'<text x="{centre:.1f}" y="{end + 14}" text-anchor="middle">{escape(terms.unit)}</text></svg>'
    )


def inline(svg: str) -> str:
    """Return the picture as Markdown that holds it."""
    return f"![]({'data:image/svg+xml;base64,' + b64encode(svg.encode()).decode()})"
