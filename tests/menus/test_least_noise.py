"""Noise for a promise: it is kept, by the promise's own law, and less noise would break it."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from halfmask.errors import OptionError
from halfmask.mechanisms.mechanism_registry import mechanism, mechanisms
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.least_noise import Solved, least_noise, promising, strongest
from halfmask.menus.menu import noise_std
from halfmask.menus.optimize import optimize
from halfmask.menus.question import Question
from halfmask.menus.total_error import total_error
from halfmask.protection.best_guess import guess_error
from halfmask.protection.evidence import population_of
from halfmask.protection.guarantees.guarantee import guarantee
from halfmask.protection.guarantees.lattice_noise import lattice_steps
from halfmask_device import law_of
from halfmask_device.decimals import number_text
from tests.menus.cases import street, studied
from tests.refusals import refused


def _less(setting: PrivacySetting, part: float) -> PrivacySetting:
    """The same setting with that part of its noise."""
    first, *rest = setting.parameters
    if setting.mechanism == "staircase" and first < 10:
        return PrivacySetting(setting.mechanism, (first / part, *rest))
    shorter = setting.law.grown(np.array([setting.parameters]), part)  # next to uniform noise, by its width alone
    assert shorter is not None
    return PrivacySetting(setting.mechanism, tuple(shorter[0].tolist()))


@pytest.mark.parametrize("question", [Question(2, 48), Question(0.3, 1), Question(1, 4, 1e-3)])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_promise_is_kept_and_a_hundredth_less_noise_breaks_it(question: Question, epsilon: float) -> None:
    """Recomputed by the guarantee itself; the wrong answers are settings with 1 % less noise."""
    found = least_noise(epsilon, question)
    assert {each.mechanism for each in found.solutions} == set(promising())
    for each in found.solutions:
        drawn = guarantee(each.setting, question.change, (question.window,), step=question.step)
        kept = drawn.epsilon_at(question.delta, question.window)
        assert kept is not None
        assert kept == pytest.approx(each.window)
        assert kept <= epsilon
        broken = question.epsilon(_less(each.setting, 0.99))
        assert broken is None or broken > epsilon


@pytest.mark.parametrize("step", [0.5, 4.0])
def test_the_promise_is_of_the_noise_on_the_lattice(step: float) -> None:
    """On a coarse lattice what is least for the continuous law is too little, and the notes say what was assumed."""
    smooth, coarse = (least_noise(1.0, Question(2, 8, 1e-3, step=each)) for each in (None, step))
    for each in coarse.solutions:
        drawn = guarantee(each.setting, 2, (8,), step=step).epsilon_at(1e-3, 8)
        assert drawn is not None
        assert drawn <= 1
    laplace = {each.mechanism: each.setting for each in smooth.solutions}["laplace"]
    drawn = guarantee(laplace, 2, (8,), step=4.0).epsilon_at(1e-3, 8)
    assert drawn is not None
    assert drawn > 1, "the check can fail"
    assert any(f"lattice of steps of {step:g}" in told for told in coarse.notes())
    assert any("which no device draws" in told for told in smooth.notes())


def test_noise_and_errors_are_of_the_noise_on_the_lattice() -> None:
    """On steps of the noise's size the device's own law has another variance than the continuous one."""
    profile = street().profile
    found = least_noise(1.0, Question(2, 1, step=4.0), profile=profile)
    for each in found.solutions:
        drawn = 4 * law_of(str(each.setting), "4").variance ** 0.5
        assert each.noise_std == pytest.approx(drawn, rel=1e-6)
        if each.mechanism in ("laplace", "logistic"):  # the lattice leaves the others' variances nearly as they are
            assert each.noise_std != pytest.approx(noise_std(each.setting), rel=5e-3), "the check can fail"
        smooth = total_error(profile, each.setting, 1000)
        assert smooth is not None
        assert each.errors[1000] == pytest.approx(smooth * drawn / (noise_std(each.setting) or 0.0), rel=1e-6)
    quiet = strongest(1e-3, 1000, Question(2, 1, step=4.0), profile)
    for each in quiet.solutions:
        assert any(f"devices refuse {each.setting}" in told for told in quiet.objections())


@pytest.mark.parametrize(
    ("epsilon", "question", "least"),
    [
        (0.01, Question(1, 1, 0.01), "gaussian:27.72 staircase:600,51,1"),  # the first noise tried tells nothing at all
        (0.1, Question(1, 48, 0.05), "gaussian:31.1"),
        (1.0, Question(0.35, 1, step=0.1), "staircase:1,0.4,0.3775"),  # as wide as the change is on the lattice
        (27.5, Question(0.128, 1, step=0.1), "gaussian:0.047"),  # where epsilon rises with the noise
        (1.0, Question(0.12344, 1, step=None), "staircase:1,0.12344,0.3775"),  # whose width has more digits
        (20.0, Question(0.13, 48), "staircase:0.5613,0.13,0.97"),  # another shape than is best for one report
    ],
)
def test_no_less_noise_is_known_that_keeps_the_promise(epsilon: float, question: Question, least: str) -> None:
    """The settings named keep it, and what is found has no more noise; with 1 % less it would break it."""
    solved = {each.mechanism: each for each in least_noise(epsilon, question).solutions}
    for known in map(PrivacySetting.parse, least.split()):
        kept = question.epsilon(known)
        assert kept is not None
        assert kept <= epsilon * (1 + 1e-9)
        found = solved[known.mechanism]
        assert found.noise_std <= (noise_std(known, question.step) or 0.0) * (1 + 1e-9)
        broken = question.epsilon(_less(found.setting, 0.99))
        assert broken is None or broken > epsilon


def _other_epsilon(setting: PrivacySetting, question: Question) -> float:
    """Epsilon of the window by dp-accounting, from below, of the masses that the device draws with."""
    step = question.step or 0.0
    law, apart = law_of(str(setting), number_text(step)), lattice_steps(question.change, step)
    most = law.furthest(1e-12)
    mass = {k: math.log(law.mass(k)) for k in range(-most, most + 1) if law.mass(k) > 0}
    one = pld.from_two_probability_mass_functions(
        {k + apart: each for k, each in mass.items()},
        mass,
        pessimistic_estimate=False,
        value_discretization_interval=1e-3,
    )
    return float(one.self_compose(question.window).get_epsilon_for_delta(question.delta))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "question"),
    [
        (20.0, Question(0.13, 48, step=0.01)),  # gamma 1
        (8.0, Question(0.13, 4, step=0.01)),  # a gamma between 0 and 1
        (1.0, Question(0.13, 1, 0.05, step=0.01)),  # steps narrower than the change
    ],
)
def test_no_staircase_of_less_noise_keeps_the_promise(epsilon: float, question: Question) -> None:
    """Brute force over widths, gamma and epsilon, with another program's composition as the judge."""
    found = next(each for each in least_noise(epsilon, question).solutions if each.mechanism == "staircase")
    assert _other_epsilon(found.setting, question) <= epsilon

    def kept(noise: float) -> list[PrivacySetting]:
        """Staircases on a grid of widths and gammas with that deviation, as drawn, that keep the promise."""
        tried = []
        for width, gamma in itertools.product(
            (0.5, 0.9, 1.0, 1.5, 10.0, 40.0), (0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.8, 1.0)
        ):
            low, high = 1e-3, 60.0
            while high - low > 1e-4 * low:
                setting = PrivacySetting("staircase", (math.sqrt(low * high), width * question.change, gamma))
                loud = (noise_std(setting, question.step) or 0.0) > noise
                low, high = (setting.parameters[0], high) if loud else (low, setting.parameters[0])
            tried += [setting] if high < 60 and _other_epsilon(setting, question) <= epsilon else []
        return tried

    assert not kept(0.99 * found.noise_std)
    assert kept(1.03 * found.noise_std), "the check can fail"


