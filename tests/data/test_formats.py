"""What every format keeps to, and that one file adds a format."""

import re
from pathlib import Path

import pytest

from halfmask.data import formats
from halfmask.data.formats import AUTO, Format, by_address, by_extension, names, sniff
from halfmask.data.locate import locate
from halfmask.data.open_panel import open_panel
from halfmask.data.options import ReadOptions
from tests.commands.program import halfmask
from tests.data import exports_of_files, exports_of_meters
from tests.data.panels import READINGS, rows, write
from tests.data.test_exports import held
from tests.refusals import refused

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "arrow": exports_of_files.feather,
    "avro": exports_of_files.avro,
    "csv": exports_of_files.everything_quoted,
    "duckdb": exports_of_files.duckdb_table,
    "green_button": exports_of_meters.green_button,
    "json": exports_of_files.json_array,
    "nem12": exports_of_meters.a_market_file_of_australia,
    "parquet": exports_of_files.parquet_in_partitions,
    "sheet": exports_of_files.excel,
    "sqlite": exports_of_files.sqlite_query,
    "zip": exports_of_files.zip_of_csv,
}
ELSEWHERE = {
    "cer": "test_cer.py",
    "dsmr": "test_meter_formats.py",
    "mysql": "test_addresses.py",
    "postgres": "test_databases.py",
}
"""Formats with tests of their own: of a fixed table, of states, and of servers."""


def test_every_format_has_an_example() -> None:
    assert set(names()) == EXAMPLES.keys() | ELSEWHERE.keys()
    assert all((Path(__file__).parent / name).exists() for name in ELSEWHERE.values())


@pytest.mark.parametrize("name", names())
def test_a_format_says_what_it_is(name: str) -> None:
    form = formats.formats()[name]
    assert form.name == name
    assert form.kind
    assert form.extensions or form.addresses
    assert form.options <= ReadOptions.__dataclass_fields__.keys()
    assert all(by_address(f"{address}x") is form for address in form.addresses)
    assert form.asked_only or all(by_extension(f"x{extension.upper()}.gz") is form for extension in form.extensions)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_format_is_sniffed_and_opened(name: str, tmp_path: Path) -> None:
    made = EXAMPLES[name](tmp_path)
    form, found = sniff(locate(str(made.source)), AUTO)
    assert form.name == name
    for format in (AUTO, name):
        panel = open_panel(made.source, format=format, **made.options)
        assert held(panel, float("-inf"), float("inf")) == pytest.approx(made.truth)
    if found.named and name not in ("csv", "zip"):  # the first bytes count, whatever the name
        renamed = Path(found.files[0]).rename(tmp_path / "x.dat")
        assert sniff(locate(str(renamed)), AUTO)[0].name == name


@pytest.mark.parametrize("option", ["table", "sheet", "encoding", "skip"])
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "zip"])
def test_an_option_of_other_formats_is_refused(name: str, option: str, tmp_path: Path) -> None:
    if option not in formats.formats()[name].options:
        made = EXAMPLES[name](tmp_path)
        with refused("option.format", option):
            open_panel(made.source, **{option: 1 if option == "skip" else "utf-8"})


def test_the_documents_list_every_format() -> None:
    page = (ROOT / "docs" / "readings.md").read_text(encoding="utf-8")
    listed = {
        word for row in re.findall(r"^\|[^|]+\|([^|]+)\|", page, re.MULTILINE) for word in re.findall(r"`(\w+)`", row)
    }
    assert listed >= set(names())
    (row,) = re.findall(
        r"^\| `--format` \| (.*) \|", (ROOT / "docs" / "commands.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert set(re.findall(r"`(\w+)`", row)) - {AUTO} == set(names())
    shown = halfmask("look", "--help", cwd=ROOT).stdout
    assert all(name in shown for name in names())


NEW = '''
"""Readings as sentences: "a used 1.5 at 2026-01-01 00:00:00." """
import re

from halfmask.data.engines.duckdb import DuckDBTable
from halfmask.data.sql import file_list
from halfmask.data.formats import Format, OpenRequest

PATTERN = "(.*) used (.*) at (.*)[.]"


class Prose(Format):
    kind = "sentences"
    extensions = (".prose",)

    def sniff(self, file: str, head: bytes) -> bool:
        return b" used " in head

    def open(self, asked: OpenRequest) -> DuckDBTable:
        def read(files):
            line = "unnest(regexp_split_to_array(rtrim(content, chr(10)), chr(10)))"
            lines = f"(SELECT filename, {line} AS line FROM read_text({file_list(files)}))"
            cells = "regexp_extract(line, '(.*) used (.*) at (.*)[.]', ['user', 'value', 'time'])"
            return f"(SELECT unnest({cells}), filename FROM {lines})"

        return DuckDBTable(asked.connection, asked.found.source, read, asked.found.files)
'''
SENTENCES = (
    "a used 1.5 at 2026-01-01 00:00:00.\nb used - at 2026-01-01 00:30:00.\na used -2 at 2026-01-01 01:00:00.25.\n"
)


def test_one_file_adds_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "more" / "prose.py", NEW)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path / "more")])
    formats.formats.cache_clear()
    try:
        assert "prose" in names()
        for name in ("x.prose", "x.dat"):
            assert rows(open_panel(write(tmp_path / name, SENTENCES))) == READINGS
        assert rows(open_panel(tmp_path / "x.dat", format="prose")) == READINGS
        with refused("option.format", "sheet"):
            open_panel(tmp_path / "x.prose", sheet="1")
    finally:
        formats.formats.cache_clear()
    assert isinstance(formats.formats()["csv"], Format)


def test_a_format_of_addresses_is_not_one_of_files(tmp_path: Path) -> None:
    with refused("option", "format"):
        open_panel(write(tmp_path / "x.csv", "a"), format="postgres")
    with refused("option", "format"):
        open_panel(write(tmp_path / "x.csv", "a"), format="excel")
