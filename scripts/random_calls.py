"""Random calls of builtins, for comparing them with the reference.

    python scripts/random_calls.py SEED COUNT [NAME ...] > calls.jsonl      {"id","src"} a line

Most arguments have the type that the builtin wants, some don't; many are edge cases (-0.0, NaN, empty, huge, nested,
beyond ASCII), and sometimes the number of arguments is wrong. The oracle's `--fill` adds the reference's answers to
such a file, and the conformance tool compares them with ours.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable

# What a builtin wants. s text, c char, i int, n number, k key, a anything, l list or vector, m map, h hashmap, f a
# function of one, g of two, p predicate, b bytes; capitals are lists of such: S I N C, L of lists, M of maps, K of
# keys, A of pairs. x pattern, r radix, t timestamp, e date format, j json text, y csv text, o toml text, u patch,
# v mutable array, w mutable cell, d f64 array, z i64 array, q stream, D document, ? what follows is optional, * any
# number of the last.
WANTED = {
    "+ - * / < > <= >= = max min": "nn*",
    "abs ceil ceiling floor round truncate sqrt sin cos math/tan math/acos math/asin math/atan math/cosh": "n",
    "math/sinh math/tanh math/exp math/log10 math/log2 log exact inexact exact->inexact inexact->exact": "n",
    "numerator denominator real-part imag-part magnitude angle math/sign math/nan? math/infinite?": "n",
    "math/degrees->radians zero? positive? negative? exact? inexact? integer? math/radians->degrees": "n",
    "exact-integer-sqrt even? odd? bit/not int float": "n",
    "expt pow math/pow math/atan2 rationalize make-polar make-rectangular mod modulo math/round-to": "nn",
    "math/format-fixed": "ni",
    "gcd lcm math/gcd math/lcm": "ii*",
    "quotient remainder math/quotient math/remainder bit/and bit/or bit/xor bit/shift-left bit/shift-right": "ii",
    "math/clamp math/lerp": "nnn",
    "math/map-range": "nnnnn",
    "number->string number/to-string": "n?r",
    "string->number string/to-number": "s?r",
    "string->float string/to-float string/number? string/length string-length string/upper string/lower": "s",
    "string/trim string/trim-left string/trim-right string/byte-length string/camel-case string/capitalize": "s",
    "string/chars string/codepoints string/empty? string/foldcase string/headline string/intern": "s",
    "string/kebab-case string/lines string/pascal-case string/reverse string/snake-case string/title-case": "s",
    "string/to-list string/width string/words hash/md5 hash/sha256 hash/digest base64/encode base64/decode": "s",
    "base64/decode-bytes string->utf8 pii/detect secret/detect secret/redact text/clean-whitespace": "s",
    "text/normalize-newlines text/split-sentences text/strip-html text/trim-indent text/word-count": "s",
    "prompt/template read/all read/string sema/check-string stream/from-string path/basename path/dirname": "s",
    "path/extension path/join": "s",
    "char->integer char->string char-alphabetic? char-downcase char-lower-case? char-numeric? char-upcase": "c",
    "char-upper-case? char-whitespace?": "c",
    "char-ci<=? char-ci<? char-ci=? char-ci>=? char-ci>? char<=? char<? char=? char>=? char>?": "cc",
    "integer->char": "i",
    "keyword->string symbol->string string->symbol string->keyword string->char": "k",
    "str string-append list vector values": "a*",
    "format": "sa*",
    "list->string string/from-codepoints": "C",
    "make-string string/repeat string/take string-ref string/ref string/word-wrap": "si",
    "string/slice substring": "si?i",
    "string/pad-left string/pad-right string/truncate-width text/truncate": "si?s",
    "string/after string/after-last string/before string/before-last string/chop-end string/chop-start": "ss",
    "string/remove string/contains? string/ends-with? string/starts-with? string/ensure-end": "ss",
    "string/ensure-start string-ci=? string/last-index-of string/split hash/hmac-sha256": "ss",
    "text/chunk-by-separator": "ss",
    "string/index-of diff/unified": "ss?i",
    "string/between string/replace string/replace-first string/replace-last": "sss",
    "string/wrap string/unwrap": "ss?s",
    "string/join": "Ss",
    "string/map": "fs",
    "string/normalize": "sk",
    "text/excerpt": "ss?m",
    "text/chunk": "s?m",
    "prompt/render document/create": "sm",
    "redact/spans": "sM",
    "regex/match? regex/match regex/find-all regex/split": "xs",
    "regex/replace regex/replace-all": "xss",
    "json/decode": "j",
    "json/encode json/encode-pretty not null? nil? list? vector? map? hash-map? string? symbol? keyword?": "a",
    "char? bool? number? float? rational? real? complex? exact-integer? pair? fn? procedure? record? promise?": "a",
    "bytevector? empty? type-of type count format/form stream? channel? f64-array? i64-array? promise-forced?": "a",
    "prompt? conversation? mutable-cell/new": "a",
    "csv/parse csv/parse-maps": "y",
    "csv/encode caar cdar cadar cddar caaar caadr cdaar cdadr": "L",
    "toml/decode": "o",
    "toml/encode keys vals map/entries map/sort-keys hashmap/keys hashmap/to-map": "m",
    "time/format": "te",
    "time/parse": "se",
    "time/date-parts": "t",
    "time/add time/diff": "tn",
    "diff/apply": "su",
    "diff/hunks diff/parse diff/stat": "u",
    "eq? equal?": "aa",
    "car cdr first rest last length reverse cadr caddr cddr cdddr flatten flatten-deep enumerate frequencies": "l",
    "list->vector vector->list list/unique list/dedupe list/duplicates list/mode sort": "l",
    "list/avg list/max list/min list/median list/sum f64-array/from-list": "N",
    "cons member list/contains? interpose": "al",
    "append list/interleave zip": "ll*",
    "apply reduce": "gN",
    "list/index-of": "la",
    "assq assv assoc": "kA",
    "take drop list/chunk": "il",
    "list/drop-last list/take-last list/split-at nth": "li",
    "list/sliding": "li?i",
    "list/page": "lii",
    "list/pad list/nth-or": "lia",
    "list/repeat make-list": "ia",
    "list/times": "if",
    "list/join": "Ss?s",
    "list/cross-join list/diff list/intersect": "ll",
    "list/pluck": "kM",
    "filter any any? every every? some? take-while drop-while list/reject list/find list/sole list/take-while": "pl",
    "list/drop-while partition": "pl",
    "map for-each flat-map map-indexed list/key-by list/group-by sort-by": "fl",
    "foldl fold foldr": "gaN",
    "range iota": "i?ii",
    "tap": "af",
    "get hash-ref hashmap/get": "mk?a",
    "contains? hashmap/contains?": "mk",
    "get-in map/get-in": "mK?a",
    "assoc-in map/assoc-in": "mKa",
    "update-in map/update-in": "mKf",
    "dissoc": "mkk*",
    "hash-map map/new hashmap/new": "ka*",
    "hashmap/assoc": "hka",
    "merge deep-merge map/deep-merge": "mm*",
    "map/filter": "gm",
    "map/map-keys map/map-vals": "fm",
    "map/except map/select-keys": "mK",
    "map/from-entries": "A",
    "map/update": "mkf",
    "map/zip": "Kl",
    "bytevector i64-array": "i*",
    "bytevector->list bytevector-length utf8->string base64/encode-bytes stream/from-bytes": "b",
    "list->bytevector i64-array/from-list": "I",
    "bytes/->string bytevector-copy bytes/parse-int10": "b?ii",
    "bytes/slice": "bi?i",
    "bytes/find": "bb?i",
    "bytes/ref bytevector-u8-ref": "bi",
    "bytevector-append": "b*",
    "bytevector-u8-set!": "bii",
    "make-bytevector bytevector/new i64-array/make": "i?i",
    "f64-array": "n*",
    "f64-array/dot": "dd",
    "f64-array/fold": "gnd",
    "i64-array/fold": "giz",
    "f64-array/length f64-array/sum": "d",
    "i64-array/length i64-array/sum": "z",
    "f64-array/make": "i?n",
    "f64-array/map": "fd",
    "i64-array/map": "fz",
    "f64-array/range": "nn?n",
    "i64-array/range": "ii?i",
    "f64-array/ref": "di",
    "i64-array/ref": "zi",
    "f64-array/set!": "din",
    "i64-array/set!": "zii",
    "mutable-array/new": "?ia",
    "mutable-array/get": "vi?a",
    "mutable-array/set!": "via",
    "mutable-array/push!": "va",
    "mutable-array/->vector mutable-array/length": "v",
    "mutable-cell/get": "w",
    "mutable-cell/set!": "wa",
    "stream/read stream/write-byte": "qi",
    "stream/read-all stream/read-byte stream/read-line stream/readable? stream/writable? stream/available?": "q",
    "stream/to-bytes stream/to-string stream/type stream/close stream/flush": "q",
    "stream/write-string": "qs",
    "stream/write": "qb",
    "call-with-values": "fg",
    "document/text document/metadata": "D",
    "document/chunk": "D?m",
    "stream/copy": "qq?i",
    "context/get context/has? context/remove context/get-hidden context/has-hidden? context/pop context/stack": "k",
    "context/set context/push context/set-hidden": "ka",
    "context/merge": "m",
    "display print println pprint error assert": "a*",
    "assert=": "aa",
    "read read-many": "s",
    "bytes/length": "b",
}  # fmt: skip

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
    "(fn (x) x)",
    "(fn (x) (* x 2))",
    "(fn (x) nil)",
    "(fn (x) (list x x))",
    "car",
    ":a",
    "str",
    "not",
    "string/length",
]
TWOS = ["+", "list", "(fn (a b) (+ a b))", "(fn (a b) b)", "max", "cons", "(fn (a b) (str a b))", "<", "equal?"]
TESTS = ["even?", "number?", "(fn (x) #t)", "(fn (x) #f)", "(fn (x) (> x 2))", "string?", "nil?", "(fn (x) x)"]
PATTERNS = [r'#"\d+"', '#"a"', '#"[a-c]+"', '#"(a)(b)?"', '#"b*"', '#"^l"', r'#"\w+\s"', '#"(?i)HELLO"', '"["', '","']
STAMPS = ["0", "1700000000", "-1", "1.5", "1709209845.123", "253402300800", "1e12", "-62135596800"]
DATES = [
    '"%Y-%m-%d"',
    '"%F %T"',
    '"%Y-%m-%d %H:%M:%S"',
    '"%A %d %B %Y"',
    '"%j %U %s"',
    '"%I:%M %p"',
    '"%Q"',
    '""',
    '"%e/%y"',
]
JSON = [
    '{"a":1,"b":[true,null]}', "[1,2.5,-3e2]", '"x\\u00e9"', "1.0", "", "{", "[1,]", '{"a":{"b":[]}}', "nul", " [ ] ",
    '{"a":1,"a":2}', "12345678901234567890", '"\\ud83d\\ude00"', '"\\ud800"', "01", "[1 2]", '{"k":tru}',
]  # fmt: skip
CSV = ["a,b\n1,2\n", 'x\n"q ""z"""\n', "", "a,b\n1\n", 'a,"b\nc"\r\n1,2', "\n\n", "a;b", '"open', "é,ü\n1,2"]
TOML = [
    "a = 1\n",
    '[t]\nx = "y"\n',
    "a = [1, 2.5]\n",
    "d = 2024-01-02\n",
    "a = ",
    "[a]\n[a]\n",
    "b = true\n[c.d]\ne = inf",
]
PATCH = r'(diff/unified "a\nb\nc\n" "a\nx\nc\n")'


