"""Extras: libraries that are installed on demand, as in ``pip install 'halfmask[pages]'``.

Modules import what they need at the place that needs it. The edges (commands, results, the program) run inside
`naming_extras`. If a library of an extra is missing, it raises an ExtraError that says which extra installs it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from halfmask.errors import ExtraError

EXTRAS = {
    "pages": ("jinja2", "markupsafe", "matplotlib"),
    "service": ("alembic", "fastapi", "httptools", "sqlalchemy", "starlette", "uvicorn"),
    "spark": ("py4j", "pyspark"),
    "postgres": ("adbc_driver_postgresql", "psycopg"),
    "mysql": ("pymysql",),
    "mqtt": ("paho",),
    "formats": ("fastavro", "python_calamine"),
    "pandas": ("pandas",),
    "polars": ("polars",),
}
"""The libraries that each extra installs and this package imports, by their names in Python."""


@contextmanager
def naming_extras() -> Iterator[None]:
    """Raise an `ExtraError` if the code in the block needs a library of an extra that is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        for extra, libraries in EXTRAS.items():
            if library in libraries:
                raise _missing([library], [extra]) from error
        raise


def need(*extras: str) -> None:
    """Raise an `ExtraError` if any of these extras is not installed.

    Call it before long work that needs them at its end.
    """
    missing = {extra: [name for name in EXTRAS[extra] if find_spec(name) is None] for extra in extras}
    wanted = [extra for extra, libraries in missing.items() if libraries]
    if wanted:
        raise _missing([name for extra in wanted for name in missing[extra]], wanted)


def _missing(libraries: list[str], extras: list[str]) -> ExtraError:
    error = ExtraError(f"not installed: {', '.join(libraries)}", hint=f"pip install 'halfmask[{','.join(extras)}]'")
    error.fields = tuple(extras)
    return error
