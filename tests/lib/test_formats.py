"""CSV, TOML, time formats, texts, base64 and hashes, diffs."""

from __future__ import annotations

import pytest
from outcomes import outcome

CSV = [
    ('(csv/parse "a,b\\n1,2\\n3,4")', '(("a" "b") ("1" "2") ("3" "4"))'),
    ('(csv/parse "a,b\\r\\n1,2\\r\\n")', '(("a" "b") ("1" "2"))'),
    ('(csv/parse "\\n")', "()"),
    ('(csv/parse "a")', '(("a"))'),
    ('(csv/parse "\\"a,b\\",c")', '(("a,b" "c"))'),
    ('(csv/parse "\\"\\",x")', '(("" "x"))'),
    ('(csv/parse "\\"a\\"b,c")', '(("ab" "c"))'),
    ('(csv/parse "a,b\\rc,d")', '(("a" "b") ("c" "d"))'),
    ("(csv/parse 5)", "! expected string, got int"),
    ('(csv/parse "a" "b")', "! csv/parse expects 1 argument, got 2"),
    ('(type (first (csv/parse "a")))', ":list"),
    ('(csv/parse-maps "a,a\\n1,2")', '({:a "2"})'),
    ('(csv/parse-maps ",b\\n1,2")', '({: "1" :b "2"})'),
    ('(csv/parse-maps "\\"a,b\\",c\\n1,2")', '({:a,b "1" :c "2"})'),
    ("(csv/parse-maps 5)", "! expected string, got int"),
    ('(csv/encode \'(("a" "b") ("1" "2")))', '"a,b\\n1,2\\n"'),
    ("(csv/encode '())", '""'),
    ('(csv/encode \'(("")))', '"\\"\\"\\n"'),
    ('(csv/encode \'(("a,b" "c\\"d" "e\\nf" " g ")))', '"\\"a,b\\",\\"c\\"\\"d\\",\\"e\\nf\\", g \\n"'),
    ("(csv/encode '((1.5 1e20 1/2)))", '"1.5,100000000000000000000.0,1/2\\n"'),
    ('(csv/encode (list \'("x") 5))', "! expected list, got int"),
    ("(csv/encode)", "! csv/encode expects 1 argument, got 0"),
    ('(csv/encode (csv/parse "name,age\\nAda,36\\n"))', '"name,age\\nAda,36\\n"'),
]


@pytest.mark.parametrize(("source", "expected"), CSV)
def test_csv(source: str, expected: str) -> None:
    assert outcome(source) == expected


TOML = [
    ('(toml/decode "a = 1")', "{:a 1}"),
    ('(toml/decode "a.b.c = 1")', "{:a {:b {:c 1}}}"),
    ('(toml/decode "[[f]]\\nn = 1\\n[[f]]\\nn = 2")', "{:f ({:n 1} {:n 2})}"),
    ('(toml/decode "a = nan")', "{:a NaN}"),
    ('(toml/decode "a = 9223372036854775808")', "! toml/decode: parse error: TOML parse error at line 1, column 5"),
    ('(toml/decode "d = 2024-01-15")', '{:d "2024-01-15"}'),
    ("(toml/decode \"s = 'C:\\\\path'\")", '{:s "C:\\\\path"}'),
    ('(toml/decode "b = 1\\na = 2")', "{:a 2 :b 1}"),
    ('(toml/decode "a b = 1")', "! toml/decode: parse error: TOML parse error at line 1, column 3"),
    ('(toml/decode "a = 01")', "! toml/decode: parse error: TOML parse error at line 1, column 5"),
    ("(toml/decode)", "! toml/decode expects 1 argument, got 0"),
    ("(toml/encode {})", '""'),
    ("(toml/encode {:l '()})", '"l = []\\n"'),
    ("(toml/encode {:f 1.0 :g 2.5 :h 1e20})", '"f = 1.0\\ng = 2.5\\nh = 100000000000000000000.0\\n"'),
    ('(toml/encode {"str key" 1 :normal 2})', '"normal = 2\\n\\"str key\\" = 1\\n"'),
    ("(toml/encode {:f println})", "! toml/encode: cannot encode native-fn"),
    ('(toml/encode "hello")', "! toml/encode: top-level value must be a map"),
    ("(toml/encode {:a {:b {:c 1}}})", '"[a.b]\\nc = 1\\n"'),
    ("(toml/encode {:big 9223372036854775808})", "! toml/encode: cannot encode int"),
    ("(toml/encode {:b #u8(1)})", "! toml/encode: cannot encode bytevector"),
    ('(toml/encode {:d "2024-01-15"})', '"d = \\"2024-01-15\\"\\n"'),
    ('(toml/decode "é = 1")', "! toml/decode: parse error: TOML parse error at line 1, column 1"),
    ('(toml/decode "a = 1\\r\\nb = 2\\r\\n")', "{:a 1 :b 2}"),
]


