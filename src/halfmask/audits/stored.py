"""A card as its file holds it, back to what it was: a damaged one is found by reading it, whatever is then shown."""

import math
from collections.abc import Mapping
from typing import Any, TypeVar, get_type_hints

import msgspec

from halfmask.audits.empirical import EmpiricalAudit
from halfmask.audits.limit import Closeness
from halfmask.audits.verdict import Alternative
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Score
from halfmask.protection.attacks.finding import Finding
from halfmask.protection.guarantees.guarantee import Guarantee
from halfmask.protection.guarantees.units import Promise

T = TypeVar("T")
ABOUT = {
    "fingerprint": str,
    "evidence": str,
    "resolution": str,
    "seed": int,
    "reports": dict[str, int],
    "curve": list[float],
}
"""What a card must say of itself."""
DAMAGE = (KeyError, TypeError, ValueError, AttributeError, msgspec.MsgspecError)
"""What a file raises that is no whole card."""


def built(kind: type[T], plain: Mapping[str, Any], **known: Any) -> T:
    """A value of a dataclass from plain values of its fields' types; ``known`` are those that are at hand."""
    hints = get_type_hints(kind)
    names = [name for name in getattr(kind, "__dataclass_fields__", {}) if name not in known]
    read = {name: msgspec.convert(plain[name], hints[name], strict=False) for name in names}
    return kind(**read, **known)


def guarantee_of(plain: Mapping[str, Any]) -> Guarantee:
    """A guarantee's table; the loss distribution behind it is computed again where it is asked for."""
    return built(
        Guarantee,
        plain,
        setting=PrivacySetting.parse(plain["setting"]),
        delta=_deltas(plain["delta"]),
        composed={int(reports): _deltas(deltas) for reports, deltas in plain["composed"].items()},
        unit=plain.get("unit", ""),
        loss=None,
    )


def _deltas(plain: Mapping[str, Any]) -> dict[float, float]:
    found = {float(epsilon): float(delta) for epsilon, delta in plain.items()}
    if not all(0 <= delta <= 1 for delta in found.values()) or math.inf not in found:
        raise ValueError("a delta is no probability, or that of certain disclosure is missing")
    return found


def curve_of(plain: Mapping[str, Any]) -> dict[int, tuple[float, ...]]:
    """delta by epsilon, for each number of reports."""
    return {int(reports): tuple(map(float, points)) for reports, points in plain.items()}


def finding_of(plain: Mapping[str, Any]) -> Finding:
    """What an attack found."""
    return built(Finding, plain)


def setting_fields(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a setting's card."""
    setting, whole = PrivacySetting.parse(plain["setting"]), plain["whole"]
    near, instead, sampler = plain["limit"], plain["instead"], plain["sampler"]
    scores = {name: None if plain[name] is None else built(Score, plain[name]) for name in ("privacy", "utility")}
    if instead is not None:
        other = PrivacySetting.parse(instead["setting"])
        instead = built(Alternative, instead, setting=other, curve=curve_of(instead["curve"]))
    if sampler is not None:  # a number that is not finite is null in the file
        finite = {key: math.inf if value is None and key != "misfit" else value for key, value in sampler.items()}
        sampler = built(EmpiricalAudit, finite)
    return {
        "id": msgspec.convert(plain["id"], str),
        "setting": setting,
        **scores,
        "guarantee": guarantee_of(plain),
        "typical": guarantee_of(plain["typical"]),
        "sampler": sampler,
        "findings": tuple(map(finding_of, plain["attacks"])),
        "closeness": None if near is None else built(Closeness, near, id=plain["id"], setting=setting),
        "instead": instead,
        "curve": curve_of(plain["typical"]["curve"]),
        "sentence": msgspec.convert(plain["sentence"], str),
        "warnings": msgspec.convert(plain["warnings"], tuple[str, ...]),
        "promises": {window: built(Promise, each) for window, each in plain["promises"].items()},
        "whole": None if whole is None else built(Promise, whole),
        "told": msgspec.convert(plain["told"], dict[int, float], strict=False),
        "per_unit": msgspec.convert(plain["per_unit"], float | None, strict=False),
    }


def about_of(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What a card says of itself, once all that is shown of it is there."""
    about = dict(plain["about"])
    for name, kind in ABOUT.items():
        msgspec.convert(about[name], kind)
    about["reports"]["day"]
    for name in ("range", "typical"):
        msgspec.convert(about["sensitivity"][name], float)
    del about["curve"]
    return about
