"""Utility of each setting of the menu against the number of users."""

from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot
from halfmask.figures.study_samples import MenuSamples
from halfmask.figures.style import line_style
from halfmask.figures.trajectories import Band, band_at


def users_data(menu: MenuSamples) -> dict[str, Band] | None:
    """Return the utility of each menu setting by number of users; None if all samples have one size."""
    if len(set(menu.users.tolist())) < 2:
        return None
    return {
        name: band_at(menu.users.astype(float), menu.utility[row])
        for row, name in enumerate(menu.ids)
    }  # fmt: skip


def users_caption(data: dict[str, Band]) -> str:
    """Return the caption of utility by number of users."""
    text = "Median utility of each setting of the menu (line) and its range (band) in groups of growing size."
    name, band = min(data.items(), key=lambda item: float(item[1].median[-1]))
    if len(band.at) < 2:
        return text
    return (
        f"{text} What to see: the utility of {name} goes from {band.median[0]:.2f} with {band.at[0]:,.0f} users to "
        f"{band.median[-1]:.2f} with {band.at[-1]:,.0f}."
    )


def users_plot(data: dict[str, Band]) -> Plot:
    """Plot utility over the number of users."""
    marks = []
    for order, (name, found) in enumerate(data.items()):
        mark = Mark(
            name, found.at, found.median, line_style(order), shape="both", size=4,
            around=(found.low, found.high),
        )  # fmt: skip
        marks.append(mark)
    ticks: dict[float, str] = {}
    for size in sorted({float(at) for found in data.values() for at in found.at}):
        if not ticks or size >= 1.6 * max(ticks):
            ticks[size] = f"{size:,.0f}"
    x = PlotAxis("number of users", log=True, ticks=ticks)
    return Plot([Subplot("", x, PlotAxis("utility"), marks, columns=4)], inches=3.6)