@pytest.mark.parametrize(("source", "expected"), TOML)
def test_toml(source: str, expected: str) -> None:
    assert outcome(source) == expected


TIMES = [
    ('(time/format 1736943000.0 "%Y-%m-%dT%H:%M:%SZ")', '"2025-01-15T12:10:00Z"'),
    ('(time/format 1736943000 "%I:%M %p %P")', '"12:10 PM pm"'),
    (
        '(time/format 1736943000.123 "%S.%f|%.f|%.3f|%.6f|%.9f|%3f|%6f")',
        '"00.122999906|.122999906|.122|.122999|.122999906|122|122999"',
    ),
    ('(time/format -0.5 "%Y-%m-%d %H:%M:%S%.3f")', '"1969-12-31 23:59:59.500"'),
    ('(time/format 86400 "%_d|%0e|%-j|%_H")', '" 2|02|2| 0"'),
    ('(time/format 1736943000 "no directives é😀")', '"no directives é😀"'),
    ('(time/format 1736943000 "%L")', '! time/format: invalid format string: "%L"'),
    ('(time/format 4102444800 "%F %T")', '"2100-01-01 00:00:00"'),
    ('(time/format -62198755200 "%F %Y")', '"-0001-01-01 -0001"'),
    ('(time/format math/nan "%F")', "! time: invalid timestamp"),
    ('(time/format "0" "%F")', "! expected number, got string"),
    ("(time/format)", "! time/format expects 2 arguments, got 0"),
    ('(time/parse "2025-01-15 12:10:00" "%Y-%m-%d %H:%M:%S")', "1736943000.0"),
    ('(time/parse "2025-01-15" "%F")', "! time/parse: parse error: input is not enough for unique date and time"),
    ('(time/parse "Wednesday, January 15, 2025 12:10:00" "%A, %B %d, %Y %H:%M:%S")', "1736943000.0"),
    ('(time/parse "2023-02-29 00:00:00" "%F %T")', "! time/parse: parse error: input is out of range"),
    ('(time/parse "2025-01-01 23:59:60" "%F %T")', "1735775999.0"),
    ('(time/parse "2025-01-15 12:10:00 " "%F %T")', "! time/parse: parse error: trailing input"),
    ('(time/parse "0000-02-29  5.07" "%Y-%m-%d %k.%M")', "-62162103180.0"),
    ('(time/parse "2024-02-30T10:00:00Z" "%Y-%m-%dT%H:%M:%SZ")', "! time/parse: parse error: input is out of range"),
    ('(time/parse "20240229235960" "%Y%m%d%H%M%S")', "1709251199.0"),
    ('(time/parse "٢٠٢٤-01-01 00:00" "%F %R")', "! time/parse: parse error: input contains invalid characters"),
    ('(time/parse "2024-01-01 24:00" "%F %R")', "! time/parse: parse error: input is out of range"),
    ('(time/format -62198755200 "%s %-d%% %G-W%V %_Y %-Y")', '"-62198755200 1% -0002-W53    -1 -1"'),
    ('(time/parse "99-01-15 00:00:00" "%y-%m-%d %T")', "916358400.0"),
    ('(time/parse "0001-01-01 00:00:00" "%F %T")', "-62135596800.0"),
    ('(time/parse "" "%F %T")', "! time/parse: parse error: premature end of input"),
    ('(time/parse 5 "%F")', "! expected string, got int"),
    ("(time/parse)", "! time/parse expects 2 arguments, got 0"),
    (
        "(time/date-parts 1736943000.999)",
        '{:day 15 :hour 12 :minute 10 :month 1 :second 0 :weekday "Wednesday" :year 2025}',
    ),
    ("(time/date-parts nil)", "! expected number, got nil"),
    ("(time/date-parts)", "! time/date-parts expects 1 argument, got 0"),
    ("(time/add 0 nil)", "! expected number, got nil"),
    ('(time/diff "a" 1)', "! expected number, got string"),
    ('(let ((t 1700000000.0) (f "%Y-%m-%d %H:%M:%S")) (= t (time/parse (time/format t f) f)))', "#t"),
    ('(time/format 1736943000 "week %V of %G")', '"week 03 of 2025"'),
    ('(time/format 1736943000 "%::z")', '"+00:00:00"'),
    ('(time/format 1736943000 "%3f")', '"000"'),
    ('(time/format 1736943000.5 "%s")', '"1736943000"'),
    (
        "(list (time/diff 7200 3600) (time/diff 3600 7200) (time/diff 5 5) (time/diff 1.5 1))",
        "(3600.0 -3600.0 0.0 0.5)",
    ),
    ('(time/parse "Wed Jan 15 12:10:00 2025" "%c")', "1736943000.0"),
    ('(time/parse "0.5" "%s")', "! time/parse: parse error: trailing input"),
    (
        '(time/date-parts (time/parse "2000-02-29 23:59:59" "%F %T"))',
        '{:day 29 :hour 23 :minute 59 :month 2 :second 59 :weekday "Tuesday" :year 2000}',
    ),
]


