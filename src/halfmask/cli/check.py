"""``halfmask check``."""

import math
from typing import TYPE_CHECKING

from halfmask.cli.output import print_json, print_rows
from halfmask.commands._options import Flag
from halfmask.commands.check import Check
from halfmask.commands.check import check as find

if TYPE_CHECKING:
    from halfmask.evaluation.cancellation import Cancellation

DEFAULTS = Check()


def check(options: Check = DEFAULTS, *, json: Flag = False) -> None:
    """Does noise cancel? The conditions of the paper's theorem 1, tried on an aggregate and a mechanism.

    Parameters
    ----------
    json
        Print JSON instead of a table.
    """
    found = find(options)
    if json:
        print_json([each.to_json() for each in found])
        return
    if not options.all:
        _one(found[0])
        return
    print_rows(
        pair_rows(found),
        f"Users needed: for a mean relative error of {options.accuracy:.2%} on values with a mean of 0.6",
    )


def pair_rows(found: "list[Cancellation]") -> list[list[str]]:
    """The table of all pairs, headings first."""
    rows = [["aggregate", "masked by", "recursive", "neutral", "commutes", "error ~ users^", "users needed", "cancels"]]
    for each in found:
        held = ["yes" if one.holds else "no" for one in (each.recursive, each.neutral, each.commutes)]
        cancels = "yes" if each.cancels else "no"
        rows.append([each.aggregate, _settings(each), *held, _exponent(each), _users(each), cancels])
    return rows


def _one(found: "Cancellation") -> None:
    title = f"{found.aggregate} masked by {_settings(found)}: {found.verdict()}."
    rows = [["", "", ""]]
    for name, one in (("recursive", found.recursive), ("neutral", found.neutral), ("commutes", found.commutes)):
        rows.append([name, "holds" if one.holds else "fails", one.case])
    rows.append(["error goes with users to the power", _exponent(found), ""])
    how = "by formula" if found.users == found.users_low == found.users_high else "measured, with its 95 % interval"
    wanted = f"for a mean relative error of {found.accuracy:.2%}"
    rows.append(["users needed", _users(found), wanted if found.users is None else f"{wanted}; {how}"])
    print_rows(rows, title)


def _settings(found: "Cancellation") -> str:
    return " + ".join(map(str, found.settings))


def _exponent(found: "Cancellation") -> str:
    return "no error" if found.error == 0 else f"{found.exponent:.2f} ({found.low:.2f} to {found.high:.2f})"


def _users(found: "Cancellation") -> str:
    if found.users is None:
        return "no number suffices" if found.out_of_reach else f"more than {found.users_low:,.0f}"
    if found.users_low == found.users_high:
        return f"{found.users:,.0f}"
    high = f"to {found.users_high:,.0f}" if math.isfinite(found.users_high) else "or more"
    return f"{found.users:,.0f} ({found.users_low:,.0f} {high})"
