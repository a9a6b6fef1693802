"""The sections on method: how the numbers were computed, how to repeat them, and what they do not say."""

import shlex
from pathlib import Path

from halfmask import __version__
from halfmask.audits.card import CALIBRATION
from halfmask.evaluation.error_decay import decay_of, verdict
from halfmask.evaluation.metrics import METRICS
from halfmask.figures.algorithm import menu_omega
from halfmask.figures.results_folder import PARTS, ResultsFolder
from halfmask.figures.study_samples import Samples
from halfmask.figures.wording import percents
from halfmask.pages.page_parts import Markup, bullets, html_table, joined_markup, macro, paragraph
from halfmask.profiles.quality import advice
from halfmask.profiles.show import table_rows

LIMITS = (
    "Privacy here is a measure of blur: how large, how varied and how unpredictable the errors of single readings are. "
    "It is not a guarantee, and not differential privacy: those are the subject of “What it really protects”.",
    "Bounded noise, such as sine noise, can rule values out: a reading cannot lie further from what is shown than the "
    "largest noise. It has no finite pure epsilon; what remains has to be stated as delta for a given epsilon.",
    "For a given utility, the measure rewards noise that is large in size. Noise of nearly constant size scores "
    "highest, although its size can then be guessed.",
    "Independent noise averages out. Someone who sees many reports of a quantity that hardly changes, a fridge at "
    "night or the same hour of many days, learns its level.",
    "The measure takes noise as exact numbers. Noise added in floating-point arithmetic can leak through the last "
    "digits; a device should draw it on a lattice, as “halfmask mask” does.",
    "Scores are relative to this study: the largest errors among the settings tried count as 1. Scores of different "
    "studies cannot be compared.",
    CALIBRATION,
)


def quality_section(inputs: ResultsFolder) -> Markup:
    """Return the quality table of the profile and notes on it; empty without a profile."""
    if inputs.profile is None:
        return Markup("")
    rows = [[name, _short(words) if name == "source" else words] for name, words in table_rows(inputs.profile)]
    rows = [[name, words.replace("   ", " · ")] for name, words in rows]
    told = [f"{note[:1].upper()}{note[1:]}.".replace("`", "") for note in advice(inputs.profile)]
    return joined_markup([html_table("", [], rows), macro("notes", told)])


def method_section(inputs: ResultsFolder) -> Markup:
    """Return the definitions, and every parameter that shaped the result."""
    told = [
        paragraph(
            "A sample is one setting applied once to one random group of users; the same groups serve every setting. "
            f"{_errors(inputs.samples)} Of both, the mean, the standard deviation and the entropy (Shannon, bits, bins "
            "of 0.001) are taken. Each is divided by the largest value among all samples of the settings that keep the "
            "constraint; privacy is a weighted sum of the three local ones, utility is 1 less that of the three global "
            "ones."
        ),
        paragraph(
            "Privacy is cut into equal bins. A setting belongs to the bin of its median privacy and is admissible "
            "where the tenth percentile is less than omega below the median. In each bin the admissible setting with "
            "the largest median plus tenth percentile of utility wins."
        ),
    ]
    rows = [*_study_rows(inputs.samples), *_menu_rows(inputs), *_mix_rows(inputs)]
    if rows:
        told.append(html_table("Parameters", [], rows))
    return joined_markup(told)


def _errors(samples: Samples | None) -> str:
    """Return what the local and the global error are, by the study's error function and aggregate."""
    of = str(samples.about.get("aggregate", "sum")) if samples else "sum"
    if samples and samples.about.get("error") == "scaled":
        return (
            "Its local error is |masked − true| of each reading divided by the user's mean |reading|, its global error "
            f"that of each period's {of} divided by the mean |{of}| over periods."
        )
    return (
        "Its local error is |masked − true| / |true| of each reading other than zero, its global error the same of "
        f"each period's {of}."
    )


def _study_rows(samples: Samples | None) -> list[list[str]]:
    if samples is None:
        return []
    about, scale, held = samples.about, samples.scale, samples.scale.constraint
    rows = [[name, str(about[key])] for key, name in _STUDY_WORDS.items() if key in about]
    if "sizes" in about:
        rows.append(["group sizes", ", ".join(f"{size:,}" for size in about["sizes"])])
    largest = ", ".join(
        f"{name.replace('_', ' ')} {value:.4g}" for name, value in zip(METRICS, scale.largest, strict=True)
    )
    return [
        *rows,
        ["weights of privacy", _weights(scale.weights.privacy)],
        ["weights of utility", _weights(scale.weights.utility)],
        ["constraint", f"global error: mean below {held.max_mean:g}, standard deviation below {held.max_std:g}"],
        ["normalisers", largest],
    ]


_STUDY_WORDS = {
    "grid": "grid of settings",
    "engine": "method",
    "aggregate": "aggregate",
    "period": "period",
    "error": "error function",
    "repeats": "groups of each size",
    "seed": "seed",
    "fingerprint": "fingerprint of the data",
    "halfmask": "version of halfmask",
    "numpy": "version of numpy",
}


def _weights(weights: tuple[float, float, float]) -> str:
    return f"{weights[0]:g} mean, {weights[1]:g} standard deviation, {weights[2]:g} entropy"


def _menu_rows(inputs: ResultsFolder) -> list[list[str]]:
    if inputs.menu is None:
        return []
    bins = inputs.menu.provenance.get("bins")
    rows = [["omega", f"{menu_omega(inputs.menu):g}"]]
    return [["bins of privacy", str(bins)], *rows] if bins else rows


def _mix_rows(inputs: ResultsFolder) -> list[list[str]]:
    if inputs.mix is None:
        return []
    about = inputs.mix.about
    step = f"in steps of {percents(about['step'])} of users, " if about.get("step") else ""
    return [["mixes", f"{step}{about['repeats']} repeats, seed {about['seed']}"]]


def noise_cancels(samples: Samples) -> str:
    """Return how the global error falls with the number of users, as `evaluate` found; empty if that is not known."""
    decay = decay_of(samples.metrics, samples.users)
    if decay is None:
        return ""
    told = verdict(str(samples.about.get("aggregate", "sum")), decay.exponent)
    return told[:1].upper() + told[1:]


def limits_section() -> Markup:
    """Return the section on what the score does not say."""
    return bullets(LIMITS)


def repeat_section(inputs: ResultsFolder) -> Markup:
    """Return the commands that give the same files again, byte for byte but for two parts with unseeded noise."""
    there, folder = [part for part in PARTS if inputs.holds(part)], inputs.folder.resolve().name
    lines = "\n".join([f"mkdir -p {shlex.quote(folder)}", *(inputs.command(part) for part in (*there, "report"))])
    return joined_markup(
        [
            paragraph(
                f"With halfmask {__version__}, in any folder that holds the readings under the name that the first "
                "halfmask line gives: same data and same seeds give the same files, byte for byte. Two parts differ, "
                "as their noise has no seed: the card's audit of the device and the offer's summary of everybody for "
                "households."
            ),
            macro("commands", lines),
        ]
    )


def _short(source: str) -> str:
    """Return a file's name without its folders, which are private."""
    return source if "://" in source else Path(source).name or source
