"""Print notes and progress to standard error, and results to standard output."""

import json
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from halfmask.commands._table_layout import parts, wrapped

CONTROLS = ("Cc", "Cf")
"""Categories of control characters and of marks that turn or hide text."""


def note(message: str) -> None:
    """Print a line to standard error, with options as they are typed."""
    if "`" in message:
        from halfmask.commands._program import phrase

        message = phrase(message)
    print_to_errors(without_controls(message))


def print_to_errors(text: str) -> None:
    """Print a text to standard error. A terminal gets lines that fit it; a command to copy is left whole."""
    fits = text.startswith(" ") or not sys.stderr.isatty()
    print(text if fits else "\n".join(wrapped(text, columns(), "  ")), file=sys.stderr)


def without_controls(text: str) -> str:
    """Return text without characters that change a terminal or the order of its letters: a service may send them."""
    return "".join("?" if unicodedata.category(each) in CONTROLS and each != "\n" else each for each in text)


def one_line(text: object) -> str:
    """Return a service's text without line breaks: what follows one would look like a line of the program."""
    return " ".join(str(text).split())


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


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


def print_rows(rows: Sequence[Sequence[object]], title: str | None = None) -> None:
    """Print a whole table, headings first. One that is too wide is printed as several, below each other."""
    print_lines(*([title] if title else ()), style="bold")
    for part in parts(rows, columns()):
        print_lines(*part.head, style="dim")
        print_lines(*(line for row in part.rows for line in row))


def print_lines(*lines: str, style: str = "") -> None:
    """Print lines as they are, in a style on terminals only."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for line in map(without_controls, lines):
        console.print(Text(line, style=style), soft_wrap=True)


def columns() -> int:
    """Return how many characters a line has."""
    return shutil.get_terminal_size().columns


Table = tuple[str, Sequence[Sequence[object]]]
"""A title, and rows of which the first has the headings."""
LEAST_ROWS = 10
"""How many lines of each table are printed, whatever else there is to say."""


@dataclass(frozen=True)
class CommandAnswer:
    """What a command has found, as it is printed.

    ``plain``     everything, for `--json`
    ``tables``    what is printed by default; the last columns are left out if they do not fit
    ``means``     one sentence on what the tables say
    ``then``      the next command
    ``warnings``  what the user must see
    ``more``      further tables, for `--explain`
    ``words``     definitions and method, for `--explain`
    ``most``      how many lines are printed by default, with those on files that were written
    """

    plain: Any
    tables: Sequence[Table]
    means: str
    then: str = ""
    warnings: Sequence[str] = ()
    more: Sequence[Table] = ()
    words: Sequence[str] = ()
    most: int = 14


def print_answer(answer: CommandAnswer, *, explain: bool = False, json: bool = False) -> None:
    """Print a result: tables, one sentence and the next command; with definitions and all rows if asked for."""
    from halfmask.commands._program import phrase

    if json:
        print_json(answer.plain)
        return
    width = columns()
    means = wrapped(phrase(answer.means), width) if answer.means else []
    warnings = [wrapped(f"! {phrase(each)}", width, "  ") for each in answer.warnings]
    if explain:
        for title, rows in (*answer.tables, *answer.more):
            print_rows(rows, title)
    else:
        room = answer.most - len(means) - bool(answer.then)
        warnings = _few(warnings, room - sum(_least_lines(rows, width) for _, rows in answer.tables))
        _print_some(answer.tables, room - sum(map(len, warnings)), width)
    print_lines(*means)
    sys.stdout.flush()
    words = [wrapped(phrase(each), width, "  ") for each in answer.words if explain]
    for lines in (*warnings, *words, [f"next: {answer.then}"] if answer.then else []):
        for line in lines:
            print(without_controls(line), file=sys.stderr)


def _least_lines(rows: Sequence[Sequence[object]], width: int) -> int:
    """Return how many lines of a table are printed, whatever else there is to say."""
    part, *_ = parts(rows, width)
    return min(len(part.head) + sum(map(len, part.rows)), LEAST_ROWS)


def _few(warnings: Sequence[list[str]], room: int) -> list[list[str]]:
    """Return as many warnings as there is room for, at least one, and how many more there are."""
    found = list[list[str]]()
    for place, each in enumerate(warnings):
        if place and sum(map(len, found)) + len(each) + (place + 1 < len(warnings)) > room:
            return [*found, [f"! {len(warnings) - place} more: --explain"]]
        found.append(each)
    return found


def _print_some(tables: Sequence[Table], room: int, width: int) -> None:
    """Print tables on as many lines as there is room for: first columns and first rows."""
    for place, (title, rows) in enumerate(tables):
        part, *_ = parts(rows, width)
        later = sum(_least_lines(each, width) for _, each in tables[place + 1 :])
        beyond, shown = len(rows[0]) - part.columns, list(part.rows)
        left = room - later - bool(title) - len(part.head)
        while len(shown) > 1 and sum(map(len, shown)) + bool(beyond or len(shown) < len(part.rows)) > left:
            shown.pop()
        counts = {"column": beyond, "row": len(part.rows) - len(shown)}
        rest = " and ".join(f"{count:,} more {what}{'s' * (count > 1)}" for what, count in counts.items() if count)
        print_lines(*([title] if title else ()), style="bold")
        print_lines(*part.head, style="dim")
        print_lines(*(line for row in shown for line in row))
        print_lines(*([f"({rest}: --explain)"] if rest else ()), style="dim")
        room -= bool(title) + len(part.head) + sum(map(len, shown)) + bool(rest)
