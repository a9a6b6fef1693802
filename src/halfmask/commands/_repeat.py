"""Find the command that made each part of a folder's results, from the options that the part records."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halfmask.commands import audit, evaluate, mix, offer, optimize, profile, report, reward
from halfmask.commands._options import Options

if TYPE_CHECKING:
    from halfmask.audits.card import ReportCard
    from halfmask.figures.results_folder import ResultsFolder


def command_of(inputs: "ResultsFolder", part: str) -> str:
    """Return the command line that makes a part of the folder; for the name of no part, that of the report."""
    at = inputs.folder.resolve().name
    made, study, menu, offered, schedule = (
        f"{at}/{name}"
        for name in (
            f"{inputs.name if inputs.profile else 'data'}.profile", "study.parquet", "menu.json", "offer.json",
            "schedule.json",
        )
    )  # fmt: skip
    panel = _source(inputs, at)
    promised = inputs.offer.provenance.get("asked", {}) if inputs.offer else {"study": study}
    cards = {
        name: {"profile": made, **_of_card(card, inputs.card)}
        for name, card in (("card", inputs.card), ("offer_card", inputs.offer_card))
    }
    rewarded = {"profile": made, "model": "MODEL", **_of_schedule(inputs)}
    paid = offered if inputs.offer is not None and inputs.paid is inputs.offer else menu
    parts: dict[str, Options] = {
        "profile": profile.ProfileOptions.again(_of_profile(inputs), panel, output=made),
        "study": evaluate.Evaluate.again(_of_study(inputs), made, output=study, panel=panel),
        "menu": optimize.Optimize.again(_of_menu(inputs), study, output=menu, profile=made, panel=panel),
        "offer": offer.OfferOptions.again(promised, made, output=offered, study=study, panel=panel),
        "mix": mix.MixOptions.again(_of_mix(inputs), made, menu, output=f"{at}/mix.parquet"),
        "card": audit.Audit.again(cards["card"], menu, output=f"{at}/card.json", profile=made, panel=panel),
        "offer_card": audit.Audit.again(
            cards["offer_card"], offered, output=f"{at}/offer-card.json", profile=made, panel=panel
        ),
        "schedule": reward.Reward.again(rewarded, paid, output=schedule, profile=made),
    }
    return parts.get(part, report.ReportOptions(at)).command_line()


def _asked(about: Mapping[str, Any], **values: Any) -> Mapping[str, Any]:
    """Return the options that a result records; if no command made it, options that follow from its values."""
    asked = about.get("asked")
    return asked if isinstance(asked, Mapping) else values


def _of_schedule(inputs: "ResultsFolder") -> Mapping[str, Any]:
    asked = _asked(inputs.schedule.about) if inputs.schedule else {}
    model = str(asked.get("model", "MODEL"))
    near = f"{inputs.folder.resolve().name}/{model}" if (inputs.folder / model).exists() else model
    return {**asked, "model": near}


def _source(inputs: "ResultsFolder", at: str) -> str:
    """Return the readings' path if they are in the folder, else their name without folders; SOURCE if it is unknown."""
    from halfmask.data.open_panel import Opening

    name = Opening.of(inputs.profile.about).source if inputs.profile else None
    if name is None:
        return "SOURCE"
    return f"{at}/{name}" if (inputs.folder / name).exists() else name


def _of_profile(inputs: "ResultsFolder") -> Mapping[str, Any]:
    if inputs.profile is None:
        return {}
    about = inputs.profile.about
    return _asked(about, period=inputs.profile.period.text, **about.get("policies", {}))


def _of_study(inputs: "ResultsFolder") -> Mapping[str, Any]:
    if inputs.samples is None:
        return {}
    about = inputs.samples.about
    named = {name: about.get(name) for name in ("repeats", "seed", "sizes", "aggregate", "error") if name in about}
    single = about.get("grid") == "settings"
    return _asked(
        about, **named,
        grid=None if single else about.get("grid"),
        settings=inputs.samples.settings if single else (),
        method=about.get("engine"),
        panel="PANEL" if about.get("engine") == "direct" else None,
        summary=about.get("form") == "summary",
    )  # fmt: skip


def _of_menu(inputs: "ResultsFolder") -> Mapping[str, Any]:
    """Return the options that a menu records; if it was chosen on a page, options that follow from its values."""
    from halfmask.evaluation.scores import Constraint, Weights

    if inputs.menu is None:
        return {}
    menu, made = inputs.menu, inputs.menu.provenance
    usual = {"max_mean": Constraint().max_mean, "max_std": Constraint().max_std}
    kept = {name: value for name, value in menu.constraints.items() if value != usual.get(name)}
    floors = [f"{name}={least:g}" for name, least in made.get("floor", {}).items()]
    refined = {"refine": True, "profile": "PROFILE"} if "refined" in made else {}
    weights = None if menu.weights == Weights() else str(menu.weights)
    bins = {"bins": made["bins"]} if "bins" in made else {}
    return _asked(made, **kept, **bins, **refined, weights=weights, floor=floors[0] if floors else None)


def _of_mix(inputs: "ResultsFolder") -> Mapping[str, Any]:
    about = inputs.mix.about if inputs.mix else {}
    return _asked(about, **{name: about[name] for name in ("step", "repeats", "seed") if about.get(name) is not None})


def _of_card(card: "ReportCard | None", like: "ReportCard | None") -> Mapping[str, Any]:
    """Return the options that a card records; if there is no card yet, those of the folder's other card, if any."""
    from halfmask.audits.audit import GIVEN

    found = card or like
    if found is None:
        return {}
    about, change = found.about, found.about.sensitivity
    if about.asked is not None:
        return about.asked
    given = change.range if change.origin == GIVEN else None
    return {"seed": about.seed, "sensitivity": given, "panel": "PANEL" if about.resolution == "readings" else None}
