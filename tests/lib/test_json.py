"""JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outcomes import outcome

from sema_runtime.lib.data.json import json_decode, json_encode, json_encode_pretty
from sema_runtime.support.json_errors import first_error
from sema_runtime.values.equality import equal

JSON = [
    ("(json/encode -0)", '"0"'),
    ("(json/encode 3.14)", '"3.14"'),
    ("(json/encode 1e16)", '"1e+16"'),
    ("(json/encode 1e-7)", '"1e-7"'),
    ("(json/encode 0.1)", '"0.1"'),
    ("(json/encode 5e-324)", '"5e-324"'),
    ("(json/encode 9223372036854775808)", '"9223372036854775808"'),
    ("(json/encode 18446744073709551615)", '"18446744073709551615"'),
    ("(json/encode (/ 1 3))", '"\\"1/3\\""'),
    ("(json/encode math/infinity)", "! json/encode: Eval error: cannot encode NaN/Infinity as JSON"),
    ('(json/encode "hello")', '"\\"hello\\""'),
    ('(json/encode "a\\"b\\\\c/d")', '"\\"a\\\\\\"b\\\\\\\\c/d\\""'),
    ("(json/encode (utf8/to-string #u8(0 1 8 12 31 127)))", '"\\"\\\\u0000\\\\u0001\\\\b\\\\f\\\\u001f\u007f\\""'),
    ('(json/encode "<script>&\'</script>")', '"\\"<script>&\'</script>\\""'),
    ("(json/encode [])", '"[]"'),
    ("(json/encode '(1 2 3))", '"[1,2,3]"'),
    ("(json/encode '(1 (2 [3 {:a (4)}])))", '"[1,[2,[3,{\\"a\\":[4]}]]]"'),
    ("(json/encode 'foo)", '"\\"foo\\""'),
    ('(json/encode {:name "Ada" :age 36})', '"{\\"age\\":36,\\"name\\":\\"Ada\\"}"'),
    ('(json/encode {"z" 1 :y 2 \'x 3})', '"{\\"x\\":3,\\"y\\":2,\\"z\\":1}"'),
    ("(json/encode {nil 1})", '"{\\"nil\\":1}"'),
    ("(json/encode {'(1 2) 3})", '"{\\"(1 2)\\":3}"'),
    ("(json/encode {#\\a 1})", '"{\\"#\\\\\\\\a\\":1}"'),
    ('(json/encode {1 :int "1" :str})', '"{\\"1\\":\\"str\\"}"'),
    ("(json/encode (hashmap/new :b 1 :a 2))", '"{\\"a\\":2,\\"b\\":1}"'),
    ("(json/encode (fn (x) x))", "! json/encode: Eval error: cannot encode native-fn as JSON"),
    ("(json/encode '(1 . 2))", '"[1,\\".\\",2]"'),
    ("(json/encode #u8(1 2))", "! json/encode: Eval error: cannot encode bytevector as JSON"),
    ("(json/encode (delay 1))", "! json/encode: Eval error: cannot encode promise as JSON"),
    ('(json/encode (list "a" :b \'c 1 2.0 nil #t))', '"[\\"a\\",\\"b\\",\\"c\\",1,2.0,null,true]"'),
    ("(json/encode-pretty '())", '"[]"'),
    ("(json/encode-pretty [1 [2 [3]]])", '"[\\n  1,\\n  [\\n    2,\\n    [\\n      3\\n    ]\\n  ]\\n]"'),
    ('(json/encode-pretty "s")', '"\\"s\\""'),
    ("(json/encode-pretty 1.0)", '"1.0"'),
    ("(json/encode-pretty {:a 1} 4)", "! json/encode-pretty expects 1 argument, got 2"),
    ('(json/decode "-0")', "0"),
    ('(json/decode "3.14")', "3.14"),
    ('(json/decode "1e3")', "1000.0"),
    ('(json/decode "1e-400")', "0.0"),
    ('(json/decode "9223372036854775808")', "9223372036854775808"),
    ('(json/decode "-9223372036854775809")', "-9223372036854775809"),
    ('(json/decode "123456789012345678901234567890")', "123456789012345678901234567890"),
    ('(json/decode "\\"\\\\u00e9\\\\u0041\\"")', '"éA"'),
    (
        '(json/decode "\\"\\\\ud83d\\"")',
        "! json/decode: parse error at line 1 column 8: unexpected end of hex escape at line 1 column 8",
    ),
    ('(json/decode "true")', "#t"),
    ('(json/decode "True")', "! json/decode: parse error at line 1 column 1: expected value at line 1 column 1"),
    ('(json/decode "Infinity")', "! json/decode: parse error at line 1 column 1: expected value at line 1 column 1"),
    ('(json/decode "[]")', "()"),
    ('(json/decode "[1, \\"a\\", null, true, 2.5, [], {}]")', '(1 "a" nil #t 2.5 () {})'),
    ('(json/decode "{\\"a\\": 1, \\"a\\": 2}")', "{:a 2}"),
    ('(json/decode "{\\"a\\": {\\"b\\": [1, {\\"c\\": null}]}}")', "{:a {:b (1 {:c nil})}}"),
    ('(json/decode "")', "! json/decode: parse error at line 1 column 0: EOF while parsing a value at line 1 column 0"),
    ('(json/decode "[1 2]")', "! json/decode: parse error at line 1 column 4: expected `,` or `]` at line 1 column 4"),
    ('(json/decode "{\\"a\\":}")', "! json/decode: parse error at line 1 column 6: expected value at line 1 column 6"),
    (
        "(json/decode \"{'a':1}\")",
        "! json/decode: parse error at line 1 column 2: key must be a string at line 1 column 2",
    ),
    ('(json/decode "01")', "! json/decode: parse error at line 1 column 2: invalid number at line 1 column 2"),
    ('(json/decode "+1")', "! json/decode: parse error at line 1 column 1: expected value at line 1 column 1"),
    ('(json/decode "1 2")', "! json/decode: parse error at line 1 column 3: trailing characters at line 1 column 3"),
    (
        '(json/decode "tru")',
        "! json/decode: parse error at line 1 column 3: EOF while parsing a value at line 1 column 3",
    ),
    (
        '(json/decode "{\\"a\\":1}{\\"b\\":2}")',
        "! json/decode: parse error at line 1 column 8: trailing characters at line 1 column 8",
    ),
    ("(json/decode :a)", "! json/decode argument 1 expected string, got keyword"),
    ("(json/decode #u8(49))", "! json/decode argument 1 expected string, got bytevector"),
    ('(json/decode (json/encode "é😀\\n"))', '"é😀\\n"'),
    ("(json/decode (json/encode 1.0))", "1.0"),
    ('(json/encode (map/map-vals (fn (v) (* v 2)) (json/decode "{\\"a\\":1,\\"b\\":2}")))', '"{\\"a\\":2,\\"b\\":4}"'),
    ('(json/encode {:a 1 "a" 2 \'a 3})', '"{\\"a\\":1}"'),
    ("(json/encode 12345678901234567890.0)", '"1.2345678901234567e+19"'),
    ("(json/encode 4.0e-5)", '"0.00004"'),
    ('(json/decode "100000000000000000000.0")', "100000000000000000000.0"),
    ('(json/decode "0")', "0"),
    ('(json/decode "00")', "! json/decode: parse error at line 1 column 2: invalid number at line 1 column 2"),
    ('(json/decode "{\\"a\\":1,\\"b\\":{\\"a\\":2}}")', "{:a 1 :b {:a 2}}"),
    ('(json/decode "\\"\\\\u0000\\"")', '"\u0000"'),
    ('(json/encode (string/repeat "a" 3))', '"\\"aaa\\""'),
    ('(json/decode "\\uFEFF1")', "! json/decode: parse error at line 1 column 1: expected value at line 1 column 1"),
    ("(json/encode :a-b?)", '"\\"a-b?\\""'),
    ('(json/decode "{\\"with-dash\\":1,\\"q?\\":2}")', "{:q? 2 :with-dash 1}"),
]


@pytest.mark.parametrize(("source", "expected"), JSON)
def test_json(source: str, expected: str) -> None:
    assert outcome(source) == expected


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


@given(VALUES)
def test_texts_agree_with_python(value: Any) -> None:
    assert json.loads(json_encode(json_decode(json.dumps(value)))) == value


@given(VALUES)
def test_round_trip(value: Any) -> None:
    decoded = json_decode(json.dumps(value))
    assert equal(json_decode(json_encode(decoded)), decoded)
    assert equal(json_decode(json_encode_pretty(decoded)), decoded)


@given(st.text(alphabet='[]{},:"\\\\ntu0eE.-+1a \\n', max_size=12))
def test_python_and_the_error_reader_agree(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        assert first_error(text) is not None
    else:
        assert first_error(text) is None
