"""What the pages of a folder have in common: how they open, what their sections are called, and what is left out."""

from halfmask.figures.results_folder import ResultsFolder
from halfmask.figures.wording import share_text
from halfmask.menus.menu_table import InWords
from halfmask.pages.page_parts import Markup, absent
from halfmask.profiles.quality import quality

TITLES = {
    "costs": "What privacy costs",
    "mixes": "Free choice",
    "protection": "What it really protects",
    "pay": "What to pay",
    "repeat": "How to repeat it",
}
"""Sections that more than one page has."""
NAMES = {"mix": "mixes"}
"""Parts that are called otherwise in a sentence."""


def what(inputs: ResultsFolder) -> str:
    """Return the line under the title: whose readings, and what the page says of them."""
    if not inputs.profile or not inputs.profile.readings:
        return "What users show of their readings under each setting, and what totals of them are worth."
    found = quality(inputs.profile)
    tried = f" {len(inputs.samples.settings):,} settings were tried." if inputs.samples else ""
    return (
        f"{found['users']:,} users, {found['readings']:,} readings, {found['first'][:10]} to {found['last'][:10]}: "
        f"what users show under each setting, and what totals are worth.{tried}"
    )


def left_out(inputs: ResultsFolder, part: str) -> Markup:
    """Return the line for a part that the folder lacks; nothing if it is there."""
    return Markup("") if inputs.holds(part) else absent(NAMES.get(part, part), inputs.command(part))


def shown_as(words: InWords) -> str:
    """What a typical reading shows as, with a true minus."""
    if words.low is None or words.high is None:
        return "masked by a rule without a noise law"
    ends = words.range()
    return "as it is" if ends is None else " to ".join(ends).replace("-", "−")


def errors_of(words: InWords) -> list[str]:
    """Return how far totals are off, by crowd, as a table has it."""
    return ["–" if error is None else share_text(error).replace("less than", "<") for error in words.errors.values()]
