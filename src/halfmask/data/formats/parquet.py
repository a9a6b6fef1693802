"""Parquet files: footers are read first, so that a broken or odd file is named before any query runs."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from halfmask.data.engines.sql import DuckDBDialect
from halfmask.data.formats.text import glob_free
from halfmask.data.places import Place
from halfmask.errors import SourceError

_SQL = DuckDBDialect()


def check(place: Place) -> bool:
    """Read every footer; say whether the files' types differ in a way that must be reconciled.

    DuckDB casts later files to the types of the first, so a first file of whole numbers would round the others.
    """
    first: pa.Schema | None = None
    rows, differ = 0, False
    for file in place.files:
        schema, n = _footer(file)
        rows += n
        first = first or schema
        if set(schema.names) != set(first.names):
            odd = ", ".join(repr(name) for name in sorted(set(schema.names) ^ set(first.names)))
            raise SourceError(
                f"{file}: its columns differ from those of {place.files[0]} ({odd}); give files with the same columns"
            )
        differ = differ or not schema.equals(first)
    if rows == 0:
        raise SourceError(f"{place.source}: there are no readings in it")
    return differ


def _footer(file: str) -> tuple[pa.Schema, int]:
    try:
        metadata = pq.read_metadata(file)
        return metadata.schema.to_arrow_schema(), metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{file}: not a Parquet file, or cut short; replace the file or leave it out") from error


def table(place: Place, differ: bool, files: Sequence[str]) -> str:
    """The FROM clause that reads the files; types are reconciled over all of them where they differ."""
    paths = ", ".join(_SQL.literal(glob_free(file)) for file in files)
    hive = f"hive_partitioning = {bool(place.partitions)}, hive_types_autocast = false"
    return f"read_parquet([{paths}], {hive}, union_by_name = {differ})"


ORDER = "file_index * 1099511627776 + file_row_number"
"""Grows along the files without a count over all rows; a file may hold 2^40 rows."""
