"""Read from MySQL and MariaDB servers: ``mysql://user:password@host:port/database``."""

from typing import Any
from urllib.parse import unquote, urlsplit

from halfmask.data.formats._databases import RowDatabase


class MySqlServer(RowDatabase):
    """A MySQL or MariaDB server. One table is read, or the result of a query."""

    kind = "MySQL and MariaDB"
    addresses = ("mysql://", "mariadb://")
    names = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1"
    remedy = "check address, name, rights and query"

    def driver(self) -> Any:
        import pymysql.cursors  # type: ignore[import-untyped]

        return pymysql

    def connect(self, source: str) -> Any:
        """Connect with the session's time zone set to UTC and a cursor that fetches rows from the server as needed."""
        driver, parts = self.driver(), urlsplit(source)
        return driver.connect(
            host=parts.hostname or "127.0.0.1",
            port=parts.port or 3306,
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            database=parts.path.lstrip("/"),
            cursorclass=driver.cursors.SSCursor,
            init_command="SET time_zone = '+00:00'",
        )

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"
