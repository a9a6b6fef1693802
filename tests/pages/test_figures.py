"""Every figure draws, alone and to files, without warnings and with the same bytes each time."""

import shutil
from dataclasses import replace
from pathlib import Path

import matplotlib
import pytest

from halfmask.commands.report import report
from halfmask.errors import OptionError
from halfmask.figures.figures import write_figures
from halfmask.figures.inputs import read_inputs
from halfmask.figures.registry import drawings
from halfmask.figures.style import FORMATS, INK, inline_svg, looks, save
from tests.pages.studies import FIGURES


@pytest.fixture(scope="session")
def drawn(made: Path) -> dict[str, object]:
    return {drawing.name: drawing for drawing in drawings(read_inputs(made))}


def test_a_whole_folder_has_every_figure(drawn: dict) -> None:
    assert tuple(drawn) == FIGURES
    assert all(drawing.title and drawing.caption.endswith(".") for drawing in drawn.values())


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_draws_wide_and_narrow(name: str, drawn: dict) -> None:
    wide, narrow = drawn[name].draw(2), drawn[name].draw(1)
    assert narrow.get_figwidth() < wide.get_figwidth()
    panels = [axis for axis in wide.axes if axis.get_label() != "<colorbar>"]
    assert all(axis.has_data() for axis in panels)
    assert any(axis.get_xlabel() for axis in panels)
    assert any(axis.get_ylabel() for axis in panels)


def test_drawing_leaves_the_callers_settings_alone(drawn: dict) -> None:
    with matplotlib.rc_context({"font.size": 31, "axes.edgecolor": "#ff00ff"}):
        before = dict(matplotlib.rcParams)
        loud = inline_svg(drawn["noise"].draw(2), "noise", "label")
        assert dict(matplotlib.rcParams) == before
    assert loud == inline_svg(drawn["noise"].draw(2), "noise", "label")
    assert "#ff00ff" not in loud


def test_an_inline_figure_is_safe_in_a_page(drawn: dict) -> None:
    text = inline_svg(drawn["algorithm"].draw(2), "one", "what it shows")
    assert text.startswith('<svg role="img" aria-label="what it shows"')
    assert "http" not in text
    assert INK not in text
    assert "currentColor" in text
    assert "<style" not in text
    assert 'id="one-' in text
    assert text.count('id="') == text.count('id="one-')
    assert text.count("url(#") == text.count("url(#one-")


@pytest.mark.slow  # the report's own figures are saved in `reported`
def test_every_figure_is_saved(made: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "demo"))
    inputs = read_inputs(folder)
    written = write_figures(inputs, list(drawings(inputs)), ("pdf",))
    assert {path.relative_to(folder).as_posix() for path in written} == {f"figures/{name}.pdf" for name in FIGURES}
    assert all(path.read_bytes().startswith(b"%PDF") for path in written)


def test_saved_figures_have_the_same_bytes_each_time(made: Path, tmp_path: Path) -> None:
    heads = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    runs = []
    for run in ("one", "two"):
        inputs = replace(read_inputs(made), folder=tmp_path / run)
        inputs.folder.mkdir()
        few = [drawing for drawing in drawings(inputs) if drawing.name in ("users", "noise")]
        runs.append({path.name: path.read_bytes() for path in write_figures(inputs, few, FORMATS)})
    assert runs[0] == runs[1]
    assert len(set(runs[0].values())) == 6
    assert all(content.startswith(heads[Path(name).suffix]) for name, content in runs[0].items())


@pytest.mark.parametrize("kind", ["jpg", "PNG", ""])
def test_an_unknown_format_is_refused_before_anything_is_written(kind: str, made: Path) -> None:
    with pytest.raises(OptionError, match="png, svg, pdf"):
        report(made, ("png", kind))
    assert not (made / "figures").exists()


def test_a_file_name_that_says_no_known_kind_is_refused(drawn: dict, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="figures are drawn as"):
        save(drawn["noise"].draw(2), tmp_path / "figure.gif")
    assert list(tmp_path.iterdir()) == []


def test_mechanisms_keep_their_colour_whoever_else_is_there() -> None:
    alone, among = looks(["sine"]), looks(["gaussian", "laplace", "sine"])
    assert alone["sine"] == among["sine"]
    assert len({style["color"] for style in among.values()}) == 3
