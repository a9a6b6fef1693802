"""The share of producers re-identified from one masked day, by an attacker who knows their other days.

It is the attack `reidentification-day` of the audit, with the seed that an audit has by default, so that offer and
audit print one number.
"""

from collections.abc import Sequence

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.reidentification import reidentification
from halfmask.protection.evidence import Evidence
from halfmask.streams import stream

NODES = 12
SEED = 7
GAUSSIAN = "gaussian"


def recognised_share(evidence: Evidence, setting: PrivacySetting) -> float | None:
    """Return the share re-identified under a setting; None if the attack does not apply."""
    return reidentification(setting, evidence, stream(SEED, "attack.reidentification"))[0].value


def recognised_shares(evidence: Evidence, deviations: FloatArray) -> FloatArray:
    """Return the share re-identified under Gaussian noise of each deviation; NaN for NaN.

    The share is measured at some deviations, made to fall as noise grows, and interpolated linearly. Noise of another
    law and the same deviation hides less if it is peaked or bounded.
    """
    held = np.isfinite(deviations)
    noisy = np.unique(deviations[held & (deviations > 0)])
    nodes = noisy if len(noisy) <= NODES else np.geomspace(noisy[0], noisy[-1], NODES)
    settings = [PrivacySetting("none"), *(PrivacySetting.of_deviation(GAUSSIAN, float(at)) for at in nodes)]
    measured = [recognised_share(evidence, each) for each in settings]
    if measured[0] is None:
        raise OptionError(
            "too few producers have whole days of readings to tell them apart: it takes 5 with 4 days", kind="few"
        )
    rates = np.array([measured[0] if each is None else each for each in measured])
    rates = np.maximum.accumulate(rates[::-1])[::-1]
    found = np.full(len(deviations), np.nan)
    found[held] = np.interp(deviations[held], np.concatenate([[0.0], nodes]), rates)
    return found


def recognised_if_known(evidence: Evidence | None, settings: Sequence[PrivacySetting]) -> list[float | None]:
    """Return `recognised_share` of these settings; None without readings, or if the attack does not apply."""
    if evidence is None or evidence.resolution != "readings":
        return [None] * len(settings)
    return [recognised_share(evidence, each) for each in settings]
