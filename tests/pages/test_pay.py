"""What to pay: a folder with a schedule has the section, its figure and its command; a damaged schedule is refused."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from halfmask.commands._repeat import command_of
from halfmask.commands.reward import reward
from halfmask.errors import FileFormatError
from halfmask.figures.registry import all_drawn, drawings
from halfmask.figures.results_folder import ResultsFolder, read_inputs
from halfmask.figures.what_money_buys import TAKING_PART, UTILITY, WITHIN, pay_caption, pay_data, pay_plot
from halfmask.files import write_page
from halfmask.pages.pay_section import pay_section
from halfmask.pages.report import page_of
from halfmask.rewards.choice_model import ChoiceModel
from halfmask.rewards.reward_schedule import Schedule
from tests.refusals import refused


@pytest.fixture(scope="module")
def paid(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a schedule and the model behind it."""
    folder = Path(shutil.copytree(made, tmp_path_factory.mktemp("paid") / "demo"))
    write_page(ChoiceModel(-1.0, 2.0, 0.5).to_json(), folder / "model.json")
    reward(
        folder / "menu.json", profile=next(folder.glob("*.profile")), model=folder / "model.json", budget=3000,
        output=folder / "schedule.json",
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def inputs(paid: Path) -> ResultsFolder:
    return read_inputs(paid, command_of)


@pytest.fixture(scope="module")
def schedule(inputs: ResultsFolder) -> Schedule:
    assert inputs.schedule is not None
    return inputs.schedule


def test_a_schedule_comes_back_from_its_file(paid: Path, schedule: Schedule) -> None:
    assert json.loads(json.dumps(schedule.to_json())) == json.loads((paid / "schedule.json").read_text())
    assert Schedule.from_json(json.loads(json.dumps(schedule.to_json()))) == schedule


def test_the_section_has_rewards_honesty_and_who_takes_part(inputs: ResultsFolder, schedule: Schedule) -> None:
    told = pay_section(inputs)
    for id, paid in schedule.honest.rewards.items():
        assert f'<th scope="row">{id}</th>' in told
        assert f"{paid:.4g}" in told
        assert f"{schedule.honest.shares[id]:.1%}" in told
    assert "spend at most 3,000 in a period" in told
    assert f"{1 - schedule.honest.taking_part:.1%}" in told
    assert f"{schedule.honesty_costs:.2%} wider" in told
    assert all(f"{at.utility:.3f}" in told for at in schedule.equal)
    assert all(f"Without that demand, {each}." in told for each in schedule.arbitrage)
    assert pay_section(replace(inputs, schedule=None)) == ""
    named = replace(schedule, dominated=("A is outdone",))
    assert "<li>A is outdone.</li>" in pay_section(replace(inputs, schedule=named))


def test_the_section_says_of_which_menu_its_letters_are(inputs: ResultsFolder, schedule: Schedule) -> None:
    assert inputs.paid is inputs.menu
    assert "for the settings of the paper&#39;s menu (here A is paper A)" in pay_section(inputs)
    assert inputs.offer is not None
    noise = {each.id: each.noise_std or 0.0 for each in inputs.offer.settings}
    assert "for the levels of the offer" in pay_section(replace(inputs, schedule=replace(schedule, noise=noise)))
    alone = pay_section(replace(inputs, offer=None))
    assert "paper" not in alone.partition("<table")[0]


def test_the_figure_has_the_schedules_numbers(schedule: Schedule) -> None:
    data = pay_data(schedule)
    assert data.budget == [at.budget for at in schedule.curve]
    assert data.bought[WITHIN] == sorted(data.bought[WITHIN], reverse=True)
    assert data.bought[UTILITY] == sorted(data.bought[UTILITY])
    assert data.honest[TAKING_PART] == schedule.honest.taking_part
    lines = [mark for each in pay_plot(data).subplots for mark in each.marks if mark.shape == "line"]
    assert lines[0].y == pytest.approx([100 * at.within for at in schedule.curve])
    assert [each.name for each in lines] == [WITHIN, UTILITY, TAKING_PART]
    assert f"from within {100 * schedule.curve[0].within:.3g} %" in pay_caption(data)


def test_the_report_shows_it_and_says_how_to_repeat_it(inputs: ResultsFolder) -> None:
    drawn = [each for each in drawings(inputs) if each.name == "pay"]
    page = page_of(inputs, all_drawn(drawn))
    assert '<section id="pay"' in page
    assert 'id="figure-pay"' in page
    options = "-o demo/schedule.json --profile demo/homes.profile --model demo/model.json --budget 3000"
    assert f"halfmask reward demo/menu.json {options}" in page
    without = page_of(replace(inputs, schedule=None), [])
    assert 'id="pay"' not in without
    assert "halfmask reward" not in without


@pytest.mark.parametrize(("field", "value"), [("honest", {"rewards": {}}), ("end", "budget"), ("format", "x")])
def test_a_damaged_schedule_is_refused(paid: Path, tmp_path: Path, field: str, value: object) -> None:
    folder = Path(shutil.copytree(paid, tmp_path / "demo"))
    plain = json.loads((folder / "schedule.json").read_text())
    (folder / "schedule.json").write_text(json.dumps(plain | {field: value}))
    with pytest.raises(FileFormatError, match="demo/schedule"):
        read_inputs(folder)


def test_a_schedule_of_other_data_is_refused(paid: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(paid, tmp_path / "demo"))
    plain = json.loads((folder / "schedule.json").read_text())
    plain["about"]["fingerprint"] = "of others"
    (folder / "schedule.json").write_text(json.dumps(plain))
    with refused("option.mixed"):
        read_inputs(folder)
