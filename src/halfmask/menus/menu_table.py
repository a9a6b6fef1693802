"""A menu as a table: scores, protection, the usual range of a masked reading, and the error of totals."""

from dataclasses import dataclass
from typing import Any

from halfmask.evaluation.aggregates import noun
from halfmask.menus.masked_range import TIMES_OUT_OF_TEN, few_steps, one_in_print, shown
from halfmask.menus.menu import Menu, MenuSetting
from halfmask.menus.menu_scale import score_words
from halfmask.menus.question import Question, typical_reading
from halfmask.menus.setting_protection import NO_PROMISE, Protection
from halfmask.menus.total_error import crowds_of, total_error
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from halfmask_device.decimals import number_text, upwards


@dataclass(frozen=True)
class InWords:
    """One setting of the menu in plain words, for this dataset.

    ``reading``        a reading of typical size
    ``low``, ``high``  range that contains the masked reading 8 times out of 10; None without a noise law
    ``errors``         expected relative error of a period's total by number of users; None without a noise law or if
                       the aggregate is neither sum nor mean
    ``step``           step of the lattice that both ends lie on; None if there is none
    """

    id: str
    reading: float
    low: float | None
    high: float | None
    errors: dict[int, float | None]
    step: float | None = None

    def sentence(self, unit: str = "") -> str:
        """Return a sentence such as "0.52 kWh shows as 0.31 to 0.74, 8 times out of 10"."""
        value = f"{self.reading:.3g} {unit}".strip()
        if self.low is None or self.high is None:
            return f"{value} is masked by a rule without a noise law"
        if (ends := self.range()) is not None:
            return f"{value} shows as {ends[0]} to {ends[1]}, {TIMES_OUT_OF_TEN} times out of 10"
        if few_steps(self.low, self.step) and (place := number_text(self.low)) != f"{self.reading:.3g}":
            return f"{value} shows as {place}, its place on the lattice, {TIMES_OUT_OF_TEN} times out of 10 or more"
        return f"{value} shows as it is" + ("" if self.low == self.high == self.reading else ", to three digits")

    def range(self) -> tuple[str, str] | None:
        """Return both ends as text; None without a noise law, or if they would look equal."""
        if self.low is None or self.high is None or one_in_print(self.low, self.high, self.step):
            return None
        return self._figure(self.low), self._figure(self.high)

    def _figure(self, value: float) -> str:
        return number_text(value) if few_steps(value, self.step) else f"{value:.3g}"


def menu_words(menu: Menu, profile: Profile, *, other_data: bool = False) -> list[InWords]:
    """Return every setting of a menu in words; errors are for totals of 100, 1,000 and all users.

    If users' totals are masked, the typical reading is a typical total.
    """
    menu.check_data(profile, other_data=other_data)
    masked = released(profile, menu.settings[-1].setting.release)
    reading, crowds = typical_reading(masked), crowds_of(profile)
    summable = menu.provenance.get("aggregate", "sum") in ("sum", "mean")
    scaled = menu.provenance.get("error") == "scaled"
    step = menu.question.step if menu.question else None
    words = []
    for each in menu.settings:
        range_ = shown(each.setting, reading, step)
        errors = {
            users: total_error(profile, each.setting, users, scaled=scaled) if summable else None for users in crowds
        }
        low, high = range_ or (None, None)
        words.append(InWords(each.id, reading, low, high, errors, step))
    return words


def protection_heads(menu: Menu) -> list[str]:
    """Return the headings of `protection_cells`; empty if the menu has no question, and so no protection."""
    if menu.question is None:
        return []
    named = any(each.protection and each.protection.recognised is not None for each in menu.settings)
    return ["hidden", "epsilon", f"of {menu.question.window:,}", *(["recognised"] if named else [])]


def protection_cells(menu: Menu, entry: MenuSetting) -> list[str]:
    """Return guess error, epsilons of one reading and of the window, and share recognised, as texts.

    A star marks an epsilon of one reading that does not hold at delta 0.
    """
    found, count = entry.protection, len(protection_heads(menu))
    if found is None:
        return ["-"] * count
    guess, named = ("-" if each is None else f"{each:.0%}" for each in (found.guess, found.recognised))
    reading, window = (NO_PROMISE if each is None else upwards(each) for each in (found.reading, found.window))
    return [guess, reading + " *" * (found.reading is not None and not found.pure), window, named][:count]


def protection_columns(menu: Menu, entry: MenuSetting) -> dict[str, Any]:
    """Return the numbers of `protection_cells`, and in an offer those of its levels; empty without a question."""
    if menu.question is None:
        return {}
    found = entry.protection or Protection(None)
    columns = {
        "hidden": found.guess,
        "epsilon_reading": found.reading,
        "epsilon_window": found.window,
        "recognised": found.recognised,
    }
    if "offer" not in menu.provenance:
        return columns
    promised, month = held_epsilons(menu.question, entry)
    crowds = next((each.protection.errors for each in menu.settings if each.protection), {})
    errors = {f"error_{users}": 0.0 if entry.setting.silent else found.errors.get(users) for users in crowds}
    return {
        "level": entry.name,
        **columns,
        "epsilon": promised,
        "epsilon_month": month,
        "needs": entry.needed,
        **errors,
    }


def held_epsilons(asked: Question, entry: MenuSetting) -> tuple[float | None, float | None]:
    """Return the epsilons of a level for what it promises about, and for the same of 30 days; None if not finite."""
    if entry.setting.silent:
        return None, None
    promised = entry.promise.epsilon if entry.promise is not None else asked.epsilon(entry.setting)
    return promised, asked.month().epsilon(entry.setting)


def menu_rows(
    menu: Menu, profile: Profile | None = None, *, unit: str = "", other_data: bool = False
) -> list[list[str]]:
    """Return the menu as a table, headings first; with a profile, also in plain words."""
    heads = ["id", "setting", "privacy", "utility", "10th percentiles", "noise std"]
    rows = [[*heads, *protection_heads(menu)]]
    for each in menu.settings:
        std = "-" if each.noise_std is None else f"{each.noise_std:.3g}"
        low = f"{each.privacy.p10:.2f}, {each.utility.p10:.2f}"
        scores = [score_words(score.median, known=each.outside) for score in (each.privacy, each.utility)]
        rows.append([each.id, str(each.setting), *scores, low, std, *protection_cells(menu, each)])
    if profile is None:
        return rows
    words = menu_words(menu, profile, other_data=other_data)
    what = noun(menu.provenance.get("aggregate", "sum"))
    rows[0] += [
        f"a typical {menu.settings[-1].setting.release}",
        *(
            f"error of a {menu.provenance.get('period', 'period')}'s {what}, {users:,} users"
            for users in words[0].errors
        ),
    ]
    for row, each_word in zip(rows[1:], words, strict=True):
        row.append(each_word.sentence(unit))
        row += ["-" if error is None else f"{error:.2%}" for error in each_word.errors.values()]
    return rows
