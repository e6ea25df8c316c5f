"""An archive in a PostgreSQL server, asked as sqlite3 asks a file: execute(), close()."""
import urllib.parse

from . import Failure
from .dialect import to_postgresql

_NEEDS = "needs psycopg2: apt-get install python3-psycopg2"
_CURES = {  # the first one whose text is found
    "password": "give the right password, in the file ~/.pgpass",
    "pg_hba.conf": "let the server's pg_hba.conf have a line for this user, database and host",
    "could not translate": "name another host",
    "Connection refused": "start the server",
    "No such file": "start the server",
    "create temporary": "GRANT TEMPORARY ON DATABASE … TO …",
    "permission denied": "let the archive's user GRANT SELECT ON ALL TABLES IN SCHEMA public TO …",
    "read-only": "name the server that is written to: the report makes temporary tables",
    "certificate": "name the certificate of the server's issuer by ?sslrootcert=FILE",
    "too many connections": "raise the server's max_connections, or end other programs",
    "connection slots": "raise the server's max_connections, or end other programs",
    "role \"": "name another user",
    "database \"": "name the archive's database",
    "No space": "make room on the server's disk",
    "does not exist": "name the database that cernita-archive writes",
}
_NO_URL = "is not postgresql://[USER@]HOST[:PORT]/DATABASE, with what is special in a URL as %XX"
_NUMERIC = 1700  # the type of sums


def is_url(text):
    return str(text).startswith(("postgresql://", "postgres://"))


def name_of(url):
    """Without user, password and options."""
    try:
        place = urllib.parse.urlsplit(url)
    except ValueError:
        raise Failure(_NO_URL) from None
    # libpq takes all before the last @ for the user and the password, also what ends a host in a URL: not to be shown
    if place.fragment or ("@" in place.path + place.query and "@" not in place.netloc):
        raise Failure(_NO_URL)
    return f"postgresql://{place.netloc.rpartition('@')[2]}{place.path}"


def _driver(name):
    try:
        import psycopg2
        import psycopg2.extensions
    except ImportError:
        raise Failure(f"{name}: {_NEEDS}") from None
    return psycopg2


def _number(text, _cursor):
    """Sums of whole numbers are whole."""
    return None if text is None else float(text) if "." in text else int(text)


class Connection:
    """All that is asked sees the archive as it is now. It is read alone, but for temporary tables."""
    translate = staticmethod(to_postgresql)

    def __init__(self, url):
        self.path = name_of(url)
        self._driver = _driver(self.path)
        try:
            self._connection = self._driver.connect(url, connect_timeout=5, application_name="cernita-report")
            self._connection.set_session(isolation_level="REPEATABLE READ")
            number = self._driver.extensions.new_type((_NUMERIC,), "NUMBER", _number)
            self._driver.extensions.register_type(number, self._connection)
            self.execute("SET LOCAL statement_timeout = 0")
        except self._driver.Error as fault:
            raise self._describe(fault) from None

    def execute(self, sql, parameters=()):
        cursor = self._connection.cursor()
        try:
            if parameters:
                cursor.execute(to_postgresql(sql).replace("?", "%s"), parameters)
            else:
                cursor.execute(to_postgresql(sql))
        except self._driver.Error as fault:
            raise self._describe(fault) from None
        return cursor

    def close(self):
        self._connection.close()

    def versions(self):
        """Of the schema; None if it is not an archive."""
        found, = self.execute("SELECT to_regclass('cernita_archive') IS NOT NULL").fetchone()
        return self.execute("SELECT version FROM cernita_archive").fetchone()[0] if found else None

    def _describe(self, fault):
        text = (str(fault).strip() or "the connection broke").splitlines()[0]
        if text.startswith("invalid dsn"):  # it may quote the password
            return Failure(f"{self.path}: {_NO_URL}")
        cures = [cure for part, cure in _CURES.items() if part in text]
        return Failure(f"{self.path}: {text}: {cures[0] if cures else 'see the log of the server'}")
