"""Screen and spinners in a pseudo terminal: what it shows, and that it is left as it was found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pages import blocks
from terminal_support import ENDINGS, ROOT, Terminal, in_terminal, sema

from sema_runtime.conditions.describe import describe
from sema_runtime.lib.language import output
from sema_runtime.values.printer import to_text
from semac.session import Session

SCOPES = {  # macro: (what it writes first, what it writes last)
    "term/with-alt-screen": (b"\x1b[?1049h\x1b[?25l", b"\x1b[?25h\x1b[?1049l"),
    "term/with-mouse": (b"\x1b[?1000h\x1b[?1002h\x1b[?1006h", b"\x1b[?1000l\x1b[?1002l\x1b[?1006l"),
    "term/with-bracketed-paste": (b"\x1b[?2004h", b"\x1b[?2004l"),
    "term/with-focus-events": (b"\x1b[?1004h", b"\x1b[?1004l"),
    "term/with-kitty-keys": (b"\x1b[>17u", b"\x1b[<u"),
}
TUI = "(io/with-raw-mode (term/with-alt-screen (term/with-mouse {body})))"


# The screen


def test_text_appears_where_it_is_written() -> None:
    with in_terminal(
        '(term/clear) (term/write-at 3 5 "ab") (term/save-cursor) (term/move-to 0 -4) (display "top") '
        '(term/restore-cursor) (display "cd") (term/set-title "my\x07 app") (term/move-to 5 1)'
    ) as terminal:
        assert terminal.end() == 0
        assert terminal.shown() == "top\n\n    abcd"
        assert terminal.screen.title == "my app"


def test_clearing() -> None:
    with in_terminal(
        '(term/write-at 1 1 "one") (term/write-at 2 1 "two") (term/write-at 3 1 "three") (term/write-at 4 1 "four") '
        "(term/move-to 1 2) (term/clear-line) (term/move-to 3 3) (term/clear-below) (term/cursor-home)"
    ) as terminal:
        assert terminal.end() == 0
        assert terminal.shown() == "\ntwo\nth"
        assert (terminal.screen.cursor.y, terminal.screen.cursor.x) == (0, 0)


def test_what_is_printed_comes_before_what_is_written() -> None:
    done = sema(
        '(display "a") (term/bell) (display "b") (term/query-primary-da) (term/query-secondary-da) (term/flush)'
    )
    assert done.stdout == "a\x07b\x1b[c\x1b[>c"


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("(term/enter-alt-screen)", "\x1b[?1049h"),
        ("(term/leave-alt-screen)", "\x1b[?1049l"),
        ("(term/hide-cursor)", "\x1b[?25l"),
        ("(term/show-cursor)", "\x1b[?25h"),
        ("(term/enable-mouse)", "\x1b[?1000h\x1b[?1002h\x1b[?1006h"),
        ("(term/disable-mouse)", "\x1b[?1000l\x1b[?1002l\x1b[?1006l"),
        ("(term/enable-bracketed-paste)", "\x1b[?2004h"),
        ("(term/disable-bracketed-paste)", "\x1b[?2004l"),
        ("(term/enable-focus-events)", "\x1b[?1004h"),
        ("(term/disable-focus-events)", "\x1b[?1004l"),
        ("(term/enable-kitty-keys!)", "\x1b[>17u"),
        ("(term/enable-kitty-keys! 3)", "\x1b[>3u"),
        ("(term/disable-kitty-keys!)", "\x1b[<u"),
        ("(term/query-kitty-keys)", "\x1b[?u"),
    ],
)
def test_modes_are_switched_by_their_sequences(call: str, written: str) -> None:
    output.sink = []
    try:
        assert Session().run(call) is None
        assert output.sink == [written]
    finally:
        output.sink = None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('(term/move-to "1" 2)', "expected integer, got string"),
        ("(term/write-at 1 2 3)", "expected string, got int"),
        ("(term/set-title :t)", "expected string, got keyword"),
        ("(term/enable-kitty-keys! nil)", "expected integer, got nil"),
        ("(term/enable-kitty-keys! 1 2)", "term/enable-kitty-keys! expects 0 to 1 arguments, got 2"),
        ("(term/clear 1)", "term/clear expects no arguments, got 1"),
        ("(io/tty-restore! nil)", "expected integer, got nil"),
        ("(io/read-key-timeout 1.5)", "expected integer, got float"),
        ("(term/spinner-start 1)", "expected string, got int"),
        ('(term/spinner-update "a" "b")', "expected integer, got string"),
        ("(term/spinner-stop nil)", "expected integer, got nil"),
        ("(term/spinner-stop 0 {:text 5})", "expected string, got int"),
        ('(term/spinner-stop 0 "Done")', "expected map, got string"),
    ],
)
def test_wrong_arguments(call: str, message: str) -> None:
    with pytest.raises(Exception) as caught:
        Session().run(call)
    assert describe(caught.value).message == message


# Leaving the terminal as it was found


@pytest.mark.parametrize("macro", SCOPES)
def test_scopes(macro: str) -> None:
    first, last = SCOPES[macro]
    done = sema(f'(println ({macro} 1 2 (display "in") 3)) (try ({macro} (throw "x")) (catch e (println (:value e))))')
    assert done.stdout.encode() == first + b"in" + last + b"3\n" + first + last + b"x\n"


def test_scopes_without_a_body_and_without_a_terminal() -> None:
    assert sema("(println (io/with-raw-mode) (io/with-raw-mode 1 2) (io/tty-raw!))").stdout == "nil 2 nil\n"


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ("42", 0, ""),
        ('(error "boom")', 1, "Error: boom"),
        ("(exit 3)", 3, ""),
        ('(await (async (async/sleep 1) (error "in a task")))', 1, "Error: in a task"),
        ("(async/timeout 10 (async (async/sleep 100000)))", 1, "Error: async/timeout"),
    ],
)
def test_the_terminal_is_restored_at_the_end(body: str, status: int, message: str) -> None:
    with in_terminal(TUI.format(body=body), NO_COLOR="1") as terminal:
        assert terminal.end() == status
        assert terminal.is_restored()
        first, last = (
            SCOPES["term/with-alt-screen"][place] + SCOPES["term/with-mouse"][place] * (place == 0) for place in (0, 1)
        )
        assert terminal.written.startswith(first)
        assert terminal.written.count(last) == 1
        assert message in terminal.written.rpartition(last)[2].decode()  # where it can be read


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("(io/read-key-timeout 0)", "(io/read-key)"),
        ("(await (async (io/read-key-timeout 1)))", "(await (async (io/read-key)))"),
        ("nil", "(let loop () (loop))"),
    ],
    ids=["wait", "task", "busy"],
)
def test_the_terminal_is_restored_by_signals(first: str, then: str, ending: str) -> None:
    """What comes first loads what then needs: Python may lose a Ctrl-C that comes in the midst of an import."""
    with in_terminal(TUI.format(body=f'(begin {first} (display "ready") {then})')) as terminal:
        terminal.until("ready")
        assert terminal.is_raw() and terminal.has_mode(1049) and terminal.has_mode(1000)
        status = terminal.end(ENDINGS[ending])
        assert status == (1 if ending == "SIGINT" else -ENDINGS[ending])
        assert terminal.is_restored()
        assert not terminal.has_mode(1049) and not terminal.has_mode(1000) and not terminal.screen.cursor.hidden
        assert terminal.written.count(b"\x1b[?1049l") == 1


def test_a_handler_of_the_program_decides_what_a_signal_does() -> None:
    program = """
      (sys/on-signal :term (fn () (println "asked to end")))
      (io/with-raw-mode
        (display "ready")
        (let loop () (sys/check-signals) (when (nil? (io/read-key-timeout 5)) (loop))))
    """
    with in_terminal(program) as terminal:
        terminal.until("ready")
        terminal.program.send_signal(ENDINGS["SIGTERM"])
        terminal.until("asked to end")
        terminal.type(b"q")
        assert terminal.end() == 0
        assert terminal.is_restored()


def test_a_cancelled_task_restores_the_terminal() -> None:
    program = """
      (define task (async (io/with-raw-mode (term/with-alt-screen (display "started") (io/read-key)))))
      (async/sleep 1) (async/cancel task) (async/sleep 1) (display "cancelled") (read-line)
    """
    with in_terminal(program) as terminal:
        terminal.until("cancelled")
        assert SCOPES["term/with-alt-screen"][0] + b"started" in terminal.written
        assert terminal.is_restored() and not terminal.has_mode(1049)
        terminal.type(b"\n")
        assert terminal.end() == 0


def test_raw_mode_by_hand() -> None:
    program = """
      (define one (io/tty-raw!)) (define two (io/tty-raw!)) (println one two)
      (io/tty-restore! two) (io/tty-restore! two) (io/tty-restore! 99) (display "still") (io/read-key)
      (io/tty-restore! one) (display "cooked") (println (read-line))
      (await (async (io/tty-raw!))) (display "task") (read-line)
      (io/tty-raw!) (display "left") (io/read-key)
    """
    with in_terminal(program) as terminal:
        terminal.until("still")
        assert terminal.is_raw()
        terminal.type(b"x")
        terminal.until("cooked")
        assert terminal.is_restored()
        terminal.type(b"a line\n")
        terminal.until("task")
        assert terminal.is_restored()
        assert "a line\na line\n" in terminal.shown()  # echoed, printed
        terminal.type(b"\n")
        terminal.until("left")
        assert terminal.is_raw()
        terminal.type(b"x")
        assert terminal.end() == 0
        assert terminal.is_restored()


def test_the_repl_goes_on_after_an_interrupt() -> None:
    with Terminal([sys.executable, "-m", "semac.cli.entry"]) as terminal:
        terminal.until("sema>")
        terminal.type(b'(term/with-alt-screen (display "in" "side") (async/sleep 100000))\n')
        terminal.until("in side")
        terminal.program.send_signal(ENDINGS["SIGINT"])
        terminal.until(lambda: not terminal.has_mode(1049))
        terminal.type(b'(str "still" "here")\n')
        terminal.until("stillhere")
        terminal.type(b",quit\n")
        assert terminal.end() == 0


# Spinners


def test_a_spinner_turns_while_the_program_works() -> None:
    program = """
      (println "before")
      (define s (term/spinner-start "Loading\nmore"))
      (read-line)
      (term/spinner-update s "Almost")
      (read-line)
      (term/spinner-stop s {:symbol "✔" :text "Done"})
      (term/spinner-stop s {:text "again"}) (term/spinner-update s "again")
      (println "after")
    """
    with in_terminal(program) as terminal:
        for frame in "⠋⠙⠹⠸":
            terminal.until(frame)
        assert "Loading more" in terminal.shown()
        terminal.type(b"\n")
        terminal.until("Almost")
        terminal.type(b"\n")
        assert terminal.end() == 0
        assert terminal.shown().splitlines()[-2:] == ["✔ Done", "after"]
        assert terminal.is_restored()


def test_what_is_printed_stands_above_a_spinner() -> None:
    program = """
      (define s (term/spinner-start "Loading")) (println "one") (read-line)
      (println "two") (async/sleep 100) (println-error "three")
      (display "fo") (async/sleep 100) (display "ur\n") (term/spinner-stop s {:text "Done"}) (println "five")
    """
    with in_terminal(program) as terminal:
        terminal.until("⠹")
        assert terminal.shown().splitlines()[0] == "one" and "Loading" in terminal.shown().splitlines()[1]
        terminal.type(b"\n")
        assert terminal.end() == 0
        assert terminal.shown().splitlines()[-4:] == ["three", "four", "Done", "five"]


def test_a_spinner_turns_beside_pure_computing() -> None:
    with in_terminal('(term/spinner-start "x") (let loop ((n 0)) (loop (+ n 1)))') as terminal:
        for frame in "⠋⠙⠹⠸":
            terminal.until(frame)
        assert terminal.end(ENDINGS["SIGTERM"]) == -ENDINGS["SIGTERM"]
        assert terminal.shown() == ""


def test_several_spinners_share_a_line_as_wide_as_the_terminal() -> None:
    program = """
      (define a (term/spinner-start "Task A")) (define b (term/spinner-start (string/repeat "漢" 100)))
      (read-line)
      (term/spinner-stop b) (term/spinner-stop a {:text "A done"})
    """
    with in_terminal(program) as terminal:
        terminal.until("Task A")
        terminal.until(lambda: "漢" in terminal.shown() and "⠸" in terminal.shown())
        assert len(terminal.shown().splitlines()) == 1
        terminal.type(b"\n")
        assert terminal.end() == 0
        assert terminal.shown().splitlines()[-1] == "A done"


@pytest.mark.parametrize("ending", ['(error "boom")', '(await (async (throw "boom")))'])
def test_an_error_ends_spinners(ending: str) -> None:
    with in_terminal(f'(term/spinner-start "working") {ending}', NO_COLOR="1") as terminal:
        assert terminal.end() == 1
        assert "⠋" in terminal.written.decode() and "⠋" not in terminal.shown()
        assert "boom" in terminal.shown().splitlines()[0]


def test_spinners_without_a_terminal_are_plain_lines() -> None:
    program = """
      (define s (term/spinner-start "Loading")) (term/spinner-update s "Almost")
      (println (type s)) (term/spinner-stop s {:symbol "✔" :text "Done"}) (term/spinner-stop s {:text "again"})
      (term/spinner-stop (term/spinner-start "Other"))
    """
    done = sema(program)
    assert (done.stdout, done.stderr) == (":int\n", "Loading\n✔ Done\nOther\n")


# Where output is collected


def test_control_sequences_are_part_of_collected_output() -> None:
    output.sink = []
    try:
        assert to_text(Session().run('(term/with-alt-screen (println "in") (term/cursor-home) 5)')) == "5"
        assert output.sink == ["\x1b[?1049h\x1b[?25l", "in", "\x1b[H", "\x1b[?25h\x1b[?1049l"]
    finally:
        output.sink = None


def test_a_compiled_program_restores_the_terminal(tmp_path: Path) -> None:
    source, target = tmp_path / "tui.sema", tmp_path / "tui.py"
    source.write_text(TUI.format(body='(begin (term/spinner-start "s") (io/tty-raw!) (error "boom"))'))
    compiled = subprocess.run(
        [sys.executable, "-m", "semac.cli.entry", "compile", str(source), "-o", str(target)],
        cwd=ROOT,
        capture_output=True,
    )
    assert compiled.returncode == 0, compiled.stderr
    with Terminal([sys.executable, str(target)]) as terminal:
        assert terminal.end() == 1
        assert terminal.is_restored() and not terminal.has_mode(1049)
        assert terminal.written.rpartition(SCOPES["term/with-alt-screen"][1])[2].startswith(b"\r\x1b[KTraceback")


# The programs of docs/how-to/terminal.md


def documented(word: str) -> str:
    """The program of the page that has a word in it."""
    (found,) = (block for block in blocks("how-to/terminal.md") if word in block)
    return found


def test_documented_styles_and_spinner() -> None:
    with in_terminal(documented("term/red") + documented("spinner-start")) as terminal:
        assert terminal.end() == 0
        assert terminal.shown() == "failed  3 of 10  coral\n✔ Done"


def test_documented_keys() -> None:
    with in_terminal(f'(io/with-raw-mode (display "ready") {documented("match key")})') as terminal:
        terminal.until("ready")
        terminal.type(b"x\x1b[1;2A\x1b[Bq")
        assert terminal.end() == 0
        assert terminal.shown().splitlines() == [
            'ready{:char "x" :kind :char}',
            "up with (:shift)",
            "{:kind :key :name :down}",
            "bye",
        ]


def test_documented_screen() -> None:
    with in_terminal(documented("with-alt-screen")) as terminal:
        terminal.until("\x1b[5;4H→")
        assert terminal.shown() == "Move with the arrows, leave with q\n\n\n\n   →"
        assert terminal.screen.buffer[0][0].bold and terminal.screen.cursor.hidden
        terminal.type(b"\x1b[A\x1b[B\x1b[B")
        terminal.until("\x1b[6;4H→")
        terminal.type(b"q")
        assert terminal.end() == 0
        assert terminal.is_restored() and not terminal.has_mode(1049)
