"""Colours and styles: their sequences, where they appear, and how text is freed of them."""

from __future__ import annotations

import io
import sys

import pytest
from terminal_support import in_terminal

from sema_runtime.conditions.describe import describe
from sema_runtime.lib.language import output
from semac.session import Session


class Screen(io.StringIO):
    """An output that is a terminal."""

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    settings(monkeypatch, TERM="xterm")
    monkeypatch.setattr(sys, "stdout", Screen())


def settings(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """Replaces everything in the environment that decides about styles."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ('(term/bold "x")', "\x1b[1mx\x1b[0m"),
        ('(term/dim "x")', "\x1b[2mx\x1b[0m"),
        ('(term/italic "x")', "\x1b[3mx\x1b[0m"),
        ('(term/underline "x")', "\x1b[4mx\x1b[0m"),
        ('(term/inverse "x")', "\x1b[7mx\x1b[0m"),
        ('(term/strikethrough "x")', "\x1b[9mx\x1b[0m"),
        ('(term/black "x")', "\x1b[30mx\x1b[0m"),
        ('(term/red "x")', "\x1b[31mx\x1b[0m"),
        ('(term/green "x")', "\x1b[32mx\x1b[0m"),
        ('(term/yellow "x")', "\x1b[33mx\x1b[0m"),
        ('(term/blue "x")', "\x1b[34mx\x1b[0m"),
        ('(term/magenta "x")', "\x1b[35mx\x1b[0m"),
        ('(term/cyan "x")', "\x1b[36mx\x1b[0m"),
        ('(term/white "x")', "\x1b[37mx\x1b[0m"),
        ('(term/gray "x")', "\x1b[90mx\x1b[0m"),
        ('(term/style "alert" :bold :red :underline)', "\x1b[1;31;4malert\x1b[0m"),
        ('(term/style "plain")', "plain"),
        ('(term/rgb "x" 255 165 0)', "\x1b[38;2;255;165;0mx\x1b[0m"),
        ('(term/rgb "x" 300 -2 0)', "\x1b[38;2;255;0;0mx\x1b[0m"),
        ('(term/bold (term/red "x"))', "\x1b[1m\x1b[31mx\x1b[0m\x1b[0m"),
        ('(term/strip (term/bold (term/rgb "x" 1 2 3)))', "x"),
    ],
)
def test_sequences(call: str, result: str, monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)
    assert Session().run(call) == result
    assert Session().run(f"(string/width {call})") == len(Session().run(f"(term/strip {call})"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('(term/style "x" :blink)', "term/style: unknown style keyword :blink"),
        ('(term/style "x" "bold")', "expected keyword, got string"),
        ('(term/rgb "x" 1.5 2 3)', "expected integer, got float"),
        ("(term/red 5)", "expected string, got int"),
        ("(term/style 5)", "expected string, got int"),
        ("(term/strip nil)", "expected string, got nil"),
    ],
)
def test_wrong_arguments(call: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)
    with pytest.raises(Exception) as caught:
        Session().run(call)
    assert describe(caught.value).message == message


@pytest.mark.parametrize(
    ("environment", "terminal", "styled"),
    [
        ({"TERM": "xterm"}, True, True),
        ({}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": "false", "TERM": "xterm"}, True, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
    ],
)
def test_where_styles_appear(
    environment: dict[str, str], terminal: bool, styled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(monkeypatch, **environment)
    monkeypatch.setattr(sys, "stdout", Screen() if terminal else io.StringIO())
    assert Session().run('(term/red "x")') == ("\x1b[31mx\x1b[0m" if styled else "x")
    assert Session().run('(term/style "x" :red)') == ("\x1b[31mx\x1b[0m" if styled else "x")


def test_collected_output_has_no_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(output, "sink", [])
    assert Session().run('(str (term/red "x") (term/style "y" :bold) (term/rgb "z" 1 2 3))') == "xyz"


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("x\x1b[10;5Hy\x1b[?1049h\x1b[>17u", "xy"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;a\x1bb", "b"),
        ("\x1b7saved\x1b8", "saved"),
        ("a\x1b", "a"),
        ("a\x1b[31", "a"),
        ("a\x1b]0;never ended\n", "a"),
        ("a\x1b\nb", "ab"),
    ],
)
def test_stripping(text: str, stripped: str) -> None:
    from sema_runtime.lib.terminal.style import term_strip

    assert term_strip(text) == stripped


def test_a_terminal_shows_them() -> None:
    program = """
      (println (term/red "r") (term/style "b" :bold :underline) (term/rgb "o" 255 165 0) (term/strikethrough "s")
        (term/inverse "i") (term/italic "t") "p")
    """
    with in_terminal(program) as terminal:
        assert terminal.end() == 0
        assert terminal.shown() == "r b o s i t p"
        cells = [terminal.screen.buffer[0][column] for column in range(0, 14, 2)]
    assert cells[0].fg == "red"
    assert cells[1].bold and cells[1].underscore
    assert cells[2].fg == "ffa500"
    assert cells[3].strikethrough and cells[4].reverse and cells[5].italics
    assert cells[6] == cells[6]._replace(fg="default", bold=False, italics=False, reverse=False)
