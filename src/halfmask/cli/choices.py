"""Commands from a study to decisions."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from halfmask.cli.app import Flag, Output, app
from halfmask.cli.output import bar, note, print_json, print_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.mechanisms.setting import PrivacySetting
    from halfmask.menus.floor import Floored
    from halfmask.menus.menu import Menu
    from halfmask.menus.refine import Refined
    from halfmask.profiles.profile import Profile


@app.command
def optimize(
    study: Path,
    *,
    output: Output,
    profile: Path | None = None,
    bins: int = 5,
    omega: float = 0.1,
    weights: str | None = None,
    max_mean: float | None = None,
    max_std: float | None = None,
    refine: Flag = False,
    floor: str | None = None,
    colour: float | None = None,
    panel: str | None = None,
    unit: str = "",
    json: Flag = False,
) -> None:
    """A study to a menu: the best setting of each level of privacy.

    Parameters
    ----------
    study
        A file that 'halfmask evaluate' wrote.
    output
        The menu to write (JSON).
    profile
        The study's profile: says what each setting means for a typical reading; --refine needs it.
    bins
        Levels of privacy, equally wide.
    omega
        A setting is admissible if its 10th percentile of privacy is less than this below the median.
    weights
        Six numbers: mean, std and entropy of the local error for privacy, then of the global error for utility
        (0.2,0.4,0.4,0.6,0.2,0.2).
    max_mean
        Settings with a larger mean of the pooled global error are left out (0.1).
    max_std
        Settings with a larger standard deviation of the pooled global error are left out (0.1).
    refine
        Continue from the winners by continuous optimisation of their parameters.
    floor
        With --refine: reconstruction=0.2 keeps the error of the best guess of a reading at 0.2 of the readings'
        standard deviation or more, with noise of any shape where that is better.
    colour
        How much predictable noise loses of its privacy, 0 to 1: errors that follow from those before count for less.
        Needs --profile; concerns rules and plug-ins, since noise drawn anew for each reading is white.
    panel
        With --colour: the readings, whose series are masked to see the colour (drawn readings that stay for a while).
    unit
        Unit of a reading, for the words (kWh).
    json
        Print the menu as JSON instead of a table.
    """
    from halfmask.errors import OptionError
    from halfmask.evaluation.scores import parse_weights
    from halfmask.menus.floor import brief
    from halfmask.menus.menu import menu_json, write_menu
    from halfmask.menus.optimize import optimize as find_menu
    from halfmask.menus.words import menu_rows, menu_words
    from halfmask.profiles.store import load_profile

    if refine and profile is None:
        raise OptionError("--refine evaluates further settings: name the study's profile with --profile")
    if floor and not refine:
        raise OptionError("--floor looks for other settings than the grid's: add --refine")
    if colour is not None and (profile is None or refine):
        raise OptionError("--colour masks readings to see the noise: name --profile, and leave --refine out")
    readings = load_profile(profile) if profile else None
    found = find_menu(
        study, bins=bins, omega=omega, weights=parse_weights(weights), max_mean=max_mean, max_std=max_std,
        factor=_colour(colour, readings, panel) if colour is not None and readings is not None else None,
    )  # fmt: skip
    menu = found.menu
    if colour is not None:
        menu = dataclasses.replace(menu, provenance={**menu.provenance, "colour": colour})
    if refine and readings is not None:
        menu = _refined(menu, readings, floor, silent=json)
    write_menu(menu, output)
    if json:
        print_json(menu_json(menu))
    else:
        names = ["setting", *(brief(each.setting) for each in menu.settings)]
        print_rows([[row[0], name, *row[2:]] for row, name in zip(menu_rows(menu), names, strict=True)], "Menu")
        if readings is not None:
            words = menu_words(menu, readings)
            crowds = [f"{users:,} user{'s' * (users != 1)}" for users in words[0].errors]
            errors = [["-" if error is None else f"{error:.2%}" for error in each.errors.values()] for each in words]
            lines = [[each.id, each.sentence(unit), *of_each] for each, of_each in zip(words, errors, strict=True)]
            period = menu.provenance.get("period", "period")
            of = f"{'an' if period == 'hour' else 'a'} {period}'s"
            print_rows([["id", "a typical reading", *crowds], *lines], f"\nIn words, and the error of {of} total")
        for empty in menu.empty_bins if floor else ():  # without a floor they are among the notes
            note(f"bin {empty.bin[0]:g} to {empty.bin[1]:g} is empty: {empty.reason}")
        note(f"{len(found.front)} settings on the Pareto front, of {int(found.admissible.sum()):,} admissible")
    for told in found.notes if floor is None else ():  # with a floor, other settings than those it speaks of are taken
        note(told)
    note(f"wrote {output}")


def _colour(weight: float, readings: "Profile", panel: str | None) -> "Callable[[PrivacySetting], float]":
    """What predictable noise loses, seen on the panel's series or on the profile's sizes."""
    from halfmask.data.sources import open_panel
    from halfmask.protection.attacks.colour import discount
    from halfmask.protection.evidence import evidence_from_panel, evidence_from_profile

    seen = evidence_from_panel(open_panel(panel), readings) if panel else evidence_from_profile(readings)
    return discount(weight, seen, seed=7)


def _refined(menu: "Menu", readings: "Profile", floor: str | None, *, silent: bool) -> "Menu":
    """The menu between the grid's points, above a floor where one is asked for; what it brought is printed."""
    from halfmask.menus.refine import refine

    better: Refined | Floored
    if floor is None:
        with bar("refining", len(menu.settings)) as advance:
            better = refine(menu, readings, advance=advance)
    else:
        from halfmask.audits.least_noise import reconstruction_floor
        from halfmask.menus.floor import parse_floor, refine_above

        least = reconstruction_floor(readings, menu, parse_floor(floor, "reconstruction"))
        with bar("refining", len(menu.settings)) as advance:
            better = refine_above(menu, readings, least, advance=advance)
    if not silent:
        print_rows(better.rows(), "Refined" if floor is None else f"Refined, with {floor} or more")
    return better.menu


