"""SQLite databases, known to a program by the name of their handle.

Calls on one database are done in order, in a thread of its own when there are tasks; cancelling a task interrupts its
statement and rolls its transaction back. Only the program's own statements start or end a transaction.
"""

from __future__ import annotations

import os

from sema_runtime import capabilities
from sema_runtime.catalogue import builtin
from sema_runtime.support.input_files import path_of
from sema_runtime.support.text_arguments import INT_LIMIT, text_of
from sema_runtime.tasks.background import Abandoned, Lane
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import MISSING, Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import Any, NoReturn, TypeVar

    from sema_runtime.tasks.background import Work

    T = TypeVar("T")

BUSY_SECONDS = 10.0  # how long a statement waits while another process has the file locked
STEPS = 500_000  # of SQLite's machine between two looks at whether to stop: some 30 ms
MAX_ROWS = 1_000_000
MAX_BYTES = 512 << 20  # of text and blobs in one result
ROWS_AT_ONCE = 1000
IN_MEMORY = ("", ":memory:")  # what SQLite takes for a database without a file of the program's
NAME_SIGNS = (":", "@", "$", *(f"?{digit}" for digit in range(10)))  # in statements that may name a parameter
WRONG_NUMBER = "Wrong number of parameters"
ONE_BY_ONE = "pass values one by one after the statement; for a list: (apply db/query handle sql values)"
FOLDER_PRAGMAS = ("temp_store_directory", "data_store_directory")

databases: dict[str, Database] = {}


class Database:
    """An open database. connection: unset until `connect` has been called."""

    connection: sqlite3.Connection

    def __init__(self, path: str) -> None:
        self.path = path
        self.lane = Lane()
        self.work: Work | None = None  # what is being done
        self.refused: str | None = None  # the path that the running statement may not use

    def connect(self) -> None:
        """Opens the file. Raises sqlite3.Error and ValueError."""
        import sqlite3

        # An absolute path is never taken for a URI, whose file would not be the one that was checked.
        path = self.path if self.path in IN_MEMORY else os.path.abspath(self.path)
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        self.connection = connection
        connection.set_progress_handler(self._stop_wanted, STEPS)
        connection.execute("PRAGMA foreign_keys=ON").close()
        if path not in IN_MEMORY:
            try:
                connection.execute("PRAGMA journal_mode=WAL").close()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_READONLY:  # that can be read all the same
                    raise
        if capabilities.allowed is not None:
            connection.set_authorizer(self._authorize)

    def _stop_wanted(self) -> bool:
        return self.work is not None and self.work.cancelled

    def _authorize(self, action: int, first: str | None, second: str | None, *_: Any) -> int:
        """Answers SQLite's question whether a statement may do something: attached files must be in the allowed
        directories."""
        import sqlite3

        if action == sqlite3.SQLITE_ATTACH and first not in IN_MEMORY:
            path = first or "(computed)"
        elif action == sqlite3.SQLITE_PRAGMA and first in FOLDER_PRAGMAS and second is not None:
            path = second
        else:
            return sqlite3.SQLITE_OK
        try:
            if first is not None and not path.startswith("file:"):
                capabilities.check_path("", path)
                return sqlite3.SQLITE_OK
        except capabilities.PathDenied:
            pass
        self.refused = path
        return sqlite3.SQLITE_DENY

    def do(self, function: str, sql: str, action: Callable[[sqlite3.Connection], T]) -> T:
        """The result of action(connection). Its errors become conditions of that function and statement."""
        return self.lane.run(lambda work: self._guarded(function, sql, action, work))

    def _guarded(self, function: str, sql: str, action: Callable[[sqlite3.Connection], T], work: Work) -> T:
        import sqlite3

        self.work = work
        try:
            return action(self.connection)
        except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as error:
            self._fail(function, sql, error)
        finally:
            self.work = None

    def _fail(self, function: str, sql: str, error: Exception) -> NoReturn:
        """Raises the condition of an error of SQLite."""
        import sqlite3

        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            if not self._stop_wanted():
                raise KeyboardInterrupt  # came while SQLite looked whether to stop, and was swallowed there
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK").close()
            raise Abandoned
        refused, self.refused = self.refused, None
        if refused is not None:
            raise capabilities.PathDenied(function, refused) from None
        reason = _reason(error)
        hint = ONE_BY_ONE if reason.startswith(WRONG_NUMBER) else None
        raise SemaError(f"{function}: {reason}", hint=hint, note=f"in {shortened(sql)}") from None

    def close(self) -> None:
        """Closes the file after everything that is still running on it."""
        if hasattr(self, "connection"):
            self.lane.end(self.connection.close)


def _reason(error: Exception) -> str:
    """SQLite's message, in the words of the reference where Python has its own."""
    text = str(error)
    if text.startswith("Incorrect number of bindings"):
        needed, count = (int(word.strip(",.")) for word in text.split() if word.strip(",.").isdigit())
        return _wrong_number(count, needed)
    if text.startswith("You can only execute one statement"):
        return "Multiple statements provided"
    return text


