"""Strings, characters and `format`, as the reference answers."""

from __future__ import annotations

import pytest
from outcomes import outcome

STRINGS = [
    ('(string/split "abc" "")', '("" "a" "b" "c" "")'),
    ('(string/split "a---b" "--")', '("a" "-b")'),
    ('(string/split "a b  c")', "! string/split expects 2 arguments, got 1"),
    ('(string/split "a" 5)', "! string/split argument 2 expected string, got int"),
    ('(string/join \'("a" "b"))', "! string/join expects 2 arguments, got 1"),
    ('(string/join nil ",")', "! expected list or vector, got nil"),
    ("(string-join '(1 2) 3)", "! expected string, got int"),
    ('(list (string/trim-left "\\u00a0 x") (string/trim-right "x \\u3000"))', '("x" "x")'),
    ("(string/trim)", "! string/trim expects 1 argument, got 0"),
    ("(string-trim 'sym)", "! string/trim argument 1 expected string, got symbol"),
    ('(string/upper "e\\u0301😀")', '"É😀"'),
    ("(string-upcase 1)", "! string/upper argument 1 expected string, got int"),
    ('(string/contains? "abc" #\\a)', "! string/contains? argument 2 expected string, got char"),
    ('(string/starts-with? 1 "a")', "! string/starts-with? argument 1 expected string, got int"),
    ('(string/replace "abc" #\\a "x")', "! expected string, got char"),
    ('(string/replace-first "a" "b")', "! string/replace-first expects 3 arguments, got 2"),
    ('(list (string/index-of "héllo" "l") (string/index-of "😀😀x" "x") (string/index-of "e\\u0301x" "x"))', "(2 2 2)"),
    ('(string/index-of 1 "a")', "! expected string, got int"),
    (
        '(list (string/chars "abc") (string/chars "") (string/chars "é😀") (string/chars "e\\u0301"))',
        "((#\\a #\\b #\\c) () (#\\é #\\😀) (#\\e #\\́))",
    ),
    ('(string->list "hello" 2)', "! string->list expects 1 argument, got 2"),
    ("(string/to-list nil)", "! expected string, got nil"),
    ('(string/repeat "ab")', "! string/repeat expects 2 arguments, got 1"),
    ('(string/pad-left "x" 5 #\\0)', "! expected string, got char"),
    ('(string/pad-right "x")', "! string/pad-right expects 2 to 3 arguments, got 1"),
    ('(string/width "\\x1b;[31mred\\x1b;[0m")', "3"),
    ("(string/width)", "! string/width expects 1 argument, got 0"),
    ('(string/word-wrap "line one\\nline two is longer\\n\\nend" 9)', '("line one" "line two" "is longer" "" "end")'),
    ("(string/word-wrap 5 10)", "! expected string, got int"),
    ('(string/truncate-width "abc" -1)', "! string/truncate-width: expected a non-negative integer, got -1"),
    ('(string/truncate-width "abc")', "! string/truncate-width expects 2 to 3 arguments, got 1"),
    ("(string/empty? '())", "! expected string, got list"),
    ("(string/map char/upcase 5)", "! expected string, got int"),
    ('(list (string/reverse "hello") (string/reverse "") (string/reverse "héllo😀"))', '("olleh" "" "😀olléh")'),
    ("(string/byte-length 5)", "! expected string, got int"),
    ("(string/from-codepoints '(-1))", "! string/from-codepoints: invalid codepoint -1"),
    ("(string/from-codepoints 65)", "! expected list or vector, got int"),
    ('(string/normalize "a" :foo)', '! string/normalize: unknown form "foo"'),
    ("(string/foldcase nil)", "! expected string, got nil"),
    ('(string/append "a" #\\b)', '"a#\\\\b"'),
    ("(string/length 5)", "! string-length argument 1 expected string, got int"),
    ("(string/length)", "! string-length expects 1 argument, got 0"),
    (
        '(list (string/ref "hello" 0) (string/ref "hello" 4) (string/ref "é😀x" 1) (string/ref "a b" 1))',
        "(#\\h #\\o #\\😀 #\\space)",
    ),
    ('(string/ref "" 0)', "! string-ref: index 0 out of bounds (string length 0)"),
    ('(string/ref "abc")', "! string-ref expects 2 arguments, got 1"),
    ('(string/slice "hello" 3 1)', "! substring: index out of bounds"),
    ('(string/slice "hello" 5)', '""'),
    ('(string/slice "hello" "1")', "! substring argument 2 expected int, got string"),
    ('(substring "hello" 3 2)', "! substring: index out of bounds"),
    ('(string/after "abc")', "! string/after expects 2 arguments, got 1"),
    ('(string/before nil "@")', "! expected string, got nil"),
    ('(string/take "x")', "! string/take expects 2 arguments, got 1"),
    ('(string/chop-end "a")', "! string/chop-end expects 2 arguments, got 1"),
    ('(string/wrap "x")', "! string/wrap expects 2 to 3 arguments, got 1"),
    ('(string/words "don\'t panic, ok?")', '("don\'t" "panic," "ok?")'),
    ('(string/camel-case "éclair_über")', '"éclairÜber"'),
    ("(string/pascal-case)", "! string/pascal-case expects 1 argument, got 0"),
    ('(string/snake-case "foo!Bar@baz")', '"foo!_bar@baz"'),
    ("(string/intern 5)", "! expected string, got int"),
    ('(string/join (map string/upper (string/split "a b c" " ")) "-")', '"A-B-C"'),
    (
        '(list (string/index-of "a😀b😀" "😀") (string/last-index-of "a😀b😀" "😀") (string/slice "a😀b😀" 1 3))',
        '(1 3 "😀b")',
    ),
    ('(string/split "one  two" "  ")', '("one" "two")'),
    ('(string/index-of "héllo" "o" 2)', "4"),
    ('(string/join (list "a" nil "b") ",")', '"a,nil,b"'),
    ('(string/split "aXbxc" "x")', '("aXb" "c")'),
    ('(string/words "__a--b..c  d__")', '("a" "b" "c" "d")'),
    ('(string/pad-right "e\\u0301" 3 "*")', '"é**"'),
    ('(string/ref "e\\u0301" 1)', "#\\́"),
    ('(string/width "☃️❤️✔")', "5"),
    ('(string/truncate-width "abcdef" 3 "日本")', '"日"'),
]


