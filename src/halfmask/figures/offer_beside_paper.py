"""The offer and the paper's menu next to each other: how well reports can be guessed, and what is promised."""

from dataclasses import dataclass

from halfmask.figures.interactive import Interactive, SubplotSpec, axis, interactive
from halfmask.figures.interactive import axes as axes_of
from halfmask.figures.style import INK, PALETTE, QUIET, Figure, ink_on, subplots
from halfmask.menus.menu import Menu
from halfmask.menus.menu_scale import score_words
from halfmask.menus.setting_protection import Question
from halfmask_device.decimals import upwards

OFFER, PAPER = "The offer", "The paper's menu"
ROOM = 0.03
INSIDE = 0.55
"""Guess error from which the promise has room within its bar."""
GUESS = "guess error (100 % = no report)"


@dataclass(frozen=True)
class Level:
    """One setting: letter and name, guess error (0 to 1), the epsilon of its window (None if infinite), utility."""

    id: str
    label: str
    guess: float
    window: float | None
    utility: str

    @property
    def promise(self) -> str:
        """Return the text at its bar."""
        return "no promise" if self.window is None else f"epsilon {upwards(self.window)}"


@dataclass(frozen=True)
class Offered:
    """The settings of both menus, least private first, what the epsilons are about, and the cost of the guarantee."""

    menus: dict[str, list[Level]]
    question: Question
    cost: float | None


def offer_data(offer: Menu, paper: Menu) -> Offered | None:
    """Return the figure's data; None if either menu lacks its protection, or the offer its question."""
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
    """Return the caption: what is promised and what that costs, with the figure's own numbers."""
    bare = [each.id for each in data.menus[PAPER] if each.window is None]
    none = f"Without a promise: {', '.join(bare)}. " if bare else ""
    cost = "" if data.cost is None else f"The guarantee costs at most {upwards(max(data.cost, 0), 2)} of utility."
    return (
        "Bars: the error of the best guess of a reading from its report, in % of that without a report (not of the "
        f"reading); at 100 % a report tells nothing. Beside them: epsilon {data.question.words()}. {none}{cost}"
    ).strip()


def draw_offer(data: Offered) -> Figure:
    """Draw two subplots, with one bar per setting."""
    most = max(map(len, data.menus.values()))
    with subplots(2, height=1.2 + 0.36 * most) as (figure, axes):
        for axis_, (name, levels) in zip(axes, data.menus.items(), strict=True):
            rows = range(len(levels))
            colours = [QUIET if each.window is None else PALETTE[0] for each in levels]
            axis_.barh(rows, [100 * each.guess for each in levels], color=colours, height=0.62)
            for row, each in enumerate(levels):
                inside = each.guess > INSIDE
                place = 100 * (each.guess - ROOM if inside else each.guess + ROOM / 2)
                side, ink = ("right", ink_on(colours[row])) if inside else ("left", INK)
                axis_.text(place, row, each.promise, va="center", ha=side, color=ink, fontsize=9)
            axis_.set_yticks(list(rows), [each.label for each in levels])
            axis_.set(title=name, xlabel=GUESS, ylabel="level")
            axis_.set(xlim=(0, 100), ylim=(most - 0.5, -0.5))
            axis_.grid(visible=False, axis="y")
    return figure


def offer_figure(data: Offered, caption: str) -> Interactive:
    """Return the two subplots of `draw_offer` as an interactive figure."""
    traces, made = [], []
    for number, (name, levels) in enumerate(data.menus.items()):
        colours = [QUIET if each.window is None else PALETTE[0] for each in levels]
        told = [f"{each.promise}, utility {each.utility}" for each in levels]
        traces.append(
            {
                "type": "bar", "orientation": "h", "x": [round(100 * each.guess, 3) for each in levels],
                "y": [each.label for each in levels], "marker": {"color": colours}, "showlegend": False,
                "text": [each.promise for each in levels], "customdata": told, "constraintext": "none",
                "textposition": ["inside" if each.guess > INSIDE else "outside" for each in levels],
                "insidetextfont": {"color": [ink_on(colour) for colour in colours]}, "cliponaxis": False,
                "hovertemplate": "<b>%{y}</b><br>guess error %{x:.3g} %<br>%{customdata}<extra></extra>",
                **axes_of(number),
            }
        )  # fmt: skip
        rows = axis("", type="category", autorange="reversed")
        made.append(SubplotSpec(name, axis(GUESS, range=[0, 100]), rows))
    return interactive(caption, traces, made, height=230, legend=False)