def shortened(sql: str) -> str:
    """A statement on one line, cut when long."""
    line = " ".join(sql[:400].split())
    return line if len(line) <= 200 and len(sql) <= 400 else line[:200] + "..."


def database_of(function: str, handle: Any) -> Database:
    """The open database of that name."""
    database = databases.get(text_of(handle))
    if database is None:
        raise SemaError(f"{function}: no open database '{handle}'")
    return database


# Opening and closing


@builtin("db/open", type="str, str? -> str", cap="fs-write")
def db_open(handle: Any, path: Any = MISSING) -> str:
    """Opens a SQLite database file, which is created if missing, and returns a handle for the other functions.

    With one argument the path is also the handle; with two, handle is a name of your choice. A handle that is already
    open then refers to the new database. Foreign keys are enforced, and the journal is a write-ahead log.

    (db/open "app.db") => "app.db"
    (db/open "app" "app.db") => "app"
    """
    name = text_of(handle)
    return _open("db/open", name, path_of("db/open", name if path is MISSING else path))


@builtin("db/open-memory", type="str? -> str", cap="fs-write")
def db_open_memory(handle: Any = ":memory:") -> str:
    """Opens a new SQLite database in memory and returns its handle.

    (db/open-memory "scratch") => "scratch"
    (db/open-memory) => ":memory:"
    """
    return _open("db/open-memory", text_of(handle), ":memory:")


def _open(function: str, name: str, path: str) -> str:
    import sqlite3

    opened = Database(path)
    try:
        opened.lane.run(lambda work: opened.connect())
    except (sqlite3.Error, ValueError) as error:
        opened.close()
        raise SemaError(f"{function}: {error}: {path}") from None
    except BaseException:
        opened.close()
        raise
    if not databases:
        import atexit

        atexit.register(_close_all)
    replaced = databases.get(name)
    databases[name] = opened
    if replaced is not None:
        replaced.close()
    return name


def _close_all() -> None:
    """Closes all databases at the end of the program, so that SQLite tidies its files up."""
    while databases:
        database = databases.popitem()[1]
        if database.work is not None:
            database.work.cancelled = True
        with database.lane.lock:
            database.connection.close()


@builtin("db/close", type="str -> nil")
def db_close(handle: Any) -> None:
    """Closes a SQLite database. Does nothing when it isn't open.

    (db/open-memory "scratch")
    (db/close "scratch") => nil
    (db/tables "scratch") ! db/tables: no open database 'scratch'
    """
    database = databases.get(text_of(handle))
    if database is None:
        return
    if database.lane.waiting:
        raise SemaError(
            f"db/close: database '{handle}' is busy — another db/* call is in flight on it",
            "wait for the in-flight db/* call on this handle to resolve before calling another",
        )
    del databases[handle]
    database.close()


# Statements


@builtin("db/exec", type="str, str, any... -> int", cap="fs-write")
def db_exec(handle: Any, sql: Any, *parameters: Any) -> int:
    """Runs one SQL statement that returns no rows, and returns the number of rows that it inserted, changed or deleted.

    Each `?` in the statement stands for one parameter: nil, boolean (1 or 0), int, float, string or bytevector; other
    values are passed in their printed form. Pass values from outside as parameters, never in the text of the statement.

    (db/open-memory "m")
    (db/exec "m" "CREATE TABLE users (name TEXT, age INTEGER)") => 0
    (db/exec "m" "INSERT INTO users VALUES (?, ?)" "Ada" 36) => 1
    (db/exec "m" "DELETE FROM pets") ! db/exec: no such table: pets
    """
    statement, values = _statement("db/exec", sql, parameters)
    return database_of("db/exec", handle).do("db/exec", sql, lambda connection: _changed(connection, statement, values))


def _changed(connection: sqlite3.Connection, statement: str, values: list[Any]) -> int:
    """The number of rows that a statement changes, without those of its triggers."""
    before = connection.total_changes
    cursor = connection.execute(statement, values)
    gives_rows = cursor.fetchone() is not None
    changed = cursor.rowcount
    cursor.close()
    if gives_rows:
        raise SemaError("db/exec: Execute returned results - did you mean to call query?")
    if changed < 0 and connection.total_changes != before:  # Python doesn't recognize `WITH ... DELETE`
        changed = connection.execute("SELECT changes()").fetchone()[0]
    return max(changed, 0)


@builtin("db/exec-batch", type="str, str -> nil", cap="fs-write")
def db_exec_batch(handle: Any, sql: Any) -> None:
    """Runs all statements of a SQL text, separated by semicolons: for schemas and migrations.

    It stops at the first error; earlier statements stay in effect, unless the text has a transaction of its own.

    (db/open-memory "m")
    (db/exec-batch "m" "CREATE TABLE a (x); CREATE TABLE b (y);") => nil
    (db/tables "m") => ("a" "b")
    """
    from sema_runtime.lib.data.sql_text import statements

    batch = statements(text_of(sql))

    def run_all(connection: sqlite3.Connection) -> None:
        for statement in batch:
            connection.execute(statement).close()

    database_of("db/exec-batch", handle).do("db/exec-batch", sql, run_all)


