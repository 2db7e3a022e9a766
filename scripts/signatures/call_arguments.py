"""The arguments from which scripts/random_calls.py draws: expected ones and wrong ones."""

from __future__ import annotations

from pathlib import Path

_LINES = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
# Names of builtins, separated by spaces → a letter for each argument; the text file explains the letters.
WANTED = dict(line.rsplit(" => ", 1) for line in _LINES if not line.startswith(";"))

TEXTS = [
    '""', '"a"', '"abc"', '"hello world"', '"Hello, World!"', '"ünïcödé"', '"日本語"', '"👨‍👩‍👦"', '"a,b,c"',
    '"  pad  "', r'"line1\nline2\r\nline3"', r'"\t"', '"123"', '"3.14"', '"-42"', '"foo_bar-baz quxQuux"', '"aaa"',
    '"ß"', '"İ"',
    '"ﬁx"', '"b"', '"l"', '","', '" "', '"-"', '"b-b-b"', r'"\"q\""', '"a.b*c"', '"XML2Text"', '"mixed Case"', '"é"',
    r'"One. Two? Three!"', '"<b>hi</b> &amp; <i>x</i>"', r'"  two\n    four\n  two"', '"{{name}} and {{age}}"',
    '"user@example.com, 555-123-4567"', '"1e3"', '"#t"', '"aGVsbG8="', '"(+ 1 2) foo"', '"2024-02-29 12:30:45"',
    '"ff"', '"ab12"', r'"\u{41}"', '"1/2"', '"NFC"',
]  # fmt: skip
INTS = ["0", "1", "2", "3", "-1", "5", "10", "-7", "64", "255", "256", "65", "1000"]
FAR = ["9223372036854775807", "-9223372036854775808", "9223372036854775808", "123456789012345678901234567890"]
FLOATS = ["ZERO", "1.5", "-2.5", "3.0", "0.1", "2.5", "1e10", "1e300", "1e-7", "1e23", "inf", "-inf", "nan", "100.0"]
EXACT = ["1/2", "-3/4", "7/3", "5/2"]
COMPLEX = ["1+2i", "3-1i", "+i"]
CHARS = [r"#\a", r"#\Z", r"#\5", r"#\space", r"#\newline", r"#\é", r"#\ß", r"#\日", r"#\_", r"#\½"]
KEYS = [":a", ":b", ":c", ":name", '"k"', "1", "'s", r"#\c", ":nope"]
ONES = [
    "(fn (x) x)", "(fn (x) (* x 2))", "(fn (x) nil)", "(fn (x) (list x x))", "car", ":a", "str", "not", "string/length",
]  # fmt: skip
TWOS = ["+", "list", "(fn (a b) (+ a b))", "(fn (a b) b)", "max", "cons", "(fn (a b) (str a b))", "<", "equal?"]
TESTS = ["even?", "number?", "(fn (x) #t)", "(fn (x) #f)", "(fn (x) (> x 2))", "string?", "nil?", "(fn (x) x)"]
PATTERNS = [r'#"\d+"', '#"a"', '#"[a-c]+"', '#"(a)(b)?"', '#"b*"', '#"^l"', r'#"\w+\s"', '#"(?i)HELLO"', '"["', '","']
STAMPS = ["0", "1700000000", "-1", "1.5", "1709209845.123", "253402300800", "1e12", "-62135596800"]
DATES = [
    '"%Y-%m-%d"', '"%F %T"', '"%Y-%m-%d %H:%M:%S"', '"%A %d %B %Y"', '"%j %U %s"', '"%I:%M %p"', '"%Q"', '""',
    '"%e/%y"',
]  # fmt: skip
JSON = [
    '{"a":1,"b":[true,null]}', "[1,2.5,-3e2]", '"x\\u00e9"', "1.0", "", "{", "[1,]", '{"a":{"b":[]}}', "nul", " [ ] ",
    '{"a":1,"a":2}', "12345678901234567890", '"\\ud83d\\ude00"', '"\\ud800"', "01", "[1 2]", '{"k":tru}',
]  # fmt: skip
CSV = ["a,b\n1,2\n", 'x\n"q ""z"""\n', "", "a,b\n1\n", 'a,"b\nc"\r\n1,2', "\n\n", "a;b", '"open', "é,ü\n1,2"]
TOML = [
    "a = 1\n", '[t]\nx = "y"\n', "a = [1, 2.5]\n", "d = 2024-01-02\n", "a = ", "[a]\n[a]\n", "b = true\n[c.d]\ne = inf",
]  # fmt: skip
PATCH = r'(diff/unified "a\nb\nc\n" "a\nx\nc\n")'

# Values of every type, for a position where they are wrong, and some that are empty, cyclic or at the end of a range.
ANY_TYPE = [
    "nil", "#t", "#f", "0", "-1", "3", "1.5", "nan", "1/2", "(make-rectangular 1 2)", "99999999999999999999", '""',
    r"#\a", ":k", "'s", "'()", "'(1 2)", "[]", "[1 2]", "{}", "{:a 1}", "(hashmap/new :a 1)", "#u8()", "#u8(1 2)",
    '"s"',
    "car", "(fn (x) x)", "(fn (a b) a)", "(fn () 1)", "(mutable-array/new)", "(mutable-cell/new 1)", "(delay 1)",
    "(async 1)",
    "(let ((m (mutable-array/new))) (mutable-array/push! m 1) (mutable-array/push! m \"x\") m)",
    "(let ((m (mutable-array/new))) (mutable-array/push! m m) m)", "(make-parameter 1)", "(channel/new 1)",
    '(stream/from-string "ab")', "(f64-array 1 2)", "(i64-array 1 2)", "'((1) (2))", "'(\"a\" \"b\")", '["a" "b"]',
    "'(:a :b)", "[[:a 1]]", '(document/create "x" {})', '(list 1 "a" :k [2])',
]  # fmt: skip

# Not drawn: what answers differently each time, waits, ends the program, or touches the machine.
SKIPPED = frozenset([
    "exit", "sleep", "time-ms", "time/ms", "time/now", "uuid/v4", "math/random", "math/random-int", "time", "env",
    "list/shuffle", "list/pick", "gensym", "read-line", "read-stdin", "load", "shell", "gc/collect", "gc/stats",
    "path/absolute", "ws/listen", "retry", "checkpoint", "phase", "parallel", "parallel-settled", "step",
    "settled-partition", "agent/run", "stream/byte-buffer", "term/with-alt-screen",
])  # fmt: skip
SKIPPED_FAMILIES = ("sys/", "file/", "http/", "web/", "pio/", "llm/", "workflow/", "io/", "otel/", "__", "stream/std")
