"""The parts of pages: the templates, and a function for each of their macros.

All markup is in ``templates``: ``base.html`` is the layout of every page; ``parts.html`` has tables, figures, notes and
the like. Text is escaped there; a `Markup` is not escaped again. No page refers to another site.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup as Markup
from markupsafe import escape

if TYPE_CHECKING:
    from halfmask.figures.registry import DrawnFigure

SEEN_ON_A_PHONE = 3
"""Columns of a table that a phone shows without scrolling."""
SHORT = 10
"""Rows of a table that is not broken over printed pages."""


@dataclass(frozen=True)
class Section:
    """A part of the page with its heading."""

    id: str
    title: str
    body: Markup


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("halfmask.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **content: Any) -> Markup:
    """Return a template of ``templates``, filled in."""
    return Markup(_templates().get_template(template).render(content))


def macro(name: str, *content: Any) -> Markup:
    """Return a macro of ``parts.html``, filled in."""
    return Markup(getattr(_templates().get_template("parts.html").module, name)(*content).strip())


def joined_markup(parts: Sequence[str]) -> Markup:
    """Return the parts, one per line; empty parts are left out."""
    return Markup("\n").join(part for part in parts if part)


def element(tag: str, content: str, kind: str = "") -> Markup:
    """Return ``<tag class=kind>content</tag>``."""
    of = f' class="{escape(kind)}"' if kind else ""
    return Markup(f"<{tag}{of}>{escape(content)}</{tag}>")


def paragraph(content: str, kind: str = "") -> Markup:
    """Return a paragraph."""
    return element("p", content, kind)


def bullets(items: Sequence[str]) -> Markup:
    """Return a list."""
    return macro("bullets", items)


def html_table(
    caption: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[int] = (),
    kinds: Mapping[int, str] | None = None,
) -> Markup:
    """Return a table that scrolls if the page is narrow.

    ``numbers``  the columns that are aligned to the right
    ``kinds``    style classes of other columns
    """
    width = max(map(len, rows), default=len(headings))
    classes = ["number" if column in numbers else (kinds or {}).get(column, "") for column in range(width)]
    label = f"{caption.partition('. ')[0] or 'Table'}: {', '.join(headings)}" if width > SEEN_ON_A_PHONE else ""
    return macro("table", caption, headings, rows, classes, label, len(rows) <= SHORT)


def score_bar(value: float) -> Markup:
    """Return a score with a bar of that length."""
    return macro("bar", value)


def drawn_figure(drawn: "DrawnFigure", number: int) -> Markup:
    """Return a figure panel by panel: style sheets put two into a row if there is room."""
    picture = macro("drawn", drawn.title, [Markup(panel) for panel in drawn.panels])
    return macro("figure", drawn.name, number, drawn.title, drawn.caption, picture)


def page_file(name: str) -> Markup:
    """Return a style sheet, script or text, to be placed in a page."""
    return Markup(resources.files("halfmask.pages").joinpath(name).read_text(encoding="utf-8"))


def allowed(script: str) -> str:
    """Return the source for a page's policy that allows this script and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
