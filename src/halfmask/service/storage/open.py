"""Opening a database: `prepare` makes it or brings it up to date, `open_store` refuses one that is not up to date."""

from importlib import resources
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, inspect, text
from sqlalchemy.exc import DBAPIError

from halfmask.errors import OptionError, RunError
from halfmask.service.storage.engine import assert_durable, file_of, headline, open_engine, read_url
from halfmask.service.storage.sql import LEAST_ROOM, SqlStore

MIGRATIONS = resources.files("halfmask.service.storage") / "migrations"


def upgrade(connection: Any, version: str = "head") -> None:
    """Bring the tables to a version. Alembic is imported only here, because starting a service does not need it."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, version)


def newest_version() -> str:
    """Return the number that the file name of the last migration begins with."""
    names = [each.name for each in (MIGRATIONS / "versions").iterdir()]
    return max(name.partition("_")[0] for name in names if name[:1].isdigit())


def version_of(engine: Engine) -> str | None:
    """Return the version of a database's tables, as Alembic records it, or None if there are none."""
    try:
        with engine.connect() as connection:
            if not inspect(connection).has_table("alembic_version"):
                return None
            return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    except DBAPIError as error:
        raise RunError(f"cannot open the database: {headline(error)}; check `db`") from error


def prepare(url: str) -> tuple[SqlStore, str | None]:
    """Make the tables, or bring them up to date. Return the store and the version that it had before."""
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
            upgrade(connection)
    except DBAPIError as error:
        raise RunError(f"cannot make the tables: {headline(error)}") from error
    return SqlStore(engine), before


def _make_private(file: Path) -> None:
    """Make a new file that only its owner can read. SQLite gives its log and its index the same rights."""
    try:
        file.touch(mode=0o600)
    except OSError as error:
        raise RunError(f"cannot make the database {file}: {error.strerror or error}") from error


def open_store(url: str, least_room: int = LEAST_ROOM) -> SqlStore:
    """Return the store of a database that `prepare` has made. Raise OptionError if its tables are not up to date."""
    parsed = read_url(url)
    file = file_of(parsed)
    if file is not None and not file.exists():
        raise OptionError(f"there is no database {file}: make it with 'halfmask serve', `init` and this `db`")
    engine = open_engine(parsed)
    version = version_of(engine)
    if version != newest_version():
        engine.dispose()
        state = "is not initialised" if version is None else f"has tables of version {version}"
        shown = parsed.render_as_string(hide_password=True)
        raise OptionError(f"the database {shown} {state}: run 'halfmask serve' with `init` and the same `db` once")
    assert_durable(engine)
    return SqlStore(engine, least_room)
