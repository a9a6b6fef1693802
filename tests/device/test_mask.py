"""``halfmask mask``: from pipe to pipe, terms remembered, nothing raw anywhere but in the input."""

import io
import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from halfmask.errors import InputError
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.scores import Weights
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, MenuSetting, Score, none_setting
from halfmask_device import Asked, Lattice, Producer, agree, mask_csv
from tests.commands.program import PROGRAM, piped

HEADER = "meter,time,kwh,note\n"
ROWS = HEADER + 'a,2026-01-01 00:00,0.512,\na,2026-01-01 00:30,,"two, words"\na,2026-01-01 01:00,12,é\n'
FIRST = ("--setting", "laplace:0.5", "--low", "0", "--high", "10", "--value", "kwh")
MENU = {
    "settings": [
        {"id": "A", "setting": "sine:0.3,0.3"},
        {"id": "C", "setting": "laplace:0.25"},
        {"id": "N", "setting": "none"},
    ]
}


def run(folder: Path, *options: str, text: str | bytes = ROWS) -> subprocess.CompletedProcess[bytes]:
    """The command with its state in the folder."""
    given = text if isinstance(text, bytes) else text.encode()
    return piped("mask", "--state", folder / "state", *options, given=given)


def masked(folder: Path, *options: str, text: str | bytes = ROWS) -> str:
    ended = run(folder, *options, text=text)
    assert (ended.returncode, ended.stderr) == (0, b"")
    return ended.stdout.decode()


def refused(folder: Path, *options: str, text: str | bytes = ROWS) -> str:
    """The one line that a refusal is."""
    ended = run(folder, *options, text=text)
    assert ended.returncode == 2, ended.stderr
    (line,) = ended.stderr.decode().splitlines()
    assert line.startswith("halfmask: ")
    return line


def test_columns_stay_and_values_are_masked_on_the_lattice(tmp_path: Path) -> None:
    lines = [line.split(",", 3) for line in masked(tmp_path, *FIRST).splitlines()]
    given = [line.split(",", 3) for line in ROWS.splitlines()]
    assert [[*line[:2], line[3]] for line in lines] == [[*line[:2], line[3]] for line in given]
    values = [line[2] for line in lines[1:]]
    assert values[1] == ""
    assert all(len(value.partition(".")[2]) == 3 for value in (values[0], values[2]))
    assert values[0] != "0.512"


def test_terms_are_remembered_and_a_retry_gives_the_same_file(tmp_path: Path) -> None:
    first = masked(tmp_path, *FIRST)
    assert masked(tmp_path) == first
    assert masked(tmp_path, *FIRST) == first
    assert masked(tmp_path, "--value", "kwh", "--step", "1e-3", "--high", "10.0") == first
    terms = json.loads((tmp_path / "state" / "terms.json").read_text())
    assert {name: terms[name] for name in ("setting", "step", "low", "high")} == {
        "setting": "laplace:0.5", "step": "0.001", "low": "0.000", "high": "10.000",
    }  # fmt: skip


def test_other_terms_are_refused_with_the_way_out_and_changed_when_told(tmp_path: Path) -> None:
    first = masked(tmp_path, *FIRST)
    assert "--change" in refused(tmp_path, "--setting", "laplace:0.6")
    assert "--change" in refused(tmp_path, "--value", "note")
    assert "another --state" in refused(tmp_path, "--step", "0.01")
    assert "another --state" in refused(tmp_path, "--high", "20")
    more = ROWS + "a,2026-01-01 01:30,3,\n"
    changed = run(tmp_path, "--setting", "none", "--change", "--value", "kwh", text=more)
    assert changed.stdout.decode() == first + "a,2026-01-01 01:30,3.000,\n"  # what was reported stays as it was
    assert changed.stderr == b"the setting is none: readings are rounded to the lattice and not masked\n"
    assert run(tmp_path, text=more).stdout == changed.stdout


def test_a_setting_is_chosen_from_the_menu(tmp_path: Path) -> None:
    path = tmp_path / "menu.json"
    path.write_text(json.dumps(MENU))
    options = ("--menu", str(path), "--low", "0", "--high", "10", "--value", "kwh")
    assert "has A, C, N" in refused(tmp_path, "--setting", "B", *options)
    first = masked(tmp_path, "--setting", "C", *options)
    path.unlink()
    assert masked(tmp_path, "--setting", "C", "--value", "kwh") == first
    line = refused(tmp_path, "--setting", "A", "--value", "kwh")
    assert "columns time, kwh by C (laplace:0.25), not columns time, kwh by A (sine:0.3,0.3)" in line
    assert masked(tmp_path, "--setting", "A", "--value", "kwh", "--change") == first