@app.command
def mix(
    profile: Path,
    menu: Path,
    *,
    output: Output,
    step: float = 0.125,
    repeats: int = 10,
    seed: int = 7,
    shares: str | None = None,
    keep: float | None = None,
    other_data: Flag = False,
) -> None:
    """Heterogeneous sharing: privacy and utility when everyone chooses from the menu.

    Parameters
    ----------
    profile
        A file that 'halfmask profile' wrote.
    menu
        A file that 'halfmask optimize' wrote.
    output
        The table of mixes to write (Parquet).
    step
        Shares of users go in steps of this.
    repeats
        Random assignments of each mix.
    seed
        The same seed gives the same table.
    shares
        One mix only: A=0.3,B=0.2,N=0.5.
    keep
        Also say which mixes keep utility above this, and which of them is the most private.
    other_data
        Take a menu that was made on other data than the profile.
    """
    from halfmask.choice.mix import keeping, parse_shares, write_mix
    from halfmask.choice.mix import mix as make_mix
    from halfmask.menus.menu import read_menu
    from halfmask.profiles.store import load_profile

    wanted = parse_shares(shares) if shares else None
    with bar("dealing settings", repeats) as advance:
        made = make_mix(
            load_profile(profile), read_menu(menu), step=step, repeats=repeats, seed=seed, shares=wanted,
            other_data=other_data, advance=advance,
        )  # fmt: skip
    write_mix(made, output)
    privacy, utility = (made.table.column(name).to_numpy() for name in ("privacy", "utility"))
    note(f"{made.table.num_rows:,} rows: privacy {privacy.min():.2f} to {privacy.max():.2f}, "
         f"utility {utility.min():.2f} to {utility.max():.2f}")  # fmt: skip
    if keep is not None:
        kept = keeping(made, keep)
        best = kept.best or kept.closest
        told = ", ".join(f"{id} {share:.1%}" for id, share in best.shares.items() if share)
        what = "most private of them" if kept.best else "none does; the closest"
        note(f"{len(kept.blends):,} of {kept.of:,} mixes keep utility above {keep:g}; {what}: {told} "
             f"(privacy {best.privacy:.2f}, utility {best.utility:.2f})")  # fmt: skip
    note(f"wrote {output}")


