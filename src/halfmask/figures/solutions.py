"""The solutions of a question: the noise and the guarantee of each."""

from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot
from halfmask.figures.style import PALETTE
from halfmask.menus.least_noise import Solved
from halfmask_device.decimals import upwards


def solved_plot(found: Solved) -> Plot:
    """Plot the noise and the epsilon of each solution, best first."""
    rows = list(range(len(found.solutions)))
    labels = [str(each.setting) for each in found.solutions]
    names = PlotAxis("", limits=(len(rows) - 0.5, -0.5), ticks=dict(enumerate(labels)))
    noise, held = ([getattr(each, name) for each in found.solutions] for name in ("noise_std", "window"))
    unit = f", {found.question.unit}" if found.question.unit else ""
    subplots = [
        Subplot(
            title,
            PlotAxis(axis, limits=(0, 1.35 * max(values, default=1.0))),
            names,
            [
                Mark(
                    "", values, rows, {"color": PALETTE[place]}, shape="rows", size=0.6, texts=told,
                    sides=["middle right"] * len(rows),
                )
            ],
            legend="",
        )
        for place, (title, axis, values, told) in enumerate(
            (
                ("Noise", f"standard deviation{unit}", noise, [f"{each:.3g}" for each in noise]),
                ("Promise", f"epsilon, {found.question.heading()}", held, list(map(upwards, held))),
            )
        )
    ]  # fmt: skip
    return Plot(subplots, inches=1.0 + 0.34 * len(rows))
