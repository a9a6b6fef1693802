"""The results in a folder for a report: profile, study, menu, mixes, card and schedule, as far as they exist.

If there is also an offer, the letters of the paper's menu become paper A and so on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from halfmask.audits.card import ReportCard
from halfmask.choice.mix import Mix
from halfmask.errors import FileFormatError, OptionError, SourceError
from halfmask.figures.simulated_days import SimulatedDays, read_days
from halfmask.figures.study_samples import MenuSamples, Samples, menu_samples, read_samples
from halfmask.files import read_page
from halfmask.menus.menu import NONE_ID, Menu
from halfmask.profiles.profile import Profile
from halfmask.profiles.store import load_profile

if TYPE_CHECKING:
    from halfmask.rewards.reward_schedule import Schedule


PAPER = "paper "


def paper_name(id: str) -> str:
    """Return ``paper A`` for A. The id of unmasked sharing, ``N``, does not change."""
    return id if id == NONE_ID or id.startswith(PAPER) else PAPER + id


def paper_menu(menu: Menu) -> Menu:
    """Rename a menu's settings to paper A and so on."""
    return replace(menu, settings=tuple(replace(each, id=paper_name(each.id)) for each in menu.settings))


def paper_card(card: ReportCard) -> ReportCard:
    """Rename a card's settings to paper A and so on."""
    cards = tuple(replace(each, id=paper_name(each.id)) for each in card.cards)
    return replace(card, cards=cards, best=replace(card.best, like=paper_name(card.best.like)) if card.best else None)


def paper_mix(mix: Mix) -> Mix:
    """Rename the dominant settings of mixes to paper A and so on. Figures do not use the other names."""
    place = mix.table.schema.get_field_index("dominant")
    names = [None if id is None else paper_name(id) for id in mix.table["dominant"].to_pylist()]
    return replace(mix, table=mix.table.set_column(place, "dominant", pa.array(names, pa.string())))


PARTS = {
    "profile": "profile",
    "study": "evaluate",
    "menu": "optimize",
    "offer": "offer",
    "mix": "mix",
    "card": "audit",
    "offer_card": "audit",
    "schedule": "reward",
}
"""The command that makes each part of a folder."""
Speller = Callable[["ResultsFolder", str], str]


def by_name(_: "ResultsFolder", part: str) -> str:
    """Return the command that makes a part, without options."""
    return f"halfmask {PARTS.get(part, part)}"


@dataclass(frozen=True, eq=False)
class ResultsFolder:
    """The parts of a report that exist; ``name`` is what the report calls the data.

    If there is an offer, the settings of the paper's menu are called paper A and so on, also in its card and mixes.
    ``days`` are the rows of simulation.csv, ``shared`` those of sharing.csv.
    """

    folder: Path
    name: str
    profile: Profile | None = None
    samples: Samples | None = None
    menu: Menu | None = None
    mix: Mix | None = None
    of_menu: MenuSamples | None = None
    card: ReportCard | None = None
    offer: Menu | None = None
    schedule: "Schedule | None" = None
    days: SimulatedDays | None = None
    spell: Speller = by_name
    offer_card: ReportCard | None = None
    shared: SimulatedDays | None = None

    @cached_property
    def whole(self) -> "ResultsFolder":
        """The folder with its study, which takes longest to read; unchanged without a study."""
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
        """Return the unit of a reading from the profile or a menu; empty if unknown."""
        if self.profile and self.profile.unit:
            return self.profile.unit
        asked = [menu.question.unit for menu in (self.offer, self.menu) if menu and menu.question]
        return next(filter(None, asked), "")

    @property
    def aggregate(self) -> str:
        """Return the aggregate that the menu records; the sum if it records none."""
        return str(self.menu.provenance.get("aggregate", "sum")) if self.menu else "sum"

    @property
    def paid(self) -> Menu | None:
        """Return the menu to which the schedule belongs, recognised by its settings' noise; None if it is not in the
        folder.
        """
        noise = self.schedule.noise if self.schedule else {}
        for menu in (self.offer, self.menu):
            if menu and noise == {each.id.removeprefix(PAPER): each.noise_std or 0.0 for each in menu.settings}:
                return menu
        return None

    def warnings(self) -> list[str]:
        """Return the warnings of all menus in the folder, without repetitions."""
        told = [each for menu in (self.offer, self.menu) if menu for each in menu.warnings()]
        return list(dict.fromkeys(told))

    def command(self, part: str) -> str:
        """Return the command that makes a part."""
        return self.spell(self, part)

    def holds(self, part: str) -> bool:
        """Return whether the folder has a part."""
        return getattr(self, "samples" if part == "study" else part) is not None


