"""Whether devices accept a setting on their lattice: they refuse noise that leaves nearly every reading unchanged."""

import math
from collections.abc import Callable

import numpy as np

from halfmask.errors import HalfmaskError, OptionError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask_device.decimals import number_text
from halfmask_device.setting import DeviceSetting, law_of
from halfmask_device.terms import STEP

Takes = Callable[[PrivacySetting], bool]
DOUBT = 0.5
"""A setting is only examined further if psi is within half a step at least this often: otherwise devices accept it."""


def anything(_: PrivacySetting) -> bool:
    """Accept every setting, if the devices' lattice is not known."""
    return True


def takes(step: float) -> Takes:
    """Return a function that says whether devices accept a setting on the lattice with this step."""
    if not 0 < step < math.inf:
        raise OptionError(f"the step is {step:g}: give that of the devices' lattice, above 0, like {STEP}", kind="step")
    return lambda setting: refusal(setting, step) is None


def refusal(setting: PrivacySetting, step: float) -> str | None:
    """Return why devices refuse a setting on the lattice; None if they accept it or do not know the mechanism."""
    noise = setting.noise
    if setting.silent or noise.kind != "additive":
        return None
    own = noise.law.lattice(noise.parameters)
    if own is None and 1 - 2 * float(noise.law.tail(noise.parameters, np.array([step / 2]))[0]) < DOUBT:
        return None
    try:
        DeviceSetting.parse(str(noise))
    except HalfmaskError:
        return None
    try:
        law_of(str(noise), number_text(step if own is None else own))
    except HalfmaskError as error:
        return str(error)
    return None
