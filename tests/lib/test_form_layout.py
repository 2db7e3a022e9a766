"""Layout of code: of values through `format/form`, and of source text, whose comments and breaks the engine keeps.

The reader below is a stand-in: it knows tokens and brackets, nothing else. The texts were compared with the reference.
"""

from __future__ import annotations

import re

import pytest

from sema_runtime.form_layout import Atom, Break, Comment, Group, Layout, Prefixed
from semac.session import Session

TOKEN = re.compile(
    r'[ \t]+|(\n)|(;[^\n]*)|(#u8\(|#\(|[(\[{])|([)\]}])|(,@|[\'`,@])|("(?:[^"\\]|\\.)*"|#\\.[a-z]*|[^\s()\[\]{}]+)'
)


def nodes_of(text: str) -> list[Group]:
    """The nodes of a text in which brackets balance."""
    levels: list[tuple[str, list]] = [("", [])]
    prefixes: list[list[str]] = [[]]

    def add(node: object) -> None:
        while prefixes[-1]:
            node = Prefixed(prefixes[-1].pop(), node)
        levels[-1][1].append(node)

    for newline, comment, opening, closing, prefix, atom in TOKEN.findall(text):
        if newline:
            levels[-1][1].append(Break())
        elif comment:
            levels[-1][1].append(Comment(comment))
        elif opening:
            levels.append((opening, []))
            prefixes.append([])
        elif closing:
            bracket, children = levels.pop()
            prefixes.pop()
            add(Group(bracket, children))
        elif prefix:
            prefixes[-1].append(prefix)
        elif atom:
            add(Atom(atom, symbol=re.match(r'[":#\d]', atom) is None))
    return levels[0][1]


def laid_out(text: str) -> str:
    layout = Layout()
    layout.node(nodes_of(text)[0], 0)
    return layout.text()


KEPT = [
    "(define (f x) (+ x 1))",
    "(try (f) (h) (catch e (g)))",
    "'(1 ,@xs `(a @b))",
    "(hash-map :a 1 :b 2)",
    "()",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_fits_stays_on_one_line(text: str) -> None:
    assert laid_out(text) == text


VECTORS = {
    "(define (f x) (p) (q))": "(define (f x)\n  (p)\n  (q))",
    "(let ((a 1) (b 2)) (+ a b))": "(let ((a 1) (b 2))\n  (+ a b))",
    "(f\n a b)": "(f a\n  b)",
    "(a\n\n\n b)": "(a b)",
    "(a b\n\n c)": "(a b\n\n  c)",
    "(a b\n\n\n\n c)": "(a b\n\n  c)",
    "(if a\n b c)": "(if a\n  b\n  c)",
    "(for-each (fn (x) (p x)) xs)": "(for-each\n  (fn (x) (p x))\n  xs)",
    '(deftool t "d" {:a 1} (fn (a) a))': '(deftool t\n  "d"\n  {:a 1}\n  (fn (a) a))',
    "(define m {:name 1\n :v 2})": "(define m\n  {:name 1\n   :v 2})",
    "(hash-map :a 1\n :b 2)": "(hash-map\n  :a 1\n  :b 2)",
    "(assoc m\n :a (begin x y) :b ; c\n 2)": "(assoc m\n  :a\n    (begin\n      x\n      y)\n  :b ; c\n    2)",
    "(f a ; c\n)": "(f a ; c\n  )",
    "{:a ; c\n 1}": "{:a ; c\n   1}",
    "{; c\n :a 1}": "{\n ; c\n :a 1}",
    "(define name ; c\n 1)": "(define name ; c\n  1)",
    "(let ; c\n ((a 1)) a)": "(let ; c\n  ((a 1))\n  a)",
    "(; c\n f x)": "(\n ; c\n f\n  x)",
    "( ; c\n)": "(\n ; c\n )",
    "(let loop ((i 0)\n (n 1)) i)": "(let loop ((i 0)\n           (n 1))\n  i)",
    "(cond ((a) 1)\n (else 2))": "(cond\n  ((a) 1)\n  (else 2))",
    "(-> x\n (f) (g))": "(-> x\n  (f)\n  (g))",
    '(import "a"\n "b")': '(import\n  "a"\n  "b")',
    "#u8(1 2\n 3 4)": "#u8(1 2\n    3 4)",
    "[1 2\n 3]": "[1\n 2\n 3]",
}


@pytest.mark.parametrize("text", VECTORS)
def test_breaks_and_comments_of_the_author(text: str) -> None:
    assert laid_out(text) == VECTORS[text]


@pytest.mark.parametrize("text", VECTORS.values())
def test_a_layout_stays_as_it_is(text: str) -> None:
    assert laid_out(text) == text


def test_deep_nesting_takes_no_time() -> None:
    """Every level first tries its argument on its own line."""
    depth = 26
    text = "(f\n" * depth + ")" * depth
    assert laid_out(text).count("(f") == depth


def form_text(form: str) -> str:
    return str(Session(closed=False).run(f"(format/form '{form})"))


def test_values_are_laid_out_as_code() -> None:
    long = "(f aaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccccccccccc)"
    assert form_text("(fn (x) (a) (b))") == "(fn (x)\n  (a)\n  (b))"
    assert form_text(long) == long.replace(" b", "\n  b").replace(" c", "\n  c")
    assert form_text('{"b" [1 2] :a #u8(1)}') == '{"b" [1 2] :a #u8(1)}'
    assert form_text('"a\\nb"') == '"a\\nb"'


def test_widths_are_bytes() -> None:
    """80 columns of plain letters fit, 80 letters of two bytes don't."""
    assert form_text(f"(f {'a' * 74} b)") == f"(f {'a' * 74} b)"
    assert form_text(f"(f {'é' * 74} b)") == f"(f\n  {'é' * 74}\n  b)"


def test_what_is_nested_too_deeply_stays_on_one_line() -> None:
    body = "(begin x y)"
    assert form_text("(" * 199 + body + ")" * 199).count("\n") == 2
    deep = "(" * 201 + body + ")" * 201
    assert form_text(deep) == deep
