"""What an epsilon is asked about: given options over the profile's own defaults."""

from typing import TYPE_CHECKING

from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.menus.setting_protection import Question
    from halfmask.profiles.profile import Profile


def asked(
    people: "Profile | None",
    change: float | None,
    window: int | None,
    delta: float,
    unit: str | None = None,
    step: float | None = None,
) -> "Question":
    """The question: a change of a typical reading's size in every reading of a day, unless said otherwise."""
    from halfmask.menus.setting_protection import Question, default_question
    from halfmask_device.terms import STEP

    if people is None:
        if change is None or window is None:
            raise OptionError("say what the promise is about: `change` and `window`, or a profile to take them from")
        return Question(change, window, delta, unit or "", float(STEP) if step is None else step)
    usual = default_question(people)
    return Question(
        usual.change if change is None else change,
        usual.window if window is None else window,
        delta,
        usual.unit if unit is None else unit,
        usual.step if step is None else step,
    )
