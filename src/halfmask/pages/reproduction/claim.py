"""A claim of the paper, and what measuring it on one dataset or several says of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from halfmask.choice.mix import Mix
from halfmask.figures.menu import MenuSamples
from halfmask.figures.samples import Samples
from halfmask.menus.menu import Menu
from halfmask.pages.reproduction.trial import Trial

Verdict = Literal["holds", "holds in part", "does not hold"]


@dataclass(frozen=True, eq=False)
class ClaimEvidence:
    """All that was computed from one dataset: a study, its menu, the menu's samples and mixes, and the direct trial."""

    samples: Samples
    menu: Menu
    of_menu: MenuSamples
    mix: Mix
    trial: Trial
    about: str


@dataclass(frozen=True)
class ClaimFinding:
    """What one dataset says of a claim; ``why`` explains a difference and is empty where there is none."""

    measured: str
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class Claim:
    """What the paper says, what was measured by dataset, whether it holds on all of them, and why where it does not."""

    text: str
    measured: Mapping[str, str]
    verdict: Verdict
    why: str


def claim(text: str, findings: Mapping[str, ClaimFinding]) -> Claim:
    """Findings of several datasets as one claim: it holds where all say so, fails where all do, else holds in part."""
    verdicts = {finding.verdict for finding in findings.values()}
    verdict: Verdict = verdicts.pop() if len(verdicts) == 1 else "holds in part"
    measured = {name: f"{finding.measured} *{finding.verdict.capitalize()}.*" for name, finding in findings.items()}
    reasons = dict.fromkeys(finding.why for finding in findings.values() if finding.why)
    return Claim(text, measured, verdict, " ".join(reasons))


def found(measured: str, verdict: Verdict, why: str) -> ClaimFinding:
    """A finding that gives the reason only where the claim does not hold entirely."""
    return ClaimFinding(measured, verdict, "" if verdict == "holds" else why)


def judged(holds: bool, in_part: bool) -> Verdict:
    """The verdict of two conditions, the stronger first."""
    return "holds" if holds else "holds in part" if in_part else "does not hold"


def graded(met: int, of: int, enough: int | None = None) -> Verdict:
    """Holds where ``enough`` (default all) of the conditions are met, in part where at least half are."""
    return judged(met >= (of if enough is None else enough), met >= of / 2)
