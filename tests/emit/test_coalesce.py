"""Variables that are copies of each other become one (`semac/generate/coalesce`): the code does what it did before."""

from __future__ import annotations

import ast
import random
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from semac.generate.coalesce import coalesce
from semac.pipeline import compile_source

NAMES = tuple("abcdefgh")


def merged(source: str, program: dict[str, str] | None = None) -> ast.FunctionDef:
    """A function after its copies were merged."""
    function = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = coalesce(function.body, [arg.arg for arg in function.args.args], program or {}, set())
    return function


def text_of(source: str, program: dict[str, str] | None = None) -> list[str]:
    return ast.unparse(merged(source, program)).splitlines()[1:]


def test_a_loop_goes_on_with_its_own_variable() -> None:
    source = """
        def f(xs, total):
            total_2 = total
            for x in xs:
                value = total_2 + x
                g(x)
                total_2 = value
            return total_2
    """
    assert text_of(source, {"xs": "xs", "total": "total", "total_2": "total", "x": "x"}) == [
        "    for x in xs:",
        "        total = total + x",
        "        g(x)",
        "    return total",
    ]


def test_variables_of_other_names_stay() -> None:
    source = """
        def f(n):
            best = n
            return best
    """
    assert text_of(source, {"n": "n", "best": "best"}) == ["    best = n", "    return best"]


def test_a_value_that_is_still_wanted_stays() -> None:
    source = """
        def f(n):
            old = n
            n = g(n)
            return old, n
    """
    assert text_of(source)[0] == "    old = n"


WANTED = {
    "in a handler": """
        def f(n):
            old = n
            try:
                n = 7
                g(n)
                old = 8
            except Exception:
                return old
            return n""",
    "in a handler, where setting it fails": """
        def f(n):
            old = n
            n = g(n)
            try:
                old = g(n)
            except Exception:
                return old
            return n""",
    "after a break": """
        def f(n):
            old = n
            while True:
                n = g(n)
                if n > 3:
                    break
            return old""",
    "in the next round": """
        def f(n):
            old = n
            while True:
                if old > 3:
                    return old
                n = g(old)
                if n % 2:
                    continue
                old = g(n)""",
    "behind a loop that sets it": """
        def f(n):
            old = n
            for n in g(n):
                g(n)
            return old""",
    "after a context manager that swallows an error": """
        def f(n):
            old = n
            with g(n):
                n = g(n)
                old = g(n)
            return old""",
}


@pytest.mark.parametrize("where", WANTED)
def test_a_value_that_is_wanted_elsewhere_stays(where: str) -> None:
    before = ast.parse(textwrap.dedent(WANTED[where])).body[0]
    assert ast.unparse(merged(WANTED[where])) == ast.unparse(before)


def test_copies_of_a_value_that_nothing_changes_are_one_variable() -> None:
    source = """
        def f(n):
            a = n
            b = a
            return a, b
    """
    assert text_of(source) == ["    return (n, n)"]


@pytest.mark.parametrize("inner", ["lambda: x", "any(x for _ in y)", "[x := 1]"])
def test_what_other_scopes_mention_stays(inner: str) -> None:
    source = f"""
        def f(y):
            x = y
            y = {inner}
            return x, y
    """
    assert text_of(source)[0] == "    x = y"


def test_a_copy_of_a_global_stays() -> None:
    source = """
        def f():
            x = counter
            g()
            return x
    """
    assert text_of(source)[0] == "    x = counter"