def test_one_report_of_laplace_noise_needs_the_change_over_epsilon() -> None:
    """b = d / epsilon for one reading, whatever delta is near 0: the closed form."""
    found = least_noise(0.5, Question(2, 1, 1e-12))
    laplace = next(each for each in found.solutions if each.mechanism == "laplace")
    assert laplace.setting.parameters[0] == pytest.approx(4, rel=2e-3)


def test_mechanisms_without_a_promise_say_why() -> None:
    found = least_noise(1, Question(1, 1))
    assert "sine" in found.without
    assert not any(each.mechanism == "sine" for each in found.solutions)
    assert any(told.startswith("no epsilon is promised by sine") for told in found.notes())
    for name, law in ((each, mechanism(each)) for each in mechanisms()):  # every one of ours is told of, or solved
        known = name in found.without or name in promising()
        assert known or name == "none" or (law.kind == "additive" and law.unit_parameters is None)
    assert math.isinf(question_epsilon("sine:5,0,0,0,0"))


def question_epsilon(text: str) -> float:
    found = Question(1, 1).epsilon(PrivacySetting.parse(text))
    return math.inf if found is None else found


@pytest.mark.parametrize("error", [0.01, 0.2])
def test_the_strongest_promise_just_keeps_the_error(error: float) -> None:
    """The total of so many producers errs by the asked error, and by no more."""
    profile = street().profile
    found = strongest(error, 1000, Question(0.5, 12), profile, menu=optimize(studied()).menu)
    for each in found.solutions:
        reached = total_error(profile, each.setting, 1000, step=found.question.step)
        assert reached is not None
        assert 0.99 * error < reached <= error
        assert each.errors[1000] == pytest.approx(reached)
        assert each.guess is not None
        assert each.placed is not None


