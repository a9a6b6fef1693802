"""Options that several commands share, each declared once, and functions that use them."""

from collections.abc import Iterable, Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from halfmask.commands._options import (
    AnyMenu,
    AnyPath,
    AnyProfile,
    AnySource,
    Flag,
    Options,
    Progress,
    Teller,
    WholeIfAny,
)
from halfmask.commands._printing import CommandAnswer, print_answer
from halfmask.data.formats import AUTO, names
from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.data.options import ReadOptions
    from halfmask.data.panel import Panel
    from halfmask.menus.menu import Menu
    from halfmask.menus.question import Question
    from halfmask.profiles.build import Policies
    from halfmask.profiles.profile import Profile

OUTPUT = ["--output", "-o"]
PROMISE = ("change", "window", "delta", "step", "unit")
OWN_MACHINE = ("127.0.0.1", "localhost", "::1")
"""Addresses that only this machine reaches."""


class Writes(Options):
    """Options of commands whose result is a file.

    Parameters
    ----------
    output
        The file to write.
    """

    output: Annotated[AnyPath | None, Parameter(name=OUTPUT, required=True)] = None


class MayWrite(Options):
    """Options of commands that write a file if one is named.

    Parameters
    ----------
    output
        The file to write, if any.
    """

    output: Annotated[AnyPath | None, Parameter(name=OUTPUT)] = None


class Display(Options):
    """How a result is printed.

    Parameters
    ----------
    explain
        Also print definitions, the method, and the rows and columns that were left out.
    json
        Print everything as JSON instead.
    """

    explain: Flag = False
    json: Flag = False

    def show(self, answer: CommandAnswer) -> None:
        """Print a result."""
        print_answer(answer, explain=self.explain, json=self.json)


IN_SHORT = Display()


class Seeded(Options):
    """Options of commands that draw random numbers.

    Parameters
    ----------
    seed
        The same seed gives the same result.
    """

    seed: int = 7


class Tells(Options):
    """Options of commands that give notes while they work.

    Parameters
    ----------
    tell
        Callback that receives notes for the user.
    """

    tell: Teller = None

    def say(self, notes: Iterable[str]) -> None:
        """Pass notes to the callback, if there is one."""
        for each in notes:
            (self.tell or str)(each)


class Advances(Options):
    """Options of commands that show their progress.

    Parameters
    ----------
    advance
        Progress callback: receives how much is done, and of how much.
    """

    advance: Progress = None


class OnEngine(Options):
    """Options of commands that may run beyond one machine.

    Parameters
    ----------
    engine
        duckdb on one machine, spark beyond it.
    master
        Spark's address: local[2], spark://..., sc://...
    """

    engine: Literal["duckdb", "spark"] = "duckdb"
    master: str | None = None


class OfDevice(Options):
    """Options of commands on a producer's own device.

    Parameters
    ----------
    state
        Folder of this device's secret, terms, memory and queue: one for each producer. Keep it, and keep it private.
    """

    state: AnyPath


class OfService(Options):
    """Options of commands on a service's database.

    Parameters
    ----------
    db
        The service's database: sqlite:///FILE, postgresql://..., mysql://... or mariadb://...
    config
        A file (TOML) with options of `halfmask serve`, such as a db with its password.
    """

    db: str = "sqlite:///halfmask.db"
    config: AnyPath | None = None


class OfPromise(Options):
    """What an epsilon is about.

    Parameters
    ----------
    change
        The change of a reading that is hidden, in its unit; by default the size of a typical reading.
    window
        In how many readings in a row; by default in those of a day.
    delta
        The delta of the epsilon.
    step
        The step of the lattice that devices draw their noise on (0.001): epsilons are of that noise.
    unit
        Unit of a reading, for the words; by default the profile's.
    """

    change: float | None = None
    window: WholeIfAny = None
    delta: float = 1e-6
    step: float | None = None
    unit: str | None = None

    def question(self, people: "Profile | None") -> "Question":
        """Return what the epsilon is about; the profile gives what is not named."""
        from halfmask.menus.question import Question, default_question

        named = {name: getattr(self, name) for name in PROMISE if getattr(self, name) is not None}
        if people is not None:
            return replace(default_question(people), **named)
        if self.change is None or self.window is None:
            raise OptionError("say what the promise is about: `change` and `window`, or a profile to take them from")
        return Question(**named)


class OfProtection(OfPromise):
    """What is protected, and what is released.

    Parameters
    ----------
    protect
        What may change: reading (one reading by --change), day (each of a day's readings by --change), whole-day (a
        day's total by anything within --low and --high), month (30 whole days) or home (all whole days). If totals
        are of another period than a day, day and whole-day mean that period.
    release
        What producers send: reading (each reading, masked), total (their own total of a period, masked) or split
        (their own total, cut into two shares for two services, neither of which can look into it).
    low
        The least total of a period that can be sent; smaller ones are raised to it.
    high
        The largest total of a period that can be sent; larger ones are cut to it. Publish both bounds. By default
        they are taken from the data.
    """

    protect: Literal["reading", "day", "whole-day", "month", "home"] | None = None
    release: Literal["reading", "total", "split"] | None = None
    low: float | None = None
    high: float | None = None

    def question(self, people: "Profile | None") -> "Question":
        """Return what the epsilon is about; the profile gives what is not named."""
        if self.protect is None and self.release is None:
            return super().question(people)
        from halfmask.menus.question import WHOLE, question_of

        protect = self.protect or "day"
        return question_of(
            protect, self.release or ("total" if protect in WHOLE else "reading"), people, change=self.change,
            window=self.window, low=self.low, high=self.high, delta=self.delta, step=self.step, unit=self.unit,
        )  # fmt: skip


