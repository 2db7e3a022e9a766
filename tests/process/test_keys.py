"""Keys: what bytes mean, and that they arrive so in programs that run in a pseudo terminal or behind a pipe."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from terminal_support import ENDINGS, environment, in_terminal, sema

from sema_runtime.lib.terminal import keys
from sema_runtime.lib.terminal.key_events import decode, event_size
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text

SHOW_KEYS = "(let loop () (let ((key (io/read-key))) (when key (println key) (loop))))"


@pytest.mark.parametrize(
    ("typed", "event"),
    [
        (b"a", '{:char "a" :kind :char}'),
        ("é".encode(), '{:char "é" :kind :char}'),
        ("😀".encode(), '{:char "😀" :kind :char}'),
        (b"\xff", '{:char "?" :kind :char}'),
        (b"\x03", '{:char "c" :kind :ctrl}'),
        (b"\r", "{:kind :key :name :enter}"),
        (b"\n", "{:kind :key :name :enter}"),
        (b"\t", "{:kind :key :name :tab}"),
        (b"\x7f", "{:kind :key :name :backspace}"),
        (b"\x08", "{:kind :key :name :backspace}"),
        (b"\x1bx", '{:char "x" :kind :alt}'),
        ("\x1bö".encode(), '{:char "ö" :kind :alt}'),
        (b"\x1b[A", "{:kind :key :name :up}"),
        (b"\x1bOB", "{:kind :key :name :down}"),
        (b"\x1b[1;5C", "{:kind :key :mods (:ctrl) :name :right}"),
        (b"\x1b[1;8D", "{:kind :key :mods (:shift :alt :ctrl) :name :left}"),
        (b"\x1b[H", "{:kind :key :name :home}"),
        (b"\x1b[4~", "{:kind :key :name :end}"),
        (b"\x1b[2~", "{:kind :key :name :insert}"),
        (b"\x1b[3~", "{:kind :key :name :delete}"),
        (b"\x1b[5~", "{:kind :key :name :page-up}"),
        (b"\x1b[6;2~", "{:kind :key :mods (:shift) :name :page-down}"),
        (b"\x1b[Z", "{:kind :key :name :shift-tab}"),
        (b"\x1bOP", "{:kind :key :name :f1}"),
        (b"\x1b[1;2R", "{:kind :key :mods (:shift) :name :f3}"),
        (b"\x1b[15;2~", "{:kind :key :mods (:shift) :name :f5}"),
        (b"\x1b[24~", "{:kind :key :name :f12}"),
        (b"\x1b[99~", "{:kind :key :name :unknown}"),
        (b"\x1b[<0;15;7M", "{:action :press :button 0 :kind :mouse :x 15 :y 7}"),
        (b"\x1b[<2;15;7m", "{:action :release :button 2 :kind :mouse :x 15 :y 7}"),
        (b"\x1b[<20;5;5M", "{:action :press :button 0 :kind :mouse :mods (:shift :ctrl) :x 5 :y 5}"),
        (b"\x1b[<32;1;2M", "{:action :move :button 0 :kind :mouse :x 1 :y 2}"),
        (b"\x1b[<64;1;2M", "{:action :wheel-up :button 0 :kind :mouse :x 1 :y 2}"),
        (b"\x1b[<65;1;2M", "{:action :wheel-down :button 1 :kind :mouse :x 1 :y 2}"),
        (b"\x1b[<M", "{:action :press :button 0 :kind :mouse :x 0 :y 0}"),
        (b"\x1b[I", "{:focused #t :kind :focus}"),
        (b"\x1b[O", "{:focused #f :kind :focus}"),
        (b"\x1b[200~two\r\nlin\xc3\xa9s\x1b[A\x1b[201~", '{:kind :paste :text "two\\r\\nlinés\x1b[A"}'),
        (b"\x1b[?1;2c", "{:device :primary :kind :device-attributes :params (1 2)}"),
        (b"\x1b[>0;95;0c", "{:device :secondary :kind :device-attributes :params (0 95 0)}"),
        (b"\x1b[?15u", "{:flags 15 :kind :kitty-flags}"),
        (b"\x1b[27;5;9~", "{:kind :key :mods (:ctrl) :name :tab}"),
        (b"\x1b[27;6;67~", '{:char "c" :kind :ctrl :mods (:shift :ctrl)}'),
        (b"\x1b[27;3;97~", '{:char "a" :kind :char :mods (:alt)}'),
        (b"\x1b[113u", '{:char "q" :kind :char}'),
        (b"\x1b[99;5u", '{:char "c" :kind :ctrl :mods (:ctrl)}'),
        (b"\x1b[97;2u", '{:char "A" :kind :char :mods (:shift)}'),
        (b"\x1b[97;2;65u", '{:char "A" :kind :char :mods (:shift)}'),
        (b"\x1b[97;3u", '{:char "a" :kind :alt :mods (:alt)}'),
        (b"\x1b[13u", "{:kind :key :name :enter}"),
        (b"\x1b[97;1:3u", '{:char "a" :event :release :kind :char}'),
        (b"\x1b[97;9u", '{:char "a" :kind :char :mods (:super)}'),
        (b"\x1b[97:65:99;2:2u", '{:base-key "c" :char "A" :event :repeat :kind :char :mods (:shift) :shifted-key "A"}'),
        (b"\x1b[1;5:3A", "{:event :release :kind :key :mods (:ctrl) :name :up}"),
        (b"\x1b[55296u", '{:char "" :kind :char}'),
        (b"\x1b[99999999999999999999u", '{:char "" :kind :char}'),
    ],
)
def test_what_bytes_mean(typed: bytes, event: str) -> None:
    assert event_size(typed + b"more") == len(typed)
    assert not any(event_size(typed[:size]) for size in range(len(typed)))
    assert to_text(decode(typed)) == event


def test_a_cursor_position_is_only_one_that_was_asked_for() -> None:
    assert to_text(decode(b"\x1b[12;40R", True)) == "{:col 40 :kind :cpr :row 12}"
    assert to_text(decode(b"\x1b[?12;40R")) == "{:col 40 :kind :cpr :row 12}"


def test_keys_arrive_one_by_one() -> None:
    with in_terminal(f'(io/with-raw-mode (display "ready") {SHOW_KEYS})') as terminal:
        terminal.until("ready")
        for typed, shown in [
            ("é".encode(), ':char "é"'),
            (b"\x1b[1;5C", ":name :right"),
            (b"\x03", ':char "c" :kind :ctrl'),
            (b"\x1b", ":name :esc"),  # nothing follows
            (b"\x1b[", ':char "[" :kind :alt'),
            (b"\xc3", ':char "?"'),
            (b"xy", ':char "y"'),
            (b"\x1b[<0;3;4M", ":kind :mouse"),
        ]:
            terminal.type(typed)
            terminal.until(shown)
        terminal.end(ENDINGS["SIGTERM"])


def test_sequences_may_arrive_in_pieces() -> None:
    with in_terminal(f'(io/with-raw-mode (display "ready") {SHOW_KEYS})') as terminal:
        terminal.until("ready")
        for piece in (b"\x1b", b"[1", b";5", b"C", b"\xc3", b"\xa9"):
            terminal.type(piece)
        terminal.until(":mods (:ctrl) :name :right")
        terminal.until(':char "é"')
        terminal.end(ENDINGS["SIGTERM"])


def test_pastes_come_whole() -> None:
    text = b"line\n" * 20_000
    program = """
      (io/with-raw-mode (term/with-bracketed-paste
        (display "ready")
        (let ((event (io/read-key))) (println (:kind event) (string/length (:text event)) (:kind (io/read-key))))))
    """
    with in_terminal(program) as terminal:
        terminal.until("ready")
        assert terminal.has_mode(2004)
        terminal.type(b"\x1b[200~" + text + b"\x1b[201~q")
        assert terminal.end() == 0
        assert ":paste 100000 :char" in terminal.shown()


def test_a_paste_without_end_is_a_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "EVENT_LIMIT", 100)
    monkeypatch.setattr(sys, "stdin", io.StringIO("\x1b[200~" + "x" * 100 + "\nq"))
    with pytest.raises(SemaError, match=r"^io/read-key: input exceeds the 100-byte event cap$"):
        keys.io_read_key()
    assert to_text(keys.io_read_key()) == '{:char "q" :kind :char}'


def test_timeouts() -> None:
    program = """
      (io/with-raw-mode
        (println (io/read-key-timeout 0) (io/read-key-timeout -5) (io/read-key-timeout 1) "ready")
        (println (io/read-key-timeout 100000))
        (display "escape")
        (let loop () (let ((key (io/read-key-timeout 3))) (if key (println key) (loop)))))
    """
    with in_terminal(program) as terminal:
        terminal.until("nil nil nil ready")
        terminal.type(b"a")
        terminal.until("escape")
        assert ':char "a"' in terminal.shown()
        terminal.type(b"\x1b")  # is kept from one call to the next
        assert terminal.end() == 0
        assert ":name :esc" in terminal.shown()


def test_keys_from_a_pipe() -> None:
    program = "(println (read-line) (io/read-key) (io/read-key) (io/read-key-timeout 100) (read-line)) " + SHOW_KEYS
    done = sema(program + " (println (io/eof?) (io/read-key) (io/read-key-timeout 5))", "name\né\x1b[Axyz\nq\x1b")
    assert done.stdout.splitlines() == [
        'name {:char "é" :kind :char} {:kind :key :name :up} {:char "x" :kind :char} yz',
        '{:char "q" :kind :char}',
        "{:kind :key :name :esc}",
        "#t nil nil",
    ]


def test_no_input_at_all() -> None:
    done = subprocess.run(
        [
            "sh",
            "-c",
            '"$0" -m semac.cli.entry -e "(println (io/read-key) (io/eof?) (io/tty-raw!))" <&-',
            sys.executable,
        ],
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert (done.stdout, done.stderr) == ("nil #t nil\n", "")


def test_keys_that_nobody_read_are_there_for_the_next_reader() -> None:
    with in_terminal('(io/with-raw-mode (display "ready") (println (io/read-key))) (println (read-line))') as terminal:
        terminal.until("ready")
        terminal.type(b"qname\n")
        assert terminal.end() == 0
        assert terminal.written.endswith(b"name\r\n")


def test_a_terminal_that_goes_away_is_the_end_of_input(tmp_path: Path) -> None:
    program = f"""
      (io/with-raw-mode
        (display "ready") (io/read-key)
        (file/write "{tmp_path}/seen" (str (io/read-key) (io/eof?))))
    """
    terminal = in_terminal(program)
    terminal.until("ready")
    terminal.type(b"x")
    os.close(terminal.master)
    terminal.program.wait(20)
    assert (tmp_path / "seen").read_text() == "nil#t"


def test_other_tasks_run_while_one_waits_for_a_key() -> None:
    program = """
      (define (tick n) (async/sleep 1) (if (< n 5) (tick (+ n 1)) (display "ticked")))
      (io/with-raw-mode
        (let ((key (async (io/read-key))) (other (async (io/read-key))) (ticks (async (tick 0))))
          (println (map :char (list (await key) (await other))))
          (println (await (async (io/read-key-timeout 2))))))
    """
    with in_terminal(program) as terminal:
        terminal.until("ticked")
        terminal.type(b"x")
        terminal.type(b"y")
        assert terminal.end() == 0
        assert '("x" "y")' in terminal.shown() or '("y" "x")' in terminal.shown()
        assert "nil" in terminal.shown()


# Questions


def test_the_terminal_answers_where_the_cursor_is() -> None:
    with in_terminal(
        "(term/move-to 12 40) (println (term/cursor-position)) "
        "(io/with-raw-mode (term/query-cursor-position) (println (io/read-key)) "
        "(term/query-primary-da) (println (:kind (io/read-key))))"
    ) as terminal:
        assert terminal.end() == 0
        assert terminal.is_restored()
        assert "{:col 40 :row 12}" in terminal.shown()
        assert "{:col 1 :kind :cpr :row 13}" in terminal.shown()
        assert ":device-attributes" in terminal.shown()


def test_what_is_typed_during_a_question_stays() -> None:
    program = """
      (io/with-raw-mode
        (display "ready") (io/read-key)
        (println (term/supports-kitty-keys?) (io/read-key) (io/read-key)))
    """
    with in_terminal(program) as terminal:
        terminal.screen.write_process_input = lambda text: None  # type: ignore[method-assign]
        terminal.until("ready")
        terminal.type(b"x")
        terminal.until("\x1b[?u\x1b[c")
        terminal.type(b"a\x1b[?1u\x1b[Bb\x1b[?62c")
        assert terminal.end() == 0
        assert b'#t {:char "a" :kind :char} {:kind :key :name :down}' in terminal.written


def test_without_an_answer() -> None:
    assert sema("(println (term/cursor-position) (term/supports-kitty-keys?))").stdout == "nil #f\n"
    with in_terminal("(println (term/supports-kitty-keys?) (term/supports-kitty-keys?))") as terminal:
        terminal.screen.write_process_input = lambda text: None  # type: ignore[method-assign]
        assert terminal.end() == 0
        assert "#f #f" in terminal.shown()
