"""Print notes and progress to standard error, and results to standard output."""

import json
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

CONTROLS = ("Cc", "Cf")
"""Categories of control characters and of marks that turn or hide text."""


def note(message: str) -> None:
    """Print a line to standard error, with options as they are typed."""
    if "`" in message:
        from halfmask.commands._program import phrase

        message = phrase(message)
    print(without_controls(message), file=sys.stderr)


def without_controls(text: str) -> str:
    """Return text without characters that change a terminal or the order of its letters: a service may send them."""
    return "".join("?" if unicodedata.category(each) in CONTROLS and each != "\n" else each for each in text)


def one_line(text: object) -> str:
    """Return a service's text without line breaks: what follows one would look like a line of the program."""
    return " ".join(str(text).split())


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def print_table_of(made: Any, aggregate: Any = "auto") -> None:
    from rich.console import Console

    from halfmask.commands._program import phrase
    from halfmask.profiles.show import print_profile

    print_profile(made, Console(), aggregate, phrase)


@contextmanager
def progress(*columns: Any) -> Iterator[Any]:
    """Show progress on standard error and remove it when done; print nothing if that is not a terminal."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(), TextColumn("{task.description}"), *columns, TimeElapsedColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    ) as progress:  # fmt: skip
        yield progress


@contextmanager
def counting(what: str, things: str) -> Iterator[Callable[[int], None]]:
    """Show a growing count, if the total is not known: ``advance(n)`` adds to it."""
    from rich.progress import TextColumn

    with progress(TextColumn("{task.fields[count]} " + things)) as shown:
        task = shown.add_task(what, total=None, count="0")
        done = 0

        def advance(number: int) -> None:
            nonlocal done
            done += number
            shown.update(task, count=f"{done:,}")

        yield advance


@contextmanager
def bar(what: str, total: int) -> Iterator[Callable[[int, int], None]]:
    """Show a bar with rate and time left: ``advance(done, total)`` sets it."""
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "")

    with progress(BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn()) as shown:
        task = shown.add_task(what, total=total)
        yield lambda done, all_: shown.update(task, completed=done, total=all_)


@contextmanager
def live_rows(headings: Sequence[str], total: int) -> Iterator[Callable[[Sequence[str]], None]]:
    """Show the last rows of a growing table on standard error; print nothing if that is not a terminal."""
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    console, rows = Console(stderr=True), list[Sequence[str]]()

    def table() -> Table:
        made = Table(*headings, box=None, pad_edge=False, header_style="dim", caption=f"{len(rows)} of {total}")
        for row in rows[-max(console.height - 4, 1) :]:
            made.add_row(*row)
        return made

    if not console.is_terminal:
        yield lambda _: None
        return
    with Live(table(), console=console, transient=True, auto_refresh=False) as live:

        def add(row: Sequence[str]) -> None:
            rows.append(row)
            live.update(table(), refresh=True)

        yield add


CELL, WORD = 8, 16
"""How many characters of a cell, and of a word, stay on one line in a narrow terminal."""


def print_rows(rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    """Print a table, headings first."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if title:
        console.print(title, style="bold", markup=False, emoji=False, highlight=False)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for place, heading in enumerate(rows[0]):
        cells = [str(row[place]) for row in rows[1:]]
        widest, longest = max(map(len, [*cells, ""])), max(map(len, " ".join([heading, *cells, "-"]).split()))
        table.add_column(heading, overflow="fold", min_width=max(min(widest, CELL), min(longest, WORD)))
    for row in rows[1:]:
        table.add_row(*(Text(str(cell)) for cell in row))
    console.print(table, crop=False)  # a table too wide is better than one without its last column
