"""Every figure draws, alone and to files, without warnings and with the same bytes each time."""

import shutil
from pathlib import Path

import matplotlib
import pytest

from halfmask.commands.report import report
from halfmask.figures.registry import all_drawn, drawings
from halfmask.figures.results_folder import read_inputs
from halfmask.figures.style import COLUMNS, FORMATS, INK, inline_svgs, mechanism_looks, save
from tests.pages.studies import FIGURES
from tests.refusals import refused


@pytest.fixture(scope="session")
def drawn(made: Path) -> dict[str, object]:
    return {drawing.name: drawing for drawing in drawings(read_inputs(made))}


def test_a_whole_folder_has_every_figure(drawn: dict) -> None:
    assert set(drawn) == set(FIGURES)
    assert all(drawing.title and drawing.caption.endswith(".") for drawing in drawn.values())


@pytest.mark.parametrize("name", FIGURES)
def test_a_panel_has_data_and_labels_and_nothing_leaves_its_cell(name: str, drawn: dict) -> None:
    figure = drawn[name].draw()
    columns = min(len(figure.axes), COLUMNS)
    rows = -(-len(figure.axes) // columns)
    width, height = figure.bbox.width / columns, figure.bbox.height / rows
    for place, axes in enumerate(figure.axes):
        assert axes.has_data()
        assert axes.get_ylabel()
        box, left, bottom = axes.get_tightbbox(), width * (place % columns), height * (rows - 1 - place // columns)
        assert left <= box.x0 < box.x1 <= left + width
        assert bottom <= box.y0 < box.y1 <= bottom + height


def test_a_label_that_leaves_its_cell_would_be_noticed(drawn: dict) -> None:
    figure = drawn["readings"].draw()
    figure.axes[0].yaxis.set_major_formatter("{x:060.3f}")
    assert figure.axes[0].get_tightbbox().x0 < 0


def test_drawing_leaves_the_callers_settings_alone(drawn: dict) -> None:
    with matplotlib.rc_context({"font.size": 31, "axes.edgecolor": "#ff00ff"}):
        before = dict(matplotlib.rcParams)
        loud = list(inline_svgs(drawn["noise"].draw(), "noise"))
        assert dict(matplotlib.rcParams) == before
    assert loud == list(inline_svgs(drawn["noise"].draw(), "noise"))
    assert "#ff00ff" not in "".join(loud)


def test_an_inline_figure_is_safe_in_a_page(drawn: dict) -> None:
    panels = list(inline_svgs(drawn["algorithm"].draw(), "one"))
    assert len(panels) == 4
    assert all(panel.startswith("<svg") and panel.endswith("</svg>") for panel in panels)
    text = "".join(panels)
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
    all_drawn(drawings(read_inputs(folder)), folder / "figures", ("pdf",))
    written = list((folder / "figures").iterdir())
    assert {path.name for path in written} == {f"{name}.pdf" for name in FIGURES}
    assert all(path.read_bytes().startswith(b"%PDF") for path in written)


def test_a_figure_is_drawn_as_the_same_bytes_in_every_format(made: Path, tmp_path: Path) -> None:
    heads = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    some = [each for each in drawings(read_inputs(made)) if each.name in ("users", "noise")]
    folders = [tmp_path / name for name in ("one", "other")]
    assert all_drawn(some, folders[0], FORMATS) == all_drawn(some, folders[1], FORMATS)
    runs = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders]
    assert runs[0] == runs[1]
    assert len(set(runs[0].values())) == 6
    assert all(content.startswith(heads[Path(name).suffix]) for name, content in runs[0].items())


@pytest.mark.parametrize("kind", ["jpg", "PNG", ""])
def test_an_unknown_format_is_refused_before_anything_is_written(kind: str, made: Path) -> None:
    with refused("option.format"):
        report(made, ("png", kind))
    assert not (made / "figures").exists()


def test_a_file_name_that_says_no_known_kind_is_refused(drawn: dict, tmp_path: Path) -> None:
    with refused("option.format"):
        save(drawn["noise"].draw(), tmp_path / "figure.gif")
    assert list(tmp_path.iterdir()) == []


def test_mechanisms_keep_their_colour_whoever_else_is_there() -> None:
    alone, among = mechanism_looks(["sine"]), mechanism_looks(["gaussian", "laplace", "sine"])
    assert alone["sine"] == among["sine"]
    assert len({style["color"] for style in among.values()}) == 3
