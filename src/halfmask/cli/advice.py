"""The command that advises one producer."""

from pathlib import Path

from halfmask.cli.app import Flag, app
from halfmask.cli.output import note, print_rows


@app.command
def recommend(
    readings: str | None = None,
    *,
    menu: Path = Path("menu.json"),
    profile: Path,
    producer: str | None = None,
    privacy: float | None = None,
    peak: float | None = None,
    reward: float | None = None,
    rewards: str | None = None,
    trial: Flag = False,
    other_data: Flag = False,
    seed: int = 7,
) -> None:
    """Advise one producer: which setting of the menu serves a wish. The readings stay on this machine.

    Parameters
    ----------
    readings
        The producer's own readings: any source that 'halfmask profile' takes.
    menu
        A file that 'halfmask optimize' wrote.
    profile
        The population's profile: what is known before the producer's own readings.
    producer
        Which one, where the source holds several.
    privacy
        Wish: personal privacy of at least this.
    peak
        Wish: the evening peak shows on at most this share of days (0.3).
    reward
        Wish: a reward of at least this; needs --rewards.
    rewards
        What each setting pays: A=5,B=4,N=10.
    trial
        Instead of advising: on held-out users, how often advice for --privacy is right, against one setting for all.
    other_data
        Take a menu that was made on other data than the profile.
    seed
        For what is drawn.
    """
    from halfmask.choice.held_out import evaluate_recommendations, trial_rows
    from halfmask.choice.personal import population_prior
    from halfmask.choice.recommend import Wish, own_readings
    from halfmask.choice.recommend import recommend as advise
    from halfmask.errors import OptionError
    from halfmask.menus.menu import read_menu
    from halfmask.profiles.store import load_profile

    made, people = read_menu(menu), load_profile(profile)
    if trial:
        if privacy is None:
            raise OptionError("--trial tries advice for a least privacy: name it with --privacy")
        trials = evaluate_recommendations(people, made, min_privacy=privacy, seed=seed, other_data=other_data)
        print_rows(trial_rows(trials), f"A wish for privacy of {privacy:g}, on held-out users")
        return
    if readings is None:
        raise OptionError("name the producer's own readings, or --trial to see how well advice serves")
    made.check_data(people, other_data=other_data)
    wish = Wish(privacy, peak, reward, _rewards(rewards))
    found = advise(made, own_readings(readings, producer=producer), wish, population_prior(people, made), seed=seed)
    print_rows(found.rows(), f"{found.chosen.entry.id} ({found.chosen.entry.setting})")
    for told in found.notes:
        note(told)


def _rewards(text: str | None) -> dict[str, float] | None:
    from halfmask.errors import OptionError

    if text is None:
        return None
    paid = {}
    for part in text.split(","):
        id, found, amount = part.strip().partition("=")
        try:
            paid[id] = float(amount)
        except ValueError as error:
            raise OptionError(f"rewards '{text}': '{part}' is not an id, = and a number, like A=5") from error
        if not found or not id:
            raise OptionError(f"rewards '{text}': '{part}' is not an id, = and a number, like A=5")
    return paid
