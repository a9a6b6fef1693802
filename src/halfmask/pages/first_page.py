"""The page that is signed: what is offered, promised, still learned and paid, and who decided it."""

from halfmask.evaluation.sampling import population
from halfmask.figures.captions import share
from halfmask.figures.inputs import Inputs
from halfmask.menus.menu import Menu, MenuSetting
from halfmask.menus.placed import OUTSIDE
from halfmask.menus.promise import HIDES, Question
from halfmask.pages.page import Markup, bullets, element, joined, paragraph, table
from halfmask.profiles.quality import quality

LARGE = 5.0
"""Epsilon of one reading from which a promise is little more than words: odds may change by e^5 = 148."""
BLANK = "\u2007" * 24


def offer_section(inputs: Inputs) -> Markup:
    """Page one; a line with the command that makes an offer where the folder holds none."""
    menu = inputs.offer
    if menu is None:
        return joined(
            [paragraph("The folder holds no offer: there is nothing here to sign.", "absent"), dangers(inputs)]
        )
    return joined(
        [
            dangers(inputs),
            _offered(menu),
            element("h3", "What is promised"),
            *(paragraph(told) for told in promised(menu)),
            element("h3", "What an attacker still learns"),
            bullets(learned(menu)),
            element("h3", "What it costs"),
            bullets(costs(menu)),
            element("h3", "Who decided what, and when"),
            _decision(inputs, menu),
        ]
    )


def dangers(inputs: Inputs) -> Markup:
    """Settings of either menu that must not be offered as protection, in red, before everything else."""
    told = []
    for name, menu in (("offer", inputs.offer), ("paper's menu", inputs.menu)):
        for each in menu.settings[:-1] if menu else ():
            reason = danger(each)
            if reason:
                told.append(f"{each.id} of the {name} ({each.setting}) {reason}")
    if not told:
        return Markup("")
    head = element("strong", "Do not offer as protection")
    return element("div", joined([head, bullets(told)]), "danger")


def danger(entry: MenuSetting) -> str:
    """Why a setting hides nothing worth the name; empty where it does, or where nothing is known."""
    found = entry.protection
    if found is None or found.guess is None or found.guess >= HIDES:
        return ""
    return f"hides next to nothing: from its report a reading is guessed to {percent(found.guess)} of the blind error."


def _offered(menu: Menu) -> Markup:
    asked, crowds = menu.question, _crowds(menu)
    named = any(each.protection and each.protection.recognised is not None for each in menu.settings)
    heads = [
        "Level",
        "Guess error",
        "Epsilon, one reading",
        f"Epsilon, {asked.window:,} readings" if asked else "Window",
    ]
    heads += ["Recognised"] * named + [f"Total of {users:,}" for users in crowds]
    heads += ["Producers needed", "Paper's privacy", "Paper's utility"]
    rows = []
    for each in menu.settings:
        found = each.protection
        row = [f"{each.id} {each.name}".strip(), percent(found.guess if found else None)]
        row += [_epsilon(found.reading if found else None), _epsilon(found.window if found else None)]
        row += [percent(found.recognised if found else None)] * named
        row += [
            percent((found.errors if found else {}).get(users, 0.0 if each.id == "N" else None)) for users in crowds
        ]
        row.append("–" if each.needed is None else f"{each.needed:,}")
        row += [OUTSIDE] * 2 if each.outside else [f"{each.privacy.median:.2f}", f"{each.utility.median:.2f}"]
        rows.append(row)
    return table("What is offered. Each column is explained below.", heads, rows, numbers=range(1, len(heads)))


def promised(menu: Menu) -> list[str]:
    """The guarantee in words: change, window and delta."""
    asked = menu.question
    if asked is None:
        return ["The offer does not say what its epsilons are about: make it with halfmask offer."]
    return [
        f"Whoever sees one report, whatever else they know, cannot tell two readings that differ by up to {asked.size} "
        "apart by more than a factor e^epsilon in odds: epsilon of one reading, at delta 0. For another change it is "
        f"in proportion. The other epsilon is {asked.words()}. Larger changes and longer windows have larger epsilons.",
        _weak(menu, asked),
    ]


