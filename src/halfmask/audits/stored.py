"""A card as its file holds it, back to what it was: a damaged one is found by reading it, whatever is then shown.

The classes named ``...Page`` are the file's form: every field of theirs must be there, of its type and in its range.
Words that follow from numbers are in the file for who reads it without halfmask; they follow again, and are not kept.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec

from halfmask.audits.card import (
    CURVE,
    FORMAT,
    VERSION,
    BestScore,
    CardAbout,
    ChangeAudited,
    ReportCard,
    SettingCard,
    StepAudited,
)
from halfmask.audits.empirical import EmpiricalAudit, Misfit
from halfmask.audits.families import FAMILIES, LIMIT, NoiseAtEqualUtility
from halfmask.audits.limit import Closeness
from halfmask.audits.verdict import Alternative
from halfmask.errors import FileFormatError, HalfmaskError
from halfmask.files import read_page
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Score
from halfmask.protection.attacks.finding import Finding
from halfmask.protection.guarantees.guarantee import EPSILONS, Guarantee
from halfmask.protection.guarantees.units import TOLD, Promise

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Size = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Deltas = dict[str, Share]
Points = dict[str, list[Share]]
DRAWN = {"smoothing": ("rmse_prior", "rmse_smoothed"), "re-identification": ("unmasked_top1",)}
"""Details of attacks that are drawn: they must be there, as numbers, where the attack applies."""


class ScorePage(TypedDict):
    """A score over samples; scores of settings beyond the study's range leave 0 to 1."""

    median: float
    p10: float


class GuaranteePage(TypedDict):
    """A guarantee's table."""

    setting: str
    sensitivity: Size
    step: Size | None
    epsilon: Size | None
    delta: Deltas
    composed: dict[str, Deltas]
    label: str
    unit: str


class TypicalPage(GuaranteePage):
    """That of a typical change, with delta where it is drawn."""

    curve: Points


class PromisePage(TypedDict):
    """A promise, and its words."""

    readings: Count
    change: Size
    epsilon: Size | None
    delta: Share
    odds: Share
    unit: str
    window: str
    words: str


class FindingPage(TypedDict):
    """What an attack found; ``details`` are its own."""

    name: str
    metric: str
    value: float | None
    baseline: float | None
    words: str
    details: dict[str, Any]


class MisfitPage(TypedDict):
    """Noises that came too often or too rarely."""

    event: str
    expected: Share
    share: Share
    draws: Count
    words: str


class SamplerPage(TypedDict):
    """The audit of the device's noise; a bound that is not finite is null."""

    quantity: Literal["epsilon", "delta"]
    bound: float | None
    claimed: float | None
    confidence: Share
    draws: Count
    value: int
    neighbour: int
    threshold: int
    share_of_value: Share
    share_of_neighbour: Share
    misfit: MisfitPage | None
    caught: bool


class AlternativePage(TypedDict):
    """Noise of the same variance that has an epsilon."""

    setting: str
    change: Size
    epsilon: Size
    day: Size | None
    privacy: float
    privacy_now: float
    curve: Points


class ClosenessPage(TypedDict):
    """How close a setting comes to the limit."""

    privacy: float
    upper_bound: float
    share: float
    noise_std: Size | None
    median: float


class SettingPage(GuaranteePage):
    """One setting: its guarantee against the whole range stands at the top."""

    id: str
    privacy: ScorePage | None
    utility: ScorePage | None
    typical: TypicalPage
    sampler: SamplerPage | None
    attacks: list[FindingPage]
    instead: AlternativePage | None
    limit: ClosenessPage | None
    promises: dict[str, PromisePage]
    whole: PromisePage | None
    told: dict[str, Share]
    per_unit: Size | None
    sentence: str
    lines: list[str]
    warnings: list[str]


class BestPage(TypedDict):
    """The highest score under attack."""

    like: str
    setting: str
    privacy: float
    attacks: list[FindingPage]


class NoisePage(TypedDict):
    """The limit beside well-known noise."""

    deviation: list[Size]
    chosen: Size
    privacy: list[float]
    utility: list[float]
    shares: dict[str, list[float]]
    errors: dict[str, list[float]]
    at: list[Size]
    laws: dict[str, list[Size]]


class ReportsPage(TypedDict):
    """Readings of a day, a month and a year."""

    day: Count
    month: Count
    year: Count


