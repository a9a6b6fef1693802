"""Rewards by the command line: learn from choices, work out a schedule, buy at auction."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import halfmask
from halfmask.commands.vote import Vote, main
from halfmask.errors import SourceError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.rewards.choice_model import ChoiceModel
from halfmask.rewards.market import Isoline
from halfmask.rewards.reward_schedule import bound_told, honesty_told
from tests.choice.cases import homes, menu
from tests.commands.program import halfmask as run
from tests.refusals import refused

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
    (price,) = re.findall(r"in money: (\S+) \(95 % interval (\S+) to (\S+)\)", learned.stdout)
    estimate, low, high = map(float, price)
    assert low < MODEL.worth / MODEL.money < high
    assert low < estimate < high < 2 * low
    told = run(
        *("reward", "menu.json", "--profile", "homes.profile", "--model", "model.json", "--budget", "300"),
        *("-o", "schedule.json", "--explain"),
        cwd=folder,
    )
    assert told.returncode == 0, told.stderr
    assert "Rewards per report" in told.stdout
    page = json.loads((folder / "schedule.json").read_text())
    assert page["format"] == "halfmask schedule"
    assert page["honest"]["cost"] <= 300 * (1 + 1e-9)
    assert page["whole"]["cost"] <= 300 * (1 + 1e-9)
    assert "Lines of equal utility" in told.stdout
    assert "no rewards bring the total closer" in " ".join(told.stderr.split())
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
    ended = run("reward", "menu.json", *options, "--explain", cwd=folder)
    told = " ".join([*ended.stdout.split(), *ended.stderr.split()])
    assert "The noise of C has edges" in told
    assert "against averaging" in told
    assert "honest" not in told.replace("not honest", "").replace("have honest ones", "")


def test_a_setting_that_another_outdoes_is_named_with_the_share_that_takes_it(folder: Path) -> None:
    """By the model of choice some take it all the same, so no sentence may say that nobody would."""
    unequal = replace(MODEL, spread=1.0)
    found = halfmask.reward(menu(), profile=folder / "homes.profile", model=unequal, budget=300)
    assert found.dominated
    (folder / "unequal.json").write_text(json.dumps(unequal.to_json()))
    options = ("--profile", "homes.profile", "--model", "unequal.json", "--budget", "300")
    told = " ".join(run("reward", "menu.json", *options, "--explain", cwd=folder).stderr.split())
    for sentence in found.dominated:
        worse, better = re.findall(r"\b([A-Z])\b", sentence)
        assert found.honest.rewards[better] >= found.honest.rewards[worse]
        assert menu()[better].privacy.median >= menu()[worse].privacy.median
        assert found.honest.shares[worse] > 0.01
        assert f" {found.honest.shares[worse]:.1%} " in sentence
        assert f"{sentence}." in told


def test_the_bound_and_the_rewards_it_is_for_are_printed_alike(folder: Path) -> None:
    """To another number of digits the bound could be printed above the error that it bounds."""
    found = halfmask.reward(menu(), profile=folder / "homes.profile", model=MODEL, budget=300)
    assert f" {found.bound:.2%}: they are the best." in bound_told(found)
    wider = replace(found, bound=found.free.within / 1.05)
    assert f" {wider.bound:.2%}: theirs is at most 5.00% wider." in bound_told(wider)


def test_lines_of_equal_utility_count_whole_producers_who_reach_it() -> None:
    line = Isoline(0.8, 0.01, {"A": 2.2, "B": 3.0, "C": 3.0000000001, "N": 0.0})
    assert line.whole == {"A": 3, "B": 3, "C": 3, "N": 1}


def test_one_end_is_named(folder: Path) -> None:
    with refused("option.ends", "budget", "within", "utility"):
        halfmask.reward(folder / "menu.json", profile=folder / "homes.profile", model=MODEL)
    with refused("option.ends", "budget", "within", "utility"):
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
    for cells, column in (
        ("0.1,x,1", "reward"),
        ("nan,1,1", "privacy"),
        ("0.1,inf,1", "reward"),
        ("80,1,1", "privacy"),
        ("0.1,-2,1", "reward"),
        ("0.1,2,yes", "chosen"),
    ):
        bad.write_text(f"producer,occasion,setting,privacy,reward,chosen\np,1,B,0.2,1,0\np,1,A,{cells}\n")
        with refused("source.number", column, place=f"{bad}, row 3"):
            halfmask.reward_fit(bad)
    bad.write_text("producer,setting\np,A\n")
    with refused("source.column", "occasion", place=str(bad)):
        halfmask.reward_fit(bad)
    for rows in ("p,1,B,0.2,1,0\np,1,B,0.2,1,0\n", "p,1,B,0.2,1,1\np,1,A,0.2,1,1\n", "p,1,B,0.2,1,0\np,1,A,0.2,1\n"):
        bad.write_text(f"producer,occasion,setting,privacy,reward,chosen\n{rows}")
        with pytest.raises(SourceError) as caught:
            halfmask.reward_fit(bad)
        assert caught.value.place == f"{bad}, row 3"


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
    assert re.search(r"payments, expected +\d", told.stdout)  # what is paid depends on the draw


def test_bids_that_cannot_be_meant_are_refused(tmp_path: Path) -> None:
    bids = tmp_path / "bids.csv"
    bids.write_text("producer,cost\np1,1\np2,2\np1,3\n")
    with refused("source", place=f"{bids}, row 4"):
        halfmask.auction(bids, budget=3.0)
    bids.write_text("producer,cost\n,1\np2,2\n")
    with refused("source", place=f"{bids}, row 2"):
        halfmask.auction(bids, budget=3.0)
    bids.write_text("producer," + ",".join(menu().ids) + "\n" + "p1" + ",1" * len(menu().ids) + "\n")
    with refused("option.variance"):
        halfmask.auction(bids, menu=menu(), variance=1.0, unasked=0.0)


def test_a_missing_model_says_how_to_get_one() -> None:
    with refused("option.model", "model"):
        halfmask.reward(menu(), profile="x.profile", budget=3.0)


@pytest.mark.parametrize("ends", [{}, {"budget": 3.0, "utility": 0.8}])
def test_rewards_are_for_one_end(ends: dict[str, float]) -> None:
    with refused("option.ends"):
        halfmask.reward(menu(), profile="x.profile", model="model.json", **ends)


def test_a_tie_is_printed_with_its_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ballots.csv").write_text("".join(f"{id}\n" for id in menu().ids[:3]))
    main(Vote(menu(), preferences=tmp_path / "ballots.csv"))
    printed = capsys.readouterr().out
    winner = max(menu().settings[:3], key=lambda each: each.privacy.median)
    assert f": {winner.id} (" in printed
    assert all(f"{id}" in printed.split("tie of")[1] for id in menu().ids[:3])


def test_an_auction_within_a_budget_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "bids.csv").write_text("producer,cost\n" + "".join(f"p{n},{n + 1}\n" for n in range(20)))
    people, bought = halfmask.auction(tmp_path / "bids.csv", budget=3.0)
    assert len(people) == 20
    assert 0 < len(bought.bought) * bought.payment <= 3.0 * (1 + 1e-12)


def test_an_auction_that_buys_nobody_has_no_payment_to_each(tmp_path: Path) -> None:
    (tmp_path / "bids.csv").write_text("producer,cost\np1,1000\np2,1000\np3,1000\n")
    told = run("auction", tmp_path / "bids.csv", "--budget", 3)
    assert "0 of 3" in told.stdout
    assert "epsilon" not in told.stdout
    assert "payment to each" not in told.stdout


def test_nothing_is_accepted_in_a_round_without_an_offer(folder: Path) -> None:
    (folder / "known.json").write_text(json.dumps(MODEL.to_json()))
    asked = ("--from", "C", "--delta", 0.3, "--c", 0.9, "--least-c", 0.9, "--rounds", 2, "--model", "known.json")
    told = run("bargain", "menu.json", *asked, cwd=folder)
    rounds = [line.split() for line in told.stdout.splitlines() if line[:1] in ("1", "2")]
    assert [row[-3:-1] for row in rounds] == [["-", "-"], ["-", "-"]]
