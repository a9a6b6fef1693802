"""The menu: the best privacy setting of each privacy bin, plus "none", and its file `menu.json`."""

import math
import string
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import FileFormatError, HalfmaskError, OptionError
from halfmask.evaluation.error_kind import warnings_of
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.scores import Weights
from halfmask.files import read_page, write_page
from halfmask.mechanisms.setting import PrivacySetting, release_of
from halfmask.menus.public_summary import PublicSummary
from halfmask.menus.question import KeptPromise, Question
from halfmask.menus.setting_protection import Protection
from halfmask.plain import from_plain, to_plain
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from halfmask.results import Result
from halfmask_device.setting import READING, SPLIT
from halfmask_device.signed_offer import LONGEST, SignedOffer, offer_hash, signature_of

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "halfmask menu"
VERSION = 1
NONE_ID = "N"
OWN = "own"
"""Entry of the provenance of a menu that is the analyst's own and must not be published."""
CALIBRATION = "calibration"
"""Entry of the provenance of a menu that is published: what was released about the producers for it."""
ATTACKS = "attacks"
"""Entry of the provenance of a menu that was signed with an audit's card: its hash, and what it was made on."""
EVERYONE, NOT_BOTH = "everyone", "everyone but the two services together"
"""Against whom a promise holds: of masked values, and of totals that are split between two services."""
ALWAYS = ("id", "setting", "bin", "privacy", "utility", "objective", "noise_std")
"""Fields of a setting that every menu file contains."""
IDS = string.ascii_uppercase.replace(NONE_ID, "")
"""Letters of the bins, from the lowest privacy up. An empty bin's letter stays unused; N is always "none"."""


@dataclass(frozen=True)
class Score:
    """Median and 10th percentile of privacy or utility over a setting's samples."""

    median: float
    p10: float


@dataclass(frozen=True)
class MenuSetting:
    """A setting that producers can choose.

    ``noise_std``   standard deviation of psi; None without a noise law
    ``name``        name for households
    ``outside``     whether its errors exceed the study's largest; its scores are then cut to 0 and 1
    ``protection``  what it protects; None if not computed
    ``needed``      number of producers that keeps the offer's error of a total; None if not computed
    ``promise``     what an offer promises with it; None in other menus
    """

    id: str
    setting: PrivacySetting
    bin: tuple[float, float]
    privacy: Score
    utility: Score
    objective: float
    noise_std: float | None
    name: str = ""
    outside: bool = False
    protection: Protection | None = None
    needed: int | None = None
    promise: KeptPromise | None = None

    @property
    def against(self) -> str:
        """Against whom its promise holds; empty if it promises nothing."""
        return against(self.setting)

    def derived(self) -> dict[str, str]:
        """Return what its file holds for other readers: what is masked, and against whom its promise holds."""
        return {"release": self.setting.release, "against": self.against} if self.promise else {}


@dataclass(frozen=True)
class EmptyBin:
    """A bin without a setting: the setting that comes nearest, and the reason why it does not qualify."""

    bin: tuple[float, float]
    nearest: PrivacySetting | None
    privacy: Score | None
    reason: str


