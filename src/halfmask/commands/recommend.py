"""``halfmask recommend``: advise one producer."""

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask.commands._options import AnyMenu, AnyProfile, AnySource, Flag, Numbers, command
from halfmask.commands._printing import note, print_rows
from halfmask.commands._shared_options import Seeded, menu_of, profile_of
from halfmask.errors import OptionError
from halfmask_device.setting import READING

if TYPE_CHECKING:
    from halfmask.choice.held_out_trial import HeldOutTrial
    from halfmask.choice.recommend import Recommendation


class Recommend(Seeded):
    """Options of `recommend`.

    Parameters
    ----------
    readings
        The producer's own readings: any source that 'halfmask profile' takes.
    menu
        A file that 'halfmask offer' wrote, or with --profile one of 'halfmask optimize'.
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
    menu: AnyMenu = Path("menu.json")
    profile: AnyProfile | None = None
    producer: str | None = None
    privacy: float | None = None
    peak: float | None = None
    reward: float | None = None
    rewards: Numbers | None = None
    trial: Flag = False
    other_data: Flag = False


@command(Recommend, group="Choose")
def recommend(options: Recommend) -> "Recommendation | list[HeldOutTrial]":
    """Advise one producer: which setting of the menu meets a wish. The readings stay on this machine.

    ``trial`` gives a list of `HeldOutTrial` instead of advice.
    """
    from halfmask.choice.held_out_trial import evaluate_recommendations
    from halfmask.choice.mix import parse_shares
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
        raise OptionError("name the producer's own readings, or ask for a trial to see how well advice serves")
    if menu.release != READING:
        raise OptionError(
            "advice from a producer's own readings is about menus that mask readings, and this one masks totals: "
            "choose from its table, or see `trial`",
            kind="release",
            field="menu",
        )
    if people is not None:
        menu.check_data(people, other_data=options.other_data)
    rewards = parse_shares(options.rewards, "rewards") if isinstance(options.rewards, str) else options.rewards
    wish = Wish(options.privacy, options.peak, options.reward, rewards)
    own = own_readings(options.readings, producer=options.producer)
    prior = public_prior(menu) if people is None else population_prior(people, menu)
    return advise(menu, own, wish, prior, seed=options.seed)


def main(options: Recommend) -> None:
    """Advise one producer: which setting of the menu meets a wish. The readings stay on this machine."""
    found = recommend(options)
    if isinstance(found, list):
        print_rows(trial_rows(found), f"A wish for privacy of {options.privacy:g}, on held-out users")
        return
    print_rows(advice_rows(found), f"{found.chosen.entry.id} ({found.chosen.entry.setting})")
    for told in found.notes:
        note(told)


def advice_rows(found: "Recommendation") -> list[list[str]]:
    """Return a table, headings first: a row for each setting, with its scores for this producer."""
    from halfmask.menus.menu_scale import score_words

    head = ["", "id", "setting", "your privacy", "80 % sure between", "masked once", "others' privacy", "utility"]
    peaks = found.settings[0].peak is not None
    rewards = any(each.reward is not None for each in found.settings)
    table = [head + ["peak shows"] * peaks + ["reward"] * rewards]
    for each in found.settings:
        mark = ("take this" if found.meets else "closest") if each is found.chosen else ""
        row = [
            mark,
            each.entry.id,
            str(each.entry.setting),
            f"{each.privacy:.2f}",
            f"{each.low:.2f} to {each.high:.2f}",
            "-" if each.once is None else f"{each.once:.2f}",
        ]
        scores = (each.entry.privacy, each.entry.utility)
        row += [score_words(score.median, known=each.entry.outside) for score in scores]
        row += [f"{each.peak:.0%} of days"] if each.peak is not None else []
        row += ["-" if each.reward is None else f"{each.reward:g}"] * rewards
        table.append(row)
    return table


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
