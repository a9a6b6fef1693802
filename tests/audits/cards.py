"""Small menus to audit."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from unittest.mock import patch

from halfmask.audits.audit import audit_menu
from halfmask.audits.card import ReportCard
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu
from halfmask.protection.attacks.seeds import guessable_seed
from tests.choice.cases import homes, menu


@cache
def card() -> ReportCard:
    """Their card, with a window of four readings."""
    with few_attacks():
        return audit_menu(two_settings(), homes().profile, seed=3, window=4)


def two_settings() -> Menu:
    """A Laplace and a sine setting, and none: enough to see both kinds of guarantee."""
    made = menu()
    entries = [
        replace(made.settings[0], id="A", setting=PrivacySetting.parse("laplace:0.6"), noise_std=0.6 * math.sqrt(2)),
        replace(made.settings[1], id="B", setting=PrivacySetting.parse("sine:1.2"), noise_std=1.2 / math.sqrt(2)),
        made.settings[-1],
    ]
    return replace(made, settings=tuple(entries))


@contextmanager
def few_attacks() -> Iterator[None]:
    """The search for a seed has tests of its own; here a day of 600 seconds will do."""
    with patch.object(guessable_seed, "__defaults__", (600,)):
        yield
