"""What the paper says in passing and has wrong, each measured."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.evaluation.metrics import GLOBAL_MEAN, LOCAL_MEAN
from halfmask.figures.study_samples import MenuSamples, Samples
from reproduction.claim import ROUNDING, ClaimFinding, found, judged
from reproduction.homogeneous import rank_correlation
from reproduction.trial import Trial

COEFFICIENTS, VALUES = 5, 16


def zero_mean(trial: Trial, of_menu: MenuSamples) -> ClaimFinding:
    """The mean of |global error| by masking against sigma sqrt(2/pi) / (sqrt(n) mean s), n readings a period.

    "Approximates zero" would hold where the measured mean is below a tenth of the formula's, and does not hold where
    it is at least half of it. Errors as small as rounding are left out.
    """
    seen = trial.formula > ROUNDING
    ratio = float(np.mean(trial.mean_error[seen] / trial.formula[seen]))
    last, users = trial.ids[-1], np.array([of_menu.users.min(), of_menu.users.max()])
    at = [of_menu.total_error(last, int(size)) for size in users]
    whole = trial.users == trial.users.max()
    measured = (
        f"By masking {trial.users.max()} users' readings: measured over formula {ratio:.3f} on average of "
        f"{int(seen.sum())} samples of the menu's settings; under {last} "
        f"{trial.mean_error[-1, whole].mean():.2%} against {trial.formula[-1, whole].mean():.2%}. In the study {last} "
        f"has {at[0]:.2%} at {users[0]:,} users and {at[1]:.2%} at {users[1]:,}."
    )
    verdict = judged(ratio < 0.1, ratio < 0.5)
    why = (
        "The noise averages zero, its absolute value does not: the global error is an absolute value, whose mean is "
        "sigma sqrt(2/pi) / (sqrt(n) mean s). It falls with the root of the number n of readings and is zero at no "
        "finite one; nor could a consumer subtract it, since its sign is not known."
    )
    return found(measured, verdict, why)


def harmless_coefficients(samples: Samples) -> ClaimFinding:
    """Of pairs of sine settings one step of the grid apart in one coefficient: how many have more global error.

    "Without affecting it" would hold where about half of the steps raise it (45 to 55 %), and does not where nearly all
    do (95 %). The pooled mean over all samples of a setting is compared; all settings share their subsets.
    """
    rows = np.flatnonzero(samples.mechanisms == "sine")
    theta = np.array([samples.parameters[row] for row in rows], float)
    local, total = (samples.metrics[rows, :, column].mean(axis=1) for column in (LOCAL_MEAN, GLOBAL_MEAN))
    steps = _single_steps(theta, total)
    rises = float((steps > 0).mean())
    raised = int((steps > 0).sum())
    together = rank_correlation(local, total)
    measured = (
        f"{raised:,} of {len(steps):,} steps in one coefficient raise the mean global error; over all sine settings "
        f"its rank correlation with the mean local error is {together:.3f}."
    )
    verdict = judged(0.45 <= rises <= 0.55, rises <= 0.95)
    why = (
        "A larger coefficient raises the noise's standard deviation, and both errors are in proportion to the noise: "
        "mean local error to E|psi|, mean global error to sigma. That it is to sigma, masking shows "
        "in the claim before."
    )
    return found(measured, verdict, why)


def _single_steps(theta: FloatArray, values: FloatArray) -> FloatArray:
    """Change of the value from each setting to the next that is larger in one coefficient and equal in the others."""
    steps = []
    for k in range(theta.shape[1]):
        others = np.delete(theta, k, axis=1)
        order = np.lexsort((theta[:, k], *others.T))
        same = (others[order][1:] == others[order][:-1]).all(axis=1)
        steps.append(np.diff(values[order])[same])
    return np.concatenate(steps)


def ten_thousand_settings(values: int = VALUES, coefficients: int = COEFFICIENTS, said: int = 10_000) -> ClaimFinding:
    """How many sine settings the stated grid has: values ^ coefficients, less the one that adds nothing.

    "Around" is taken as up to twice or half as many.
    """
    count = values**coefficients - 1
    verdict = judged(said / 2 <= count <= 2 * said, False)
    measured = f"{values}^{coefficients} = {count + 1:,}: {count:,} settings without the one that is all zero."
    why = (
        "0, 0.03, ..., 0.30, 0.6, ..., 1.8 are 16 values, and all combinations for five coefficients a hundred "
        "times as many as said. The grid `paper` takes the coarse product and the fine singles and pairs, "
        "17,661 settings with the paper's own low-noise winner among them; the grid `full` takes all."
    )
    return found(measured, verdict, why)


def variance_cancels(trial: Trial) -> ClaimFinding:
    """Mean global error of the daily variance by masking, as it comes and with the noise's variance taken off.

    Noise cancels where the error falls with the users: by half from a quarter of them to all. "Holds" where the
    uncorrected error falls below three quarters, "does not hold" where it stays.
    """
    small, large = trial.users == trial.users.min(), trial.users == trial.users.max()
    raw = [float(np.mean(trial.uncorrected[rows] / trial.bias[rows])) for rows in (small, large)]
    plain = [float(trial.uncorrected[rows].mean()) for rows in (small, large)]
    mended = [float(trial.corrected[rows].mean()) for rows in (small, large)]
    sizes = f"{trial.users.min()} to {trial.users.max()} users"
    measured = (
        f"Under {trial.ids[-1]}, {sizes}: uncorrected error {plain[0]:.4g} to {plain[1]:.4g}, which is {raw[0]:.3f} to "
        f"{raw[1]:.3f} of sigma^2 / Var(s); corrected {mended[0]:.3g} to {mended[1]:.3g}."
    )
    verdict = judged(raw[1] < 0.75 * raw[0], False)
    why = (
        "Var(s + psi) = Var(s) + sigma^2, whatever the number of readings: noise adds to a variance and does not "
        "cancel. The noise's law is public, so a consumer can subtract sigma^2, and then the error does "
        "fall with the users."
    )
    return found(measured, verdict, why)