class ReadingsOptions(Options):
    """Options of commands on readings.

    Parameters
    ----------
    source
        File, folder, glob, address or database: CSV, Parquet, JSON, Green Button, NEM12, telegrams, Excel,
        OpenDocument, Arrow, Avro, zip, DuckDB, SQLite, postgresql://, mysql://, s3://, https://
    db
        The database for --sql; the same as SOURCE. Use :memory: for a query over files.
    sql
        A query of a database: "select meter, time, kwh from r where ...". Any other SOURCE is the table "readings".
    user
        The column with the user, or @file or @folder if the name contains the id; guessed if not named.
    time
        The column with the times, or with the time of day if --date names the day; guessed if not named.
    date
        The column with the day, if --time has only the time of day.
    value
        The column with the readings; guessed if not named.
    unit
        Unit of the values (kWh), or a conversion (Wh:kWh); by default the unit that the source states.
    decimal
        Decimal sign of numbers in text: . or ,
    date_format
        How dates are written, as for strptime: '%d/%m/%Y %H:%M'.
    encoding
        Encoding of text files: cp1252, latin-1, utf-16.
    skip
        Lines before the header.
    sheet
        The sheet of an Excel or OpenDocument file.
    register
        The values are meter states, so take differences. --no-register: they are readings.
    period
        What an aggregate covers: hour, day, week, month, year, or a length such as 30m or 6h.
    tz
        Time zone in which days begin, for times with an offset (Europe/Dublin).
    table
        The table, if the source is a database.
    wide
        The source has one column per sensor, and one with the time.
    duplicates
        Which of several readings of a user at one time counts; auto takes the first, and stops if they exceed 1 %.
    nonfinite
        Whether null, NaN and infinite values are dropped or are an error.
    low
        Smaller values are implausible and dropped.
    high
        Larger values are implausible and dropped; inf keeps all.
    """

    source: AnySource | None = field(default=None, kw_only=False)
    db: str | None = None
    sql: str | None = None
    user: str | None = None
    time: str | None = None
    date: str | None = None
    value: str | None = None
    unit: str | None = None
    decimal: str | None = None
    date_format: str | None = None
    encoding: str | None = None
    skip: int | None = None
    sheet: str | None = None
    register: bool | None = None
    period: str = "day"
    tz: str | None = None
    format: Annotated[str, Parameter(help=f"{AUTO}, or one of {', '.join(names())}.")] = AUTO
    table: str | None = None
    wide: Flag = False
    duplicates: Literal["auto", "first", "last", "mean", "error"] = "auto"
    nonfinite: Literal["drop", "error"] = "drop"
    low: Annotated[float | None, Parameter(name="--min")] = None
    high: Annotated[float | None, Parameter(name="--max")] = None

    def check_together(self) -> None:
        """Check that exactly one source is named."""
        if (self.source is None) == (self.db is None):
            raise OptionError("name one source: SOURCE, or a database with --db")

    @property
    def readings(self) -> Any:
        """Return the source, which either ``source`` or ``db`` names."""
        return self.db if self.source is None else self.source

    def read_options(self) -> "ReadOptions":
        """Return the options that say how the source is read."""
        from halfmask.data.options import ReadOptions

        named = {field.name for field in fields(self)}
        return ReadOptions(**{f.name: getattr(self, f.name) for f in fields(ReadOptions) if f.name in named})

    def policies(self) -> "Policies":
        """Return the policies for readings that cannot simply be used."""
        from halfmask.profiles.build import Policies

        return Policies(self.duplicates, self.nonfinite, self.low, self.high)


def menu_of(given: AnyMenu) -> "Menu":
    """Return the menu itself, or read it from its file."""
    from halfmask.menus.menu import Menu

    return given if isinstance(given, Menu) else Menu.read(given)


def profile_of(given: AnyProfile) -> "Profile":
    """Return the profile itself, or read it from its file."""
    from halfmask.profiles.profile import Profile

    return given if isinstance(given, Profile) else Profile.read(given)


def profile_beside(menu: Any) -> str:
    """Return the only profile of a menu's folder, for a next command; `READINGS.profile` if it is not known."""
    found = list(Path(menu).parent.glob("*.profile")) if isinstance(menu, str | Path) else []
    return str(found[0]) if len(found) == 1 else "READINGS.profile"


def reopen(source: Any, profile: "Profile", named: Mapping[str, Any] | None = None, **engine: Any) -> "Panel":
    """Open a source of readings as those of the profile were opened, except for what is named."""
    from halfmask.data.open_panel import Opening

    return Opening.of(profile.about).panel(source, **(named or {}), **engine)
