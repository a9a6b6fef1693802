"""The few words in which the SQL of the two engines differs; every other word of an expression is shared."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence


class Dialect(ABC):
    """How one engine writes what the rules of ``times`` and ``values`` need."""

    text = "VARCHAR"
    double = "DOUBLE"
    integer = "BIGINT"

    @abstractmethod
    def quote(self, name: str) -> str:
        """A column's name as an identifier, whatever characters it holds."""

    @abstractmethod
    def literal(self, text: str) -> str:
        """A string literal."""

    @abstractmethod
    def matches(self, text: str, pattern: str) -> str:
        """True where the whole text matches the regular expression."""

    @abstractmethod
    def divide(self, a: str, b: int) -> str:
        """Integer division towards zero."""

    @abstractmethod
    def micros(self, timestamp: str) -> str:
        """Microseconds since 1970-01-01T00:00 of a zone-less timestamp."""

    @abstractmethod
    def text_micros(self, text: str, cast: str) -> str:
        """The same of an ISO text without zone; ``cast`` is CAST, or TRY_CAST for null where that fails."""

    @abstractmethod
    def parsed(self, text: str, formats: Sequence[str], cast: str) -> str:
        """Microseconds of a text in the first of some strptime formats that fits; fails or is null as ``cast`` says."""

    @abstractmethod
    def file_part(self, part: str) -> str:
        """The name of the file that a row comes from, without what says its kind, or of the ``folder`` it is in."""

    @abstractmethod
    def instant(self, zoned: str) -> str:
        """Microseconds since 1970-01-01T00:00 UTC of a timestamp with zone."""

    @abstractmethod
    def local(self, instant: str, tz: str) -> str:
        """Microseconds of the wall clock in ``tz`` at an instant given in microseconds UTC."""

    @abstractmethod
    def at(self, local: str, tz: str) -> str:
        """Microseconds UTC of a wall clock in ``tz`` given in microseconds."""

    def extract(self, text: str, pattern: str, group: int) -> str:
        """A group of a regular expression; empty where it took no part in the match."""
        return f"regexp_extract({text}, {self.literal(pattern)}, {group})"


KIND_OF_FILE = r"(\.[A-Za-z][A-Za-z0-9]{0,6}){1,2}$"
"""The end of a file's name: ``.csv``, ``.csv.gz``, ``.parquet``."""


class DuckDBDialect(Dialect):
    """DuckDB's words."""

    def quote(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def literal(self, text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    def matches(self, text: str, pattern: str) -> str:
        return f"regexp_full_match({text}, {self.literal(pattern)})"

    def divide(self, a: str, b: int) -> str:
        return f"({a}) // {b}"

    def micros(self, timestamp: str) -> str:
        return f"epoch_us({timestamp})"

    def text_micros(self, text: str, cast: str) -> str:
        return f"epoch_us({cast}({text} AS TIMESTAMP))"

    def parsed(self, text: str, formats: Sequence[str], cast: str) -> str:
        name = "strptime" if cast == "CAST" else "try_strptime"
        listed = ", ".join(map(self.literal, formats))
        return f"epoch_us({name}(nullif(trim({text}), ''), [{listed}]))"

    def file_part(self, part: str) -> str:
        if part == "folder":
            return "parse_path(filename)[-2]"
        return f"regexp_replace(parse_filename(filename), {self.literal(KIND_OF_FILE)}, '')"

    def instant(self, zoned: str) -> str:
        # The cast is there for nanoseconds alone; a timestamp of the usual kind passes it untouched.
        return f"epoch_us(CAST({zoned} AS TIMESTAMPTZ))"

    def local(self, instant: str, tz: str) -> str:
        return f"epoch_us(timezone({self.literal(tz)}, make_timestamptz({instant})))"

    def at(self, local: str, tz: str) -> str:
        return f"epoch_us(timezone({self.literal(tz)}, make_timestamp({local})))"


class SparkDialect(Dialect):
    """Spark's words; none of them depends on the time zone of the session."""

    text = "STRING"

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def literal(self, text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def matches(self, text: str, pattern: str) -> str:
        whole = self.literal(rf"\A(?:{pattern})\z")
        return f"regexp_like({text}, {whole})"

    def divide(self, a: str, b: int) -> str:
        return f"({a}) div {b}L"

    def micros(self, timestamp: str) -> str:
        """Field by field: ``unix_micros`` goes through the session's zone, whose clock changes would interfere."""
        t = f"CAST({timestamp} AS TIMESTAMP_NTZ)"
        clock = (
            f"hour({t}) * 3600000000L + minute({t}) * 60000000L + CAST(extract(SECOND FROM {t}) * 1000000 AS BIGINT)"
        )
        return f"(unix_date(CAST({t} AS DATE)) * 86400000000L + {clock})"

    def text_micros(self, text: str, cast: str) -> str:
        """Read as a time of UTC, which is the same number; what a date or 23:30 lacks of it is put behind."""
        missing = f"substr('T00:00:00Z', least(length({text}) - 9, 10))"

        def read(clock: str) -> str:
            return f"unix_micros({cast}(concat({clock}, {missing}) AS TIMESTAMP_LTZ))"

        ended = read(f"replace({text}, '24:00', '00:00')")
        return f"CASE WHEN {text} LIKE '%24:00%' THEN {ended} + 86400000000L ELSE {read(text)} END"

    def parsed(self, text: str, formats: Sequence[str], cast: str) -> str:
        trimmed = f"nullif(trim({text}), '')"
        tries = [f"try_to_timestamp({trimmed}, {self.literal(_java(form))})" for form in formats]
        if cast == "CAST":
            tries.append(f"CAST(CASE WHEN {trimmed} IS NOT NULL THEN 'no time' END AS TIMESTAMP_NTZ)")
        return self.micros(f"coalesce({', '.join(tries)})")

    def file_part(self, part: str) -> str:
        path = "split(input_file_name(), '/')"
        if part == "folder":
            return f"element_at({path}, -2)"
        return f"regexp_replace(element_at({path}, -1), {self.literal(KIND_OF_FILE)}, '')"

    def instant(self, zoned: str) -> str:
        return f"unix_micros({zoned})"

    def local(self, instant: str, tz: str) -> str:
        return f"unix_micros(from_utc_timestamp(timestamp_micros({instant}), {self.literal(tz)}))"

    def at(self, local: str, tz: str) -> str:
        return f"unix_micros(to_utc_timestamp(timestamp_micros({local}), {self.literal(tz)}))"


_JAVA = {"%d": "d", "%m": "M", "%Y": "yyyy", "%y": "yy", "%H": "H", "%I": "h", "%M": "mm", "%S": "ss"}
_JAVA |= {"%p": "a", "%b": "MMM", "%B": "MMMM", "%f": "SSSSSS"}


def _java(form: str) -> str:
    """A strptime format as Java writes it; fields without signs between them have a fixed width."""
    packed = re.search(r"%[a-zA-Z]%[a-zA-Z]", form) is not None
    fields = _JAVA | ({"%d": "dd", "%m": "MM", "%H": "HH"} if packed else {})
    return re.sub(r"%[a-zA-Z]|[A-Za-z]", lambda found: fields.get(found[0], f"'{found[0]}'"), form)
