"""How a source of readings is read: the options that every command on raw readings has."""

from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from halfmask.commands._options import AnySource, Flag, Options
from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.data.options import ReadOptions
    from halfmask.profiles.build import Policies


@Parameter(name="*")
@dataclass(frozen=True)
class ReadingsOptions(Options):
    """Options of commands on readings.

    Parameters
    ----------
    source
        File, folder, glob, address or database: CSV, Parquet, JSON, Excel, OpenDocument, Arrow, Avro, zip, DuckDB,
        SQLite, postgresql://, mysql://, s3://, https://
    db
        The database that --sql asks; the same as SOURCE. :memory: for a query over files.
    sql
        A query: "select meter, time, kwh from r where ..." of a database; any other SOURCE is the table readings.
    user
        The column that tells users apart, or @file or @folder where the id is in the name; guessed where not named.
    time
        The column with the times, or with the clock where --date names the day; guessed where not named.
    date
        The column with the day, where --time is the clock alone.
    value
        The column with the readings; guessed where not named.
    unit
        Unit of the values (kWh), or from which to which (Wh:kWh); taken from the source where it says one.
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
        Values are states of a meter's register: take differences. --no-register: they are readings.
    period
        What an aggregate covers: hour, day, week, month, year, or a length such as 30m or 6h.
    tz
        Zone in which days are cut, for times that carry one (Europe/Dublin).
    format
        auto, csv, parquet, json, sheet, arrow, avro, zip, duckdb, sqlite, or cer (files of the Irish trial).
    table
        The table, where the source is a database.
    wide
        One column a sensor, beside the time.
    duplicates
        Which of several readings of a user at the same time counts; auto is the first, and stops above 1 %.
    nonfinite
        What becomes of null, NaN and infinite values.
    low
        Smaller values are implausible and dropped.
    high
        Larger values are implausible and dropped; inf keeps all.
    """

    source: AnySource | None = None
    _: KW_ONLY
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
    format: str = "auto"
    table: str | None = None
    wide: Flag = False
    duplicates: Literal["auto", "first", "last", "mean", "error"] = "auto"
    nonfinite: Literal["drop", "error"] = "drop"
    low: Annotated[float | None, Parameter(name="--min")] = None
    high: Annotated[float | None, Parameter(name="--max")] = None

    def check(self) -> None:
        """A source, by one name."""
        super().check()
        if (self.source is None) == (self.db is None):
            raise OptionError("name one source: SOURCE, or a database with --db")

    @property
    def readings(self) -> Any:
        """The source, by whichever name."""
        return self.db if self.source is None else self.source

    def read_options(self) -> "ReadOptions":
        """The part that says how the source is read."""
        from halfmask.data.options import ReadOptions

        named = {field.name for field in fields(self)}
        return ReadOptions(**{f.name: getattr(self, f.name) for f in fields(ReadOptions) if f.name in named})

    def policies(self) -> "Policies":
        """The part that says what becomes of odd readings."""
        from halfmask.profiles.build import Policies

        return Policies(self.duplicates, self.nonfinite, self.low, self.high)
