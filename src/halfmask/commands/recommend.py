"""``halfmask recommend``: advise one producer, by wishes or by the producer's own readings."""

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from halfmask.commands._options import AnyMenu, AnyProfile, AnySource, Flag, Numbers, command
from halfmask.commands._printing import CommandAnswer
from halfmask.commands._shared_options import IN_SHORT, Display, Seeded, menu_of, profile_of
from halfmask.errors import OptionError
from halfmask_device.setting import READING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.choice.held_out_trial import HeldOutTrial
    from halfmask.choice.recommend import Recommendation
    from halfmask.choice.wished_level import WishedLevels

GIVES_AWAY = (
    "this advice follows from your readings, so the level that you choose tells others about your home, mostly how "
    "much it uses; a wish for an `epsilon` does not"
)


WISHED = "take this: the level with the least noise that meets the wish; the advice needs no readings"


class Recommend(Seeded):
    """Options of `recommend`.

    Parameters
    ----------
    readings
        The producer's own readings, for --privacy and --peak: any source that 'halfmask profile' takes. A choice that
        follows from them tells about the home.
    menu
        A file that 'halfmask offer' wrote, or with READINGS and --profile one of 'halfmask optimize'.
    protect
        Wish: what --epsilon is about; by default what the offer promises about.
    epsilon
        Wish: an epsilon of at most this.
    change
        With --protect reading or day: the change of a reading.
    profile
        The population's profile, for the consumer's use: more precise than an offer's summary.
    producer
        Which user, if the source has several.
    privacy
        Wish: personal privacy of at least this.
    peak
        Wish: the evening peak shows on at most this share of days (0.3).
    reward
        Wish: a reward of at least this; needs --rewards.
    rewards
        What each setting pays: A=5,B=4,N=10.
    trial
        Instead of advice: how often advice for --privacy is right for held-out users, against one setting for all.
    other_data
        Accept a menu that was made on other data than the profile.
    seed
        The same seed gives the same advice.
    """

    readings: AnySource | None = field(default=None, kw_only=False)
    menu: AnyMenu = Path("offer.json")
    protect: Literal["reading", "day", "whole-day", "month"] | None = None
    epsilon: float | None = None
    change: float | None = None
    profile: AnyProfile | None = None
    producer: str | None = None
    privacy: float | None = None
    peak: float | None = None
    reward: float | None = None
    rewards: Numbers | None = None
    trial: Flag = False
    other_data: Flag = False


@command(Recommend, group="Choose")
def recommend(options: Recommend) -> "WishedLevels | Recommendation | list[HeldOutTrial]":
    """Advise one producer which setting of the menu meets a wish.

    ``epsilon`` is a wish on the offer's own axis, which needs no readings and gives `WishedLevels`. With ``readings``,
    which stay on this machine, the advice follows from them; ``trial`` gives a list of `HeldOutTrial`.
    """
    if options.epsilon is not None:
        return _by_wish(options)
    return _by_readings(options)


def _by_wish(options: Recommend) -> "WishedLevels":
    from halfmask.choice.wished_level import wished_level

    if options.readings is not None or options.privacy is not None or options.peak is not None or options.trial:
        raise OptionError(
            "a wish for an epsilon needs no readings: leave out `readings`, `privacy`, `peak` and `trial`; `menu` "
            "names the offer, if it is not offer.json",
            kind="wish",
        )
    return wished_level(
        menu_of(options.menu), float(options.epsilon or 0.0), protect=options.protect, change=options.change,
        rewards=_rewards(options), least_reward=options.reward,
    )  # fmt: skip


def _rewards(options: Recommend) -> "Mapping[str, float] | None":
    from halfmask.choice.mix import parse_shares

    return parse_shares(options.rewards, "rewards") if isinstance(options.rewards, str) else options.rewards


def _by_readings(options: Recommend) -> "Recommendation | list[HeldOutTrial]":
    from halfmask.choice.held_out_trial import evaluate_recommendations
    from halfmask.choice.personal_privacy import population_prior, public_prior
    from halfmask.choice.recommend import Wish, own_readings
    from halfmask.choice.recommend import recommend as advise

    menu = menu_of(options.menu)
    people = None if options.profile is None else profile_of(options.profile)
    if options.trial:
        if people is None:
            raise OptionError("a trial is made on the population's own users: name their `profile`")
        if options.privacy is None:
            raise OptionError("`trial` needs `privacy`", field="privacy")
        return evaluate_recommendations(
            people, menu, min_privacy=options.privacy, seed=options.seed, other_data=options.other_data
        )
    if options.readings is None:
        raise OptionError(
            "say what you wish for: `epsilon`, the largest that a level may have; or name your own readings",
            kind="wish",
            field="epsilon",
        )
    if menu.release != READING:
        raise OptionError(
            "advice from a producer's own readings is about menus that mask readings, and this one masks totals: "
            "wish for an `epsilon`, or see `trial`",
            kind="release",
            field="menu",
        )
    if people is not None:
        menu.check_data(people, other_data=options.other_data)
    wish = Wish(options.privacy, options.peak, options.reward, _rewards(options))
    own = own_readings(options.readings, producer=options.producer)
    prior = public_prior(menu) if people is None else population_prior(people, menu)
    return advise(menu, own, wish, prior, seed=options.seed)


def main(options: Recommend, *, shown: Display = IN_SHORT) -> None:
    """Advise one producer which setting of the menu meets a wish, without or with its own readings."""
    from halfmask.choice.advice_table import advice_rows, wish_rows
    from halfmask.choice.wished_level import WishedLevels
    from halfmask.plain import to_plain

    found = recommend(options)
    if isinstance(found, list):
        title = f"A wish for privacy of {options.privacy:g}, on held-out users"
        means = "Each row is a number of readings that the advice follows from."
        shown.show(CommandAnswer(to_plain(found), [(title, trial_rows(found))], means))
        return
    chosen = found.chosen.entry
    title, then = f"{chosen.id} ({chosen.setting})", f"halfmask join URL --setting {chosen.id} --state mine"
    if isinstance(found, WishedLevels):
        means = f"Epsilon is {found.question.words()}."
        missed = [] if found.chosen.meets else ["no level meets the wish; this one has the strongest promise"]
        shown.show(CommandAnswer(to_plain(found), [(title, wish_rows(found))], means, then, missed, words=[WISHED]))
        return
    first, *others = (*found.notes, GIVES_AWAY)
    shown.show(CommandAnswer(to_plain(found), [(title, advice_rows(found))], first, then, others))


def trial_rows(trials: "list[HeldOutTrial]") -> list[list[str]]:
    """Return a table, headings first: for each number of readings, how good the advice was for held-out users."""
    head = [
        "readings",
        "users",
        "can be met",
        "met by advice",
        "its utility",
        "truth below stated",
        "in the interval",
        "met by one setting for all",
        "its utility",
    ]
    return [head] + [
        [
            f"{each.readings:,}",
            f"{each.users:,}",
            f"{each.reachable:.0%}",
            f"{each.met:.0%}",
            f"{each.utility:.3f}",
            f"{each.below:.0%}",
            f"{each.inside:.0%}",
            f"{each.population_met:.0%}",
            f"{each.population_utility:.3f}",
        ]
        for each in trials
    ]
