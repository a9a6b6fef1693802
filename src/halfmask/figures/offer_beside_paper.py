"""The offer and the paper's menu side by side: how well reports can be guessed, and what is guaranteed."""

from collections.abc import Sequence
from dataclasses import dataclass

from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot
from halfmask.figures.style import PALETTE, QUIET
from halfmask.menus.menu import Menu
from halfmask.menus.menu_scale import score_words
from halfmask.menus.question import Question
from halfmask_device.decimals import upwards

OFFER, PAPER = "The offer", "The paper's menu"
COLOURS = {False: PALETTE[0], True: QUIET}
"""Colours of bars, by whether the guarantee is missing."""
INSIDE = 0.55
"""Bars above this guess error have room for the text."""
GUESS = "guess error (100 % = no report)"


@dataclass(frozen=True)
class Level:
    """One setting: letter and name, guess error (0 to 1), epsilon of its window (None if infinite), and utility."""

    id: str
    label: str
    guess: float
    window: float | None
    utility: str

    @property
    def promise(self) -> str:
        """Return the text at the level's bar."""
        return "no promise" if self.window is None else f"epsilon {upwards(self.window)}"


@dataclass(frozen=True)
class Offered:
    """The settings of both menus, least private first.

    ``question``  what the epsilons cover
    ``cost``      loss of utility due to the guarantee
    """

    menus: dict[str, list[Level]]
    question: Question
    cost: float | None


def offer_data(offer: Menu, paper: Menu) -> Offered | None:
    """Return the figure's data; None if a menu lacks its protection, or the offer its question."""
    if offer.question is None:
        return None
    found = {name: _levels(menu) for name, menu in ((OFFER, offer), (PAPER, paper))}
    if not all(found.values()):
        return None
    return Offered(found, offer.question, offer.provenance.get("offer", {}).get("guarantee_costs"))


def _levels(menu: Menu) -> list[Level]:
    return [
        Level(
            each.id,
            f"{each.id} {each.name}".strip(),
            each.protection.guess,
            each.protection.window,
            score_words(each.utility.median, known=each.outside),
        )
        for each in menu.settings[:-1]
        if each.protection is not None and each.protection.guess is not None
    ]


def offer_caption(data: Offered) -> str:
    """Return the caption: what is guaranteed, and what the guarantee costs."""
    bare = [each.id for each in data.menus[PAPER] if each.window is None]
    none = f"Without a promise: {', '.join(bare)}. " if bare else ""
    cost = "" if data.cost is None else f"The guarantee costs at most {upwards(max(data.cost, 0), 2)} of utility."
    return (
        "Bars: the error of the best guess of a reading from its report, in % of that without a report (not of the "
        f"reading); at 100 % a report tells nothing. Beside them: epsilon {data.question.words()}. {none}{cost}"
    ).strip()


def offer_plot(data: Offered) -> Plot:
    """Plot one bar per setting, for both menus. Bars of settings without a guarantee are grey."""
    most = max(map(len, data.menus.values()))
    found = []
    for name, levels in data.menus.items():
        rows = list(enumerate(levels))
        kinds = [(colour, [row for row in rows if (row[1].window is None) == bare]) for bare, colour in COLOURS.items()]
        marks = [_bars(held, colour) for colour, held in kinds if held]
        ticks = {row: each.label for row, each in rows}
        labels = PlotAxis("level", limits=(most - 0.5, -0.5), ticks=ticks)
        found.append(Subplot(name, PlotAxis(GUESS, limits=(0, 100)), labels, marks, legend=""))
    return Plot(found, inches=1.2 + 0.36 * most)


def _bars(rows: Sequence[tuple[int, Level]], colour: str) -> Mark:
    """Return the bars of settings. The text is inside long bars, and to the right of short ones."""
    return Mark(
        "", [round(100 * each.guess, 3) for _, each in rows], [row for row, _ in rows], {"color": colour},
        shape="rows", size=0.62, texts=[each.promise for _, each in rows],
        sides=["middle left" if each.guess > INSIDE else "middle right" for _, each in rows],
    )  # fmt: skip