def _weak(menu: Menu, asked: Question) -> str:
    weak = [
        each.id
        for each in menu.settings[:-1]
        if each.protection and each.protection.window is not None and each.protection.window > LARGE
    ]
    if not weak:
        return f"All levels keep epsilon {LARGE:g} or less over the window."
    return (
        f"Over the window epsilon is above {LARGE:g} for {', '.join(weak)}: these levels protect single readings, not "
        f"the sum of {asked.window:,} of them against who looks for that change in every one."
    )


def learned(menu: Menu) -> list[str]:
    """What reports still tell: guess and recognition, from the lightest to the strongest level."""
    entries = [each for each in menu.settings[:-1] if each.protection and each.protection.guess is not None]
    if not entries:
        return ["Not measured."]
    first, last = entries[0].protection, entries[-1].protection
    told = [
        "Guess error: mean error of the best guess of a reading from its report, over that of the best guess without "
        f"it: {percent(first.guess if first else None)} under {entries[0].id}, "
        f"{percent(last.guess if last else None)} under {entries[-1].id}. 100 % would be a report that tells nothing."
    ]
    if first and last and first.recognised is not None:
        open_ = menu.settings[-1].protection
        told.append(
            "Recognised: share of producers whose name is found from one masked day by who knows their days before: "
            f"{percent(open_.recognised if open_ else None)} unmasked, {percent(first.recognised)} under "
            f"{entries[0].id}, {percent(last.recognised)} under {entries[-1].id}."
        )
    return told


def costs(menu: Menu) -> list[str]:
    """The error of totals, levels that need more producers than there are, and what the guarantee costs."""
    made, period = menu.provenance.get("offer", {}), menu.provenance.get("period", "period")
    told = [f"Total of N: mean error of a {period}'s total of so many producers, relative, if all choose that level."]
    if made:
        short = [e for e in menu.settings if e.needed is not None and e.needed > made["producers"]]
        told += [
            f"{each.id} ({each.name}) needs {each.needed:,} producers for an error of {percent(made['within'])}; there "
            f"are {made['producers']:,}."
            for each in short
        ]
        if made.get("guarantee_costs") is not None:
            told.append(
                "The guarantee itself costs at most "
                f"{max(made['guarantee_costs'], 0):.3f} of the paper's utility at any level of the paper's menu."
            )
    return told


def _decision(inputs: Inputs, menu: Menu) -> Markup:
    """What a person fills in, beside what is known."""
    enough = [each.id for each in menu.settings[:-1] if _carried(each, menu)]
    data = "not in the folder"
    if inputs.profile and inputs.profile.readings:
        found = quality(inputs.profile)
        data = (
            f"{inputs.name}: {population(inputs.profile):,} producers, {found['readings']:,} readings, "
            f"{found['first'][:10]} to {found['last'][:10]}, fingerprint {inputs.profile.fingerprint()}"
        )
    advice = f"offer {', '.join(enough)}" if enough else "offer no level to this few producers"
    rows = [
        ["Data", data],
        ["Recommendation of this report", f"{advice}, with “open” as a free choice and none of the settings in red"],
        ["Purpose of the totals", BLANK],
        ["Decision", BLANK],
        ["Date", BLANK],
        ["Privacy officer, name and signature", BLANK],
        ["Data consumer, name and signature", BLANK],
    ]
    return table("", [], rows)


def _carried(entry: MenuSetting, menu: Menu) -> bool:
    """Whether there are producers enough for a level's totals."""
    made = menu.provenance.get("offer", {})
    return not danger(entry) and (not made or entry.needed is None or entry.needed <= made["producers"])


def _crowds(menu: Menu) -> list[int]:
    return list(next((each.protection.errors for each in menu.settings if each.protection), {}))


def percent(value: float | None) -> str:
    """A share as this page prints it; a dash where it is not known."""
    if value is None:
        return "–"
    return share(value) if 0 < value < 0.1 else f"{100 * value:.0f} %"


def _epsilon(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"
