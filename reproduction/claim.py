"""A claim of the paper, and what measuring it on one dataset or several, with several seeds, says of it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from halfmask.choice.mix import Mix
from halfmask.figures.study_samples import MenuSamples, Samples
from halfmask.menus.menu import Menu
from reproduction.trial import Trial

Verdict = Literal["holds", "holds in part", "does not hold"]

ROUNDING = 1e-9
"""Errors and differences of scores up to this are what rounding leaves."""


@dataclass(frozen=True, eq=False)
class ClaimEvidence:
    """All that was computed from one dataset with one seed: study, menu, the menu's samples and mixes, direct trial."""

    samples: Samples
    menu: Menu
    of_menu: MenuSamples
    mix: Mix
    trial: Trial


@dataclass(frozen=True)
class ClaimFinding:
    """What one dataset and seed say of a claim; ``why`` explains a difference and is empty where there is none."""

    measured: str
    verdict: Verdict
    why: str = ""


Findings = Mapping[int, ClaimFinding]
"""Findings of one dataset by seed."""


@dataclass(frozen=True)
class Claim:
    """What the paper says, and what was found by dataset and seed."""

    text: str
    findings: Mapping[str, Findings]

    @property
    def verdict(self) -> Verdict:
        """The one verdict of all datasets and seeds; "holds in part" if they differ."""
        verdicts = {finding.verdict for findings in self.findings.values() for finding in findings.values()}
        return verdicts.pop() if len(verdicts) == 1 else "holds in part"

    @property
    def why(self) -> str:
        """Every reason once."""
        every = (finding.why for findings in self.findings.values() for finding in findings.values())
        return " ".join(dict.fromkeys(why for why in every if why))


def counted(findings: Findings) -> str:
    """In how many seeds each verdict came out, the most frequent first: "holds in 4 of 5 seeds, holds in part in 1"."""
    counts = Counter(finding.verdict for finding in findings.values()).most_common()
    (first, count), *others = counts
    return ", ".join(
        [f"{first} in {count} of {len(findings)} seeds", *(f"{name} in {count}" for name, count in others)]
    )


def shown(findings: Findings) -> Findings:
    """The first seed of every verdict, the most frequent verdict first."""
    order = Counter(finding.verdict for finding in findings.values()).most_common()
    return {
        seed: findings[seed]
        for verdict, _ in order
        for seed in [next(seed for seed, finding in findings.items() if finding.verdict == verdict)]
    }


def found(measured: str, verdict: Verdict, why: str) -> ClaimFinding:
    """A finding that gives the reason only where the claim does not hold entirely."""
    return ClaimFinding(measured, verdict, "" if verdict == "holds" else why)


def judged(holds: bool, in_part: bool) -> Verdict:
    """The verdict of two conditions, the stronger first."""
    return "holds" if holds else "holds in part" if in_part else "does not hold"


def graded(met: int, of: int, enough: int | None = None) -> Verdict:
    """Holds where ``enough`` (default all) of the conditions are met, in part where at least half are."""
    return judged(met >= (of if enough is None else enough), met >= of / 2)
