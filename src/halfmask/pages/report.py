"""The report: one HTML file that opens offline, and says what was found, how, and what the results do not say."""

from collections.abc import Sequence
from pathlib import Path

from halfmask import __version__
from halfmask.figures.registry import DrawnFigure, all_drawn, by_place, check_formats, drawings
from halfmask.figures.results_folder import ResultsFolder, Speller, by_name, read_parts
from halfmask.files import whole_file
from halfmask.pages.cover import cover, title_line
from halfmask.pages.first_section import offer_section
from halfmask.pages.learned_by_attacks import learned
from halfmask.pages.method_section import limits_section, method_section, noise_cancels, quality_section, repeat_section
from halfmask.pages.page_parts import Markup, Section, drawn_figure, joined_markup, macro, page_file, paragraph, render
from halfmask.pages.pay_section import pay_section
from halfmask.pages.protection_section import audit_section
from halfmask.pages.sharing_section import sharing_section
from halfmask.pages.summary_section import TITLES, left_out, menu_section, summary_section

KIND = "Privacy and utility report"
APPENDIX = "appendix"
ABOUT_APPENDIX = (
    "What follows is for whoever checks the result: the paper's menu and its scores, audits of every setting, the "
    "data and the method."
)
NOT_OFFERED = " Settings called paper A and so on are not offered."


def report(folder: str | Path, formats: Sequence[str] = (), spell: Speller = by_name, title: str = "") -> Path:
    """Write ``folder/report.html`` from the results in the folder, and return its path.

    If a section's files are missing, the page has the command that makes them instead; ``spell`` writes that command.
    ``formats`` also draws the figures to ``folder/figures``. The title is the name of the data by default. Equal inputs
    give equal bytes, because the page is undated.
    """
    check_formats(formats)
    folder = Path(folder)
    inputs = read_parts(folder, spell)
    drawn = all_drawn(drawings(inputs), folder / "figures", formats)
    inputs = inputs.whole
    target = inputs.folder / "report.html"
    page = page_of(inputs, drawn, title)
    with whole_file(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def page_of(inputs: ResultsFolder, drawn: Sequence[DrawnFigure], title: str = "") -> str:
    """Return the page as text. Its policy forbids the browser to fetch anything."""
    shown = _numbered(drawn)
    first, last = _first(inputs, shown), _appendix(inputs, shown)
    about = paragraph(ABOUT_APPENDIX + (NOT_OFFERED if inputs.offer else ""))
    contents = Section(APPENDIX, "Appendix", joined_markup([about, macro("contents", [*map(vars, last)])]))
    return render(
        "report.html",
        name=title or inputs.name,
        kind=KIND,
        what=title_line(inputs),
        titles={each.id: each.title for each in (*first, contents)},
        sections=[*first, contents, *last],
        style=page_file("page.css"),
        policy="default-src 'none'; style-src 'unsafe-inline'; img-src data:",
        foot=f"Made with halfmask {__version__}.",
    )


def _first(inputs: ResultsFolder, shown: dict[str, list[Markup]]) -> list[Section]:
    """Return the cover, the offer, what it protects, and what came of it."""
    pay = [Section("pay", TITLES["pay"], joined_markup([pay_section(inputs), *shown["pay"]]))]
    protects = []
    if inputs.offer:
        missing = Markup('<p class="note">The attacks on the offer are run by <code>{}</code></p>')
        audited = "" if inputs.offer_card else missing.format(inputs.command("offer_card"))
        body = [learned(inputs.offer, inputs.offer_card), audited, *shown["offer"]]
        protects.append(Section("protects", "What it protects", joined_markup(body)))
    return [
        Section("cover", "At a glance", cover(inputs, shown["cover"])),
        Section("offer", "The offer", offer_section(inputs)),
        *protects,
        *([Section("sharing", "A live sharing", sharing_section(inputs.shared, inputs.unit))] if inputs.shared else []),
        *(pay if inputs.schedule or inputs.days else []),
    ]


def _appendix(inputs: ResultsFolder, shown: dict[str, list[Markup]]) -> list[Section]:
    """Return the paper's menu, the audits, the data and the method."""
    cancels = noise_cancels(inputs.samples) if inputs.samples and inputs.samples.sized else ""
    menu = [left_out(inputs, "menu"), menu_section(inputs), *shown["menu"]]
    data = [left_out(inputs, "profile"), quality_section(inputs), *shown["data"]]
    return [
        Section("summary", "The study in short", summary_section(inputs)),
        Section("menu", "The paper's menu", joined_markup(menu)),
        _section("costs", inputs, "study", [paragraph(cancels) if cancels else "", *shown["costs"]]),
        _section("mixes", inputs, "mix", shown["mixes"]),
        _section("audit", inputs, "card", [audit_section(inputs, shown["protection"])]),
        Section("data", "Quality of the data", joined_markup(data)),
        Section("method", "Method and parameters", method_section(inputs)),
        Section("limits", "What the score does not say", limits_section()),
        Section("repeat", TITLES["repeat"], repeat_section(inputs)),
    ]


def _section(id: str, inputs: ResultsFolder, part: str, body: Sequence[str]) -> Section:
    """Return a section of the appendix; if the folder lacks its part, it says so."""
    return Section(id, TITLES[id], joined_markup([left_out(inputs, part), *body]))


def _numbered(drawn: Sequence[DrawnFigure]) -> dict[str, list[Markup]]:
    """Return the figures of each section; their numbers run through the whole page."""
    found = {each.name: each for each in drawn}
    places = by_place(list(found))
    return {place: [drawn_figure(found[name], number) for number, name in shown] for place, shown in places.items()}