class ChangePage(TypedDict):
    """The changes that guarantees are against."""

    range: Size
    origin: str
    typical: Size


class StepPage(TypedDict):
    """The lattice's step."""

    size: Size
    origin: str


class AboutPage(TypedDict):
    """What the card is about."""

    halfmask: str
    fingerprint: str
    users: int
    readings: int
    sensitivity: ChangePage
    step: StepPage
    windows: dict[str, Count]
    delta: Share
    unit: str
    reports: ReportsPage
    evidence: str
    resolution: str
    seed: int
    asked: NotRequired[dict[str, Any]]
    curve: list[Size]


class CardPage(TypedDict):
    """The whole file."""

    settings: list[SettingPage]
    best: BestPage | None
    noise: NoisePage | None
    calibration: str
    about: AboutPage


def read_card(path: str | Path) -> ReportCard:
    """The card in a file; a missing, foreign, damaged or newer one is a FileFormatError that names the field."""
    page = read_page(path, FORMAT, VERSION, "halfmask audit")
    try:
        return card_of(page)
    except (HalfmaskError, msgspec.ValidationError, ValueError) as error:
        why = str(error).replace("`$.", "`")
        raise FileFormatError(
            f"{path} is no whole card ({why}): recreate it with 'halfmask audit'", place=str(path)
        ) from error


def card_of(plain: Mapping[str, Any]) -> ReportCard:
    """The card of a page's plain values."""
    page = msgspec.convert(plain, CardPage)
    for fault in _faults(page):
        raise ValueError(fault)
    about, best, noise = page["about"], page["best"], page["noise"]
    return ReportCard(
        tuple(map(_setting, page["settings"])),
        CardAbout(
            **{name: about[name] for name in CardAbout.__dataclass_fields__ if name in about}  # type: ignore[literal-required]
            | {"sensitivity": ChangeAudited(**about["sensitivity"]), "step": StepAudited(**about["step"])}
        ),
        best
        and BestScore(best["like"], PrivacySetting.parse(best["setting"]), best["privacy"], _findings(best["attacks"])),
        noise and NoiseAtEqualUtility.from_json(dict(noise)),
    )


def _faults(page: CardPage) -> Iterator[str]:
    """Where parts that are each of their type do not go together."""
    about, ids = page["about"], [each["id"] for each in page["settings"]]
    if not ids or len(set(ids)) < len(ids):
        yield "'settings' are none, or two of one 'id'"
    if about["curve"] != list(CURVE):
        yield "'about.curve' has other epsilons than a card has"
    yield from _not_all("about.windows", about["windows"], ("one reading", "a day", "everything"), more=True)
    day = str(about["reports"]["day"])
    counts = [str(each) for each in about["reports"].values()]
    for number, each in enumerate(page["settings"]):
        at = f"settings[{number}]"
        yield from _setting_faults(at, each, about["windows"], counts, day)
    if page["best"]:
        yield from _finding_faults("best.attacks", page["best"]["attacks"])
        if page["best"]["like"] not in ids:
            yield f"'best.like' is {page['best']['like']!r}, which is not on it"
    if page["noise"]:
        yield from _noise_faults(page["noise"])


def _setting_faults(
    at: str, each: SettingPage, windows: Mapping[str, int], counts: Collection[str], day: str
) -> Iterator[str]:
    known = {_key(epsilon) for epsilon in EPSILONS}
    for place, found in ((at, each), (f"{at}.typical", each["typical"])):
        if found["setting"] != each["setting"]:
            yield f"'{place}.setting' is another than '{at}.setting'"
        yield from _not_all(f"{place}.delta", found["delta"], known)
        yield from _not_all(f"{place}.composed", found["composed"], counts)
        for deltas in found["composed"].values():
            yield from _not_all(f"{place}.composed", deltas, known)
    curves = {f"{at}.typical.curve": each["typical"]["curve"]}
    curves |= {f"{at}.instead.curve": each["instead"]["curve"]} if each["instead"] else {}
    for place, curve in curves.items():
        yield from _not_all(place, curve, ("1", day))
        if any(len(points) != len(CURVE) for points in curve.values()):
            yield f"'{place}' has not {len(CURVE)} points"
    yield from _not_all(f"{at}.promises", each["promises"], windows)
    yield from _not_all(f"{at}.told", each["told"], [str(count) for count in TOLD])
    yield from _finding_faults(f"{at}.attacks", each["attacks"])