@pytest.mark.parametrize(("source", "expected"), TIMES)
def test_times(source: str, expected: str) -> None:
    assert outcome(source) == expected


TEXTS = [
    ('(text/chunk "short")', '("short")'),
    ('(text/chunk "abcdefghij" {:size 4 :overlap 2})', '("abcd" "cdef" "efgh" "ghij" "ij")'),
    ('(text/chunk "abcdef" {:size 6})', '("abcdef")'),
    ('(text/chunk "abcdef" {:size 2.5})', '("abcdef")'),
    (
        '(text/chunk "para one.\\n\\npara two.\\n\\npara three." {:size 22 :overlap 0})',
        '("para one.\\n\\npara two." "para three.")',
    ),
    ('(text/chunk "line1\\nline2\\nline3\\nline4" {:size 12 :overlap 6})', '("line1\\nline2" "\\nline2line3\\nline4")'),
    ('(text/chunk "éééé ññññ 日本語 😀😀" {:size 6 :overlap 0})', '("éééé" "ññññ" "日本語" "😀😀")'),
    ('(map string-length (text/chunk (string/repeat "x" 2500)))', "(1000 1000 900 100)"),
    (
        '(text/chunk "one two three four five six seven" {:size 10 :overlap 5})',
        '("one two" "e twothree four" " fourfive six" "e sixseven")',
    ),
    ("(text/chunk nil)", "! expected string, got nil"),
    ('(text/chunk-by-separator "abc" "")', '("a" "b" "c")'),
    ('(text/split-sentences "Wait... what?! Really.  Two spaces. ")', '("Wait..." "what?!" "Really." "Two spaces.")'),
    ('(text/split-sentences ". a. b")', '("." "a." "b")'),
    ("(text/clean-whitespace nil)", "! expected string, got nil"),
    ('(text/strip-html "<a href=\\"x>y\\">link</a>")', '"y\\"link"'),
    ("(text/strip-html)", "! text/strip-html expects 1 argument, got 0"),
    ('(text/truncate "hello world" 6.5)', "! expected integer, got float"),
    ('(text/truncate "hello")', "! text/truncate expects 2 to 3 arguments, got 1"),
    ('(text/trim-indent "\\t\\ta\\n\\t\\tb")', '"a\\nb"'),
    ('(text/excerpt "Hello world" "WORLD" {:radius 2})', '"...o world"'),
    ('(text/excerpt "abc" "" {:radius 1})', '"a..."'),
    ('(text/excerpt "The quick brown fox" "brown" {:radius -1})', '"...brown..."'),
    ('(text/excerpt nil "a")', "! expected string, got nil"),
    ('(document/create "Hello" {:source "t.txt" :page 1})', '{:metadata {:page 1 :source "t.txt"} :text "Hello"}'),
    ("(document/create 5 {})", "! expected string, got int"),
    (
        '(let ((d (document/create "body" {:k 1}))) (list (document/text d) (document/metadata d) (:text d)))',
        '("body" {:k 1} "body")',
    ),
    ('(document/text "str")', "! expected map (document), got string"),
    (
        '(document/chunk (document/create "short" {:s "p"}))',
        '({:metadata {:chunk-index 0 :s "p" :total-chunks 1} :text "short"})',
    ),
    ("(document/chunk)", "! document/chunk expects 1 to 2 arguments, got 0"),
    ('(text/chunk "aaaa bbbbbbbbbbbbbbb cc" {:size 6 :overlap 0})', '("aaaa" "bbbbbb" "bbbbbb" "bbb" "cc")'),
    ('(text/chunk "no-separators-here" {:size 5 :overlap 0})', '("no-se" "parat" "ors-h" "ere")'),
    ('(text/chunk "  " {:size 1 :overlap 0})', "()"),
    ('(text/truncate "abcd" 3 "")', '"abc"'),
    ("(text/strip-html \"<p class='x'>é😀</p>\")", '"é😀"'),
    ('(text/trim-indent "\\u00a0\\u00a0a\\n\\u00a0\\u00a0b")', '"a\\nb"'),
]