@app.command
def choose(
    menu: Path = Path("menu.json"),
    *,
    current: Annotated[str, Parameter(name="--from")],
    delta: float = 0.0,
    c: float = 0.0,
    deltas: Path | None = None,
    profile: Path | None = None,
    seed: int = 7,
) -> None:
    """Change a setting: producers ask for more privacy, the consumer for more utility.

    Parameters
    ----------
    menu
        A file that 'halfmask optimize' wrote.
    current
        The setting in use: an id of the menu.
    delta
        Privacy that producers ask for on top of the current one.
    c
        Change of utility that the consumer asks for (negative: may be lost).
    deltas
        CSV of user,delta: every producer asks for itself; needs --profile.
    profile
        The profile of the producers.
    seed
        For the utility of an assignment.
    """
    from halfmask.choice.requirements import assign, read_deltas
    from halfmask.choice.requirements import choose as find_setting
    from halfmask.errors import OptionError
    from halfmask.menus.menu import read_menu
    from halfmask.profiles.store import load_profile

    made = read_menu(menu)
    if deltas is None:
        found = find_setting(made, current, delta=delta, c=c)
        print_rows(found.rows())
        if found.chosen is None:
            note(f"no setting has privacy above {found.privacy_above:.3g} and utility above {found.utility_above:.3g}")
        return
    if profile is None:
        raise OptionError("--deltas assigns a setting to every producer: name their profile with --profile")
    print_rows(assign(load_profile(profile), made, current, read_deltas(deltas), c=c, seed=seed).rows())


@app.command
def vote(
    menu: Path = Path("menu.json"),
    *,
    preferences: Path,
    rule: Literal["plurality", "borda", "approval", "condorcet", "median"] = "plurality",
) -> None:
    """Choose one setting for all by vote.

    Parameters
    ----------
    menu
        A file that 'halfmask optimize' wrote.
    preferences
        CSV, one row a voter: ids of the menu, best first (approval: the approved ones).
    rule
        How votes are counted.
    """
    from halfmask.choice.vote import read_preferences
    from halfmask.choice.vote import vote as count_votes
    from halfmask.menus.menu import read_menu

    made = read_menu(menu)
    found = count_votes(made, read_preferences(preferences, made), rule)
    print_rows(found.rows(), f"{found.voters} voters, by {found.rule}: {found.winner.id} ({found.winner.setting})")
    if found.note:
        note(found.note)


@app.command
def report(
    folder: Path, *, figures: Annotated[list[Literal["png", "svg", "pdf"]] | None, Parameter(negative="")] = None
) -> None:
    """All results of a folder on one page that opens offline: folder/report.html.

    Parameters
    ----------
    folder
        Holds *.profile, study.parquet, menu.json and mix.parquet, as far as there are.
    figures
        Also draw every figure to folder/figures in this format; may be repeated.
    """
    from halfmask.pages.report import report as write_report

    note(f"wrote {write_report(folder, figures or ())}")


@app.command
def demo(*, folder: Path = Path("demo"), users: int = 1000, days: int = 120, seed: int = 1) -> None:
    """Everything on a synthetic panel: readings, profile, study, menu, mixes, audit, report.

    Parameters
    ----------
    folder
        Where the files go.
    users
        How many users the panel has.
    days
        How many days it covers.
    seed
        The same seed gives the same files, but for the audit of the device's own noise, which has no seed.
    """
    from halfmask.cli.evaluate import evaluate
    from halfmask.cli.profile import profile
    from halfmask.cli.protection import audit
    from halfmask.cli.synth import synth
    from halfmask.commands.evaluate import Evaluate
    from halfmask.commands.profile import Profile
    from halfmask.commands.synth import Synth

    folder.mkdir(parents=True, exist_ok=True)
    panel, made, study = folder / "panel.parquet", folder / "panel.profile", folder / "study.parquet"
    synth(Synth(output=panel, users=users, days=days, seed=seed))
    profile(Profile(str(panel), output=made))
    evaluate(Evaluate(made, output=study))
    optimize(study, output=folder / "menu.json", profile=made, unit="kW")
    mix(made, folder / "menu.json", output=folder / "mix.parquet")
    audit(folder / "menu.json", profile=made, panel=str(panel), output=folder / "card.json")
    report(folder, figures=["png"])
    print(f"open {(folder / 'report.html').resolve()}")
