"""What an attacker can still learn from masked readings, one file per attack.

`attack` runs all of them on one setting. Each returns a `Finding`, or several that follow from the same reports: a
number, its interval, its baseline and a sentence.
"""

from collections.abc import Callable, Sequence

import numpy as np

from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.averaging import averaging
from halfmask.protection.attacks.colour import colour, whiteness
from halfmask.protection.attacks.finding import Finding
from halfmask.protection.attacks.floating_point import floating_point
from halfmask.protection.attacks.intersection import intersection
from halfmask.protection.attacks.private_life import private_life
from halfmask.protection.attacks.reconstruction import reconstruction
from halfmask.protection.attacks.reidentification import reidentification
from halfmask.protection.attacks.seeds import guessable_seed
from halfmask.protection.attacks.wiener_smoother import smoothing
from halfmask.protection.evidence import Evidence
from halfmask.streams import ATTACK, stream

__all__ = ["ATTACKS", "Finding", "attack", "whiteness"]

Attack = Callable[[PrivacySetting, Evidence, np.random.Generator], Finding | tuple[Finding, ...]]

ATTACKS: tuple[Attack, ...] = (
    averaging,
    intersection,
    smoothing,
    reconstruction,
    reidentification,
    private_life,
    floating_point,
    guessable_seed,
    colour,
)


def attack(
    setting: PrivacySetting,
    evidence: Evidence,
    seed: int,
    advance: Callable[[int, int], None] | None = None,
    attacks: Sequence[Attack] = ATTACKS,
) -> list[Finding]:
    """Run attacks on one setting, in a fixed order, and return their findings.

    Each attack has its own random stream, so its result does not depend on the others. ``advance`` is a progress
    callback: it gets the number of finished attacks and their total.
    """
    findings: list[Finding] = []
    for number, each in enumerate(attacks):
        with np.errstate(over="ignore", invalid="ignore"):  # noise beyond all numbers has infinite errors, and says so
            found = each(setting, evidence, stream(seed, ATTACK + each.__name__))
        findings.extend((found,) if isinstance(found, Finding) else found)
        if advance:
            advance(number + 1, len(attacks))
    return findings
