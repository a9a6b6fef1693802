"""The HTML of a result in a notebook: a small table, and for a study its trajectory."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from halfmask.audits.card import ReportCard
from halfmask.choice.advice_table import advice_rows, wish_rows
from halfmask.choice.mix import Mix, by_dominant
from halfmask.choice.recommend import Recommendation
from halfmask.choice.wished_level import WishedLevels
from halfmask.errors import OptionError
from halfmask.evaluation.study import Study
from halfmask.menus.least_noise import Solved
from halfmask.menus.menu import Menu
from halfmask.menus.menu_scale import score_words
from halfmask.menus.menu_table import menu_rows
from halfmask.menus.offer import Offer
from halfmask.menus.offer_table import offer_rows
from halfmask.pages.page_parts import Markup, html_table
from halfmask.profiles.profile import Profile
from halfmask.profiles.show import table_rows
from halfmask.protection.guarantees.guarantee import Guarantee
from halfmask.protection.guarantees.promises import guarantee_rows

ROWS = 12
WIDTH, HEIGHT = 240, 120


def in_notebook(result: Any) -> Markup:
    """Return the result as HTML; every text is escaped."""
    rows = told(result)
    return html_table("", rows[0], rows[1:]) + trajectory(result.points())


@singledispatch
def told(result: Any) -> list[list[str]]:
    """Return a small table of a result, headings first. Raise an OptionError if its type lacks a table."""
    raise OptionError(f"there is no table of a {type(result).__name__}")


@told.register(Profile)
def _(result: Profile) -> list[list[str]]:
    """Quality of the data."""
    return [["profile", ""], *([name, words] for name, words in table_rows(result))]


@told.register(Study)
def _(result: Study) -> list[list[str]]:
    """What was tried, and on whom."""
    tried, sizes = result.experiment, sorted(set(result.users.tolist()))
    of_users = "pooled" if result.scores is not None else f"{sizes[0]:,} to {sizes[-1]:,}"
    mechanisms = ", ".join(dict.fromkeys(block.mechanism for block in result.grid.blocks))
    return [
        ["study", ""],
        ["settings", f"{len(result.grid):,} ({mechanisms})"],
        ["samples of each", f"{len(result.users):,}"],
        ["users in a sample", of_users],
        ["aggregate", f"{tried.aggregate} of a {tried.period}"],
        ["error", tried.error],
        ["seed", str(tried.seed)],
    ]


@told.register(Menu)
def _(result: Menu) -> list[list[str]]:
    """Each setting with its scores and what it protects; of an offer each level with its promise."""
    return offer_rows(result) if "offer" in result.provenance else menu_rows(result)


@told.register(Offer)
def _(result: Offer) -> list[list[str]]:
    """Each level with its promise."""
    return offer_rows(result.menu)


@told.register(Solved)
def _(result: Solved) -> list[list[str]]:
    """The solutions, best first."""
    return result.rows()


@told.register(Guarantee)
def _(result: Guarantee) -> list[list[str]]:
    """delta(epsilon) of one report and of many."""
    return guarantee_rows(result)


@told.register(Recommendation)
def _(result: Recommendation) -> list[list[str]]:
    """Each setting with its scores for this producer."""
    return advice_rows(result)


@told.register(WishedLevels)
def _(result: WishedLevels) -> list[list[str]]:
    """Each level with its promise and its reward."""
    return wish_rows(result)


@told.register(Mix)
def _(result: Mix) -> list[list[str]]:
    """Privacy and utility by dominant setting and its share."""
    rows = [["dominant", "share", "mixes", "privacy", "its IQR", "utility", "its IQR"]]
    for each in by_dominant(result):
        ends = (each.privacy, each.utility)
        scores = [text for low, middle, high in ends for text in (score_words(middle), f"{high - low:.3f}")]
        rows.append([each.id, f"{each.share:.1%}", f"{each.rows // int(result.about['repeats']):,}", *scores])
    return first_rows(rows)


@told.register(ReportCard)
def _(result: ReportCard) -> list[list[str]]:
    """Each setting with its score and what it does for a person."""
    rows = [["id", "setting", "privacy", "in a sentence"]]
    for each in result.cards:
        score = "-" if each.privacy is None else score_words(each.privacy.median)
        rows.append([each.id, str(each.setting), score, each.sentence])
    return rows


def trajectory(points: Sequence[tuple[float, float]]) -> Markup:
    """Return a line through points of privacy (to the right) and utility (up), as SVG; nothing if there are none."""
    if not points:
        return Markup("")
    places = " ".join(f"{x * WIDTH:.1f},{(1 - y) * HEIGHT:.1f}" for x, y in sorted(points))
    return Markup(
        f'<svg role="img" aria-label="utility against privacy" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="-4 -4 {WIDTH + 8} {HEIGHT + 8}"><rect width="{WIDTH}" height="{HEIGHT}" fill="none" '
        f'stroke="#999"/><polyline points="{places}" fill="none" stroke="#0a6" stroke-width="2"/></svg>'
    )


def first_rows(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the first of many rows, and a row that says how many are left out; all rows if they are few."""
    first, left = [list(row) for row in rows[: ROWS + 1]], len(rows) - ROWS - 1
    return [*first, [f"... and {left:,} more", *[""] * (len(rows[0]) - 1)]] if left > 0 else first