def test_a_menu_as_it_is_written_can_be_drawn(tmp_path: Path) -> None:
    score = Score(0.5, 0.4)
    offered = [
        MenuSetting(id, PrivacySetting.parse(text), (0.0, 0.2), score, score, 1.0, None)
        for id, text in (("A", "sine:0,0.18"), ("B", "laplace:0.123"), ("C", "tabulated:0.1,0.25,0.7,1"))
    ]
    menu = Menu((*offered, none_setting()), dict.fromkeys(METRICS, 1.0), Weights(), {"max_mean": 0.1, "max_std": 0.1})
    menu.write(tmp_path / "menu.json")
    for id in menu.ids:
        terms = agree(tmp_path / id, Asked(setting=id, menu=tmp_path / "menu.json", low="0", high="10"))
        assert terms.setting_text == str(menu[id].setting)
        assert agree(tmp_path / id, Asked()) == terms


def test_first_use_without_a_range_takes_a_wide_one_and_says_so(tmp_path: Path) -> None:
    for number, step in enumerate(("0.001", "0.3")):
        ended = run(tmp_path / str(number), "--setting", "laplace:0.5", "--step", step, "--value", "kwh")
        assert ended.returncode == 0, ended.stderr
        assert b"no range is published" in ended.stderr
        assert len(ended.stdout.splitlines()) == 4
    named = agree(tmp_path / "named", Asked(setting="laplace:0.5", low="0", high="10"))
    assert named.published
    assert not agree(tmp_path / "0" / "state", Asked()).published


def test_an_id_is_looked_up_in_the_menu_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "menu.json").write_text(json.dumps(MENU))
    assert agree(tmp_path / "state", Asked(setting="C")).setting_text == "laplace:0.25"


def test_first_use_needs_a_setting_and_both_ends_of_a_range(tmp_path: Path) -> None:
    def asked(*options: str) -> str:
        return refused(tmp_path, *options)

    assert "--setting" in asked()
    assert "--low and --high" in asked("--setting", "laplace:0.5", "--low", "0")
    assert "--menu" in asked("--setting", "C", "--low", "0", "--high", "1")
    assert "no exact sampler" in asked("--setting", "relative-laplace:1", "--low", "0", "--high", "1")
    assert "lattice's" in asked("--setting", "geometric:1,0.3", "--low", "0", "--high", "1")
    (tmp_path / "menu.json").write_text('{"settings": 3}')
    wrong = ("--setting", "C", "--low", "0", "--high", "1", "--menu")
    assert "is not a menu" in asked(*wrong, str(tmp_path / "menu.json"))
    assert "nowhere.json" in asked(*wrong, str(tmp_path / "nowhere.json"))
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("end", ["\n", "\n\n\n", "\r\n", ""])
def test_blank_lines_at_the_end_lose_no_row(tmp_path: Path, end: str) -> None:
    first = masked(tmp_path, *FIRST)
    ended = run(tmp_path, text=ROWS + end)
    assert (ended.returncode, ended.stdout.decode()) == (0, first)


def test_rows_before_a_blank_line_go_out_before_more_is_read(tmp_path: Path) -> None:
    """A reading is not held back until the next one."""
    device = Producer("laplace:1", Lattice("0.001", "0", "10"), tmp_path / "state")
    out = io.BytesIO()

    chunks = [b"time,kwh\n2026-01-01,1\n2026-01-02,2\n\n", b"2026-01-03,3\n"]
    written: list[int] = []

    class Pipe:
        def read1(self, _: int, /) -> bytes:
            written.append(out.getvalue().count(b"\n"))
            return chunks.pop(0) if chunks else b""

    assert mask_csv(Pipe(), out, device, time="time", value="kwh") == 3
    assert written == [0, 3, 4]