def _finding_faults(at: str, findings: list[FindingPage]) -> Iterator[str]:
    for number, found in enumerate(findings):
        for name in DRAWN.get(found["name"], ()) if found["value"] is not None else ():
            if not isinstance(found["details"].get(name), float | int):
                yield f"'{at}[{number}].details.{name}' is no number"


def _noise_faults(noise: NoisePage) -> Iterator[str]:
    yield from _not_all("noise.shares", noise["shares"], FAMILIES)
    yield from _not_all("noise.errors", noise["errors"], (*FAMILIES, LIMIT))
    yield from _not_all("noise.laws", noise["laws"], (*FAMILIES, LIMIT))
    rows = {"privacy": noise["privacy"], "utility": noise["utility"], **noise["shares"], **noise["errors"]}
    if any(len(row) != len(noise["deviation"]) for row in rows.values()) or not noise["deviation"]:
        yield "'noise': 'deviation', 'privacy', 'utility', 'shares' and 'errors' differ in length"
    if any(len(row) != len(noise["at"]) for row in noise["laws"].values()):
        yield "'noise': 'at' and 'laws' differ in length"


def _not_all(at: str, found: Mapping[str, Any], names: Collection[str], *, more: bool = False) -> Iterator[str]:
    """A fault where a table lacks one of ``names``, or has more than these."""
    for name in names:
        if name not in found:
            yield f"'{at}' has no '{name}'"
    for name in () if more else found:
        if name not in names:
            yield f"'{at}' has '{name}', which the card is not about"


def _key(epsilon: float) -> str:
    return "inf" if math.isinf(epsilon) else f"{epsilon:g}"


def _setting(page: SettingPage) -> SettingCard:
    setting, near, instead = PrivacySetting.parse(page["setting"]), page["limit"], page["instead"]
    return SettingCard(
        id=page["id"],
        setting=setting,
        privacy=page["privacy"] and Score(**page["privacy"]),
        utility=page["utility"] and Score(**page["utility"]),
        guarantee=_guarantee(page),
        typical=_guarantee(page["typical"]),
        sampler=page["sampler"] and _sampler(page["sampler"]),
        findings=_findings(page["attacks"]),
        closeness=near
        and Closeness(page["id"], setting, near["noise_std"], near["median"], near["privacy"], near["upper_bound"]),
        instead=instead and _alternative(instead),
        curve=_curve(page["typical"]["curve"]),
        sentence=page["sentence"],
        warnings=tuple(page["warnings"]),
        promises={window: _promise(each) for window, each in page["promises"].items()},
        whole=page["whole"] and _promise(page["whole"]),
        told={int(count): chance for count, chance in page["told"].items()},
        per_unit=page["per_unit"],
    )


def _guarantee(page: GuaranteePage) -> Guarantee:
    """The loss distribution behind the table is computed again where it is asked for."""
    return Guarantee(
        PrivacySetting.parse(page["setting"]),
        page["sensitivity"],
        page["epsilon"],
        _deltas(page["delta"]),
        {int(reports): _deltas(deltas) for reports, deltas in page["composed"].items()},
        page["label"],
        page["step"],
        page["unit"],
    )


def _deltas(page: Deltas) -> dict[float, float]:
    return {float(epsilon): delta for epsilon, delta in page.items()}


def _curve(page: Points) -> dict[int, tuple[float, ...]]:
    return {int(reports): tuple(points) for reports, points in page.items()}


def _promise(page: PromisePage) -> Promise:
    return Promise(page["readings"], page["change"], page["epsilon"], page["delta"], page["odds"], page["unit"])


def _alternative(page: AlternativePage) -> Alternative:
    return Alternative(
        PrivacySetting.parse(page["setting"]),
        page["change"],
        page["epsilon"],
        page["day"],
        page["privacy"],
        page["privacy_now"],
        _curve(page["curve"]),
    )


def _findings(pages: list[FindingPage]) -> tuple[Finding, ...]:
    return tuple(Finding(**each) for each in pages)


def _sampler(page: SamplerPage) -> EmpiricalAudit:
    misfit = page["misfit"]
    held: dict[str, Any] = {name: value for name, value in page.items() if name != "caught"}
    held |= {name: math.inf for name in ("bound", "claimed") if held[name] is None}
    if misfit:
        held["misfit"] = Misfit(misfit["event"], misfit["expected"], misfit["share"], misfit["draws"])
    return EmpiricalAudit(**held)
