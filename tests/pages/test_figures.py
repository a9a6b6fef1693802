"""Every figure draws, alone and to files, without warnings and with the same bytes each time."""

import os
import shutil
from contextlib import ExitStack
from pathlib import Path

import matplotlib
import pytest

from halfmask.commands.report import report
from halfmask.figures.drawing_process import DrawingProcess
from halfmask.figures.drawn_figures import DrawnFigure, Files, all_drawn
from halfmask.figures.registry import drawings
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
    all_drawn(drawings(read_inputs(folder)), Files(folder / "figures", ("pdf",)))
    written = list((folder / "figures").iterdir())
    assert {path.name for path in written} == {f"{name}.pdf" for name in FIGURES}
    assert all(path.read_bytes().startswith(b"%PDF") for path in written)


def some_drawn(made: Path, files: Files, second: DrawingProcess | None) -> list[DrawnFigure]:
    return all_drawn([each for each in drawings(read_inputs(made)) if each.name in ("users", "noise")], files, second)


def test_both_processes_draw_the_same_bytes(made: Path, tmp_path: Path) -> None:
    heads = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    alone, two = (Files(tmp_path / name, FORMATS) for name in ("alone", "two"))
    with DrawingProcess() as second:
        assert some_drawn(made, alone, None) == some_drawn(made, two, second)
        assert second.call(os.getpid) != os.getpid()
    runs = [{path.name: path.read_bytes() for path in each.folder.iterdir()} for each in (alone, two)]
    assert runs[0] == runs[1]
    assert len(set(runs[0].values())) == 6
    assert all(content.startswith(heads[Path(name).suffix]) for name, content in runs[0].items())


def test_what_the_second_process_cannot_draw_is_drawn_here(made: Path) -> None:
    with DrawingProcess() as second:
        with pytest.raises(EOFError):
            second.call(os._exit, 1)
        assert [each.name for each in some_drawn(made, Files(), second)] == ["users", "noise"]


def test_the_second_process_ends_with_the_first(tmp_path: Path) -> None:
    stack = ExitStack()
    number = stack.enter_context(DrawingProcess()).call(os.getpid)
    with refused("source.missing"), stack:
        report(tmp_path / "nowhere")
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


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