BAD = {
    "no number": (HEADER + "a,t1,7.77123x,\n", "row 1, column kwh"),
    "no number later": (HEADER + "a,t1,7.77123,\n" * 3 + "a,t1,7-77123,\n", "row 4, column kwh"),
    "no time": (HEADER + "a,t0,1,\na,,7.77123,\n", "row 2, column time"),
    "too few fields": (HEADER + "a,t1\n", "row 1 has 2 field(s), the header 4"),
    "too many fields": (HEADER + "a,t1,7.77123,,\n", "row 1 has 5 field(s), the header 4"),
    "no header": ("a,2026-01-01,7.77123,\n", "no column 'time'"),
    "no header and no comma": ("kitchen;2026-01-01;7.77123\n", "no column 'time', its first row has no plain names"),
    "no such column": ("time,power\nt1,7.77123\n", "no column 'kwh', its first row has time, power"),
    "a column twice": ("time,kwh,kwh\nt1,7.77123,2\n", "2 columns 'kwh'"),
    "nothing": ("", "standard input is empty"),
    "an endless field": (HEADER + 'a,t1,"' + "7.77123" * 40_000 + "\n", "cannot be read as CSV"),
    "an endless line": (HEADER + "7.77123" * 300_000, "a row a line"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_the_place_and_never_the_reading(tmp_path: Path, case: str) -> None:
    text, place = BAD[case]
    device = Producer("laplace:1", Lattice("0.001", "0", "10"), tmp_path / "state")
    with pytest.raises(InputError) as told:
        mask_csv(io.BytesIO(text.encode()), io.BytesIO(), device, time="time", value="kwh")
    assert place in str(told.value)
    assert "77" not in str(told.value)
    for path in (tmp_path / "state").iterdir():
        assert b"7.77123" not in path.read_bytes()


def test_a_reading_that_cannot_be_read_ends_the_program_with_its_place(tmp_path: Path) -> None:
    line = refused(tmp_path, *FIRST, text=HEADER + "a,t1,7.77123x,\n")
    assert "row 1, column kwh: the reading is not a number" in line
    assert "77" not in line


def test_no_reading_is_in_what_a_traceback_shows(tmp_path: Path) -> None:
    command = [*PROGRAM, "mask", "--state", str(tmp_path / "state"), *FIRST]
    rows = HEADER + "a,2031-07-01,7.77123,\na,2031-07-02,7.77x23,\n"
    env = os.environ | {"HALFMASK_TRACEBACK": "1"}
    ended = subprocess.run(command, input=rows.encode(), capture_output=True, check=False, timeout=60, env=env)
    assert b"Traceback" in ended.stderr
    assert not any(raw in ended.stderr for raw in (b"7.77", b"77123", b"77x23"))


def test_what_is_odd_but_readable_is_read(tmp_path: Path) -> None:
    odd = "\ufefftime,kwh,x\r\n1,1.5,\r\n\r\n2, nan ,\r\n3,2.5,".encode() + b"\xff"
    out = run(tmp_path, "--setting", "none", "--low", "0", "--high", "9", "--value", "kwh", text=odd).stdout
    assert out == b"time,kwh,x\n1,1.500,\n2,,\n3,2.500,\xff\n"


def test_sensors_are_told_apart_by_their_column(tmp_path: Path) -> None:
    rows = HEADER + "".join(f"{meter},2026-01-01,5,\n" for meter in range(20))
    wide = ("--setting", "laplace:1000", "--low", "0", "--high", "10", "--value", "kwh")
    apart = masked(tmp_path, *wide, "--sensor", "meter", text=rows).splitlines()[1:]
    assert len({line.split(",")[2] for line in apart}) > 15
    assert masked(tmp_path, text=rows).splitlines()[1:] == apart  # the column is remembered
    assert "columns time, kwh, meter by" in refused(tmp_path, "--sensor", "note", text=rows)
    together = masked(tmp_path / "other", *wide, text=rows).splitlines()[1:]
    assert len({line.split(",")[2] for line in together}) == 1


def live(folder: Path) -> subprocess.Popen[str]:
    command = [*PROGRAM, "mask", "--state", str(folder / "state"), *FIRST]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1)


def test_a_slow_pipe_gets_each_row_at_once(tmp_path: Path) -> None:
    """Each row is written only after the report of the one before has been read: a program that waits would hang."""
    with live(tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(HEADER)
        assert process.stdout.readline() == HEADER
        for number in range(5):
            process.stdin.write(f"a,{number},1,\n")
            process.stdin.flush()
            assert process.stdout.readline().startswith(f"a,{number},")
        process.stdin.close()
        assert process.wait(60) == 0


def test_ctrl_c_and_a_closed_pipe_leave_the_state_whole(tmp_path: Path) -> None:
    said = []
    for end in ("interrupt", "close"):
        with live(tmp_path) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdin.write(HEADER + "a,2026-01-01,1,\n")
            process.stdin.flush()
            said.append([process.stdout.readline(), process.stdout.readline()])
            if end == "interrupt":
                process.send_signal(signal.SIGINT)
                assert process.wait(60) == 130
            else:
                process.stdout.close()
                process.stdin.write("a,2,1,\n")
                process.stdin.close()
                assert process.wait(60) == 1
            assert "Traceback" not in process.stderr.read()
    assert said[0] == said[1]
    assert masked(tmp_path, "--value", "kwh", text=HEADER + "a,2026-01-01,1,\n") == "".join(said[0])


def test_a_full_disk_hands_nothing_out(tmp_path: Path) -> None:
    masked(tmp_path, *FIRST, text=HEADER)
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with open("/dev/full", "wb") as full:
        command = [*PROGRAM, "mask", "--state", str(tmp_path / "state"), "--value", "kwh"]
        ended = subprocess.run(
            command, input=ROWS.encode(), stdout=full, stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[0] == b"halfmask: cannot write the masked rows: No space left on device"
    masked(tmp_path, "--value", "kwh")


def test_the_example_of_the_document_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "docs" / "device.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example in examples:
        exec(compile(example, "device.md", "exec"), names)
    assert isinstance(names["device"].report("2026-01-01 00:30", 0.512), int)
    assert {path.name for path in (tmp_path / "mine").iterdir()} >= {"memory.sqlite", "secret", "terms.json"}
