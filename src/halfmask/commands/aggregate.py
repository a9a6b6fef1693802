"""``halfmask aggregate``: add up the reports of a lake, on DuckDB or Spark."""

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from halfmask.commands._options import AnyPath, Flag, Several, command
from halfmask.commands._printing import print_rows
from halfmask.commands._shared_options import MayWrite, OnEngine
from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.service.lake import LakeCells


class AggregateOptions(MayWrite, OnEngine):
    """Options of `aggregate`.

    Parameters
    ----------
    lake
        The folder that 'halfmask serve --lake' writes to.
    engine
        duckdb (this machine) or spark.
    master
        Spark's address.
    stream
        With spark: read new files as they arrive, by Structured Streaming, until interrupted.
    once
        With --stream: read the files that are there and were not read before, then end.
    state
        With --stream: the folder for the stream's checkpoint and its batches of cells.
    offer
        The campaign's offer (JSON), as GET /v1/campaigns/ID answers; one for each campaign. A table then has the unit,
        the step, the variance of the noise and the least cohort, which estimates need.
    output
        The cells to write: .json, or a table as .parquet or .csv, one row per campaign, period and setting.
    """

    lake: AnyPath = field(kw_only=False)
    stream: Flag = False
    once: Flag = False
    offer: Annotated[tuple[Path, ...], Several] = ()
    state: AnyPath | None = None

    def save(self, made: "LakeCells", path: Path) -> None:
        from halfmask.files import write_page
        from halfmask.service.lake import nested
        from halfmask.service.lake_table import read_offers, write_cells

        if path.suffix == ".json":
            write_page(nested(made), path)
        else:
            write_cells(made, read_offers(self.offer), path)

    def check_together(self) -> None:
        if self.output is not None and Path(self.output).suffix not in (".json", ".parquet", ".csv"):
            raise OptionError("`output` ends in .json, .parquet or .csv", kind="output")
        if self.offer and (self.output is None or Path(self.output).suffix == ".json"):
            raise OptionError("`offer` is for a table: name a .parquet or .csv as `output`", kind="offer")
        if self.stream and (self.engine != "spark" or self.state is None):
            raise OptionError("a stream runs on the engine spark and needs a folder for its state")
        if (self.once or self.state is not None) and not self.stream:
            raise OptionError("once and state go with stream")


@command(AggregateOptions, group="Share: service")
def aggregate(options: AggregateOptions) -> "LakeCells":
    """Count reports and producers and add up values as the service does: per campaign, period, setting and group."""
    import narwhals as nw

    from halfmask.service.lake import cells_of, files

    paths = [str(path) for path in files(Path(options.lake))]
    if options.stream:
        return _streamed(options, Path(options.lake))
    if options.engine == "duckdb":
        import duckdb

        with duckdb.connect() as connection:
            return cells_of(nw.from_native(connection.read_parquet(paths, union_by_name=True)).lazy())
    from halfmask.data.engines.spark import session

    reader = session(options.master, None, None).read.option("mergeSchema", "true")
    return cells_of(nw.from_native(reader.parquet(*paths)).lazy())


def _streamed(options: AggregateOptions, folder: Path) -> "LakeCells":
    """Write each batch's cells to a file with the batch's number, and return the cells of all batches at the end.

    A batch that is repeated after a crash replaces its file.
    """
    import narwhals as nw

    from halfmask.data.engines.spark import session
    from halfmask.files import write_page
    from halfmask.service.lake import SCHEMA, cells_of, nested, read_batches

    state = Path(options.state or "")
    batches = state / "batches"
    batches.mkdir(parents=True, exist_ok=True)
    spark = session(options.master, None, None)

    def write(batch: Any, number: int) -> None:
        write_page(nested(cells_of(nw.from_native(batch).lazy())), batches / f"batch-{number:08}.json")

    types = {"string": "string", "int64": "bigint"}
    schema = ", ".join(f"{field.name} {types[str(field.type)]}" for field in SCHEMA)
    reader = spark.readStream.schema(schema).option("recursiveFileLookup", "true").option("pathGlobFilter", "*.parquet")
    writer = reader.parquet(str(folder)).writeStream.foreachBatch(write)
    writer = writer.option("checkpointLocation", str(state / "checkpoint"))
    query = writer.trigger(availableNow=True).start() if options.once else writer.start()
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return read_batches(batches)


def main(options: AggregateOptions) -> None:
    """Add up the reports of a lake on DuckDB or Spark, exactly as the service does."""
    rows = [["campaign", "period", "setting", "reports", "producers", "sum in steps", "sum of squares"]]
    for (campaign, period), cells in aggregate(options).items():
        for setting, cell in cells.items():
            rows.append([campaign, period, setting, *(f"{number:,}" for number in cell)])
    print_rows(rows)