@dataclass(frozen=True)
class Menu(Result):
    """Settings in the order of their bins, "none" last, and the scale that their scores were made on.

    ``normalisers``  the study's; scores of other settings, mixes or single producers must use them too
    ``question``     the change and window that the settings' epsilons hold for
    ``public``       what households may know about the population
    ``signed``       who answers for an offer; None if nobody has signed it
    """

    settings: tuple[MenuSetting, ...]
    normalisers: Mapping[str, float]
    weights: Weights
    constraints: Mapping[str, float]
    empty_bins: tuple[EmptyBin, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    question: Question | None = None
    public: PublicSummary | None = None
    signed: SignedOffer | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the settings, in the menu's order."""
        return tuple(each.id for each in self.settings)

    @property
    def largest(self) -> FloatArray:
        """The normalisers as an array, in the order of the six metrics."""
        return np.array([self.normalisers[name] for name in METRICS])

    def __getitem__(self, id: str) -> MenuSetting:
        """Return the setting with this id; raise an OptionError that lists all ids if there is none."""
        for each in self.settings:
            if each.id == id:
                return each
        raise OptionError(f"the menu has no setting '{id}': it has {', '.join(self.ids)}", kind="setting")

    @property
    def experiment(self) -> Experiment:
        """The experiment of the menu's study: settings, subsets of users and method."""
        return Experiment.of(self.provenance)

    def __repr__(self) -> str:
        told = ", ".join(f"{each.id} {each.setting}" for each in self.settings)
        return f"<Menu of {len(self.settings)} settings: {told}>"

    def to_arrow(self) -> "pa.Table":
        """Return a table with one row per setting: its scores, promises, and errors of totals, as far as known."""
        import pyarrow as pa

        from halfmask.menus.menu_table import protection_columns

        rows = [
            {
                "id": each.id,
                "setting": str(each.setting),
                "bin_low": each.bin[0],
                "bin_high": each.bin[1],
                "privacy_median": each.privacy.median,
                "privacy_p10": each.privacy.p10,
                "utility_median": each.utility.median,
                "utility_p10": each.utility.p10,
                "objective": each.objective,
                "noise_std": each.noise_std,
                **protection_columns(self, each),
            }
            for each in self.settings
        ]
        return pa.Table.from_pylist(rows)

    @classmethod
    def read(cls, path: str | Path) -> "Menu":
        """Return the menu in a file; see `read_menu`."""
        plain = read_page(path, FORMAT, VERSION, "halfmask optimize")
        try:
            menu = from_plain(plain, Menu)
            menu.check()
        except (HalfmaskError, ValueError) as error:
            raise FileFormatError(
                f"{path} is damaged ({error}): recreate it with 'halfmask optimize'", kind="damaged"
            ) from error
        return menu

    def write(self, path: str | Path) -> None:
        """Write `menu.json`; equal menus give equal bytes."""
        write_page(menu_json(self), path)

    def with_setting(self, changed: MenuSetting) -> "Menu":
        """Return a copy of the menu in which ``changed`` replaces the setting with the same id."""
        return replace(self, settings=tuple(changed if each.id == changed.id else each for each in self.settings))

    def warnings(self) -> list[str]:
        """Return warnings for every result of this menu: that relative errors were forced on data unfit for them."""
        return warnings_of(self.provenance)

    def check_publishable(self) -> None:
        """Raise an OptionError if the menu is the analyst's own."""
        if OWN in self.provenance:
            raise OptionError(
                "this offer is the analyst's own: its figures were computed from readings, and with and without one "
                "home they give that home's use; take the published offer, which 'halfmask offer' writes",
                kind="own",
            )

    def check(self) -> None:
        """Raise a ValueError if ids repeat or do not end with `NONE_ID`, if a normaliser is not above 0, or if the menu
        was changed after it was signed.

        Types are not checked here.
        """
        if len(set(self.ids)) != len(self.ids) or not self.ids or self.ids[-1] != NONE_ID:
            raise ValueError(f"ids {','.join(self.ids)} must differ and end with {NONE_ID}")
        for name in METRICS:
            if not 0 < self.normalisers.get(name, 0) < math.inf:
                raise ValueError(f"normaliser {name} is not above 0")
        signature_of(menu_json(self))

    @property
    def release(self) -> str:
        """What the settings mask: each reading, or each user's total of a period."""
        return release_of(each.setting for each in self.settings)

    def masked_profile(self, profile: Profile, *, other_data: bool = False) -> Profile:
        """Return the profile of what the settings mask: that of the readings, or of the users' totals.

        Raise an OptionError as `check_data` does.
        """
        self.check_data(profile, other_data=other_data)
        return released(profile, self.release)

    def check_data(self, profile: Profile, *, other_data: bool = False) -> None:
        """Raise an OptionError if the menu was made from other data than the profile, unless ``other_data``.

        A published menu does not say from which data it was made, because a fingerprint depends on everybody.
        """
        if CALIBRATION in self.provenance:
            return
        mine, theirs = self.provenance.get("fingerprint"), profile.fingerprint()
        if not other_data and mine != theirs:
            raise OptionError(
                f"the menu was made from other data ({mine}) than the profile ({theirs}): "
                "make both from the same readings, or say `other_data`",
                kind="other",
            )


def against(setting: PrivacySetting) -> str:
    """Return against whom a setting's promise holds; empty if it promises nothing."""
    if setting.silent:
        return ""
    return NOT_BOTH if setting.release == SPLIT else EVERYONE


def none_setting(release: str = READING) -> MenuSetting:
    """Return the entry for sharing unmasked readings or totals: no local error, no global error."""
    unmasked = PrivacySetting("none", release=release)
    return MenuSetting(NONE_ID, unmasked, (0.0, 0.0), Score(0.0, 0.0), Score(1.0, 1.0), 2.0, 0.0, name="open")


def noise_std(setting: PrivacySetting, step: float | None = None) -> float | None:
    """Return sqrt(E psi^2) of a setting's noise; None without a noise law, or if it is not finite.

    With a ``step``, it is that of the noise which a device draws on the lattice with this step.
    """
    if setting.kind == "direct" or setting.inner is not None:
        return None
    if step is not None and setting.kind == "additive" and setting.law.lattice(setting.parameters) is None:
        variance = setting.law.lattice_variance(setting.parameters, step)
    else:
        variance = float(setting.law.moments(np.array(setting.parameters)[None])[0, 1])
    return math.sqrt(variance) if math.isfinite(variance) else None


def brief(setting: PrivacySetting) -> str:
    """Return a short text for narrow columns; a long table of numbers is replaced by its length."""
    return setting.law.brief(str(setting), setting.parameters)


def sign(menu: Menu, by: str, until: str, attacks: Mapping[str, str] | None = None) -> Menu:
    """Return the menu with a signature and its hash. Raise an OptionError if it is not for publication.

    ``attacks``  ``card``, the SHA-256 of the card's file, and ``data``, what the signer declares it to be made on; the
                 hash covers both
    """
    menu.check_publishable()
    if menu.question is None:
        raise OptionError("this menu promises nothing that could be signed: take an offer", kind="sign", field="sign")
    try:
        last = date.fromisoformat(until).isoformat()
    except ValueError as error:
        raise OptionError(f"{until!r} is not a date: write it like 2027-12-31", kind="date", field="until") from error
    if not by.strip() or not by.isprintable() or len(by) > LONGEST:
        raise OptionError(f"a name of 1 to {LONGEST} characters signs an offer", kind="sign", field="sign")
    kept = {name: value for name, value in menu.provenance.items() if name != ATTACKS}
    declared = replace(menu, signed=None, provenance=kept | ({} if attacks is None else {ATTACKS: dict(attacks)}))
    return replace(declared, signed=SignedOffer(by.strip(), last, offer_hash(menu_json(declared))))


def menu_json(menu: Menu) -> dict[str, Any]:
    """Return the content of `menu.json`. Optional fields without a value are left out."""
    held = to_plain(menu)
    held["settings"] = [{k: v for k, v in each.items() if k in ALWAYS or v} for each in held["settings"]]
    return {"format": FORMAT, "version": VERSION, **{k: v for k, v in held.items() if v is not None}}
