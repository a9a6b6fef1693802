"""``halfmask optimize``."""

from dataclasses import replace
from typing import TYPE_CHECKING

from halfmask.cli.output import bar, note, print_json, print_rows
from halfmask.commands._options import Flag, held
from halfmask.commands.optimize import Optimize
from halfmask.commands.optimize import optimize as find_menu

if TYPE_CHECKING:
    from halfmask.menus.menu import Menu
    from halfmask.menus.optimize import Optimum
    from halfmask.profiles.profile import Profile


def optimize(options: Optimize, *, unit: str = "", json: Flag = False) -> None:
    """A study to a menu: the best setting of each level of privacy.

    Parameters
    ----------
    unit
        Unit of a reading, for the words (kWh).
    json
        Print the menu as JSON instead of a table.
    """
    from halfmask.menus.menu import menu_json
    from halfmask.profiles.profile import Profile

    options.check()  # while the profile is still a file
    people = None if options.profile is None else held(Profile, options.profile)
    with bar("choosing settings", options.bins) as advance:
        found = find_menu(replace(options, profile=people, advance=advance))
    if json:
        print_json(menu_json(found.menu))
    else:
        _tables(found, people, options.floor, unit)
    for told in found.notes:
        note(told)
    note(f"wrote {options.output}")


def _tables(found: "Optimum", people: "Profile | None", floor: str | None, unit: str) -> None:
    from halfmask.menus.words import brief, menu_rows

    menu = found.menu
    if found.refined is not None:
        print_rows(found.refined.rows(), "Refined" if floor is None else f"Refined, with {floor} or more")
    names = ["setting", *(brief(each.setting) for each in menu.settings)]
    print_rows([[row[0], name, *row[2:]] for row, name in zip(menu_rows(menu), names, strict=True)], "Menu")
    if found.costs is not None:
        print_rows(found.costs.rows(), "\nWhat requirements cost: median utility of the best setting of each level")
    if people is not None:
        _words(menu, people, unit or people.unit or "")
    if menu.question is not None:
        asked = menu.question
        note(
            "guess: error of the best guess of a reading from its report, over that without a report; epsilon: for a "
            f"change of up to {asked.size} in one reading, at delta 0 (*: at delta {asked.delta:g}); "
            f"of {asked.window:,}: {asked.words()}"
        )
        note(f"{asked.drawn()}; `step` names another")
    note(f"{len(found.front)} settings on the Pareto front, of {int(found.admissible.sum()):,} admissible")


def _words(menu: "Menu", people: "Profile", unit: str) -> None:
    """What each setting means for a typical reading and for a total."""
    from halfmask.menus.words import menu_words

    words = menu_words(menu, people)
    crowds = [f"{users:,} user{'s' * (users != 1)}" for users in words[0].errors]
    errors = [["-" if error is None else f"{error:.2%}" for error in each.errors.values()] for each in words]
    lines = [[each.id, each.sentence(unit), *of_each] for each, of_each in zip(words, errors, strict=True)]
    period = menu.provenance.get("period", "period")
    of = f"{'an' if period == 'hour' else 'a'} {period}'s"
    print_rows([["id", "a typical reading", *crowds], *lines], f"\nIn words, and the error of {of} total")
