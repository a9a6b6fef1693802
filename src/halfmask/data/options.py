"""Options that say how a source is read."""

from dataclasses import dataclass
from typing import Literal

from halfmask.errors import OptionError


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a source. A field that is None is guessed; the panel's ``guesses`` state the evidence.

    ``user``, ``time``, ``value``  names of columns; ``user`` may be ``@file`` or ``@folder`` if the name holds the id
    ``date``             the column of dates, if ``time`` holds only the time of day
    ``format``           ``auto`` or one of `formats.names`
    ``table``, ``sheet``  the part of a database or workbook to read
    ``sql``              a query; in it, ``readings`` is the source, unless the source is a database
    ``wide``             whether the table has one column per sensor and one for the time
    ``tz``               the zone of the wall clock to which times with a zone are converted
    ``decimal``          the decimal sign, ``.`` or ``,``
    ``date_format``      the strptime format of dates: ``%d/%m/%Y %H:%M``
    ``encoding``         the encoding of text files
    ``skip``             the number of lines before the header
    ``unit``             the unit of the values (``kWh``) or a conversion (``Wh:kWh``)
    ``register``         True: values are states of a counter, and their differences are the readings; False: they are
                         not
    """

    user: str | None = None
    time: str | None = None
    value: str | None = None
    date: str | None = None
    format: str = "auto"
    table: str | None = None
    sheet: str | None = None
    sql: str | None = None
    wide: bool = False
    tz: str | None = None
    decimal: str | None = None
    date_format: str | None = None
    encoding: str | None = None
    skip: int | None = None
    unit: str | None = None
    register: bool | None = None
    engine: Literal["duckdb", "spark"] = "duckdb"
    master: str | None = None
    threads: int | None = None
    memory_limit: str | None = None

    def __post_init__(self) -> None:
        if self.engine not in ("duckdb", "spark"):
            raise OptionError(f"`engine` {self.engine!r} is neither duckdb nor spark")
        if self.decimal is not None and self.decimal not in (".", ","):
            raise OptionError(f"`decimal` {self.decimal!r} is neither a point nor a comma: write . or ,")
        if self.skip is not None and self.skip < 0:
            raise OptionError(f"`skip` {self.skip} is negative: give the number of lines before the header")
        if self.date_format is not None and "%" not in self.date_format:
            raise OptionError(f"`date_format` {self.date_format!r} has no field: write one such as '%d/%m/%Y %H:%M'")
        if self.sql is not None and self.table is not None:
            raise OptionError("`sql` and `table` both say what to read: give one of them")