@pytest.mark.parametrize(("source", "expected"), TEXTS)
def test_texts(source: str, expected: str) -> None:
    assert outcome(source) == expected


CRYPTO = [
    ('(base64/encode "??>>~~")', '"Pz8+Pn5+"'),
    ('(base64/decode "Z")', "! base64/decode: Invalid input length: 1"),
    ('(base64/decode "!!!!")', "! base64/decode: Invalid symbol 33, offset 0."),
    ('(base64/decode "Zh==")', "! base64/decode: Invalid last symbol 104, offset 1."),
    ("(base64/encode #u8(1))", "! expected string, got bytevector"),
    ("(base64/decode)", "! base64/decode expects 1 argument, got 0"),
    ('(base64/encode-bytes "str")', "! expected bytevector, got string"),
    ("(base64/decode-bytes 5)", "! expected string, got int"),
    ("(hash/sha256 #u8(104 105))", "! expected string, got bytevector"),
    ('(hash/sha256 "a" "b")', "! hash/sha256 expects 1 argument, got 2"),
    ('(hash/md5 "a" "b")', "! hash/md5 expects 1 argument, got 2"),
    (
        '(hash/hmac-sha256 (string/repeat "k" 100) "long key")',
        '"5903eedefe0bba3f15b658715e41d71f1848739bddf19e497e968df5723dcd56"',
    ),
    ('(= (hash/digest "abc") (hash/sha256 "abc"))', "#t"),
    (
        '(secret/detect "xoxb-1234567890-abcdefghijkl")',
        '({:end 28 :match "xoxb-1234567890-abcdefghijkl" :start 0 :type "slack-token"})',
    ),
    ('(secret/detect "postgres://user:pass@host/db")', "()"),
    ("(secret/detect)", "! secret/detect expects 1 argument, got 0"),
    (
        '(secret/redact "a AKIAIOSFODNN7EXAMPLE b AKIAIOSFODNN7EXAMPLF c")',
        '"a «redacted:aws-access-key» b «redacted:aws-access-key» c"',
    ),
    ('(pii/detect "none")', "()"),
    ("(pii/detect 5)", "! expected string, got int"),
    ('(redact/spans "hello" (list {:start 1 :end 3}))', '"h«redacted»lo"'),
    ('(redact/spans "hello" (list {:start 0 :end 3 :label "a"} {:start 2 :end 5 :label "b"}))', '"«redacted:a»lo"'),
    ('(redact/spans "hello" 5)', "! expected list, got int"),
]


