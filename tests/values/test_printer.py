"""Printed forms and the order of map keys."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sema_runtime.lib.language import output
from sema_runtime.values.atoms import char, keyword, symbol
from sema_runtime.values.lists import EMPTY, List, cons
from sema_runtime.values.maps import HashMap, Map
from sema_runtime.values.ordering import order_key
from sema_runtime.values.printer import display, pretty, to_text

K = keyword("k")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "nil"),
        (True, "#t"),
        (1e21, "1000000000000000000000.0"),
        (1.5e-8, "0.000000015"),
        (-1e-10, "-0.0000000001"),
        (-0.0, "-0.0"),
        (float("nan"), "NaN"),
        (float("-inf"), "-inf"),
        (Fraction(-7, 2), "-7/2"),
        (2j, "0+2i"),
        (1.5 - 0.5j, "1.5-0.5i"),
        ('a"b\\c\n\t\r\0', '"a\\"b\\\\c\\n\\t\\r\0"'),
        (char(" "), "#\\space"),
        (char("λ"), "#\\λ"),
        (symbol("a b"), "a b"),
        (List([1, (2, "x"), EMPTY]), '(1 [2 "x"] ())'),
        (cons(1, cons(2, EMPTY)), "(1 2)"),
        (Map.of([(K, 1), ("b", K)]), '{"b" :k :k 1}'),
        (HashMap.of([(K, 1)]), "{:k 1}"),
        ({"a": [1]}, '{"a" (1)}'),
        (b"\x01\xff", "#u8(1 255)"),
        (len, "<native-fn len>"),
        (output.print_error, "<native-fn print-error>"),
        (lambda: 0, "<native-fn <vm-closure>>"),
    ],
)
def test_readable_form(value: object, text: str) -> None:
    assert to_text(value) == text


def test_functions_of_a_compiled_module_have_their_sema_names() -> None:
    module: dict[str, object] = {"__sema_names__": {"is_even": "even?", "helper_1": "<lambda>"}}
    exec("def is_even(): pass\ndef total_over(): pass\ndef helper_1(): pass", module)
    assert to_text(module["is_even"]) == "<native-fn even?>"
    assert to_text(module["total_over"]) == "<native-fn total-over>"
    assert to_text(module["helper_1"]) == "<native-fn <vm-closure>>"


def test_display_shows_a_string_raw_only_at_the_top() -> None:
    assert display('a"b') == 'a"b'
    assert display(List(["a", char("b")])) == '("a" #\\b)'


def test_data_of_any_depth_prints() -> None:
    deep = EMPTY
    for _ in range(10_000):
        deep = List([deep])
    assert len(to_text(deep)) == 20_002
    assert pretty(deep) == to_text(deep)
    assert display(deep) == to_text(deep)


def test_pretty_breaks_by_bytes() -> None:
    assert "\n" not in pretty(("x" * 38, "y" * 35))
    assert pretty(("x" * 38, "y" * 36)) == f'["{"x" * 38}"\n "{"y" * 36}"]'
    assert "\n" in pretty(("é" * 19, "y" * 38))


def test_pretty_puts_a_map_value_below_its_key_when_it_does_not_fit() -> None:
    inner = List(["x" * 38, "y" * 32])
    assert pretty(Map.of([(K, inner)])) == "{:k\n   " + to_text(inner) + "}"
    assert pretty(Map.of([(K, "x" * 90), (keyword("l"), 1)])) == "{:k " + to_text("x" * 90) + "\n :l 1}"
    wide = List(["x" * 38, "y" * 34])
    assert pretty(Map.of([(K, wide)])) == f'{{:k\n   ("{"x" * 38}"\n    "{"y" * 34}")}}'


def test_order_of_kinds() -> None:
    values = [
        *(None, False, 1, 10**30, float("-inf"), 1.5, float("inf"), float("nan"), char("c"), "a", "b", symbol("s"), K),
        *(EMPTY, List([1]), List([1, 2]), List([2]), (), (0,), Map(), HashMap(), b"1", Fraction(1, 2), 1j),
    ]
    assert list(map(to_text, sorted(reversed(values), key=order_key))) == list(map(to_text, values))


def test_output_goes_to_the_sink_entry_by_entry() -> None:
    output.sink = []
    try:
        output.println("n =", 5, List(["a"]))
        output.print_("a", 1)
        output.display("a", char("b"))
        output.newline()
        output.pprint(K)
        output.println_error("x")
        assert output.sink == ['n = 5 ("a")', '"a" 1', "a #\\b", ":k", '[error] "x"']
    finally:
        output.sink = None


def test_output_to_streams(capsys: pytest.CaptureFixture[str]) -> None:
    output.println("a", 1)
    output.display("b")
    output.newline()
    output.println_error("e", 1)
    assert capsys.readouterr() == ("a 1\nb\n", "e 1\n")
