"""Random programs for the box: forms by the signatures of its builtins, and programs of others, changed.

A program is right often enough to get deep, and wrong often enough to meet every error. All depends on the given
`random.Random` alone.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

from sema_runtime.catalogue_index import INDEX
from semac.box.profile import BUILTINS

ROOT = Path(__file__).resolve().parent.parent.parent
MOST_SOURCE = 4000  # characters of a program that is taken from elsewhere
TOKEN = re.compile(r"""\s+|;[^\n]*|"(?:[^"\\]|\\.)*"|#\\\S\w*|[()\[\]{}'`]|,@?|\#\(|[^\s()\[\]{}"';`,]+|.""", re.S)
PARAMETER = re.compile(r",\s*(?![^(]*\))")
OPEN, CLOSE = ("(", "[", "{"), (")", "]", "}")
EXTREME = [
    "(range 100000000)", '(string/repeat "ab" 100000000)', "(expt 10 100000)", "(mutable-array/new 100000000 0)",
    "(let loop () (loop))", "(foldl (fn (a _) [a a]) 1 (range 40))", "((fn f (x) (f (f x))) 1)",
    "(let loop ((i 0) (x '())) (if (= i 20000) x (loop (+ i 1) (list x))))", "(throw nil)", '(error "")',
]  # fmt: skip
ATOMS = {
    "int": ["0", "1", "-1", "2", "7", "255", "-2147483649", "9007199254740993", "99999999999999999999", "(expt 7 300)"],
    "float": ["0.0", "-0.0", "1.5", "1e308", "-2.5e-300", "(/ 0.0 0.0)", "(/ 1.0 0.0)", "0.1"],
    "rational": ["1/2", "-7/3", "(/ 1 (expt 3 200))"],
    "str": ['""', '"a"', '"a,b\\nc,\\"d\\""', '"λ€𝄞"', '"{\\"a\\": [1, null]}"', '"(a+)+$"', '"~a %d {}"',
            '"2026-01-31"', '"__class__"', '"\\x0;\\x1b;[2J"', '(string/repeat "ab" 500)', '"k = 1\\n"', '"%Y-%m-%d"'],
    "keyword": [":a", ":k", ":message", ":__class__", ":b-c"],
    "symbol": ["'x", "'+", "'a-b"],
    "char": ["#\\a", "#\\space", "#\\λ", "#\\x0"],
    "bool": ["#t", "#f"],
    "nil": ["nil"],
    "bytevector": ["(bytevector)", "(bytevector 1 2 255)", '(string->utf8 "héé")'],
    "seq": ["'()", "'(1 2 3)", "[1 2 3]", '(list "b" "a" "c")', "(list :a nil 2.5 \"x\" '(1))", "(range 20)", "data/x"],
    "dict": ["{}", "{:a 1}", '{:a 1 :b [1 {:c "x"}] "s" nil 3 4}', "(hashmap/new :a 1)", "data/m"],
    "array": ["(mutable-array/new 3 0)", "(f64-array/make 3 1.5)", "(f64-array 1.0 2.0)"],
    "fn": ["(fn (x) x)", "(fn (x y) (+ x y))", "(fn (. args) args)", "+", "car", "str", "list", "nil?",
           "(fn (x) (throw x))", "(fn (a b) (< a b))", ":a", "(fn (x) (return x))",
           "even?", "(fn () 1)", "(fn (x) (list x x))"],
    "any": ["x", "y", "f", "e", "_", "(gensym)", "(delay 1)", "(make-parameter 1)", "(channel/new 2)", "(async 1)",
            "(values 1 2)"],
}  # fmt: skip
ALIASES = {"nat": "int", "number": "float", "list": "seq", "vector": "seq", "map": "dict", "hashmap": "dict"}
FORMS = (
    "(let (({v} {e}) ({w} {e})) {e})", "(let* (({v} {e})) {e} {e})", "(letrec ((f (fn ({v}) {e}))) (f {e}))",
    "(if {e} {e} {e})", "(when {e} {e})", "(cond ({e} {e}) (else {e}))", "(case {e} ((1 :a) {e}) (else {e}))",
    "(fn ({v}) {e})", "(fn ({v} . rest) {e})", "((fn ({v} {w}) {e}) {e} {e})", "(begin {e} {e})",
    "(try {e} (catch e {e}))", "(try {e} (catch e (:message e)) (finally {e}))", "(guard (e (#t {e})) {e})",
    "(throw {e})", "(match {e} ([x y] {e}) ({{:a x}} {e}) ((h . t) {e}) (_ {e}))",
    "(match {e} ((list x ...) x) (_ {e}))", "(let loop ((i 0) ({v} {e})) (if (< i {n}) (loop (+ i 1) {e}) {v}))",
    "(do ((i 0 (+ i 1))) ((= i {n}) {e}) {e})", "(dotimes (i {n}) {e})", "(for ({v} {e}) {e})",
    "(for/list (({v} {e})) {e})", "(while #f {e})", "(map (fn ({v}) {e}) {s})", "(filter (fn ({v}) {e}) {s})",
    "(foldl (fn ({v} {w}) {e}) {e} {s})", "(sort-by (fn ({v}) {e}) {s})", "(-> {e} {b} {b})",
    "(->> {s} (map (fn ({v}) {e})) {b})", "(apply {f} {s})", "`(a ,{e} ,@{s})", "(quote {e})",
    "(parameterize (((make-parameter 1) {e})) {e})", "(let-values (((a b) (values {e} {e}))) {e})",
    "(await (async {e}))", "(async/pool-map (fn ({v}) {e}) {s} 3)", "(async/all (list (async {e}) (async {e})))",
    "(tool/act {{:a {e}}})", "(tool/bad :x {e})", "(return {e})", "(fail {e})", "(set! x {e})", "(force (delay {e}))",
    "(assert= {e} {e})", "(apropos {e})", "(doc {e})", "(dir {e})", "(println {e} {e})", "(pprint {e})",
    "(str {e} {e})",
)  # fmt: skip
TOPS = (
    "(define x {e})", "(define (f x) {e})", "(define (f x . y) {e})",
    "(define-record-type p (mk x y) p? (x px) (y py set-py!))", "(mk {e} {e})", "(px (mk {e} {e}))",
    "(defmacro m (a . b) {e})", "(m {e})", "(define-syntax s (syntax-rules () ((_ a) (list a {e}))))", "(s {e})",
    "(defmulti area (fn (x) {e}))", "(defmethod area :a (fn (x) {e}))", "(area {e})", "(set! x {e})", "{e}", "{e}",
    "{e}", "(define {v} {e})", "(define [a b] {s})", "(define {{:keys [a b]}} {d})", "(define + {f})", "(f {e})",
    "*1", "(list *1 *2 x)",
)  # fmt: skip
NAMES = tuple(sorted(BUILTINS))


