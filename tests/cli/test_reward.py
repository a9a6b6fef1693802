"""Rewards by the command line: learn from choices, work out a schedule, buy at auction."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import halfmask
from halfmask.errors import OptionError, SourceError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.rewards.model import ChoiceModel
from halfmask.rewards.schedule import honesty_told
from tests.choice.cases import homes, menu
from tests.cli.program import halfmask as run

MODEL = ChoiceModel(-1.0, 3.0, 0.8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A menu, a profile and choices that producers made by the model at designed rewards."""
    made = tmp_path_factory.mktemp("rewards")
    menu().write(made / "menu.json")
    homes().profile.write(made / "homes.profile")
    ids, groups = halfmask.reward_design(made / "menu.json", groups=12, high=6)
    rng = np.random.default_rng(1)
    privacy = np.array([each.privacy.median for each in menu().settings])
    with (made / "choices.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["producer", "occasion", "setting", "privacy", "reward", "chosen"])
        for producer in range(400):
            reward = groups[producer % 12]
            value = MODEL.take + MODEL.worth * privacy + MODEL.money * reward + rng.gumbel(size=len(ids))
            best = ids[int(value.argmax())] if value.max() > rng.gumbel() else None
            writer.writerows(
                [f"p{producer}", 1, id, q, r, int(id == best)] for id, q, r in zip(ids, privacy, reward, strict=True)
            )
    return made


def test_from_choices_to_a_schedule(folder: Path) -> None:
    learned = run("reward", "fit", "choices.csv", "-o", "model.json", cwd=folder)
    assert learned.returncode == 0, learned.stderr
    assert "A unit of privacy is worth" in learned.stdout
    told = run(
        *("reward", "menu.json", "--profile", "homes.profile", "--model", "model.json", "--budget", "300"),
        *("-o", "schedule.json"),
        cwd=folder,
    )
    assert told.returncode == 0, told.stderr
    assert "Rewards per report" in told.stdout
    page = json.loads((folder / "schedule.json").read_text())
    assert page["format"] == "halfmask schedule"
    assert page["honest"]["cost"] <= 300 * (1 + 1e-9)
    assert page["whole"]["cost"] <= 300 * (1 + 1e-9)
    assert "Lines of equal utility" in told.stdout
    assert "no rewards bring the total closer" in told.stdout
    assert all(reward == int(reward) for reward in page["whole"]["rewards"].values())


def test_a_list_with_noise_that_has_edges_is_not_called_honest(folder: Path) -> None:
    """Several reports of bounded noise tell more than their average: the settings are named, the promise is less."""
    of = {"profile": folder / "homes.profile", "model": MODEL, "budget": 300}
    found = halfmask.reward(menu(), **of)
    assert found.edges == ("C",), "sine noise"
    assert "not honest" in honesty_told(found)
    smooth = menu().with_setting(replace(menu()["C"], setting=PrivacySetting.parse("laplace:1")))
    found = halfmask.reward(smooth, **of)
    assert found.edges == ()
    assert "No unbiased estimate" in honesty_told(found)
    (folder / "known.json").write_text(json.dumps(MODEL.to_json()))
    options = ("--profile", "homes.profile", "--model", "known.json", "--budget", "300")
    told = run("reward", "menu.json", *options, cwd=folder).stdout
    assert "The noise of C has edges" in told
    assert "against averaging" in told
    assert "honest" not in told.replace("not honest", "").replace("have honest ones", "")


def test_one_end_is_named(folder: Path) -> None:
    with pytest.raises(OptionError, match="name one end"):
        halfmask.reward(folder / "menu.json", profile=folder / "homes.profile", model=MODEL)
    with pytest.raises(OptionError, match="name one end"):
        halfmask.reward(folder / "menu.json", profile=folder / "homes.profile", model=MODEL, budget=1, within="1%")


def test_a_total_within_a_share_is_what_the_mix_of_those_who_take_part_gives(folder: Path) -> None:
    """The schedule's utility is that of masking: `mix` of as many users as take part, with these shares."""
    found = halfmask.reward(folder / "menu.json", profile=folder / "homes.profile", model=MODEL, within="20%")
    assert found.free.within <= 0.2 * (1 + 1e-6)
    assert found.honest.within <= 0.2 * (1 + 1e-6)
    assert found.honest.cost > found.free.cost
    (own,) = [at for at in found.equal if at.utility == found.honest.utility]
    assert own.within == pytest.approx(found.honest.within, rel=1e-4)
    offer = found.free
    people = homes().profile.labels
    taking = homes().profile.subset(people[: round(offer.taking_part * len(people))])
    shares = {id: share / offer.taking_part for id, share in offer.shares.items()}
    mixed = halfmask.mix(taking, menu(), shares=shares, repeats=60, other_data=True)
    masked = float(np.median(mixed.table.column("utility").to_numpy()))
    assert masked == pytest.approx(offer.utility, abs=0.03)
    assert masked != pytest.approx(found.curve[-1].utility, abs=0.03)


def test_a_bad_table_of_choices_is_refused_with_its_row(tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    for cells, told in (
        ("0.1,x,1", "row 3, column reward: 'x'"),
        ("nan,1,1", "row 3, column privacy: 'nan'"),
        ("0.1,inf,1", "row 3, column reward: 'inf'"),
        ("80,1,1", "row 3, column privacy: 80 is no score"),
        ("0.1,-2,1", "row 3, column reward: -2 is below 0"),
        ("0.1,2,yes", "row 3, column chosen: 'yes'"),
    ):
        bad.write_text(f"producer,occasion,setting,privacy,reward,chosen\np,1,B,0.2,1,0\np,1,A,{cells}\n")
        with pytest.raises(SourceError, match=told):
            halfmask.reward_fit(bad)
    bad.write_text("producer,setting\np,A\n")
    with pytest.raises(SourceError, match="no column occasion"):
        halfmask.reward_fit(bad)


def test_an_auction_writes_what_each_is_paid(folder: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    ids = menu().ids
    with (tmp_path / "bids.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["producer", *ids])
        writer.writerows([f"p{n}", *np.round(rng.exponential(1.0, len(ids)), 3)] for n in range(12))
    told = run(
        "auction",
        str(tmp_path / "bids.csv"),
        "--menu",
        "menu.json",
        "--variance",
        "60",
        "-o",
        str(tmp_path / "paid.csv"),
        cwd=folder,
    )
    assert told.returncode == 0, told.stderr
    with (tmp_path / "paid.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    assert sum(float(row["payment"]) for row in rows) > 0
    assert all(float(row["surplus"]) >= 0 for row in rows)
    assert "has a lottery" in told.stdout


def test_bids_that_cannot_be_meant_are_refused(tmp_path: Path) -> None:
    bids = tmp_path / "bids.csv"
    bids.write_text("producer,cost\np1,1\np2,2\np1,3\n")
    with pytest.raises(SourceError, match="row 4: producer p1 bids a second time"):
        halfmask.auction(bids, budget=3.0)
    bids.write_text("producer,cost\n,1\np2,2\n")
    with pytest.raises(SourceError, match="row 2: the producer has no name"):
        halfmask.auction(bids, budget=3.0)
    bids.write_text("producer," + ",".join(menu().ids) + "\n" + "p1" + ",1" * len(menu().ids) + "\n")
    with pytest.raises(OptionError, match="not asked is no number above 0"):
        halfmask.auction(bids, menu=menu(), variance=1.0, unasked=0.0)


def test_an_auction_within_a_budget_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "bids.csv").write_text("producer,cost\n" + "".join(f"p{n},{n + 1}\n" for n in range(20)))
    people, bought = halfmask.auction(tmp_path / "bids.csv", budget=3.0)
    assert len(people) == 20
    assert 0 < len(bought.bought) * bought.payment <= 3.0 * (1 + 1e-12)
