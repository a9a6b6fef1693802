"""The commands as Python functions: each takes and returns objects, and writes a file where told to."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from halfmask.audits.card import ReportCard, audit_menu, read_card, write_card
from halfmask.choice.mix import mix, read_mix, write_mix
from halfmask.choice.requirements import assign, choose
from halfmask.choice.vote import vote
from halfmask.commands.evaluate import evaluate
from halfmask.commands.profile import profile
from halfmask.commands.serve import serve
from halfmask.commands.synth import synth
from halfmask.data.sources import open_panel
from halfmask.errors import SourceError
from halfmask.evaluation.study import read_study
from halfmask.files import whole_file
from halfmask.menus.menu import Menu, read_menu, write_menu
from halfmask.menus.optimize import optimize
from halfmask.pages.explore.serve import explore
from halfmask.pages.report import report
from halfmask.profiles.profile import Profile
from halfmask.profiles.store import load_profile, save_profile
from halfmask_device import Asked, Producer, agree, mask_csv

__all__ = [
    "assign",
    "audit",
    "choose",
    "evaluate",
    "explore",
    "load_profile",
    "mask",
    "mix",
    "optimize",
    "profile",
    "read_card",
    "read_menu",
    "read_mix",
    "read_study",
    "report",
    "save_profile",
    "serve",
    "synth",
    "vote",
    "write_card",
    "write_menu",
    "write_mix",
]


def audit(
    menu: Menu | str | Path,
    profile: Profile | str | Path,
    panel: Any = None,
    output: str | Path | None = None,
    *,
    sensitivity: float | None = None,
    seed: int = 7,
    other_data: bool = False,
    advance: Callable[[int, int], None] | None = None,
) -> ReportCard:
    """What each setting of a menu really protects: score, guarantee and attacks side by side.

    With a ``panel``, the readings that the profile was made of, attacks see series of readings; without it, totals by
    period. See `audit_menu` for the rest.
    """
    made = menu if isinstance(menu, Menu) else read_menu(menu)
    people = profile if isinstance(profile, Profile) else load_profile(profile)
    readings = None if panel is None else open_panel(panel)
    card = audit_menu(
        made, people, readings, sensitivity=sensitivity, seed=seed, other_data=other_data, advance=advance
    )
    if output is not None:
        write_card(card, output)
    return card


def mask(
    source: str | Path,
    output: str | Path,
    *,
    state: str | Path,
    setting: str | None = None,
    menu: str | Path | None = None,
    step: str | None = None,
    low: str | None = None,
    high: str | None = None,
    columns: Mapping[str, str] | None = None,
    change: bool = False,
) -> int:
    """Mask a CSV of one producer's readings on that producer's own device; returns how many rows.

    ``columns`` names those of the roles time, value and sensor. Terms are remembered in ``state``; numbers are texts,
    so that they are exact. For single readings see `halfmask_device.Producer`.
    """
    if not Path(source).is_file():
        raise SourceError(f"{source}: no such file: name a CSV of readings")
    asked = Asked(setting, None if menu is None else Path(menu), step, low, high, columns or {})
    terms = agree(Path(state), asked, change=change)
    producer = Producer(terms.setting_text, terms.lattice, state)
    with open(source, "rb") as readings, whole_file(output) as temporary, open(temporary, "wb") as target:
        return mask_csv(readings, target, producer, **terms.columns)
