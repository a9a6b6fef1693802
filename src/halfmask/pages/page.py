"""The bricks of the page: every text that goes in is escaped here, and nothing refers outside."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from halfmask.figures.style import inline_svg

if TYPE_CHECKING:
    from halfmask.figures.registry import Drawing


SEEN_ON_A_PHONE = 4
"""Columns of a table that a phone shows without scrolling."""
SHORT = 10
"""Rows of a table that is not broken over printed pages."""


class Markup(str):
    """Text that is HTML already and goes into the page as it is."""

    __slots__ = ()


@dataclass(frozen=True)
class Section:
    """A part of the page with its heading."""

    id: str
    title: str
    body: Markup


def text(content: str) -> Markup:
    """Plain text made safe; markup stays as it is."""
    return content if isinstance(content, Markup) else Markup(escape(content))


def joined(parts: Sequence[str]) -> Markup:
    """Parts one after the other."""
    return Markup("\n".join(text(part) for part in parts if part))


def element(tag: str, content: str, kind: str = "") -> Markup:
    """``<tag class=kind>content</tag>``."""
    of = f' class="{escape(kind)}"' if kind else ""
    return Markup(f"<{tag}{of}>{text(content)}</{tag}>")


def paragraph(content: str, kind: str = "") -> Markup:
    """A paragraph."""
    return element("p", content, kind)


def bullets(items: Sequence[str]) -> Markup:
    """A list."""
    return element("ul", joined([element("li", item) for item in items]))


def tiles(facts: Sequence[tuple[str, str]]) -> Markup:
    """A few numbers that stand out."""
    cells = [element("div", joined([element("dt", name), element("dd", value)])) for name, value in facts]
    return element("dl", joined(cells), "tiles")


def table(caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> Markup:
    """A table that scrolls where the page is narrow; columns in ``numbers`` are flush right."""
    kinds = ["number" if column in numbers else "" for column in range(max(map(len, rows), default=len(headings)))]
    head = joined([element("th", name, kind) for name, kind in zip(headings, kinds, strict=False)])
    lines = []
    for row in rows:
        first = Markup(f'<th scope="row">{text(row[0])}</th>')
        lines.append(element("tr", joined([first, *map(element, ["td"] * (len(row) - 1), row[1:], kinds[1:])])))
    body = [element("thead", element("tr", head)) if headings else "", element("tbody", joined(lines))]
    # The caption stands outside of what scrolls, so that it can be read without scrolling.
    above = paragraph(caption, "caption") if caption else ""
    labelled = Markup(f'<table aria-label="{escape(caption)}">{joined(body)}</table>')
    hint = paragraph("More columns to the right: swipe the table.", "swipe") if len(kinds) > SEEN_ON_A_PHONE else ""
    short = " short" if len(rows) <= SHORT else ""
    return joined([above, hint, element("div", labelled, f"scroll{short}")])


def bar(value: float) -> Markup:
    """A score with a bar of that length."""
    filled = min(max(value, 0.0), 1.0) * 100
    return Markup(f'{value:.2f}<span class="bar" aria-hidden="true"><i style="width:{filled:.1f}%"></i></span>')


def figure(drawing: "Drawing", number: int) -> Markup:
    """A figure twice, for wide and for narrow pages; style sheets show the one that fits."""
    label = escape(f"{drawing.title}. {drawing.caption}")
    wide = inline_svg(drawing.draw(2), drawing.name, label)
    narrow = inline_svg(drawing.draw(1), f"{drawing.name}-narrow", label)
    told = joined([element("b", f"Figure {number}. {drawing.title}."), drawing.caption])
    return Markup(
        f'<figure id="figure-{escape(drawing.name)}">\n<div class="wide">{wide}</div>\n'
        f'<div class="narrow">{narrow}</div>\n<figcaption>{told}</figcaption>\n</figure>'
    )


def document(title: str, kind: str, what: str, sections: Sequence[Section], foot: str) -> str:
    """The whole page. Its policy forbids the browser to fetch anything at all."""
    style = resources.files("halfmask.pages").joinpath("page.css").read_text(encoding="utf-8")
    links = [element("li", Markup(f'<a href="#{each.id}">{escape(each.title)}</a>')) for each in sections]
    parts = [
        Markup(f'<section id="{each.id}">\n<h2>{escape(each.title)}</h2>\n{each.body}\n</section>') for each in sections
    ]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{escape(title)}: {escape(kind)}</title>
<style>
{style}</style>
</head>
<body>
<header>
{paragraph(kind, "kind")}
{element("h1", title)}
{paragraph(what, "what")}
<nav aria-label="Contents">{element("ul", joined(links))}</nav>
</header>
<main>
{joined(parts)}
</main>
{element("footer", foot)}
</body>
</html>
"""