class Calls:
    """Makes calls; `makers` has a function for each letter of WANTED that gives the text of an argument."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.zero = "0.0"
        self.makers = {
            "s": lambda: self.pick(TEXTS), "c": lambda: self.pick(CHARS), "i": self.integer, "n": self.number,
            "k": lambda: self.pick(KEYS), "a": lambda: self.anything(2), "f": lambda: self.pick(ONES),
            "g": lambda: self.pick(TWOS), "p": lambda: self.pick(TESTS), "x": lambda: self.pick(PATTERNS),
            "t": lambda: self.pick(STAMPS), "e": lambda: self.pick(DATES), "j": lambda: json.dumps(self.pick(JSON)),
            "y": lambda: json.dumps(self.pick(CSV), ensure_ascii=False), "o": lambda: json.dumps(self.pick(TOML)),
            "u": lambda: self.pick([PATCH, PATCH, '"not a patch"', '""']),
            "r": lambda: self.pick(["2", "8", "10", "16"]),
            "m": lambda: self.map(2), "h": lambda: f"(hashmap/new {self.pairs(1)})", "b": self.bytes,
            "l": lambda: self.items(lambda: self.anything(1)), "S": lambda: self.items(self.makers["s"]),
            "I": lambda: self.items(self.integer), "N": lambda: self.items(self.number),
            "C": lambda: self.items(self.makers["c"]), "K": lambda: self.items(self.makers["k"]),
            "M": lambda: self.items(lambda: self.map(1)), "L": lambda: self.items(lambda: self.makers["l"]()),
            "A": lambda: self.items(lambda: f"(list {self.pick(KEYS)} {self.anything(1)})"),
            "v": self.mutable, "w": lambda: f"(mutable-cell/new {self.anything(1)})",
            "d": lambda: f"(f64-array {self.some(self.number)})", "z": lambda: f"(i64-array {self.some(self.integer)})",
            "q": self.stream, "D": lambda: f"(document/create {self.pick(TEXTS)} {self.map(1)})",
        }  # fmt: skip

    def pick(self, choices: list[str]) -> str:
        return self.random.choice(choices)

    def call(self, name: str, wanted: str) -> str:
        """A program: one call of a builtin."""
        self.zero = self.pick(["0.0", "0.0", "-0.0"])  # one zero a program: the reference confuses the two
        letters: list[str] = []
        optional = False
        for letter in wanted:
            if letter == "?":
                optional = True
            elif letter == "*":
                letters += letters[-1:] * self.random.randrange(4)
            elif not optional or self.random.random() < 0.6:
                letters.append(letter)
        chance = self.random.random()
        if chance < 0.03:
            letters = letters[:-1]
        elif chance < 0.05:
            letters.append("a")
        arguments = [self.of(letter) for letter in letters]
        if name.endswith("!") and arguments:  # what changes is shown, too
            text = f"(let ((x {arguments[0]})) (list ({' '.join([name, 'x', *arguments[1:]])}) x))"
        else:
            text = f"({' '.join([name, *arguments])})"
        return text.replace("ZERO", self.zero)

    def of(self, letter: str) -> str:
        """An argument: mostly of the type that is wanted."""
        chance = self.random.random()
        if chance < 0.07:
            return self.anything(1)
        if chance < 0.09:
            return self.pick(["nil", "'()", "[]", "{}", '""', "0"])
        return self.makers[letter]()

    def integer(self) -> str:
        return self.pick(FAR if self.random.random() < 0.03 else INTS)

    def number(self) -> str:
        chance = self.random.random()
        return (
            self.integer()
            if chance < 0.5
            else self.pick(FLOATS if chance < 0.85 else EXACT if chance < 0.97 else COMPLEX)
        )

    def some(self, maker: Callable[[], str]) -> str:
        return " ".join(maker() for _ in range(self.random.choice([0, 1, 2, 3, 3, 5])))

    def items(self, maker: Callable[[], str]) -> str:
        """A list or vector; now and then a long one or one of equal values."""
        chance = self.random.random()
        if chance < 0.3:
            return f"[{self.some(maker)}]"
        if chance < 0.36:
            return self.pick(
                ["(range 12)", "'(1 1 2 2 1)", "'(3 1 2)", '(list "b" "a" "b")', "(list 1 (list 2 (list 3)))"]
            )
        return f"(list {self.some(maker)})".replace(" )", ")")

    def pairs(self, depth: int) -> str:
        keys = self.random.sample(KEYS, self.random.choice([0, 1, 2, 2, 3]))
        return " ".join(f"{key} {self.anything(depth - 1)}" for key in keys)

    def map(self, depth: int) -> str:
        if self.random.random() < 0.15:
            return f"(hashmap/new {self.pairs(depth)})".replace(" )", ")")
        return f"{{{self.pairs(depth)}}}".replace("'s", "s")

    def bytes(self) -> str:
        return self.pick(
            ["#u8()", "#u8(1 2 3)", "#u8(104 105)", "#u8(255 254)", "#u8(195 169)", "#u8(49 50)", "#u8(0)"]
        )

    def mutable(self) -> str:
        pushes = "".join(f" (mutable-array/push! v {self.anything(1)})" for _ in range(self.random.randrange(4)))
        return f"(let ((v (mutable-array/new))){pushes} v)"

    def stream(self) -> str:
        return self.pick(
            ["(stream/byte-buffer)", f"(stream/from-string {self.pick(TEXTS)})", f"(stream/from-bytes {self.bytes()})"]
        )

    def anything(self, depth: int) -> str:
        """A value of any type; depth: levels of collections."""
        chance = self.random.random()
        if chance < 0.35 or depth <= 0:
            return self.pick(["nil", "#t", "#f", *KEYS, "2.5", "ZERO", "1/2", "-1", '"é"', "'()", "[]", "100"])
        if chance < 0.45:
            return self.number()
        if chance < 0.55:
            return self.pick(TEXTS)
        if chance < 0.6:
            return self.pick([*ONES[:3], "car", "+", *CHARS])
        if chance < 0.65:
            return self.bytes()
        if chance < 0.75:
            return self.map(depth - 1)
        return self.items(lambda: self.anything(depth - 1))


def main() -> None:
    seed, count, *only = sys.argv[1:]
    calls = Calls(int(seed))
    rows = [(name, wanted) for names, wanted in WANTED.items() for name in names.split() if not only or name in only]
    for number in range(int(count)):
        name, wanted = rows[number % len(rows)] if only else calls.random.choice(rows)
        print(json.dumps({"id": f"call/{number}", "src": calls.call(name, wanted)}, ensure_ascii=False))


if __name__ == "__main__":
    main()
