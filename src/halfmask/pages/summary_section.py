"""The summary of the results in plain words, and the menu.

It also has titles of sections, and the line for a missing part.
"""

from halfmask.evaluation.aggregates import noun
from halfmask.evaluation.sampling import population
from halfmask.figures.results_folder import ResultsFolder
from halfmask.figures.study_samples import table_1
from halfmask.figures.wording import in_a_list, percents, share_text
from halfmask.menus.masked_range import TIMES_OUT_OF_TEN
from halfmask.menus.menu import Menu
from halfmask.menus.menu_scale import OUTSIDE, beyond, score_words
from halfmask.menus.menu_table import InWords, menu_words
from halfmask.pages.first_section import dangers
from halfmask.pages.offered_levels import scores_table
from halfmask.pages.page_parts import Markup, bullets, html_table, joined_markup, macro, paragraph, score_bar

TITLES = {
    "costs": "What privacy costs",
    "mixes": "Free choice",
    "audit": "Audits, setting by setting",
    "pay": "What to pay",
    "repeat": "How to repeat it",
}
"""Sections of the appendix and on pay."""
NAMES = {"mix": "mixes"}
"""Parts that are called otherwise in a sentence."""


def left_out(inputs: ResultsFolder, part: str) -> Markup:
    """Return the line for a part that the folder lacks; empty if it does not lack it."""
    return Markup("") if inputs.holds(part) else macro("absent", NAMES.get(part, part), inputs.command(part))


def shown_as(words: InWords) -> str:
    """Return the range that a typical reading shows as, with a true minus sign, or words without a range."""
    if words.low is None or words.high is None:
        return "masked by a rule without a noise law"
    ends = words.range()
    return "as it is" if ends is None else " to ".join(ends).replace("-", "−")


def errors_of(words: InWords) -> list[str]:
    """Return how far totals are off for each size of crowd, as texts of a table."""
    return ["–" if error is None else share_text(error).replace("less than", "<") for error in words.errors.values()]


def words_of(inputs: ResultsFolder) -> list[InWords]:
    """Return each menu setting in words, for a typical reading; empty if the profile or the menu is missing."""
    if not inputs.menu or not inputs.profile or not inputs.profile.readings:
        return []
    return menu_words(inputs.menu, inputs.profile)


def summary_section(inputs: ResultsFolder) -> Markup:
    """Return the result in a few sentences that need no other page."""
    told = [
        macro("tiles", _facts(inputs)),
        paragraph(
            "Each device adds random noise to a reading before it leaves. How much a single reading then still says "
            "depends on the setting; a total over many users stays closer to the truth, because the noise of many "
            "cancels out. The paper's scores measure both on the data at hand: privacy, how far single readings are "
            "blurred, and utility, how exact the totals remain. Both run from 0 to 1. Blur is not protection: what a "
            "setting protects is under “What it protects” and “Audits, setting by setting”."
        ),
    ]
    findings = [*_search(inputs), *_ends(inputs), *_mixes(inputs)]
    if findings:
        told.append(bullets(findings))
    if inputs.offer:
        told.append(scores_table(inputs.offer))
    if (inputs.folder / "leaflet.html").exists():
        told.append(Markup('<p>What households are told of the offer: <a href="leaflet.html">leaflet.html</a>.</p>'))
    return joined_markup(told)


def _facts(inputs: ResultsFolder) -> list[tuple[str, str]]:
    facts = []
    if inputs.profile:
        facts += [
            ("Users", f"{inputs.profile.users:,}"),
            ("Readings", f"{inputs.profile.readings:,}"),
            (f"Periods of one {inputs.profile.period.text}", f"{len(inputs.profile.periods):,}"),
        ]
    if inputs.samples:
        facts.append(("Settings tried", f"{len(inputs.samples.settings):,}"))
    if inputs.menu:
        facts.append(("On the menu", f"{len(inputs.menu.settings) - 1}"))
    return facts


def _search(inputs: ResultsFolder) -> list[str]:
    if not inputs.samples:
        return []
    samples, held = inputs.samples, inputs.samples.scale.constraint
    count, kept = len(samples.settings), int(samples.kept.sum())
    which = "All of them" if kept == count else f"{kept:,} of them"
    told = (
        f"{count:,} privacy settings ({in_a_list(samples.names())}) were tried on the same groups of users. {which} "
        f"keep the error of a total below {percents(held.max_mean)} on average, with a standard deviation below "
        f"{percents(held.max_std)}"
    )
    return [f"{told}." if kept == count else f"{told}; the others are too noisy to be useful and are left out."]


