"""Where a page shows an offer and the paper's menu, nobody can take a setting of one for a level of the other."""

import re
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from matplotlib.text import Text

from halfmask.audits.audit import audit_menu
from halfmask.commands._repeat import command_of
from halfmask.figures.registry import drawings
from halfmask.figures.results_folder import ResultsFolder, read_inputs
from halfmask.menus.menu import Menu
from halfmask.pages.report import page_of
from halfmask.pages.summary_section import menu_section
from halfmask.profiles.store import load_profile
from tests.audits.cards import few_attacks
from tests.refusals import refused

ROW = re.compile(r'<th scope="row">(.*?)</th>')
LETTER = re.compile(r"(?<![Pp]aper )\b(?:A\b(?! [a-z])|[B-E]\b(?! (?:very|light|medium|heavy)))")
"""A letter that is neither called the paper's nor followed by the name of a level; A is an article, too."""


@pytest.fixture(scope="module")
def inputs(made: Path) -> ResultsFolder:
    return read_inputs(made, command_of)


@pytest.fixture(scope="module")
def audited(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with an audit of its offer."""
    folder = Path(shutil.copytree(made, tmp_path_factory.mktemp("audited") / "homes"))
    offer, profile = Menu.read(folder / "offer.json"), load_profile(folder / "homes.profile")
    with few_attacks():
        few = replace(offer, settings=offer.settings[-2:])  # one level and none are enough to see it
        audit_menu(few, profile, seed=3).write(folder / "offer-card.json")
    few.write(folder / "offer.json")
    return folder


def test_the_papers_settings_have_names_of_their_own_in_tables_and_mixes(inputs: ResultsFolder) -> None:
    assert inputs.menu is not None
    assert inputs.card is not None
    assert inputs.mix is not None
    ids = list(inputs.menu.ids)
    assert ids[-1] == "N"
    assert all(re.fullmatch("paper [A-E]", id) for id in ids[:-1])
    assert [each.id for each in inputs.card.cards] == ids
    assert set(filter(None, inputs.mix.table["dominant"].to_pylist())) <= set(ids)
    assert set(ROW.findall(menu_section(inputs))) == set(ids)


def test_without_an_offer_letters_are_enough(made: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "homes"))
    (folder / "offer.json").unlink()
    alone = read_inputs(folder)
    assert alone.menu is not None
    assert not any(id.startswith("paper") for id in alone.menu.ids)
    assert "paper A" not in page_of(alone, [])


def test_no_figure_has_a_letter_that_could_be_of_either(inputs: ResultsFolder) -> None:
    for drawing in drawings(inputs):
        figure = drawing.draw()
        words = [text.get_text() for axes in figure.axes for text in axes.findobj(Text)]
        assert [each for each in words if LETTER.search(each.replace("\n", " "))] == [], drawing.name
        assert LETTER.findall(drawing.caption) == [], drawing.name


def test_a_bare_letter_would_be_noticed() -> None:
    assert LETTER.search("the utility of C goes")
    assert not LETTER.search("paper C, Paper D, A light blur, B very light blur")


def test_an_offer_that_was_not_audited_is_said_to_be_so(inputs: ResultsFolder) -> None:
    page = unescape(page_of(inputs, []))
    told = page.partition('<section id="audit"')[2].partition('<section id="data"')[0]
    assert "Setting by setting: the paper's menu" in told
    assert "Setting by setting: the offer" not in told
    missing = page.partition('<section id="protects"')[2].partition("</section>")[0]
    assert "halfmask audit homes/offer.json" in missing
    assert "-o homes/offer-card.json" in missing


def test_the_levels_that_are_signed_are_attacked_too(audited: Path) -> None:
    found = read_inputs(audited, command_of)
    told = unescape(page_of(found, [])).partition('<section id="audit"')[2].partition('<section id="data"')[0]
    assert found.offer_card is not None
    first, second = told.index("Setting by setting: the offer"), told.index("Setting by setting: the paper's menu")
    for each in found.offer_card.cards:
        assert each.sentence in told[first:second]
        assert f"<h4>{each.id} {found.offer[each.id].name}: {each.setting}</h4>" in told  # type: ignore[index]
    assert "Table 3. The offer." in told
    assert "Table 4. The paper's menu, in the columns of Table 3." in told
    assert "halfmask audit homes/offer.json" in found.command("offer_card")


def test_warnings_are_marked_as_such(audited: Path) -> None:
    found = read_inputs(audited)
    assert found.card is not None
    warnings = [each for card in found.card.cards for each in card.warnings]
    assert warnings
    page = unescape(page_of(found, []))
    assert all(f"<li><strong>!</strong> {each}</li>" in page for each in warnings)


def test_an_audit_of_another_offer_is_refused(audited: Path, made: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(audited, tmp_path / "homes"))
    shutil.copy(made / "offer.json", folder / "offer.json")
    with refused("option.settings"):
        read_inputs(folder)
