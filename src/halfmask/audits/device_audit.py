"""Test of a setting on the devices' lattice: whether devices accept it, and whether they draw the right noise."""

import numpy as np

import halfmask_device as producer
from halfmask.arrays import IntArray
from halfmask.audits.sampler_audit import EmpiricalAudit, audit_setting_sampler
from halfmask.errors import HalfmaskError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask_device.decimals import number_text
from halfmask_device.setting import unmasked_warning

DRAWS = 10_000
"""Draws of the device's sampler for each of two readings: a scale 20 % too small is then always found."""


def audit_device(setting: PrivacySetting, step: float, draws: int = DRAWS) -> EmpiricalAudit | None:
    """Return a test of the device's own noise against the setting's promise, on its lattice.

    None if devices do not offer the setting on this lattice, or if it lacks a promise to test.
    """
    inner = setting.noise
    if inner.kind != "additive":
        return None
    own = inner.law.lattice(inner.parameters)
    step = step if own is None else own
    try:
        lattice = producer.Lattice(number_text(step), "0", number_text(step))

        def noise(count: int) -> IntArray:
            return np.array(producer.noise(str(inner), lattice, count), np.int64)

        return audit_setting_sampler(inner, noise, step, draws)
    except HalfmaskError:
        return None


def device_objections(setting: PrivacySetting, step: float) -> tuple[str, ...]:
    """Return why devices refuse the setting on this lattice, or that it leaves many readings unchanged; else empty."""
    if setting.silent:
        return ()
    own = setting.noise.law.lattice(setting.noise.parameters) if setting.noise.kind == "additive" else None
    try:
        told = unmasked_warning(str(setting.noise), number_text(step if own is None else own))
    except HalfmaskError as error:
        return (f"Devices refuse it: {error}.",)
    return () if told is None else (f"Devices warn: {told}.",)