def test_each_mechanism_uses_all_of_the_error_on_a_coarse_lattice_and_the_strongest_comes_first() -> None:
    """On steps of the noise's size the mechanisms' deviations differ from those of their continuous laws, each its own.

    A hundredth more noise exceeds the error.
    """
    profile, question = street().profile, Question(0.5, 12, step=0.5)
    unit = total_error(profile, PrivacySetting("gaussian", (0.4,)), 1000)
    assert unit is not None
    found = strongest(unit, 1000, question, profile)
    assert {each.mechanism for each in found.solutions} == set(promising())
    for each in found.solutions:
        assert each.guess == guess_error(each.setting, population_of(profile), 0.5)
        assert each.errors[1000] <= unit
        louder = total_error(profile, _less(each.setting, 1.01), 1000, step=0.5)
        assert louder is not None
        assert louder > unit
    epsilons = [each.window for each in found.solutions]
    assert epsilons == sorted(epsilons)
    noises = [each.noise_std for each in least_noise(1, question).solutions]
    assert noises == sorted(noises)


def test_more_error_buys_a_stronger_promise() -> None:
    profile = street().profile

    def promised(found: Solved) -> dict[str, float]:
        return {each.mechanism: each.window for each in found.solutions}

    tight, loose = (promised(strongest(error, 500, Question(0.5, 12), profile)) for error in (0.01, 0.05))
    assert all(loose[name] < tight[name] for name in tight)


@pytest.mark.parametrize("ask", [(0.0, Question(1, 1)), (math.inf, Question(1, 1))])
def test_an_epsilon_that_is_none_is_refused(ask: tuple[float, Question]) -> None:
    with refused("option.epsilon"):
        least_noise(*ask)


@pytest.mark.parametrize("wrong", [{"change": 0.0}, {"window": 0}, {"window": 48.5}, {"delta": 1.0}, {"delta": 0.0}])
def test_a_question_that_asks_nothing_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(OptionError):
        Question(**{"change": 1.0, "window": 1, **wrong})  # type: ignore[arg-type]