def _ends(inputs: ResultsFolder) -> list[str]:
    """Return a sentence on the lightest and one on the strongest setting; empty if no setting masks."""
    if not inputs.menu or len(inputs.menu.settings) < 2:
        return []
    ordered = sorted(inputs.menu.settings[:-1], key=lambda each: each.privacy.median)
    words = {each.id: each for each in words_of(inputs)}
    told = []
    for each in (ordered[0], ordered[-1]) if len(ordered) > 1 else ordered:
        scores = [score_words(score.median, known=each.outside) for score in (each.privacy, each.utility)]
        said = f"Setting {each.id} has privacy {scores[0]} and utility {scores[1]}"
        if each.outside:
            said = f"Setting {each.id} lies {OUTSIDE}"
        if each.id in words:
            said += f": {words[each.id].sentence(inputs.unit)}{_total(inputs, words[each.id])}"
        if each.protection and each.protection.hides_next_to_nothing:
            said += ". It hides next to nothing: in the lowest bin the smallest noise has the highest utility, and wins"
        told.append(f"{said}.")
    return told


def _total(inputs: ResultsFolder, words: InWords) -> str:
    if not words.errors or not inputs.profile:
        return ""
    users, error = list(words.errors.items())[-1]
    if error is None:
        return ""
    of = f"a {inputs.profile.period.text}'s {noun(inputs.aggregate)} of all {users:,} users"
    return f", while {of} is off by {share_text(error)} on average"


def _mixes(inputs: ResultsFolder) -> list[str]:
    if not inputs.mix or not inputs.mix.table.num_rows:
        return []
    repeats = max(int(inputs.mix.about.get("repeats", 1)), 1)
    scores = [inputs.mix.table[name].to_numpy() for name in ("utility", "privacy")]
    out = beyond(scores[0]) | beyond(scores[1])
    told = (
        f"Where users choose freely from the menu, over {len(out) // repeats:,} mixes of choices tried {repeats} times "
        "each, "
    )
    if not out.all():
        ends = [(values[~out].min(), values[~out].max()) for values in scores]
        of = [f"between {score_words(low)} and {score_words(high)}" for low, high in ends]
        told += f"utility lies {of[0]} and privacy {of[1]}"
    if out.any():
        told += f"{'' if out.all() else '; '}{out.sum():,} of the tries lie {OUTSIDE} and have no score"
    return [f"{told}. What one user's readings show does not depend on what the others choose."]


def menu_section(inputs: ResultsFolder) -> Markup:
    """Return the menu as Table 1 and in plain words, and the bins without a setting; empty without a menu."""
    menu = inputs.menu
    if menu is None:
        return Markup("")
    rows = [
        [name, of, numbers, *(OUTSIDE if menu[name].outside else score_bar(score) for score in scores)]
        for name, of, numbers, *scores in table_1(menu)
    ]
    told = [
        paragraph(
            "The paper's menu holds the setting of the best utility at each level of its privacy score, and “none”. It "
            "stands beside the offer: the score measures blur, and some of its settings have no guarantee."
        ),
        dangers(inputs, menu, inputs.card),
        html_table(
            "Table 1. The paper's menu. Parameters are in the mechanism's own order; the coefficients of sine noise "
            "are printed lowest power first. Privacy and utility are medians over all groups of users tried.",
            ["Id", "Mechanism", "Parameters", "Privacy", "Utility"],
            rows,
        ),
        _plain(inputs),
    ]
    return joined_markup([*told, macro("notes", empty_bins(menu))])


def empty_bins(menu: Menu) -> list[str]:
    """Return a sentence for each bin without a setting."""
    return [
        f"No setting for privacy {each.bin[0]:g} to {each.bin[1]:g}: the nearest is {each.nearest}, but {each.reason}."
        for each in menu.empty_bins
    ]


def _plain(inputs: ResultsFolder) -> str:
    words = words_of(inputs)
    if not words or not inputs.profile:
        return ""
    everyone, reading = population(inputs.profile), f"{words[0].reading:.3g} {inputs.unit}".strip()
    crowds = [f"all {users:,} users" if users == everyone else f"{users:,} users" for users in words[0].errors]
    rows = [[each.id, shown_as(each), *errors_of(each)] for each in words]
    return html_table(
        f"Table 2. The same in plain words: what a typical reading, {reading}, shows as "
        f"{TIMES_OUT_OF_TEN} times out of 10, and how far a {inputs.profile.period.text}'s "
        f"{noun(inputs.aggregate)} is off on average.",
        ["Id", f"{reading} shows as", *crowds],
        rows,
        numbers=range(2, 2 + len(crowds)),
    )
