"""What an attacker can still learn from masked readings, one file an attack.

`attack` runs them all on one setting; each gives a `Finding`: a number, what to hold it against, and a sentence.
"""

from collections.abc import Callable, Sequence

import numpy as np

from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.averaging import averaging
from halfmask.protection.attacks.colour import colour, colour_score, whiteness
from halfmask.protection.attacks.finding import Finding
from halfmask.protection.attacks.floating_point import floating_point
from halfmask.protection.attacks.intersection import intersection
from halfmask.protection.attacks.presence import presence
from halfmask.protection.attacks.reconstruction import reconstruction
from halfmask.protection.attacks.reidentification import reidentification
from halfmask.protection.attacks.seeds import guessable_seed
from halfmask.protection.attacks.smoothing import smoothing
from halfmask.protection.evidence import Evidence
from halfmask.streams import ATTACK, stream

__all__ = ["ATTACKS", "Finding", "attack", "colour_score", "whiteness"]

Attack = Callable[[PrivacySetting, Evidence, np.random.Generator], Finding]

ATTACKS: tuple[Attack, ...] = (
    averaging,
    intersection,
    smoothing,
    reconstruction,
    reidentification,
    floating_point,
    guessable_seed,
    colour,
    presence,
)


def attack(
    setting: PrivacySetting,
    evidence: Evidence,
    seed: int,
    advance: Callable[[int, int], None] | None = None,
    attacks: Sequence[Attack] = ATTACKS,
) -> list[Finding]:
    """Attacks on one setting, in a fixed order; each has a stream of its own, so that none depends on the others.

    ``advance`` hears how many attacks are done, of how many.
    """
    findings = []
    for number, each in enumerate(attacks):
        with np.errstate(over="ignore", invalid="ignore"):  # noise beyond all numbers has infinite errors, and says so
            findings.append(each(setting, evidence, stream(seed, ATTACK + each.__name__)))
        if advance:
            advance(number + 1, len(attacks))
    return findings