class Writer:
    """Writes random functions of statements that compute, copy, branch, repeat and fail."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.loops = 0

    def value(self) -> str:
        a, b = self.rng.choice(NAMES), self.rng.choice(NAMES)
        return self.rng.choice([f"{a} + {b}", f"{a} * 2 - {b}", f"{a} % 7", "1", f"[{a}, {b}][1]"])

    def statement(self, indent: str, depth: int, in_loop: bool) -> None:
        rng, a, b = self.rng, self.rng.choice(NAMES), self.rng.choice(NAMES)
        kind = rng.randrange(14 if depth else 8)
        if kind < 3:
            self.lines.append(f"{indent}{a} = {b}")
        elif kind < 4:
            self.lines.append(f"{indent}fail({a} - {b})" if rng.random() < 0.3 else f"{indent}note({a})")
        elif kind < 6:
            self.lines.append(f"{indent}{a} = {self.value()}")
        elif kind == 6:
            self.lines.append(f"{indent}{a}, {b} = {self.value()}, {self.value()}")
        elif kind == 7:
            leaving = ["break", "continue"] if in_loop else []
            ways = [
                f"return {a}, {b}",
                f"note({a})",
                f"fail({b})",
                f"{a} = {a} if {b} > 3 else {rng.choice(NAMES)}",
                *leaving,
            ]
            self.lines.append(f"{indent}if {a} > {b}: {rng.choice(ways)}")
        elif kind < 10:
            self.lines.append(f"{indent}if {a} % 3 == {rng.randrange(3)}:")
            self.block(indent, depth, in_loop)
            if rng.random() < 0.6:
                self.lines.append(f"{indent}else:")
                self.block(indent, depth, in_loop)
        elif kind < 12:
            self.loops += 1
            counter = f"k{self.loops}"
            if rng.random() < 0.6:
                self.lines.append(f"{indent}for {rng.choice([counter, a, b])} in range({rng.randrange(4)}):")
            else:
                self.lines += [f"{indent}{counter} = 0", f"{indent}while {counter} < 3:"]
                self.lines.append(f"{indent}    {counter} += 1")
            self.block(indent, depth, True)
            if rng.random() < 0.3:
                self.lines.append(f"{indent}else:")
                self.block(indent, depth, in_loop)
        else:
            self.lines.append(f"{indent}try:")
            self.block(indent, depth, in_loop)
            self.lines += [f"{indent}    fail({a})", f"{indent}    {b} = {a}", f"{indent}except Exception:"]
            self.block(indent, depth, in_loop)

    def block(self, indent: str, depth: int, in_loop: bool) -> None:
        for _ in range(self.rng.randrange(1, 5)):
            self.statement(indent + "    ", depth - 1, in_loop)

    def function(self) -> str:
        self.lines = ["def f(a, b, c):", *(f"    {name} = {at}" for at, name in enumerate(NAMES[3:]))]
        self.block("", 4, False)
        return "\n".join([*self.lines, f"    return {', '.join(self.rng.sample(NAMES, 2))}"])


def outcome(function: ast.FunctionDef, arguments: tuple[int, ...]) -> tuple[Any, list[int]]:
    """What a function returns, or the error that it ends with, and what it noted."""
    noted: list[int] = []

    def note(value: int) -> None:
        noted.append(value)

    def fail(value: int) -> None:
        if value % 2:
            raise ValueError(value)

    scope: dict[str, Any] = {"note": note, "fail": fail}
    module = ast.fix_missing_locations(ast.Module([function], []))
    exec(compile(module, "<f>", "exec"), scope)
    call: Callable[..., Any] = scope["f"]
    try:
        return call(*arguments), noted
    except ValueError as error:
        return repr(error), noted


@pytest.mark.parametrize("seed", range(20))
def test_random_functions_do_what_they_did(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(50):
        source = Writer(rng).function()
        program = {name: rng.choice("xyz") for name in NAMES if rng.random() < 0.3}
        before = ast.parse(source).body[0]
        assert isinstance(before, ast.FunctionDef)
        after = merged(source, program)
        for arguments in ((0, 1, 2), (5, 3, 4), (9, 9, 1)):
            assert outcome(after, arguments) == outcome(before, arguments), source


def test_the_steps_of_a_loop_have_no_variables_of_their_own() -> None:
    source = "(define (f n) (do ((k 0 (+ k 1)) (acc '() (cons k acc))) ((= k n) acc))) (println (f 3))"
    assert "next" not in compile_source(source, "<test>", "program").python_text()


@pytest.mark.parametrize("rest, is_unpacked", [("g(size)", True), ("g(item)", False), ("size = 1", True)])
def test_items_that_are_taken_apart_at_once_have_no_variable(rest: str, is_unpacked: bool) -> None:
    source = f"""
        def f(items):
            for item in items:
                name, size = item
                {rest}
            return name
    """
    assert text_of(source)[0] == f"    for {'name, size' if is_unpacked else 'item'} in items:"
