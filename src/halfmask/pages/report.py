"""The report: one HTML file that opens offline, and says what was found, how, and what the results do not say."""

from collections.abc import Sequence
from pathlib import Path

from halfmask import __version__
from halfmask.figures.registry import DrawnFigure, all_drawn, by_place, check_formats, drawings
from halfmask.figures.results_folder import ResultsFolder, Speller, by_name, read_parts
from halfmask.files import whole_file
from halfmask.pages.first_section import offer_section
from halfmask.pages.method_section import limits_section, method_section, noise_cancels, quality_section, repeat_section
from halfmask.pages.page_parts import Markup, Section, drawn_figure, joined_markup, page_file, paragraph, render
from halfmask.pages.pay_section import pay_section
from halfmask.pages.protection_section import protection_section
from halfmask.pages.sharing_section import sharing_section
from halfmask.pages.summary_section import TITLES, left_out, menu_section, summary_section, what

KIND = "Privacy and utility report"


def report(folder: str | Path, formats: Sequence[str] = (), spell: Speller = by_name) -> Path:
    """Write ``folder/report.html`` from the results in the folder, and return its path.

    If a section's files are missing, the page has the command that makes them instead; ``spell`` writes that command.
    ``formats`` also draws the figures to ``folder/figures``. Equal inputs give equal bytes, because the page has no
    date.
    """
    check_formats(formats)
    folder = Path(folder)
    inputs = read_parts(folder, spell)
    drawn = all_drawn(drawings(inputs), folder / "figures", formats)
    inputs = inputs.whole
    target = inputs.folder / "report.html"
    page = page_of(inputs, drawn)
    with whole_file(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def page_of(inputs: ResultsFolder, drawn: Sequence[DrawnFigure]) -> str:
    """Return the page as text. Its policy forbids the browser to fetch anything."""
    shown = _numbered(drawn)
    cancels = noise_cancels(inputs.samples) if inputs.samples and inputs.samples.sized else ""
    pay = [Section("pay", TITLES["pay"], joined_markup([pay_section(inputs), *shown["pay"]]))]
    sections = [
        Section("offer", "The offer", joined_markup([left_out(inputs, "offer"), offer_section(inputs)])),
        Section("summary", "Summary", summary_section(inputs)),
        Section(
            "menu", "The paper's menu", joined_markup([left_out(inputs, "menu"), menu_section(inputs), *shown["menu"]])
        ),
        _section("costs", inputs, "study", [paragraph(cancels) if cancels else "", *shown["costs"]]),
        _section("mixes", inputs, "mix", shown["mixes"]),
        _section("protection", inputs, "card", [protection_section(inputs, shown["protection"])]),
        *([Section("sharing", "A live sharing", sharing_section(inputs.shared, inputs.unit))] if inputs.shared else []),
        *(pay if inputs.schedule or inputs.days else []),
        Section(
            "data",
            "Quality of the data",
            joined_markup([left_out(inputs, "profile"), quality_section(inputs), *shown["data"]]),
        ),
        Section("method", "Method and parameters", method_section(inputs)),
        Section("limits", "What the score does not say", limits_section()),
        Section("repeat", TITLES["repeat"], repeat_section(inputs)),
    ]
    return render(
        "report.html",
        name=inputs.name,
        kind=KIND,
        what=what(inputs),
        titles={each.id: each.title for each in sections},
        sections=sections,
        style=page_file("page.css"),
        policy="default-src 'none'; style-src 'unsafe-inline'; img-src data:",
        foot=f"Made with halfmask {__version__}.",
    )


def _section(id: str, inputs: ResultsFolder, part: str, body: Sequence[str]) -> Section:
    """Return a section that other pages have as well; if the folder lacks its part, it says so."""
    return Section(id, TITLES[id], joined_markup([left_out(inputs, part), *body]))


def _numbered(drawn: Sequence[DrawnFigure]) -> dict[str, list[Markup]]:
    """Return the figures of each section; their numbers run through the whole page."""
    found = {each.name: each for each in drawn}
    places = by_place(list(found))
    return {place: [drawn_figure(found[name], number) for number, name in shown] for place, shown in places.items()}
