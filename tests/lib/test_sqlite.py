"""SQLite databases: statements, values, files of other programs, waiting beside tasks, the sandbox."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from outcomes import outcome
from paths import ROOT

from sema_runtime import capabilities
from sema_runtime.conditions.describe import condition_map, describe
from sema_runtime.lib.data import sqlite
from sema_runtime.lib.data.sql_text import statements, unnamed
from sema_runtime.tasks import scheduler
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text
from semac.session import Session

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) AS n FROM c"


@pytest.fixture(autouse=True)
def in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty folder, and no database left open."""
    monkeypatch.chdir(tmp_path)
    yield
    sqlite._close_all()
    scheduler._per_thread.scheduler = None


def run(source: str) -> str:
    return to_text(Session().run(source))


def rows(path: str, sql: str) -> list[tuple[object, ...]]:
    """What another connection, outside of Sema, sees."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


# Statements and values


def test_values_go_in_and_come_back() -> None:
    program = """
    (db/open-memory "m")
    (db/exec "m" "CREATE TABLE t (v)")
    (for-each (fn (v) (db/exec "m" "INSERT INTO t VALUES (?)" v))
              (list nil #t 7 -2.5 "é\\u0000x" #u8(0 255) :key 123456789012345678901234567890 '(1 "a")))
    (map (fn (row) (list (:v row) (:kind row))) (db/query "m" "SELECT v, typeof(v) AS kind FROM t ORDER BY rowid"))
    """
    assert run(program) == (
        '((nil "null") (1 "integer") (7 "integer") (-2.5 "real") ("é\0x" "text") (#u8(0 255) "blob") (":key" "text") '
        '("123456789012345678901234567890" "text") ("(1 \\"a\\")" "text"))'
    )


def test_affected_rows() -> None:
    program = """
    (db/open-memory "m")
    (map (fn (sql) (db/exec "m" sql))
         (list "CREATE TABLE t (v)" "INSERT INTO t VALUES (1), (2), (3)" "UPDATE t SET v = 9 WHERE v > 1"
               "CREATE TABLE other (v)" "WITH w AS (SELECT 9) DELETE FROM t WHERE v IN w" "" "DELETE FROM t"))
    """
    assert run(program) == "(0 3 2 0 2 0 1)"


def test_rows_of_triggers_are_not_counted() -> None:
    program = """
    (db/open-memory "m")
    (db/exec-batch "m" "CREATE TABLE t (v); CREATE TABLE log (v);
      CREATE TRIGGER noted AFTER INSERT ON t BEGIN INSERT INTO log VALUES (1); INSERT INTO log VALUES ('a;b'); END;
      -- a comment; with a semicolon
      INSERT INTO t VALUES ('x;y');")
    (define changed (db/exec "m" "WITH w AS (SELECT 1) INSERT INTO t SELECT * FROM w"))
    (list changed (db/query-one "m" "SELECT count(*) AS n FROM log"))
    """
    assert run(program) == "(1 {:n 4})"


def test_one_row_and_the_last_id() -> None:
    program = """
    (db/open-memory "m")
    (db/exec "m" "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)")
    (db/exec "m" "INSERT INTO t (v) VALUES (1), (2), (-9223372036854775808)")
    (list (db/query-one "m" "SELECT abs(v) AS v FROM t")
          (db/query-one "m" "SELECT v FROM t WHERE v = 5")
          (db/last-insert-id "m"))
    """
    assert run(program) == "({:v 1} nil 3)"  # abs of the last row would overflow


def test_parameters_with_names_take_values_in_their_order() -> None:
    program = """
    (db/open-memory "m")
    (db/query-one "m" "SELECT :a AS a, ? AS q, $b AS b, :a || ':x' AS again, '12:30' AS t -- :c" 1 2 3)
    """
    assert run(program) == '{:a 1 :again "1:x" :b 3 :q 2 :t "12:30"}'
    assert unnamed('SELECT "a:b", [c:d], `e:f`, x$y, ?4, @p, ?, @p /* :q */') == (
        'SELECT "a:b", [c:d], `e:f`, x$y, ?, ?, ?, ? /* :q */',
        [3, 4, 5, 4],
    )


def test_statements_end_at_their_semicolons() -> None:
    assert statements("a; b ';' ; -- c;\n d") == ["a;", " b ';' ;", " -- c;\n d"]
    assert [one.strip() for one in statements("create trigger t begin x; y; end; z")] == [
        "create trigger t begin x; y; end;",
        "z",
    ]


def test_transactions_are_the_programs() -> None:
    program = """
    (db/open-memory "m")
    (db/exec "m" "CREATE TABLE t (v)")
    (db/exec "m" "BEGIN")
    (db/exec-batch "m" "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    (db/exec "m" "ROLLBACK")
    (:n (db/query-one "m" "SELECT count(*) AS n FROM t"))
    """
    assert run(program) == "0"


ERRORS = [
    ('(db/query "nope" "SELECT 1")', "db/query: no open database 'nope'"),
    ('(db/exec "m" "SELEC 1")', 'db/exec: near "SELEC": syntax error'),
    ('(db/query "m" "SELECT * FROM missing")', "db/query: no such table: missing"),
    ('(db/exec "m" "SELECT 1")', "db/exec: Execute returned results - did you mean to call query?"),
    ('(db/query "m" "SELECT 1; SELECT 2")', "db/query: Multiple statements provided"),
    ('(db/query "m" "SELECT ?, ?" 1)', "db/query: Wrong number of parameters passed to query. Got 1, needed 2"),
    ('(db/query "m" "SELECT :a, ?3, :a" 1)', "db/query: Wrong number of parameters passed to query. Got 1, needed 3"),
    ('(db/query "m" "SELECT \':a\'" 1)', "db/query: Wrong number of parameters passed to query. Got 1, needed 0"),
    ('(db/exec "m" "INSERT INTO u VALUES (1)")', "db/exec: UNIQUE constraint failed: u.x"),
    ('(db/exec "m" "INSERT INTO child VALUES (8)")', "db/exec: FOREIGN KEY constraint failed"),
    ('(db/query-one "m" "SELECT CAST(x\'ff\' AS TEXT) AS t")', "db/query-one: Could not decode to UTF-8 column 't'"),
    ("(db/query :m 1)", "expected string, got int"),
    ('(db/exec 5 "SELECT 1")', "expected string, got int"),
    ("(db/open-memory nil)", "expected string, got nil"),
    ('(db/open "a" nil)', "expected string, got nil"),
    ('(db/open "no/such/folder/a.db")', "db/open: unable to open database file: no/such/folder/a.db"),
    ('(db/open "a\\u0000b")', "I/O error: db/open a\0b: file name contained an unexpected NUL byte"),
]


@pytest.mark.parametrize(("call", "message"), ERRORS)
def test_errors(call: str, message: str) -> None:
    schema = "CREATE TABLE u (x UNIQUE); INSERT INTO u VALUES (1); CREATE TABLE child (x REFERENCES u (x));"
    found = outcome(f'(db/open-memory "m") (db/exec-batch "m" "{schema}") {call}')
    assert found.startswith(f"! {message}")


def test_an_error_shows_the_statement() -> None:
    with pytest.raises(SemaError) as caught:
        run('(db/open-memory "m") (db/exec "m" "INSERT\n  INTO nowhere VALUES (1)")')
    assert describe(caught.value).note == "in INSERT INTO nowhere VALUES (1)"


@pytest.mark.parametrize("sql", ["SELECT ?, ?", "SELECT :a, :b"])
def test_parameters_in_a_list_are_told_where_they_belong(sql: str) -> None:
    with pytest.raises(SemaError) as caught:
        run(f'(db/open-memory "m") (db/query "m" "{sql}" [1 2])')
    assert "apply db/query handle sql values" in (describe(caught.value).hint or "")


def test_too_many_rows_or_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    run('(db/open-memory "m")')
    series = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 4) SELECT 'abc' AS s FROM c"
    monkeypatch.setattr(sqlite, "MAX_ROWS", 3)
    assert outcome(f'(db/query "m" "{series}")') == "! db/query: result exceeds the maximum of 3 rows"
    assert outcome(f'(length (db/query "m" "{series} LIMIT 3"))') == "3"
    monkeypatch.setattr(sqlite, "MAX_BYTES", 8)
    assert outcome(f'(db/query "m" "{series} LIMIT 3")') == "! db/query: result exceeds the maximum of 8 bytes"


# Files


def test_a_file_is_made_and_found_again() -> None:
    run('(db/open "app" "app.db") (db/exec "app" "CREATE TABLE t (v)") (db/exec "app" "INSERT INTO t VALUES (?)" "x")')
    assert rows("app.db", "SELECT v FROM t") == [("x",)]
    assert run('(db/query "app" "PRAGMA journal_mode")') == '({:journal_mode "wal"})'
    assert run('(db/query "app" "PRAGMA busy_timeout")') == "({:timeout 10000})"
    assert run('(db/close "app")') == "nil"
    assert os.listdir() == ["app.db"]
    assert run('(db/open "app.db") (db/tables "app.db")') == '("t")'


def test_a_file_made_by_another_program() -> None:
    other = sqlite3.connect("other.db")
    other.executescript(
        "PRAGMA page_size = 512; CREATE TABLE t (a, b); INSERT INTO t VALUES (1, x'0102'), ('ü', NULL);"
    )
    other.close()
    assert run('(db/open "other.db") (db/query "other.db" "SELECT * FROM t")') == '({:a 1 :b #u8(1 2)} {:a "ü" :b nil})'


def test_a_file_that_may_only_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    other = sqlite3.connect("other.db")
    other.execute("CREATE TABLE t (a)")
    other.close()
    real = sqlite3.connect  # root may write everything, so SQLite itself is asked to open it for reading

    def read_only(path: str, **options: object) -> sqlite3.Connection:
        return real(f"file:{path}?mode=ro", uri=True, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(sqlite3, "connect", read_only)
    run('(db/open "other.db")')
    assert run('(db/query "other.db" "SELECT * FROM t")') == "()"
    assert outcome('(db/exec "other.db" "DELETE FROM t")') == "! db/exec: attempt to write a readonly database"


def test_a_file_that_is_no_database() -> None:
    Path("text.db").write_text("this is not a database, but long enough to be looked at" * 20)
    assert outcome('(db/open "text.db")') == "! db/open: file is not a database: text.db"
    assert Path("text.db").read_text().startswith("this is not")
    assert outcome('(db/tables "text.db")') == "! db/tables: no open database 'text.db'"


def test_a_damaged_database() -> None:
    run('(db/open "app.db") (db/exec "app.db" "CREATE TABLE t (v)") (db/exec "app.db" "INSERT INTO t VALUES (1)")')
    run('(db/close "app.db")')
    data = bytearray(Path("app.db").read_bytes())
    data[4096:8192] = b"\xff" * 4096
    Path("app.db").write_bytes(data)
    found = outcome('(db/open "app.db") (db/query "app.db" "SELECT * FROM t")')
    assert found == "! db/query: database disk image is malformed"


def test_a_handle_opened_again_stands_for_the_new_file() -> None:
    program = """
    (db/open "h" "one.db") (db/exec "h" "CREATE TABLE one (v)")
    (db/open "h" "two.db") (db/exec "h" "CREATE TABLE two (v)")
    (db/tables "h")
    """
    assert run(program) == '("two")'
    assert run('(db/close "h") (db/close "h")') == "nil"


def test_a_database_that_another_program_has_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    run('(db/open "app.db") (db/exec "app.db" "CREATE TABLE t (v)")')
    other = sqlite3.connect("app.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert outcome('(db/exec "app.db" "INSERT INTO t VALUES (1)")') == "! db/exec: database is locked"
    other.execute("COMMIT")
    other.close()
    assert run('(db/exec "app.db" "INSERT INTO t VALUES (1)")') == "1"


# Tasks


def test_other_tasks_go_on_while_a_statement_runs() -> None:
    program = f"""
    (db/open-memory "m")
    (define endless (async (db/query "m" "{ENDLESS}")))
    (define quick (async (async/sleep 1) :done))
    (define first-one (await quick))
    (async/cancel endless)
    (list first-one (try (await endless) (catch e (:type e))) (db/query "m" "SELECT 1 AS n"))
    """
    assert run(program) == "(:done :cancelled ({:n 1}))"


def test_a_cancelled_statement_rolls_its_transaction_back() -> None:
    program = f"""
    (db/open-memory "m")
    (define ready (channel/new 1))
    (define victim (async (db/exec-batch "m" "CREATE TABLE t (v); BEGIN; INSERT INTO t VALUES (1);")
                          (channel/send ready #t)
                          (db/query "m" "{ENDLESS}")))
    (channel/recv ready)
    (async/sleep 1)
    (async/cancel victim)
    (define n (:n (db/query-one "m" "SELECT count(*) AS n FROM t")))
    (db/exec "m" "BEGIN")
    n
    """
    assert run(program) == "0"


def test_statements_of_many_tasks_are_done_in_order() -> None:
    program = """
    (db/open "app.db")
    (db/exec "app.db" "CREATE TABLE t (v)")
    (async/all (map (fn (i) (async (db/exec "app.db" "INSERT INTO t VALUES (?)" i))) (range 20)))
    (map :v (db/query "app.db" "SELECT v FROM t ORDER BY rowid"))
    """
    assert run(program) == f"({' '.join(map(str, range(20)))})"


def test_a_busy_database_is_not_closed() -> None:
    program = f"""
    (db/open-memory "m")
    (define endless (async (db/query "m" "{ENDLESS}")))
    (async/sleep 1)
    (define refused (try (db/close "m") (catch e (:message e))))
    (async/cancel endless)
    (try (await endless) (catch e nil))
    (list refused (db/close "m"))
    """
    message = "db/close: database 'm' is busy — another db/* call is in flight on it"
    assert run(program) == f'("{message}" nil)'


def test_a_database_replaced_while_it_works_finishes_that() -> None:
    program = """
    (db/open "h" "one.db")
    (db/exec "h" "CREATE TABLE t (v)")
    (define writing (async (db/exec "h" "INSERT INTO t VALUES (1)")))
    (define other (async (db/open "h" "two.db")))
    (list (await writing) (await other) (db/tables "h"))
    """
    assert run(program) == '(1 "h" ())'
    assert rows("one.db", "SELECT v FROM t") == [(1,)]


def sema(source: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "runtime"), os.getcwd()])}
    command = [sys.executable, "-m", "semac.cli.entry", "-e", f'(begin (db/open-memory "m") {source})']
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("call", ["{}", "(begin (async (async/sleep 60000)) {})", "(await (async (async/sleep 0) {}))"])
def test_ctrl_c_stops_a_statement(call: str) -> None:
    batch = f"ATTACH 'started.db' AS s; CREATE TABLE s.t (v); {ENDLESS}"
    process = sema(call.format(f'(db/exec-batch "m" "{batch}")'))
    while not os.path.exists("started.db"):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (1, "Error: interrupted\n")


def test_ctrl_c_while_a_thread_begins() -> None:
    """Its pool must know of it, or the program never ends."""
    Path("often.py").write_text(
        "import signal, threading\n"
        "def start(self, start=threading.Thread.start):\n"
        "    start(self)\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "threading.Thread.start = start\n"
    )
    process = sema('(async (async/sleep 60000)) (py/import "often") (db/query "m" "SELECT 1") (async/sleep 60000)')
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (1, "Error: interrupted\n")


def test_a_program_ends_although_a_task_has_a_statement_running() -> None:
    process = sema(f'(async (db/query "m" "{ENDLESS}")) (async/sleep 1) (exit 3)')
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (3, "")


# The sandbox


@pytest.fixture
def only_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkdir("inside")
    monkeypatch.setattr(capabilities, "denied", set())
    monkeypatch.setattr(capabilities, "allowed", None)
    capabilities.restrict(paths=["inside"])


OUTSIDE = [
    ('(db/open "a.db")', "db/open — path 'a.db'"),
    ('(db/open "inside/a.db" "a.db")', "db/open — path 'a.db'"),
    ('(db/exec "m" "ATTACH \'a.db\' AS a")', "db/exec — path 'a.db'"),
    ('(db/exec "m" "ATTACH ? AS a" "a.db")', "db/exec — path '(computed)'"),
    ('(db/exec "m" "ATTACH \'file:inside/../a.db\' AS a")', "db/exec — path 'file:inside/../a.db'"),
    ('(db/query "m" "VACUUM INTO \'a.db\'")', "db/query — path 'a.db'"),
    ('(db/query "m" "PRAGMA temp_store_directory = \'/\'")', "db/query — path '/'"),
]


@pytest.mark.parametrize(("call", "refused"), OUTSIDE)
def test_files_outside_of_the_allowed_folders(call: str, refused: str, only_inside: None) -> None:
    found = outcome(f'(db/open "m" "inside/m.db") (db/exec "m" "CREATE TABLE t (v)") {call}')
    assert found == f"! Permission denied: {refused} is outside allowed directories"
    assert os.listdir() == ["inside"]


def test_files_inside_of_the_allowed_folders(only_inside: None) -> None:
    program = """
    (db/open "m" "inside/m.db")
    (db/exec-batch "m" "ATTACH 'inside/b.db' AS b; CREATE TABLE b.t (v); ATTACH ':memory:' AS c;")
    (db/exec "m" "VACUUM INTO 'inside/c.db'")
    (db/query "m" "SELECT count(*) AS n FROM b.t")
    """
    assert run(program) == "({:n 0})"
    assert {"m.db", "b.db", "c.db"} <= set(os.listdir("inside"))


def test_a_link_that_leads_outside(only_inside: None) -> None:
    os.symlink("../a.db", "inside/link.db")
    assert outcome('(db/open "inside/link.db")').startswith("! Permission denied: db/open")
    assert not os.path.exists("a.db")


def test_denied_groups(only_inside: None) -> None:
    capabilities.restrict(["fs-write"])
    with pytest.raises(SemaError) as caught:
        run('(db/open-memory "m")')
    assert to_text(condition_map(caught.value)["type"]) == ":permission-denied"