def corpus(folder: Path | None) -> list[str]:
    """Programs that people wrote: those of the tests of the box, and of `{"src"}` lines in a folder."""
    texts = [
        text for path in (ROOT / "tests/box").glob("*.py") for text in re.findall(r'"(\(.*?\))"', path.read_text())
    ]
    for path in sorted(folder.glob("*.jsonl")) if folder is not None else []:
        for line in path.read_text(encoding="utf-8").split("\n"):
            source = json.loads(line).get("src") if line else None
            if isinstance(source, str) and "sleep" not in source:
                texts.append(source)
    return [text for text in texts if len(text) < MOST_SOURCE and is_of_the_box(text)] or ["(+ 1 2)"]


def is_of_the_box(text: str) -> bool:
    """Whether a program names no builtin that the box lacks: those would be refused before they get anywhere."""
    return all(token in BUILTINS or token not in INDEX for token in TOKEN.findall(text))


class Generator:
    """Programs by grammar. most: nested forms."""

    def __init__(self, chance: random.Random, most: int = 4) -> None:
        self.chance = chance
        self.most = most

    def program(self) -> str:
        return "\n".join(self.filled(self.chance.choice(TOPS), self.most) for _ in range(self.chance.randint(1, 4)))

    def filled(self, template: str, depth: int) -> str:
        parts = re.split(r"(\{\{|\}\}|\{[a-z]\})", template)
        return "".join(self.part(part, depth) for part in parts)

    def part(self, part: str, depth: int) -> str:
        if part in ("{{", "}}"):
            return part[0]
        if len(part) != 3 or part[0] != "{":
            return part
        kind = part[1]
        if kind == "n":
            return self.chance.choice(["0", "3", "10", "100"])
        if kind in "vw":
            return self.chance.choice(["x", "y", "z", "a-b"])
        if kind == "b":
            return f"({self.chance.choice(NAMES)})"
        return self.form({"s": "seq", "d": "dict", "f": "fn"}.get(kind, "any"), depth - 1)

    def form(self, kind: str, depth: int) -> str:
        """A form whose value is, if it can be, of a kind of ATOMS."""
        roll = self.chance.random()
        if depth <= 0 or roll < 0.35:
            return self.atom(kind)
        if roll < 0.37:
            return self.chance.choice(EXTREME)
        if roll < 0.62 and kind != "fn":
            return self.filled(self.chance.choice(FORMS), depth)
        return self.call(depth) if kind != "fn" else self.atom("fn")

    def atom(self, kind: str) -> str:
        if kind not in ATOMS or self.chance.random() < 0.15:
            kind = self.chance.choice(tuple(ATOMS))
        return self.chance.choice(ATOMS[kind])

    def call(self, depth: int) -> str:
        """A call of a builtin with arguments that its signature allows, mostly."""
        name = self.chance.choice(NAMES)
        signature = INDEX[name][7]
        if isinstance(signature, tuple):
            signature = self.chance.choice(signature)
        kinds = [kind_of(text) for text in PARAMETER.split(signature.rpartition(" -> ")[0]) if text.strip()]
        if kinds and signature.rpartition(" -> ")[0].rstrip().endswith("..."):
            kinds += [kinds[-1]] * self.chance.randrange(3)
        if self.chance.random() < 0.05:
            kinds = kinds[:-1] if self.chance.random() < 0.5 else [*kinds, "any"]
        return f"({' '.join([name, *(self.form(kind, depth - 1) for kind in kinds)])})"


