"""Versions of the tables. A new database gets the newest tables at once; an older one is brought up to date by Alembic.

Each file of `migrations/versions` leads from one version to the next. Alembic is imported only when it is needed,
because starting a service does not need it.
"""

from importlib import resources
from typing import Any

from sqlalchemy import Connection, Engine, inspect, text

from halfmask.service.storage.tables import metadata

MIGRATIONS = resources.files("halfmask.service.storage") / "migrations"


def configuration(connection: Connection) -> Any:
    """Return Alembic's configuration for a database."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


def upgrade(connection: Connection) -> None:
    """Make the tables, or bring them up to date."""
    from alembic import command

    if inspect(connection).has_table("alembic_version"):
        command.upgrade(configuration(connection), "head")
    else:
        metadata.create_all(connection)
        command.stamp(configuration(connection), "head")


def newest_version() -> str:
    """Return the number that the file name of the last migration begins with."""
    names = [each.name for each in (MIGRATIONS / "versions").iterdir()]
    return max(name.partition("_")[0] for name in names if name[:1].isdigit())


def version_of(engine: Engine) -> str | None:
    """Return the version of a database's tables, as Alembic records it, or None if there are none."""
    with engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
