"""Open what a caller names as a table that an engine can query: find the files, find their format, open them."""

import os
from typing import Any

from halfmask.data import frames
from halfmask.data.engines.duckdb import connect
from halfmask.data.formats import OpenRequest, by_address
from halfmask.data.locate import SourceFiles, locate
from halfmask.data.options import ReadOptions
from halfmask.data.sniff import sniff
from halfmask.data.source_table import SourceTable
from halfmask.errors import OptionError


def open_table(source: Any, options: ReadOptions) -> SourceTable:
    """Return a path, glob, folder, address, database or frame as a table."""
    frame = None if isinstance(source, str | os.PathLike) else frames.as_frame(source)
    on_spark = options.engine == "spark" or (frame is not None and frame.implementation in frames.SPARK)
    if options.sql is not None and on_spark:
        raise OptionError("`sql` over readings needs `engine=duckdb`", kind="engine", field="sql")
    if frame is not None:
        return _of_frame(frame, options, on_spark)
    written = os.fspath(source)
    form, found = by_address(written), SourceFiles(written)
    if form is None:
        form, found = sniff(locate(written), options.format)
    if on_spark:
        from halfmask.data.engines.spark import open_spark_files

        raw = open_spark_files(found, form, options)
    else:
        raw = form.table(OpenRequest(connect(options.threads, options.memory_limit), found, options))
    raw.rules = form.rules(raw.sample)
    return raw


def _of_frame(frame: frames.Frame, options: ReadOptions, on_spark: bool) -> SourceTable:
    if on_spark:
        from halfmask.data.engines.spark import open_spark_frame

        return open_spark_frame(frame, options.master, options.threads, options.memory_limit)
    raw = frames.open_frame(connect(options.threads, options.memory_limit), frame)
    if options.sql is not None:
        raw.ask(options.sql)
    return raw
