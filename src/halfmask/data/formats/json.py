"""Read JSON: lines or one array of objects or lists. They may be nested if each level contains only one list."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from halfmask.data.column_types import is_time
from halfmask.data.engines.duckdb import DuckDBTable
from halfmask.data.formats import Format, OpenRequest, by_extension
from halfmask.data.sql import file_list, literal, quote
from halfmask.data.times import counts_from_1970

From = Callable[[Sequence[str]], str]
"""Returns the FROM clause for files."""
ROW = "json"
"""The name of a column whose objects or lists are rows. DuckDB uses it for the outermost list."""
ENVELOPE = frozenset(("id", "type", "success"))
"""Fields that wrap the answer of a web socket."""
ENTITY = "entity"
"""The name of a column for the names of several lists in one object."""
PAGE = frozenset(("count", "next", "previous", "page", "pages", "per_page", "total", "limit", "offset", "statement_id"))
"""Fields of a paginated web answer that describe the page, not the readings."""


class Json(Format):
    """JSON that DuckDB reads. DuckDB leaves times as text, because `date_formats` parses them."""

    kind = "JSON"
    extensions = (".json", ".jsonl", ".ndjson")

    def sniff(self, file: str, head: bytes) -> bool:
        return head.lstrip()[:1] in (b"{", b"[") and by_extension(file) is None

    def open(self, asked: OpenRequest) -> DuckDBTable:
        found = asked.found
        never = "timestampformat = 'time %Y', dateformat = 'date %Y'"

        def read(files: Sequence[str]) -> str:
            return f"read_json({file_list(files)}, union_by_name = true, {never}, maximum_object_size = 1073741824)"

        raw = DuckDBTable(asked.connection, found.source, read, found.files)
        table: From = read
        notes: tuple[str, ...] = ()
        while inner := _inner(raw):
            selected, note = inner
            # The first table has the file's name only if it is asked for; later ones hold it.
            held = table is not read and selected.startswith("*")
            table = _within(selected if held else f"{selected}, filename", table)
            raw = DuckDBTable(asked.connection, found.source, table, found.files)
            raw.sample = raw.sample.drop_columns(["filename"])
            notes += (note,) if note else ()
        raw.notes = notes
        return raw


def _within(selected: str, table: From) -> From:
    return lambda files: f"(SELECT {selected} FROM {table(files)})"


def _inner(raw: DuckDBTable) -> tuple[str, str] | None:
    """Return the columns to select to unpack one more level, and a note; None if everything is unpacked.

    An object becomes one column per field. A list of objects or lists becomes one row per element; the other fields are
    repeated in each row.
    """
    fields = [field for field in raw.sample.schema if field.name != "filename"]
    objects = [field.name for field in fields if pa.types.is_struct(field.type)]
    many = [field for field in fields if pa.types.is_list(field.type)]
    lists = [f for f in many if pa.types.is_struct(f.type.value_type) or pa.types.is_list(f.type.value_type)]
    cells = [field for field in many if field not in lists]
    rows = [field for field in cells if field.name == ROW or _is_number(field.type.value_type)]
    if objects:
        one = quote(objects[0])
        if {field.name for field in fields} >= ENVELOPE:
            return f"unnest({one})", ""
        return f"* EXCLUDE ({one}), unnest({one})" if len(fields) > 1 else f"unnest({one})", ""
    if (len(lists) > 1 or (lists and "." in lists[0].name)) and len({_names(f.type.value_type) for f in lists}) == 1:
        # Each list is named after an entity, such as sensor.energy: the name becomes a column.
        of = ", ".join(f"{{'{ENTITY}': {literal(f.name)}, '{ROW}': {quote(f.name)}}}" for f in lists)
        rest = "".join(f"{quote(field.name)}, " for field in fields if field not in lists)
        return f"{rest}unnest([{of}]) AS {ROW}", ""
    if len(lists) == 1:
        page = [field.name for field in fields if field.name in PAGE]
        left_out = ", ".join(map(quote, [lists[0].name, *page, *(each.name for each in cells)]))
        rest = "" if len(fields) == 1 + len(page) + len(cells) else f"* EXCLUDE ({left_out}), "
        return f"{rest}unnest({_filled(lists[0])}) AS {ROW}", f"readings are in the list {lists[0].name}"
    if not lists and len(rows) == 1 and (names := _cell_names(raw.sample.column(rows[0].name))):
        column = quote(rows[0].name)
        # DuckDB returns cells of mixed types as in the file, with quotes around texts.
        cell = "{}[{}]" if _is_number(rows[0].type.value_type) else "trim(CAST({}[{}] AS VARCHAR), '\"')"
        each = [f"{cell.format(column, i + 1)} AS {quote(name)}" for i, name in enumerate(names)]
        rest = f"* EXCLUDE ({column}), " if len(fields) > 1 else ""
        return rest + ", ".join(each), ""
    return None


def _filled(rows: pa.Field) -> str:
    """Return an expression of the list of rows. Missing names and attributes of an entity are copied from its first
    row.
    """
    column, fields = quote(rows.name), _names(rows.type.value_type)
    if not {"entity_id", "state"} <= set(fields):
        return column
    known = ", ".join(
        f"{quote(name)} := coalesce(x.{quote(name)}, {column}[1].{quote(name)})"
        for name in ("entity_id", "attributes")
        if name in fields
    )
    return f"list_transform({column}, lambda x: struct_update(x, {known}))"


def _names(row: pa.DataType) -> tuple[str, ...]:
    """Return the names of an object's fields; for any other type, the type's name."""
    return tuple(field.name for field in row) if pa.types.is_struct(row) else (str(row),)


def _cell_names(column: pa.ChunkedArray) -> list[str]:
    """Return names for the cells of lists that are rows, such as [time, value]; an empty list if the lengths differ."""
    rows = [cells for cells in column.to_pylist() if cells is not None]
    width = len(rows[0]) if rows else 0
    if any(len(cells) != width for cells in rows):
        return []
    texts = [[str(cells[i]).strip('"') for cells in rows] for i in range(width)]
    times = [i for i in range(width) if all(map(is_time, texts[i])) or counts_from_1970(pa.chunked_array([texts[i]]))]
    if width == 2 and len(times) == 1:
        return ["time", "value"] if times[0] == 0 else ["value", "time"]
    return [str(i) for i in range(width)]


def _is_number(t: pa.DataType) -> bool:
    return bool(pa.types.is_floating(t) or pa.types.is_integer(t))