@pytest.mark.parametrize(("source", "expected"), STRINGS)
def test_strings(source: str, expected: str) -> None:
    assert outcome(source) == expected


CHARACTERS = [
    ("(char->integer #\\x1F600)", "! unknown character name: x1F600"),
    (
        "(list (integer->char 8) (integer->char 11) (integer->char 12) (integer->char 160))",
        "(#\\\b #\\\u000b #\\\f #\\\u00a0)",
    ),
    ("(integer->char 55296)", "! integer->char: invalid codepoint 55296"),
    ("(integer->char)", "! integer->char expects 1 argument, got 0"),
    ("(char->integer 65)", "! expected char, got int"),
    (
        "(map char/whitespace? (map integer->char '(11 12 13 28 31 133 5760 8232 65279)))",
        "(#t #t #t #f #f #t #t #t #f)",
    ),
    ("(char/alphabetic?)", "! char-alphabetic? expects 1 argument, got 0"),
    ("(char/upper-case? 'A)", "! expected char, got symbol"),
    ("(char/upcase)", "! char-upcase expects 1 argument, got 0"),
    ("(char-upper-case? 1)", "! expected char, got int"),
    ('(char/to-string "a")', "! expected char, got string"),
    ('(string/to-char "")', "! string->char: empty string"),
    ("(char=? #\\a #\\a #\\a)", "! char=? expects 2 arguments, got 3"),
    ("(list (char<=? #\\a #\\a) (char<=? #\\b #\\a))", "(#t #f)"),
    ("(char=? #\\a)", "! char=? expects 2 arguments, got 1"),
    ("(char<? 1 2)", "! expected char, got int"),
    ("(char>=? #\\a 97)", "! expected char, got int"),
    ("(char-ci<=? #\\a 'b)", "! expected char, got symbol"),
    ('(filter char/alphabetic? (string->list "a1b2-c3"))', "(#\\a #\\b #\\c)"),
]


@pytest.mark.parametrize(("source", "expected"), CHARACTERS)
def test_characters(source: str, expected: str) -> None:
    assert outcome(source) == expected


FORMATS = [
    ('(format "plain")', '"plain"'),
    ('(format "~a ~s" "q\\"x" "q\\"x")', '"q\\"x \\"q\\\\\\"x\\""'),
    ('(format "~a|~s" nil nil)', '"nil|nil"'),
    ('(format "~a ~s" [1 "two"] [1 "two"])', '"[1 \\"two\\"] [1 \\"two\\"]"'),
    ('(format "~~~a~~" 5)', '"~5~"'),
    ('(format "~A ~S" "up" "up")', '"up \\"up\\""'),
    ('(format "~a" 1 2 3)', '"1"'),
    ("(format 5)", "! expected string, got int"),
    ("(format)", "! format expects 1 or more arguments, got 0"),
    ('(format "~a" car)', '"<native-fn car>"'),
    ('(format "~a" \'(1 . (2 3)))', '"(1 . (2 3))"'),
    ('(format "~s" \'(a (b "c\\n") #\\space))', '"(a (b \\"c\\\\n\\") #\\\\space)"'),
    ('(str "a" nil "b")', '"anilb"'),
    ('(str "é" #\\é \'é :é)', '"é#\\\\éé:é"'),
    ('(string->symbol "UPPER lower")', "UPPER lower"),
]


@pytest.mark.parametrize(("source", "expected"), FORMATS)
def test_formats(source: str, expected: str) -> None:
    assert outcome(source) == expected
