"""``halfmask check`` as a user runs it."""

import json
from pathlib import Path

import pytest

from halfmask.commands.check import PAIRS, check, pair_rows
from halfmask.evaluation.cancellation import setting_of
from halfmask.evaluation.users_needed import by_formula
from tests.commands.program import halfmask


def test_users_by_formula_are_one_number_and_measured_ones_have_an_interval() -> None:
    by_formula = halfmask("check", "--aggregate", "variance", "--mechanism", "laplace:0.3", "--seed", "8")
    assert "users needed" in by_formula.stdout
    assert "  76,395  " in by_formula.stdout
    options = ("check", "--aggregate", "median", "--mechanism", "laplace:0.3", "--accuracy", "0.1")
    (found,) = json.loads(halfmask(*options, "--json").stdout)
    assert found["users_low"] < found["users"] < found["users_high"]
    users, low, high = (f"{found[name]:,.0f}" for name in ("users", "users_low", "users_high"))
    assert f"{users} ({low} to {high})" in halfmask(*options).stdout


def test_no_number_is_said_to_suffice_where_the_error_stays() -> None:
    ended = halfmask("check", "--aggregate", "max", "--mechanism", "laplace:0.3")
    assert "no number suffices" in ended.stdout


def page_rows() -> list[list[str]]:
    """The rows of the table of all pairs in the documents, without headings."""
    text = (Path(__file__).parents[2] / "docs" / "cancellation.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_users_in_the_documents_are_those_of_the_formula() -> None:
    names = ("sum", "mean", "variance")
    known = {(row[0], row[1]): row[6] for row in page_rows() if row[0] in names}
    settings = [setting_of(each) for each in PAIRS]
    assert known == {(name, str(each)): f"{by_formula(name, [each], 0.01):,.0f}" for name in names for each in settings}


@pytest.mark.slow
def test_the_table_in_the_documents_is_what_the_command_prints() -> None:
    assert page_rows() == pair_rows(check(all=True))[1:]