def kind_of(parameter: str) -> str:
    """The kind of argument that a parameter of a signature takes."""
    if "(" in parameter and "->" in parameter:
        return "fn"
    words = re.findall(r"[a-z0-9-]+", parameter.partition("|")[0].replace("keep ", "").replace("now ", ""))
    word = words[0] if words else "any"
    return ALIASES.get(word, word)


# Changed programs


def mutated(chance: random.Random, texts: list[str]) -> str:
    """A program of others with some of its forms replaced, doubled, swapped, cut or wrapped."""
    tokens = TOKEN.findall(chance.choice(texts))
    for _ in range(chance.randrange(5)):
        tokens = changed(chance, tokens, texts)
    text = "".join(tokens)
    if chance.random() < 0.05:  # characters, for the reader
        at = chance.randrange(len(text) + 1)
        text = (
            text[:at]
            + chance.choice(["\x00", "\u202e", "\ud800", "#", "#|", "'", "\\", '"', "(" * 60, "𝐱", ";"])
            + text[at:]
        )
    return text


def changed(chance: random.Random, tokens: list[str], texts: list[str]) -> list[str]:
    forms = extents(tokens)
    if not forms:
        return tokens
    start, end = chance.choice(forms)
    form = tokens[start:end]
    change = chance.randrange(7)
    if change == 0:
        form = [Generator(chance, 3).form("any", 3)]
    elif change == 1:
        other = TOKEN.findall(chance.choice(texts))
        first, last = chance.choice(extents(other) or [(0, len(other))])
        form = other[first:last]
    elif change == 2:
        form = [*form, " ", *form]
    elif change == 3:
        form = []
    elif change == 4:
        form = [Generator(chance).filled(chance.choice(FORMS).replace("{e}", "\0", 1), 2).replace("\0", "".join(form))]
    elif change == 5:
        form = ["(let loop ((i 0)) ", *form, f" (if (< i {chance.choice([3, 50, 10**9])}) (loop (+ i 1))))"]
    else:
        names = [at for at in range(start, end) if tokens[at] in BUILTINS]
        if names:
            at = chance.choice(names)
            return [*tokens[:at], chance.choice(NAMES), *tokens[at + 1 :]]
    return [*tokens[:start], *form, *tokens[end:]]


def extents(tokens: list[str]) -> list[tuple[int, int]]:
    """Where forms begin and end: bracketed ones, and atoms."""
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if token in OPEN:
            opened.append(at)
        elif token in CLOSE:
            if opened:
                found.append((opened.pop(), at + 1))
        elif token.strip() and token[0] != ";":
            found.append((at, at + 1))
    return found


def program(chance: random.Random, texts: list[str]) -> str:
    return Generator(chance).program() if chance.random() < 0.45 else mutated(chance, texts)
