"""What commands print on a terminal of 80 columns: a result, a sentence and the next command, and more if asked for."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

from halfmask.commands._app import app
from halfmask.commands._printing import CommandAnswer, print_answer
from halfmask.commands._shared_options import Display, profile_beside
from halfmask.commands._table_layout import parts, wrapped
from halfmask_device import Lattice, Producer
from tests.commands.program import halfmask
from tests.test_docs import options
from tests.test_install import given

WIDTH, MOST, MOST_OF = 80, 15, {"offer": 20, "audit an offer": 40}
WALK = {
    "profile": "profile panel.parquet -o x.profile",
    "show": "show x.profile",
    "evaluate": "evaluate x.profile -o study.parquet --grid laplace:b=0.1..2/0.2;sine:k=3,values=0|1.2 --repeats 2",
    "optimize": "optimize study.parquet -o menu.json --profile x.profile --max-mean 1 --max-std 1",
    "offer": "offer x.profile -o offer.json --epsilon 8,4,2,1 --split 1 --low 0 --high 100",
    "solve": "solve x.profile --epsilon 1",
    "compare": "compare menu.json menu.json --profile x.profile",
    "mix": "mix x.profile menu.json -o mix.parquet --step 0.5 --repeats 2",
    "choose": "choose menu.json --from B --delta 0.1",
    "recommend": "recommend --menu offer.json --epsilon 5",
    "vote": "vote offer.json --preferences ballots.csv",
    "audit an offer": "audit offer.json --profile x.profile -o card.json",
    "audit a setting": "audit --setting laplace:0.5 --sensitivity 1",
    "merge": "merge x.profile x.profile -o twice.profile",
    "check": "check --aggregate max --mechanism laplace",
    "fit": "reward fit choices.csv -o model.json",
    "reward": "reward menu.json --profile x.profile --model model.json --budget 100",
    "bargain": "bargain menu.json --from B --model model.json --delta 0.1 --c 0.05",
    "auction": "auction bids.csv --budget 3",
    "ledger": "ledger --state device",
    "status": "status --state device",
}
"""Command lines, one after another in one folder; the one of `FILES` only makes what another reads."""
FILES = ("fit",)
SETTING = re.compile(r"\b(?:laplace|sine|gaussian|logistic|staircase):[0-9.e,-]*")
COPIED = ("next: ", "wrote ", "both profiles have ")
"""Lines that are copied or, as notes while a command works, left to the terminal to wrap."""


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each command printed by default, and what the same result is with `--explain` and with `--json`."""
    folder, found = tmp_path_factory.mktemp("walk"), dict[str, str]()
    given(folder)
    list(Producer("laplace:0.5", Lattice("0.001", "0", "10"), folder / "device").reports([("2026-11-16T00:00Z", 1.0)]))
    with pytest.MonkeyPatch.context() as patch:
        results: list[CommandAnswer] = []
        patch.setattr(Display, "show", lambda _, answer: (results.append(answer), print_answer(answer)))
        patch.setenv("COLUMNS", str(WIDTH))
        for name, line in {"synth": "synth -o panel.parquet --users 20 --days 4", **WALK}.items():
            results.clear()
            ended = halfmask(*line.split(), cwd=folder, columns=WIDTH)
            assert ended.returncode == 0, f"{line}: {ended.stderr}"
            found[name] = ended.stdout + ended.stderr
            for answer in results:
                found[f"{name}--explain"] = printed(answer, explain=True)
                found[f"{name}--json"] = printed(answer, json=True)
    return found


def printed(answer: CommandAnswer, *, explain: bool = False, json: bool = False) -> str:
    """What is printed to both streams."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        print_answer(answer, explain=explain, json=json)
    return told.getvalue()


@pytest.mark.parametrize("name", [name for name in WALK if name not in FILES])
def test_a_command_prints_its_result_its_meaning_and_the_next_command(name: str, walked: dict[str, str]) -> None:
    lines = walked[name].splitlines()
    assert 2 <= len(lines) <= MOST_OF.get(name, MOST), walked[name]
    assert [line for line in lines if len(line) > WIDTH and not line.startswith(COPIED)] == []
    assert [line for line in lines if line.startswith("next: halfmask ")]
    assert len(walked[f"{name}--explain"]) > len(walked[name]) or name in ("status", "audit a setting")
    assert json.loads(walked[f"{name}--json"]) is not None


@pytest.mark.parametrize("name", ["optimize", "offer", "solve", "choose", "vote", "recommend"])
def test_no_setting_is_broken(name: str, walked: dict[str, str]) -> None:
    whole = set(SETTING.findall(walked[f"{name}--json"]))
    shown = set(SETTING.findall(walked[name]))
    assert shown
    assert shown <= whole


def test_a_table_that_is_too_wide_loses_columns_and_rows_but_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    heads = ["id", *(f"column {n}" for n in range(20))]
    rows = [heads, *([f"r{n}", *("0.123456789",) * 20] for n in range(50))]
    answer = CommandAnswer({}, [("", rows)], "It means much.", "halfmask next", [f"warning {n}" for n in range(30)])
    print_answer(answer)
    said = capsys.readouterr()
    lines = (said.out + said.err).splitlines()
    assert len(lines) <= MOST
    assert max(map(len, lines)) <= WIDTH
    assert "more columns and" in said.out
    assert "more: --explain" in said.err
    print_answer(answer, explain=True)
    said = capsys.readouterr()
    assert said.out.count("r49") > 1
    assert all(name in said.out.split() for name in map(str, range(20)))
    assert "warning 29" in said.err


def test_words_and_short_cells_are_never_broken() -> None:
    setting = "tabulated:" + "0.1,0.2," * 12
    assert wrapped(f"take {setting} now", 40) == ["take", setting, "now"]
    rows = [
        ["id", "setting", "a longer heading", "words"],
        ["A", "laplace:0.5", "1.5 (1.4-1.6) =", "many words here " * 9],
    ]
    (part,) = parts(rows, 50)
    lines = [line for row in part.rows for line in row]
    assert part.columns == 4
    assert max(map(len, lines)) <= 50
    assert "laplace:0.5" in lines[0]
    assert "1.5 (1.4-1.6) =" in lines[0]
    assert len(parts(rows, 30)) > 1


def test_every_command_with_one_of_the_options_has_both() -> None:
    both = {"--explain", "--json"}
    have = {name for name in app if not name.startswith("-") and "--explain" in options(name)}
    assert have >= {name.split()[0] for name in WALK} - {"fit"} | {"simulate", "suspects", "payout", "join"}
    assert all(both <= options(name).keys() for name in have)
    assert Display().explain is False


def test_a_next_command_names_the_only_profile_beside_the_menu(tmp_path: Path) -> None:
    assert profile_beside(tmp_path / "offer.json") == "READINGS.profile"
    (tmp_path / "homes.profile").touch()
    assert profile_beside(tmp_path / "offer.json") == str(tmp_path / "homes.profile")
    (tmp_path / "others.profile").touch()
    assert profile_beside(tmp_path / "offer.json") == "READINGS.profile"


def test_an_offer_shows_all_its_levels(walked: dict[str, str]) -> None:
    levels = json.loads(walked["offer--json"])["settings"]
    assert [line.split()[0] for line in walked["offer"].splitlines() if line[:1] in "LSN"] == [
        each["id"] for each in levels
    ]
