"""What a folder holds for a report: profile, study, menu, mixes, card and schedule, those that are there."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask.audits.card import ReportCard
from halfmask.choice.mix import Mix, read_mix
from halfmask.errors import FileFormatError, OptionError, SourceError
from halfmask.figures.menu import MenuSamples, menu_samples
from halfmask.figures.samples import Samples, read_samples
from halfmask.figures.simulated import SimulatedDays, read_days
from halfmask.files import read_page
from halfmask.menus.menu import Menu, read_menu
from halfmask.profiles.profile import Profile
from halfmask.profiles.store import load_profile

if TYPE_CHECKING:
    from halfmask.rewards.schedule import Schedule

PARTS = {
    "profile": "profile",
    "study": "evaluate",
    "menu": "optimize",
    "offer": "offer",
    "mix": "mix",
    "card": "audit",
    "schedule": "reward",
}
"""The parts of a folder, each with the command that makes it."""
Speller = Callable[["Inputs", str], str]


def by_name(_: "Inputs", part: str) -> str:
    """The command of a part without its options, for who knows no better."""
    return f"halfmask {PARTS.get(part, part)}"


@dataclass(frozen=True, eq=False)
class Inputs:
    """The parts of a report that are there; ``name`` is what the report calls the data."""

    folder: Path
    name: str
    profile: Profile | None
    samples: Samples | None
    menu: Menu | None
    mix: Mix | None
    of_menu: MenuSamples | None
    card: ReportCard | None = None
    offer: Menu | None = None
    schedule: "Schedule | None" = None
    days: SimulatedDays | None = None
    spell: Speller = by_name

    @property
    def unit(self) -> str:
        """The unit of a reading, as the profile or a menu has it; empty where nobody named one."""
        if self.profile and self.profile.unit:
            return self.profile.unit
        asked = [menu.question.unit for menu in (self.offer, self.menu) if menu and menu.question]
        return next(filter(None, asked), "")

    def warnings(self) -> list[str]:
        """What goes with every result of the folder's menus, each once."""
        told = [each for menu in (self.offer, self.menu) if menu for each in menu.warnings()]
        return list(dict.fromkeys(told))

    def command(self, part: str) -> str:
        """The command that makes a part."""
        return self.spell(self, part)

    def holds(self, part: str) -> bool:
        """Whether the part is there."""
        return getattr(self, "samples" if part == "study" else part) is not None


def read_inputs(folder: str | Path, spell: Speller = by_name) -> Inputs:
    """Read the profile, the study, the menu, the mixes and the card, and check that they belong together.

    ``spell`` puts the command that makes a part into words.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise SourceError(f"{folder} is not a folder: give the one that holds the profile, study.parquet and menu.json")
    menu = read_menu(folder / "menu.json") if (folder / "menu.json").exists() else None
    offer = read_menu(folder / "offer.json") if (folder / "offer.json").exists() else None
    study = folder / "study.parquet"
    samples = read_samples(study, menu) if study.exists() else None
    mix = read_mix(folder / "mix.parquet") if (folder / "mix.parquet").exists() else None
    card = ReportCard.read(folder / "card.json") if (folder / "card.json").exists() else None
    schedule = _schedule(folder / "schedule.json") if (folder / "schedule.json").exists() else None
    found = _profile(folder)
    name, profile = found or (folder.resolve().name, None)
    if not (profile or samples or menu):
        raise SourceError(f"{folder} holds no profile, study or menu: start with 'halfmask profile'")
    marks = {
        "study.parquet": samples.about.get("fingerprint") if samples else None,
        "menu.json": menu.provenance.get("fingerprint") if menu else None,
        "offer.json": offer.provenance.get("fingerprint") if offer else None,
        "mix.parquet": mix.about.get("fingerprint") if mix else None,
        "card.json": card.about.fingerprint if card else None,
        "schedule.json": schedule.about.get("fingerprint") if schedule else None,
        f"{name}.profile": profile.fingerprint() if profile else None,
    }
    _check_same(folder, {file: str(mark) for file, mark in marks.items() if mark is not None})
    if card and menu:
        _check_menu(folder, card, menu)
    of_menu = menu_samples(samples, menu, profile) if samples and menu and samples.sized else None
    days = read_days(folder / "simulation.csv")
    return Inputs(folder, name, profile, samples, menu, mix, of_menu, card, offer, schedule, days, spell)


def _schedule(path: Path) -> "Schedule":
    from halfmask.rewards.schedule import FORMAT, VERSION, Schedule  # here, because SciPy takes long to import

    plain = read_page(path, FORMAT, VERSION, "halfmask reward MENU")
    try:
        return Schedule.from_json(plain)
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} is a damaged schedule ({error}): recreate it with 'halfmask reward'") from error


def _check_menu(folder: Path, card: ReportCard, menu: Menu) -> None:
    """A card is of one menu: the ids of another mean other settings."""
    if [(each.id, each.setting) for each in card.cards] != [(each.id, each.setting) for each in menu.settings]:
        raise OptionError(
            f"{folder}/card.json is about other settings than menu.json: recreate it with 'halfmask audit'"
        )


def _profile(folder: Path) -> tuple[str, Profile] | None:
    found = sorted(folder.glob("*.profile"))
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise OptionError(f"{folder} holds several profiles ({names}): leave the one that the report is about")
    return (found[0].stem, load_profile(found[0])) if found else None


def _check_same(folder: Path, marks: dict[str, str]) -> None:
    """One report is about one dataset."""
    if len(set(marks.values())) > 1:
        told = ", ".join(f"{file} {mark}" for file, mark in marks.items())
        raise OptionError(f"{folder} mixes results of different data ({told}): recreate them from one profile")
