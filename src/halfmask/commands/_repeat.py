"""How to repeat the results of a folder: the command of each part, from what the part says was asked for."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halfmask.commands._options import Options
from halfmask.commands.audit import Audit
from halfmask.commands.evaluate import Evaluate
from halfmask.commands.mix import MixOptions
from halfmask.commands.offer import OfferOptions
from halfmask.commands.optimize import Optimize
from halfmask.commands.profile import ProfileOptions
from halfmask.commands.report import ReportOptions
from halfmask.commands.reward import Reward

if TYPE_CHECKING:
    from halfmask.audits.card import ReportCard
    from halfmask.figures.results_folder import ResultsFolder


def command_of(inputs: "ResultsFolder", part: str) -> str:
    """The command line that makes a part of the folder again, or for the first time."""
    return _options(inputs, part).command_line()


def _options(inputs: "ResultsFolder", part: str) -> Options:
    at = inputs.folder.resolve().name
    profile = f"{at}/{inputs.name if inputs.profile else 'data'}.profile"
    study, menu, mix, card = (f"{at}/{name}" for name in ("study.parquet", "menu.json", "mix.parquet", "card.json"))
    panel = _source(inputs, at)
    if part == "profile":
        return ProfileOptions.again(_of_profile(inputs), panel, output=profile)
    if part == "study":
        return Evaluate.again(_of_study(inputs), profile, output=study, panel=panel)
    if part == "menu":
        return Optimize.again(_of_menu(inputs), study, output=menu, profile=profile, panel=panel)
    if part == "offer":
        made = inputs.offer.provenance.get("asked", {}) if inputs.offer else {"study": study}
        return OfferOptions.again(made, profile, output=f"{at}/offer.json", study=study, panel=panel)
    if part == "mix":
        return MixOptions.again(
            inputs.mix.about.get("asked", _of_mix(inputs.mix.about)) if inputs.mix else {}, profile, menu, output=mix
        )
    if part in ("card", "offer_card"):
        audited = inputs.card if part == "card" else inputs.offer_card
        asked = {"profile": profile, **_of_card(audited, inputs.card)}
        of = (menu, card) if part == "card" else (f"{at}/offer.json", f"{at}/offer-card.json")
        return Audit.again(asked, of[0], output=of[1], profile=profile, panel=panel)
    if part == "schedule":
        return Reward.again(
            {"profile": profile, "model": "MODEL", **_of_schedule(inputs)}, f"{at}/{_menu_paid(inputs)}",
            output=f"{at}/schedule.json", profile=profile,
        )  # fmt: skip
    return ReportOptions(at)


def _of_schedule(inputs: "ResultsFolder") -> Mapping[str, Any]:
    asked = inputs.schedule.about.get("asked") if inputs.schedule else None
    if not isinstance(asked, Mapping):
        return {}
    model = str(asked.get("model", "MODEL"))
    near = f"{inputs.folder.resolve().name}/{model}" if (inputs.folder / model).exists() else model
    return {**asked, "model": near}


def _menu_paid(inputs: "ResultsFolder") -> str:
    """The file whose settings the schedule pays for."""
    return "offer.json" if inputs.offer is not None and inputs.paid is inputs.offer else "menu.json"


def _source(inputs: "ResultsFolder", at: str) -> str:
    """The readings; a file that lies elsewhere is named without its folders."""
    from halfmask.data.options import Opening

    name = Opening.of(inputs.profile.about).source if inputs.profile else None
    if name is None:
        return "SOURCE"
    return f"{at}/{name}" if (inputs.folder / name).exists() else name


def _of_profile(inputs: "ResultsFolder") -> Mapping[str, Any]:
    if inputs.profile is None:
        return {}
    about = inputs.profile.about
    if isinstance(about.get("asked"), Mapping):
        return about["asked"]  # type: ignore[no-any-return]
    policies = about.get("policies")
    return {"period": inputs.profile.period.text, **(policies if isinstance(policies, Mapping) else {})}


def _of_study(inputs: "ResultsFolder") -> Mapping[str, Any]:
    if inputs.samples is None:
        return {}
    about = inputs.samples.about
    if "asked" in about:
        return about["asked"]  # type: ignore[no-any-return]
    names = ("grid", "repeats", "seed", "aggregate", "error")
    sizes = {"sizes": ",".join(map(str, about["sizes"]))} if "sizes" in about else {}
    asked = {name: about[name] for name in names if name in about} | sizes
    asked |= {"method": about["engine"]} if "engine" in about else {}
    if asked.get("grid") == "settings":
        asked["settings"] = inputs.samples.settings
        del asked["grid"]
    if asked.get("method") == "direct":
        asked["panel"] = "PANEL"
    return asked | ({"summary": True} if about.get("form") == "summary" else {})


def _of_menu(inputs: "ResultsFolder") -> Mapping[str, Any]:
    """The menu of a page is chosen there and was never asked for by a command: then it tells by its own values."""
    from halfmask.evaluation.scores import Constraint, Weights

    if inputs.menu is None:
        return {}
    menu, made = inputs.menu, inputs.menu.provenance
    if "asked" in made:
        return made["asked"]  # type: ignore[no-any-return]
    usual = {"max_mean": Constraint().max_mean, "max_std": Constraint().max_std}
    asked: dict[str, Any] = {name: value for name, value in menu.constraints.items() if value != usual.get(name)}
    asked |= {"bins": made["bins"]} if "bins" in made else {}
    asked |= {"weights": str(menu.weights)} if menu.weights != Weights() else {}
    asked |= {"refine": True, "profile": "PROFILE"} if "refined" in made else {}
    floors = [f"{name}={least:g}" for name, least in made.get("floor", {}).items()]
    return asked | ({"floor": floors[0]} if floors else {})


def _of_mix(about: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: about[name] for name in ("step", "repeats", "seed") if about.get(name) is not None}


def _of_card(card: "ReportCard | None", like: "ReportCard | None") -> Mapping[str, Any]:
    """What a card was asked for by; where there is none yet, as the other card of the folder."""
    from halfmask.audits.audit import GIVEN

    found = card or like
    if found is None:
        return {}
    about, change = found.about, found.about.sensitivity
    if about.asked is not None:
        return about.asked
    asked = {"seed": about.seed, **({"sensitivity": change.range} if change.origin == GIVEN else {})}
    return asked | ({"panel": "PANEL"} if about.resolution == "readings" else {})