def read_inputs(folder: str | Path, spell: Speller = by_name) -> ResultsFolder:
    """Read all results in a folder, including the study, and check that they belong together.

    ``spell``  returns the command that makes a part, for messages
    """
    return read_parts(folder, spell).whole


def read_parts(folder: str | Path, spell: Speller = by_name) -> ResultsFolder:
    """Read the results in a folder without the study, which `ResultsFolder.whole` adds."""
    folder = Path(folder)
    if not folder.is_dir():
        raise SourceError(
            f"{folder} is not a folder: give the one that holds the profile, study.parquet and menu.json",
            kind="missing",
        )
    parts = {part: read(folder / file) for part, (file, read) in FILES.items() if (folder / file).exists()}
    if "offer_card" not in parts and _about(parts.get("card"), parts.get("offer")):
        parts["offer_card"] = parts.pop("card")
    name, profile = _profile(folder) or (folder.resolve().name, None)
    if not (profile or "menu" in parts or (folder / "study.parquet").exists()):
        raise SourceError(f"{folder} holds no profile, study or menu: start with 'halfmask profile'", kind="empty")
    found = ResultsFolder(folder, name, profile, spell=spell, **parts)
    _check_same(found)
    _check_menu(found, "card", "menu")
    _check_menu(found, "offer_card", "offer")
    if not found.offer:
        return found
    menu, card, mix = found.menu, found.card, found.mix
    return replace(
        found,
        menu=paper_menu(menu) if menu else None,
        card=paper_card(card) if card else None,
        mix=paper_mix(mix) if mix else None,
    )


def _schedule(path: Path) -> "Schedule":
    from halfmask.rewards.reward_schedule import FORMAT, VERSION, Schedule  # here, because SciPy takes long to import

    plain = read_page(path, FORMAT, VERSION, "halfmask reward MENU")
    try:
        return Schedule.from_json(plain)
    except ValueError as error:
        raise FileFormatError(
            f"{path} is a damaged schedule ({error}): recreate it with 'halfmask reward'", kind="damaged"
        ) from error


def _check_menu(of: ResultsFolder, part: str, menu: str) -> None:
    """Raise an error if a part belongs to another menu."""
    card, settings = getattr(of, part), getattr(of, menu)
    if card and settings and not _about(card, settings):
        file, other = FILES[part][0], FILES[menu][0]
        raise OptionError(
            f"{of.folder}/{file} is about other settings than {other}: recreate it with 'halfmask audit {other} "
            f"-o {file}' and its `profile`",
            kind="settings",
        )


def _about(card: ReportCard | None, menu: Menu | None) -> bool:
    """Return whether a card is the audit of a menu."""
    if card is None or menu is None:
        return False
    return [(each.id, each.setting) for each in card.cards] == [(each.id, each.setting) for each in menu.settings]


def _profile(folder: Path) -> tuple[str, Profile] | None:
    found = sorted(folder.glob("*.profile"))
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise OptionError(
            f"{folder} holds several profiles ({names}): move all but the one that its results are of "
            f"elsewhere, such as 'mv {found[-1]} ..'",
            kind="profiles",
        )
    return (found[0].stem, load_profile(found[0])) if found else None


def _check_same(of: ResultsFolder) -> None:
    """Raise an error if parts were made from different datasets."""
    held = {"study.parquet": of.samples, **{file: getattr(of, part) for part, (file, _) in FILES.items()}}
    marks = {file: _fingerprint(each) for file, each in held.items() if not isinstance(each, SimulatedDays | None)}
    marks |= {f"{of.name}.profile": of.profile.fingerprint()} if of.profile else {}
    if len({str(mark) for mark in marks.values() if mark is not None}) > 1:
        told = ", ".join(f"{file} {mark}" for file, mark in marks.items() if mark is not None)
        raise OptionError(
            f"{of.folder} mixes results of different data ({told}): recreate them from one profile", kind="mixed"
        )


def _fingerprint(of: "Menu | Mix | ReportCard | Samples | Schedule") -> str | None:
    """Return the fingerprint of the data from which a result was made; None if it is not recorded."""
    if isinstance(of, ReportCard):
        return of.about.fingerprint
    return (of.provenance if isinstance(of, Menu) else of.about).get("fingerprint")


FILES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "menu": ("menu.json", Menu.read),
    "offer": ("offer.json", Menu.read),
    "mix": ("mix.parquet", Mix.read),
    "card": ("card.json", ReportCard.read),
    "offer_card": ("offer-card.json", ReportCard.read),
    "schedule": ("schedule.json", _schedule),
    "days": ("simulation.csv", read_days),
    "shared": ("sharing.csv", read_days),
}
"""The file of each part, and the function that reads it."""
