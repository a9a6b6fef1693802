"""The report: one HTML file that opens anywhere, offline, and says what was found, how, and what it does not say."""

from collections.abc import Sequence
from pathlib import Path

from halfmask import __version__
from halfmask.figures.figures import check_formats, write_figures
from halfmask.figures.inputs import Inputs, Speller, by_name, read_inputs
from halfmask.figures.registry import Drawing, by_place, drawings
from halfmask.files import whole_file
from halfmask.pages.card import protection_table, protection_words
from halfmask.pages.first_page import offer_section
from halfmask.pages.method import limits_section, method_section, noise_cancels, quality_section, repeat_section
from halfmask.pages.page import Markup, Section, document, element, figure, joined, paragraph
from halfmask.pages.pay import pay_section
from halfmask.pages.summary import menu_section, summary
from halfmask.profiles.quality import quality

KIND = "Privacy and utility report"
NAMES = {
    "profile": "a profile",
    "study": "a study",
    "menu": "a menu",
    "offer": "an offer",
    "mix": "mixes",
    "card": "a card",
}


def report(folder: str | Path, formats: Sequence[str] = (), spell: Speller = by_name) -> Path:
    """Write ``folder/report.html`` from what the folder holds, and give its path.

    Sections whose files are missing are left out, with the command that makes them, which ``spell`` puts into words.
    ``formats`` also draws the figures to ``folder/figures``. Equal inputs give equal bytes: the page carries no date.
    """
    check_formats(formats)
    inputs = read_inputs(folder, spell)
    drawn = list(drawings(inputs))
    if formats:
        write_figures(inputs, drawn, formats)
    target = inputs.folder / "report.html"
    page = page_of(inputs, drawn)
    with whole_file(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def page_of(inputs: Inputs, drawn: Sequence[Drawing]) -> str:
    """The page as text."""
    shown = _numbered(drawn)
    cancels = noise_cancels(inputs.samples) if inputs.samples and inputs.samples.sized else ""
    sections = [
        Section("offer", "The offer", joined([_absent(inputs, "offer"), offer_section(inputs)])),
        Section("summary", "Summary", summary(inputs)),
        Section("menu", "The paper's menu", joined([_absent(inputs, "menu"), menu_section(inputs), *shown["menu"]])),
        Section(
            "costs",
            "What privacy costs",
            joined([_absent(inputs, "study"), paragraph(cancels) if cancels else "", *shown["costs"]]),
        ),
        Section("mixes", "Free choice", joined([_absent(inputs, "mix"), *shown["mixes"]])),
        Section(
            "protection",
            "What it really protects",
            joined(
                [
                    _absent(inputs, "card"),
                    protection_table(inputs.card, inputs.unit),
                    *shown["protection"],
                    protection_words(inputs.card),
                ]
            ),
        ),
        *(
            [Section("pay", "What to pay", joined([pay_section(inputs.schedule), *shown["pay"]]))]
            if inputs.schedule or inputs.days
            else []
        ),
        Section(
            "data",
            "Quality of the data",
            joined([_absent(inputs, "profile"), quality_section(inputs), *shown["data"]]),
        ),
        Section("method", "Method and parameters", method_section(inputs)),
        Section("limits", "What the score does not say", limits_section()),
        Section("repeat", "How to repeat it", repeat_section(inputs)),
    ]
    return document(inputs.name, KIND, _what(inputs), sections, f"Made with halfmask {__version__}.")


def _numbered(drawn: Sequence[Drawing]) -> dict[str, list[Markup]]:
    """Each section's figures, numbered through the page."""
    found = {drawing.name: drawing for drawing in drawn}
    places = by_place(list(found))
    return {place: [figure(found[name], number) for number, name in shown] for place, shown in places.items()}


def _absent(inputs: Inputs, part: str) -> str:
    """The line that stands for what is missing, with the command that makes it."""
    if inputs.holds(part):
        return ""
    made = element("code", inputs.command(part))
    return paragraph(Markup(f"Left out: the folder holds no {NAMES[part].split()[-1]}. {made} makes it."), "absent")


def _what(inputs: Inputs) -> str:
    if not inputs.profile or not inputs.profile.readings:
        return "What users show of their readings under each setting, and what totals of them are worth."
    found = quality(inputs.profile)
    return (
        f"{found['users']:,} users, {found['readings']:,} readings, {found['first'][:10]} to {found['last'][:10]}: "
        "what users show under each setting, and what totals are worth."
    )
