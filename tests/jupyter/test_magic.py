"""`%%sema` in a real IPython."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture
def shell() -> Any:
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "semac.jupyter")
    return shell


def value(shell: Any, text: str) -> Any:
    result = shell.run_cell(text)
    result.raise_error()
    return result.result


def test_variables_go_both_ways(shell: Any) -> None:
    value(shell, "my_rows = [1, 2, 3]\nimport math")
    assert value(shell, "%%sema\n(define total-sum (apply + my-rows))\n(math.sqrt 16)") == 4.0
    assert value(shell, "total_sum * 2") == 12
    assert value(shell, "def plus(a, b):\n    return a + b\n") is None
    assert value(shell, "%sema (plus total-sum 1)") == 7
    assert value(shell, "%%sema\n(define (twice x) (* 2 x))") is None
    assert value(shell, "twice(4)") == 8


def test_new_values_of_python_are_seen(shell: Any) -> None:
    value(shell, "count = 5")
    assert value(shell, "%sema (+ count 1)") == 6
    value(shell, "count = 9")
    assert value(shell, "%sema (+ count 1)") == 10


def test_values_are_shown_in_the_notation_of_sema(shell: Any) -> None:
    rows = value(shell, "%sema (list {:a 1} {:a 2})")
    data, _ = shell.display_formatter.format(rows)
    assert data["text/plain"] == "({:a 1} {:a 2})"
    assert "<th>a</th>" in data["text/html"]


def test_errors_show_the_cell(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = shell.run_cell("%%sema\n(+ 1\n  (car 5))")
    assert result.error_in_exec is not None
    shown = capsys.readouterr().out
    assert "expected list or vector, got int" in shown
    assert ":2:3" in shown
    assert "ipython-input" not in shown