@builtin("db/query", type="str, str, any... -> flat (map keyword (nil|int|float|str|bytevector)) fresh", cap="fs-read")
def db_query(handle: Any, sql: Any, *parameters: Any) -> List:
    """Queries a SQLite database and returns the rows as maps with the columns' names as keyword keys.

    NULL is nil, INTEGER an int, REAL a float, TEXT a string, BLOB a bytevector. Parameters are those of `db/exec`.

    (db/open-memory "m")
    (db/query "m" "SELECT 1 AS n, 'x' AS s, NULL AS gone") => ({:gone nil :n 1 :s "x"})
    (db/query "m" "SELECT ? + ? AS total" 2 3) => ({:total 5})
    (db/query "m" "SELECT * FROM missing") ! db/query: no such table: missing
    """
    statement, values = _statement("db/query", sql, parameters)
    return database_of("db/query", handle).do("db/query", sql, lambda connection: _rows(connection, statement, values))


def _rows(connection: sqlite3.Connection, statement: str, values: list[Any]) -> List:
    cursor = connection.execute(statement, values)
    try:
        keys = _keys(cursor)
        maps: list[Map] = []
        size = 0
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            maps += [Map(dict(zip(keys, row, strict=True))) for row in rows]
            size += sum(len(cell) for row in rows for cell in row if type(cell) is str or type(cell) is bytes)
            if len(maps) > MAX_ROWS:
                raise SemaError(f"db/query: result exceeds the maximum of {MAX_ROWS} rows")
            if size > MAX_BYTES:
                raise SemaError(f"db/query: result exceeds the maximum of {MAX_BYTES} bytes")
        return List(maps)
    finally:
        cursor.close()


@builtin("db/query-one", type="str, str, any... -> map keyword (nil|int|float|str|bytevector)|nil fresh", cap="fs-read")
def db_query_one(handle: Any, sql: Any, *parameters: Any) -> Map | None:
    """Queries a SQLite database and returns the first row as a map; nil when there is none.

    (db/open-memory "m")
    (db/query-one "m" "SELECT 40 + ? AS n" 2) => {:n 42}
    (db/query-one "m" "SELECT 1 AS n WHERE 1 = 2") => nil
    """
    statement, values = _statement("db/query-one", sql, parameters)
    database = database_of("db/query-one", handle)
    return database.do("db/query-one", sql, lambda connection: _first_row(connection, statement, values))


def _first_row(connection: sqlite3.Connection, statement: str, values: list[Any]) -> Map | None:
    cursor = connection.execute(statement, values)
    try:
        row = cursor.fetchone()
        return None if row is None else Map(dict(zip(_keys(cursor), row, strict=True)))
    finally:
        cursor.close()


@builtin("db/tables", type="str -> flat str fresh", cap="fs-read")
def db_tables(handle: Any) -> List:
    """The names of the tables of a database, sorted, without those of SQLite itself.

    (db/open-memory "m")
    (db/exec "m" "CREATE TABLE users (name TEXT)")
    (db/tables "m") => ("users")
    """
    sql = r"SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name"
    rows = database_of("db/tables", handle).do("db/tables", sql, lambda connection: connection.execute(sql).fetchall())
    return List([name for (name,) in rows])


@builtin("db/last-insert-id", type="str -> int", cap="fs-read")
def db_last_insert_id(handle: Any) -> int:
    """The row id of the last row inserted through this handle; 0 when there is none.

    (db/open-memory "m")
    (db/exec "m" "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)")
    (db/exec "m" "INSERT INTO users (name) VALUES ('Ada'), ('Bob')")
    (db/last-insert-id "m") => 2
    """
    sql = "SELECT last_insert_rowid()"
    database = database_of("db/last-insert-id", handle)
    row: int = database.do("db/last-insert-id", sql, lambda connection: connection.execute(sql).fetchone()[0])
    return row


# Values


def _statement(function: str, sql: Any, parameters: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The statement and the parameters as SQLite takes them."""
    text = text_of(sql)
    values = [_cell(value) for value in parameters]
    if not any(sign in text for sign in NAME_SIGNS):
        return text, values
    from sema_runtime.lib.data.sql_text import unnamed

    text, order = unnamed(text)
    needed = max(order, default=-1) + 1
    if needed != len(values):
        raise SemaError(f"{function}: {_wrong_number(len(values), needed)}", hint=ONE_BY_ONE)
    return text, [values[index] for index in order]


def _wrong_number(count: int, needed: int) -> str:
    return f"{WRONG_NUMBER} passed to query. Got {count}, needed {needed}"


def _cell(value: Any) -> Any:
    """A parameter as SQLite takes it."""
    kind = type(value)
    if value is None or kind is str or kind is float or kind is bytes or kind is bool:
        return value
    if kind is int and -INT_LIMIT <= value < INT_LIMIT:
        return value
    if kind is bytearray:
        return bytes(value)
    from sema_runtime.values.printer import display

    return display(value)


def _keys(cursor: sqlite3.Cursor) -> list[Any]:
    return [keyword(column[0]) for column in cursor.description or ()]
