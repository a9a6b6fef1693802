"""Opening a database: made or brought up to date by `prepare`, refused by `open_store` where it is neither."""

from importlib import resources
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from halfmask.errors import OptionError, RunError
from halfmask.service.storage.engine import assert_durable, file_of, headline, open_engine, read_url
from halfmask.service.storage.sql import LEAST_ROOM, SqlStore


def _config(connection: Any = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(resources.files("halfmask.service.storage") / "migrations"))
    config.attributes["connection"] = connection
    return config


def newest_version() -> str:
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def version_of(engine: Engine) -> str | None:
    """The version of a database's tables, None where there are none."""
    try:
        with engine.connect() as connection:
            return MigrationContext.configure(connection).get_current_revision()
    except DBAPIError as error:
        raise RunError(f"cannot open the database: {headline(error)}; check `db`") from error


def prepare(url: str) -> tuple[SqlStore, str | None]:
    """Make the tables, or bring them up to date; the store, and the version that it had before."""
    parsed = read_url(url)
    file = file_of(parsed)
    if file is not None and not file.absolute().parent.is_dir():
        raise OptionError(f"there is no folder {file.absolute().parent} for the database: make it first")
    if file is not None:
        _make_private(file)
    engine = open_engine(parsed)
    before = version_of(engine)
    assert_durable(engine)
    try:
        with engine.execution_options(writes=True).begin() as connection:
            command.upgrade(_config(connection=connection), "head")
    except DBAPIError as error:
        raise RunError(f"cannot make the tables: {headline(error)}") from error
    return SqlStore(engine), before


def _make_private(file: Path) -> None:
    """A new file is its owner's alone; SQLite gives its log and its index the same rights."""
    try:
        file.touch(mode=0o600)
    except OSError as error:
        raise RunError(f"cannot make the database {file}: {error.strerror or error}") from error


def open_store(url: str, least_room: int = LEAST_ROOM) -> SqlStore:
    """The store of a database that `prepare` has made."""
    parsed = read_url(url)
    file = file_of(parsed)
    if file is not None and not file.exists():
        raise OptionError(f"there is no database {file}: make it with 'halfmask serve', `init` and this `db`")
    engine = open_engine(parsed)
    version = version_of(engine)
    if version != newest_version():
        state = "is not initialised" if version is None else f"has tables of version {version}"
        shown = parsed.render_as_string(hide_password=True)
        raise OptionError(f"the database {shown} {state}: run 'halfmask serve' with `init` and the same `db` once")
    assert_durable(engine)
    return SqlStore(engine, least_room)
