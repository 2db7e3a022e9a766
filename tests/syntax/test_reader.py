"""The reader: every form of the syntax, errors with their places, recovery for tools, speed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sema_runtime.values.atoms import Char, Keyword, Symbol, char, keyword, symbol
from sema_runtime.values.errors import ReaderError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.numbers import Complex
from sema_runtime.values.printer import to_text
from semac.syntax.dump import json_dump, text_dump
from semac.syntax.reader import parse_fstring, read_one, read_program, read_recovering
from semac.syntax.spans import Span


def failure(text: str) -> tuple[str, int, int, str | None]:
    with pytest.raises(ReaderError) as caught:
        read_program(text)
    error = caught.value
    return error.message, error.span.line, error.span.col, error.hint


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42), ("-7", -7), ("00012", 12), ("123456789012345678901234567890", 123456789012345678901234567890),
        ("1.5", 1.5), ("1e3", 1000.0), ("-1.5E2", -150.0), ("1e400", float("inf")), ("-inf", float("-inf")),
        ("1/2", Fraction(1, 2)), ("6/3", 2), ("-1/3", Fraction(-1, 3)), ("3+4i", Complex(3, 4)), ("+i", Complex(0, 1)),
        ("5+0i", 5),
        ("#xff", 255), ("#b-101", -5), ("#i#xff", 255.0), ("#e1.5", Fraction(3, 2)), ("#e1e2", 100),
        ("#e.5", Fraction(1, 2)),
        ("#t", True), ("false", False), ("nil", None), ('"a\\tb\\x41;\\u03bb\\q"', "a\tbAλ\\q"), ('""', ""),
        ('"a\nb"', "a\nb"), ("#\\a", char("a")), ("#\\space", char(" ")), ("#\\(", char("(")), ("#\\\n", char("\n")),
        (":a-b?", keyword("a-b?")), (":+", keyword("+")), ("->x", symbol("->x")), ("+5", symbol("+5")),
        (".5", symbol(".5")),
        ("λ", symbol("λ")), ("*é", symbol("*é")),
        ("%1", symbol("%1")), ('#"\\n\\"x"', '\\n"x'), ("#u8(1 #xff)", b"\x01\xff"),
        ("[1 [2]]", (1, (2,))),
        ("{:a 1 :a 2}", Map({keyword("a"): 2})), ("#!/usr/bin/env sema\n5", 5),
    ],
)  # fmt: skip
def test_one_form(text: str, value: Any) -> None:
    found = read_one(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("'x", "(quote x)"), ("`(a ,b ,@c)", "(quasiquote (a (unquote b) (unquote-splicing c)))"), ("@a", "(deref a)"),
        ("(a'b)", "(a (quote b))"), ("#(+ % 1)", "(lambda (%1) (+ %1 1))"), ("#()", "(lambda () ())"),
        ("#(list %3 %&)", "(lambda (%1 %2 %3 . %&) (list %3 %&))"),
        ("#(a {:k [%2]})", "(lambda (%1 %2) (a {:k [%2]}))"),
        ('#(str f"v=${%}")', '(lambda (%1) (str (__vm-str "v=" %1)))'), ('f"x ${y} z"', '(__vm-str "x " y " z")'),
        ('f""', "(__vm-str)"), ('f"\\${a}$"', '(__vm-str "${a}$")'), ('f"${f"a${1}"}"', '(__vm-str (__vm-str "a" 1))'),
        ("(1 . 2)", "(1 . 2)"), ("(a . (b))", "(a . (b))"), ("(1+2 1e5x 1/2/3 1-2)", "(1 +2 100000.0 x 1/2 /3 1 -2)"),
        ("(a#b :a:b ...)", "(a#b :a :b ...)"), ("(a ; c\n b)", "(a b)"), ("{b 1 a 2}", "{a 2 b 1}"),
    ],
)  # fmt: skip
def test_printed_form(text: str, printed: str) -> None:
    assert to_text(read_one(text)) == printed


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("\n  (foo (bar)\n   baz", ("unterminated list", 2, 3, "add a closing `)`")),
        ("[1 2)", ("mismatched bracket: expected `]` to close `[`, found `)`", 1, 5,
                   "this vector was opened with `[` — close it with `]`")),
        ("1 2)", ("unexpected closing `)`", 1, 4, "no matching opening parenthesis")),
        ("{:a 1 :b}", ("map literal must have even number of forms", 1, 9, None)),
        ("(1 2 |", ("unexpected character: '|'", 1, 6, None)),
        ("'(1 . 2 3)", ("quote (') requires an expression after it", 1, 1, "e.g. '(1 2 3) or 'foo")),
        ("(a . b c)", ("expected `)`, got `symbol`", 1, 8, None)),
        ("[1 . 2]", ("unexpected `.`", 1, 4, "dots are used in pair notation, e.g. (a . b)")),
        ('"é😀" |', ("unexpected character: '|'", 1, 6, None)),
        ('"a\nb" |', ("unexpected character: '|'", 2, 4, None)),
        ('\n "\\x41"', ("hex escape \\x missing terminating semicolon", 2, 2, None)),
        ('f"ab\n ${ (foo\n ]}"', ("mismatched bracket: expected `)` to close `(`, found `]`", 3, 2,
                                  "this list was opened with `(` — close it with `)`")),
        ("#(a #(b))", ("nested short lambdas are not allowed", 1, 5,
                       "use a regular `lambda` or `fn` for the inner function")),
        ("#u8(1 256)", ("#u8(...): byte value 256 out of range 0..255", 1, 7, None)),
        ("(list 1/0)", ("rational literal has zero denominator", 1, 7, None)),
        ("(" * 10_000 + ")" * 10_000, ("input nested too deeply (limit 1024)", 1, 1025, "reduce nesting depth")),
    ],
)  # fmt: skip
def test_errors_are_the_references(text: str, error: tuple[str, int, int, str | None]) -> None:
    assert failure(text) == error


def test_an_error_hidden_by_a_quote_is_in_its_note() -> None:
    with pytest.raises(ReaderError) as caught:
        read_program("(a '(b")
    assert caught.value.note == "unterminated list at 1:5"


def test_spans_of_elements() -> None:
    forms = read_program("x\n(f 'a\n   [1 {:k 2}])")
    assert [tuple(span) for span in forms.span.children] == [(1, 1, 1, 2), (2, 1, 3, 15)]
    call = forms.items[1]
    head, quoted, vector = call.span.children
    assert tuple(head) == (2, 2, 2, 3)
    assert tuple(quoted) == (2, 4, 2, 6)
    assert [tuple(span) for span in quoted.children] == [(2, 4, 2, 5), (2, 5, 2, 6)]
    assert tuple(vector.children[1]) == (3, 7, 3, 13)
    assert [tuple(span) for span in vector.children[1].children] == [(3, 8, 3, 10), (3, 11, 3, 12)]


def test_spans_of_a_map_follow_its_dict() -> None:
    span = read_program("{:a 1 :b 2 :a 3}").span.children[0]
    assert [place.col for place in span.children] == [2, 15, 7, 10]


def test_deep_nesting_reads() -> None:
    for opener, closer in (("(", ")"), ("[", "]"), ("{1 ", "}"), ("'", "")):
        assert read_one(opener * 1000 + "()" + closer * 1000) is not None


def test_huge_integers_read() -> None:
    assert read_one("7" * 20_000) % 10 == 7


def test_recovery_reports_all_errors_and_keeps_forms() -> None:
    forms, errors, comments = read_recovering("; one\n(a #z [1 2)) $ (ok) ; two\n{:a}\n(b (c")
    assert [error.message for error in errors] == [
        "unexpected character after #: 'z'",
        "mismatched bracket: expected `]` to close `[`, found `)`",
        "unexpected closing `)`",
        "unexpected character: '$'",
        "map literal must have even number of forms",
        "unterminated list",
        "unterminated list",
    ]
    assert to_text(forms) == "((a z [1 2]) (ok) {:a nil} (b (c)))"
    assert [comment.text for comment in comments] == ["; one", "; two"]
    assert tuple(comments[1].span) == (2, 21, 2, 26)


def test_an_fstring_alone() -> None:
    assert to_text(parse_fstring('f"a${b}"')) == '(__vm-str "a" b)'
    with pytest.raises(ReaderError):
        parse_fstring('"a"')


def test_ast_text_and_json() -> None:
    forms = read_program('(f "x" [1.0 :k] {:a nil}) #\\a')
    assert text_dump(forms) == (
        'List\n  Symbol f\n  String "x"\n  Vector\n    Float 1\n    Keyword :k\n  Map\n    Entry\n      Keyword :a\n'
        "      Nil\n\nchar"
    )
    assert json_dump(read_program("(f)")) == (
        '{\n  "children": [\n    {\n      "type": "symbol",\n      "value": "f"\n    }\n  ],\n  "type": "list"\n}'
    )
    assert json_dump(read_program("nil inf")) == (
        '[\n  {\n    "type": "nil"\n  },\n  {\n    "type": "float",\n    "value": null\n  }\n]'
    )


PIECES = [
    "(", ")", "[", "]", "{", "}", "'", "`", ",", ",@", "@", '"', 'f"', "${", "#(", "#u8(", "#\\", "#", ".", "%", "%2",
    ":", "a", "1", "-1", "1/2", "1.5", "e", "i", "+", ";", "\n", " ", "\\", "|", "é", "#t", "nil", "x41;", "#x",
    "²", "\r",
]  # fmt: skip


def _all_placed(form: Any, span: Any) -> None:
    assert isinstance(span, Span)
    if type(form) is List:
        assert form.span is not None
        assert len(form.span.children) == len(form.items)
        for item, place in zip(form.items, form.span.children, strict=True):
            _all_placed(item, place)
    elif isinstance(form, Map):
        assert len(span.children) == 2 * len(form)
    else:
        assert form is None or isinstance(
            form, (bool, int, float, Complex, str, bytes, tuple, Fraction, Char, Keyword, Symbol)
        )


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=40), st.lists(st.sampled_from(PIECES), max_size=25).map("".join)))
def test_any_text_gives_forms_or_an_error_with_a_place(text: str) -> None:
    try:
        forms = read_program(text)
        _all_placed(forms, forms.span)
    except ReaderError as error:
        assert 1 <= error.span.line <= text.count("\n") + 1
        assert error.span.col >= 1
    forms, errors, _ = read_recovering(text)
    assert all(isinstance(error.span, Span) for error in errors)
    _all_placed(forms, forms.span)