@pytest.mark.parametrize(("source", "expected"), CRYPTO)
def test_crypto(source: str, expected: str) -> None:
    assert outcome(source) == expected


DIFFS = [
    ('(diff/unified "a\\nb\\n" "a\\nc\\n")', '"--- old\\n+++ new\\n@@ -1,2 +1,2 @@\\n a\\n-b\\n+c\\n"'),
    ('(diff/unified "a\\n" "a")', '"--- old\\n+++ new\\n@@ -1 +1 @@\\n-a\\n+a\\n\\\\ No newline at end of file\\n"'),
    (
        '(diff/unified "a\\nb\\nc\\n" "a\\nx\\nb\\nc\\n")',
        '"--- old\\n+++ new\\n@@ -1,3 +1,4 @@\\n a\\n+x\\n b\\n c\\n"',
    ),
    (
        '(diff/unified "a\\r\\nb\\r\\n" "a\\nb\\n")',
        '"--- old\\n+++ new\\n@@ -1,2 +1,2 @@\\n-a\\r\\n-b\\r\\n+a\\n+b\\n"',
    ),
    ('(diff/unified "a\\nb\\n" "a\\nc\\n" "old.txt" "new.txt")', "! diff/unified expects 2 to 3 arguments, got 4"),
    ('(diff/unified "a" nil)', "! expected string, got nil"),
    ('(diff/stat "")', "{:added 0 :hunks 0 :removed 0}"),
    ('(diff/stat (diff/unified "same\\n" "same\\n"))', "{:added 0 :hunks 0 :removed 0}"),
    ("(diff/stat 5)", "! expected string, got int"),
    ('(diff/hunks "")', "()"),
    ("(diff/hunks nil)", "! expected string, got nil"),
    ('(diff/parse "")', "{:files ()}"),
    ('(diff/apply "x\\ny\\na\\nb\\nc\\n" (diff/unified "a\\nb\\nc\\n" "a\\nB\\nc\\n"))', '"x\\ny\\na\\nB\\nc\\n"'),
    ('(diff/apply "a\\n" "garbage")', '"a\\n"'),
    ('(diff/apply "a\\nb" (diff/unified "a\\nb" "a\\nb\\n"))', '"a\\nb"'),
    ("(diff/apply 1 2)", "! expected string, got int"),
    ('(diff/unified "a\\nb\\n" "a\\nc\\n" -1)', "! diff/unified: context must be >= 0"),
    ('(diff/apply "a\\na\\na\\n" "@@ -2 +2 @@\\n-a\\n+X\\n")', '"a\\nX\\na\\n"'),
    (
        '(diff/unified "x\\ny\\nx\\ny\\n" "y\\nx\\ny\\nx\\n")',
        '"--- old\\n+++ new\\n@@ -1,4 +1,4 @@\\n+y\\n x\\n y\\n x\\n-y\\n"',
    ),
]


@pytest.mark.parametrize(("source", "expected"), DIFFS)
def test_diffs(source: str, expected: str) -> None:
    assert outcome(source) == expected
