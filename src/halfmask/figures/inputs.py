"""What a folder holds for a report: profile, study, menu, mixes, card and schedule, those that are there."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
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

    @cached_property
    def whole(self) -> "Inputs":
        """The same with the study, whose reading takes longest; itself where it is there, or the folder has none."""
        study = self.folder / "study.parquet"
        if self.samples is not None or not study.exists():
            return self
        samples = read_samples(study, self.menu)
        of_menu = menu_samples(samples, self.menu, self.profile) if self.menu and samples.sized else None
        found = replace(self, samples=samples, of_menu=of_menu)
        _check_same(found)
        return found

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
    return read_parts(folder, spell).whole


def read_parts(folder: str | Path, spell: Speller = by_name) -> Inputs:
    """The same but for the study, which `Inputs.whole` has."""
    folder = Path(folder)
    if not folder.is_dir():
        raise SourceError(f"{folder} is not a folder: give the one that holds the profile, study.parquet and menu.json")
    menu = read_menu(folder / "menu.json") if (folder / "menu.json").exists() else None
    offer = read_menu(folder / "offer.json") if (folder / "offer.json").exists() else None
    mix = read_mix(folder / "mix.parquet") if (folder / "mix.parquet").exists() else None
    card = ReportCard.read(folder / "card.json") if (folder / "card.json").exists() else None
    schedule = _schedule(folder / "schedule.json") if (folder / "schedule.json").exists() else None
    name, profile = _profile(folder) or (folder.resolve().name, None)
    if not (profile or menu or (folder / "study.parquet").exists()):
        raise SourceError(f"{folder} holds no profile, study or menu: start with 'halfmask profile'")
    days = read_days(folder / "simulation.csv")
    found = Inputs(folder, name, profile, None, menu, mix, None, card, offer, schedule, days, spell)
    _check_same(found)
    if card and menu:
        _check_menu(folder, card, menu)
    return found


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


def _check_same(of: Inputs) -> None:
    """One report is about one dataset."""
    marks = {
        "study.parquet": of.samples.about.get("fingerprint") if of.samples else None,
        "menu.json": of.menu.provenance.get("fingerprint") if of.menu else None,
        "offer.json": of.offer.provenance.get("fingerprint") if of.offer else None,
        "mix.parquet": of.mix.about.get("fingerprint") if of.mix else None,
        "card.json": of.card.about.fingerprint if of.card else None,
        "schedule.json": of.schedule.about.get("fingerprint") if of.schedule else None,
        f"{of.name}.profile": of.profile.fingerprint() if of.profile else None,
    }
    if len({str(mark) for mark in marks.values() if mark is not None}) > 1:
        told = ", ".join(f"{file} {mark}" for file, mark in marks.items() if mark is not None)
        raise OptionError(f"{of.folder} mixes results of different data ({told}): recreate them from one profile")
