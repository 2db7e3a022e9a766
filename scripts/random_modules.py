"""Random programs of many top-level forms, for comparing optimized code with plain code and with the reference.

    python scripts/random_modules.py SEED COUNT > programs.jsonl      {"id","src"} a line

`random_programs.py` nests expressions in one or two functions. These programs are what people write instead: records
and maps that pass through several functions, functions passed by name and kept in data, globals that functions change,
folds in folds, loops that build maps and return them inside of other values. The last form shows every global and the
results of calls, errors included.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable

KEYS = (":k", ":j", ":n")
NUMBERS = ("0", "1", "2", "3", "5", "-2", "7", "2.5")
TEXTS = ('"a"', '"b,c"', '"x y z"', '"k=1,j=2"', '""')
ANYTHING = (*NUMBERS[:4], '"a"', ":k", "nil", "#t", "'()", "[1 2]", "{:k 1}", "(list 1 2)")
Maker = Callable[[], str]


class Function:
    """A function of the program: its name, what it takes (kinds by position) and what it gives."""

    def __init__(self, name: str, takes: tuple[str, ...], gives: str) -> None:
        self.name = name
        self.takes = takes
        self.gives = gives


class Modules:
    """Kinds of values: "num", "map" (keyword keys, numbers), "nums", "maps", "texts" (lists), "text", "any"."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.functions: list[Function] = []
        self.globals: list[tuple[str, str]] = []  # name, kind
        self.count = 0
        self.records: list[tuple[str, str, str]] = []  # constructor, predicate, accessor

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def fresh(self, base: str) -> str:
        self.count += 1
        return f"{base}{self.count}"

    def program(self) -> str:
        self.__init__(self.random.randrange(1 << 40))  # type: ignore[misc]
        forms = ["(define total 0)", "(define seen {})"]
        self.globals = [("total", "num"), ("seen", "map")]
        makers: list[Callable[[], list[str]]] = [
            self.constructor, self.constructor, self.updater, self.reader, self.folder, self.builder, self.builder,
            self.global_value, self.global_value, self.caller, self.caller, self.counter, self.walker, self.chain, self.record,
            self.higher, self.table, self.closure, self.memo, self.folder, self.tree, self.statement, self.text_function, self.matcher, self.vector_builder, self.redefinition,
        ]  # fmt: skip
        for _ in range(self.random.randrange(4, 13)):
            forms += self.random.choice(makers)()
        calls = [self.guarded(self.call(function, 2)) for function in self.functions]
        forms.append(f"(list {' '.join([*calls, *(name for name, _ in self.globals)])})")
        return "\n".join(forms)

    def guarded(self, expression: str) -> str:
        return f"(try {expression} (catch e (list :err (:type e) (:message e))))"

    # Expressions

    def call(self, function: Function, depth: int, variables: tuple[tuple[str, str], ...] = ()) -> str:
        args = [self.value(kind if self.chance(0.93) else "any", depth - 1, variables) for kind in function.takes]
        return f"({' '.join([function.name, *args])})"

    def value(self, kind: str, depth: int, variables: tuple[tuple[str, str], ...] = ()) -> str:
        """An expression that probably has a value of a kind."""
        simple = [name for name, its_kind in [*variables, *variables, *self.globals] if its_kind == kind]
        known = [function for function in self.functions if function.gives == kind]
        if depth > 0 and known and self.chance(0.4):
            return self.call(self.random.choice(known), depth, variables)
        if depth > 0 and self.chance(0.8):
            return self.random.choice(self.makers(kind, depth - 1, variables))()
        if simple and self.chance(0.75):
            return self.pick(*simple)
        return self.literal(kind)

    def literal(self, kind: str) -> str:
        n = lambda: self.pick(*NUMBERS)  # noqa: E731
        choices: dict[str, Maker] = {
            "num": n,
            "small": lambda: self.pick("5", "8", "1", "2"),
            "map": lambda: self.pick("{}", f"{{:k {n()}}}", f"{{:k {n()} :j {n()}}}", "(hashmap/new)", f"(hashmap/new :k {n()})"),
            "nums": lambda: self.pick("(range 4)", "'()", f"(list {n()} {n()})", "'(1 2 3)", "'(3 1 2 1)"),
            "maps": lambda: self.pick(f"(list {{:k {n()}}} {{:k {n()} :j 1}})", "(list {:k 1})", "'()"),
            "texts": lambda: self.pick('(list "a" "b" "a")', "'()", '(string/split "b,a,b" ",")'),
            "text": lambda: self.pick(*TEXTS),
            "any": lambda: self.pick(*ANYTHING),
            "vec": lambda: self.pick(f"[{n()} {n()}]", f"[{n()} {{:k {n()}}}]"),
        }  # fmt: skip
        return choices[kind]()

    def makers(self, kind: str, d: int, v: tuple[tuple[str, str], ...]) -> list[Maker]:
        x = lambda kind_of_part: self.value(kind_of_part, d, v)  # noqa: E731
        shared: list[Maker] = [
            lambda: f"(if {self.test(d, v)} {x(kind)} {x(kind)})",
            lambda: self.let(kind, d, v),
            lambda: f"(begin (set! total (+ total 1)) {x(kind)})",
            lambda: f"(try {x(kind)} (catch e {x(kind)}))",
        ]
        key = lambda: self.pick(*KEYS)  # noqa: E731
        special: dict[str, list[Maker]] = {
            "num": [
                lambda: f"({self.pick('+', '-', '*')} {x('num')} {x('num')})",
                lambda: f"({self.pick('min', 'max')} {x('num')} {x('num')})",
                lambda: f"(mod {x('num')} {self.pick('3', '7', '5')})",
                lambda: f"(get {x('map')} {key()} 0)",
                lambda: f"(foldl + 0 {x('nums')})",
                lambda: f"(foldl (fn (acc item) (+ acc (* 2 item))) {x('num')} {x('nums')})",
                lambda: f"(length {x(self.pick('nums', 'maps', 'texts'))})",
                lambda: f"(count {x('map')})",
                lambda: f"(foldl (fn (acc m) (+ acc (get m :k 0))) 0 {x('maps')})",
                lambda: f"(length {x('nums')})",
                lambda: f"(nth {x('vec')} 0)",
                lambda: self.sum_of_sums(d, v),
                lambda: f"(string-length {x('text')})",
                lambda: f"(apply + {x('nums')})",
                lambda: f"(cond ({self.test(d, v)} {x('num')}) ({self.test(d, v)} {x('num')}) (else {x('num')}))",
                lambda: f"(case {x('num')} ((0 1) {x('num')}) ((2) {x('num')}) (else {x('num')}))",
                lambda: f"(let* ((p {x('num')}) (q (+ p {x('num')}))) (- q p))",
                lambda: f"(do ((i 0 (+ i 1)) (s 0 (+ s {self.value('num', d - 1, (*v, ('i', 'num')))}))) ((= i 3) s))",
                lambda: f"(get-in {x('map')} (list {key()} {key()}) 0)",
                lambda: f"(->> {x('nums')} (map (fn (x) (+ x 1))) (filter {self.predicate(d, v)}) (foldl + 0))",
                lambda: f"(reduce + (cons 0 {x('nums')}))",
                lambda: f"(car {x('nums')})",
                lambda: f"(quotient {x('num')} {self.pick('2', '3', x('num'))})",
            ],
            "map": [
                lambda: f"(assoc {x('map')} {key()} {x('num')})",
                lambda: f"(dissoc {x('map')} {key()})",
                lambda: f"(foldl (fn (m item) (assoc m item (+ 1 (get m item 0)))) {self.pick('{}', '(hashmap/new)', x('map'))} {x('nums')})",
                lambda: f"(foldl (fn (m w) (assoc m (string->symbol w) (+ 1 (get m w 0)))) {{}} {x('texts')})",
                lambda: f"(merge {x('map')} {x('map')})",
                lambda: self.loop_map(d, v),
                lambda: self.nested_fold(d, v),
                lambda: f"{{:k {x('num')} :j {x('num')}}}",
                lambda: f"(nth {x('maps')} 0)",
                lambda: f"(car {x('maps')})",
                lambda: self.while_map(d, v),
                lambda: self.do_map(d, v),
                lambda: f"(foldl (fn (m r) (merge m r)) {x('map')} {x('maps')})",
                lambda: f"(foldl (fn (m r) (if (contains? m (get r :k 0)) m (assoc m (get r :k 0) r))) {{}} {x('maps')})",
                lambda: f"(foldl {self.folding(d, v)} {self.pick('{}', '(hashmap/new)', x('map'))} {x('nums')})",
                lambda: f"(assoc {x('map')} {key()} {x(self.pick('map', 'maps', 'any'))})",
                lambda: f"(update-in {x('map')} (list {key()}) (fn (old) (if (number? old) (+ old 1) 0)))",
                lambda: f"(assoc-in {x('map')} (list {key()} :in) {x('num')})",
                lambda: f"(let (({{:k a}} {x('map')})) (assoc {{}} :a a))",
                lambda: f"(map/map-vals (fn (x) (if (number? x) (+ x 1) x)) {x('map')})",
                lambda: f"(let* ((m {x('map')}) (m2 (assoc m :n {x('num')}))) (assoc m2 :same (count m)))",
                lambda: f"(if {self.test(d, v)} {x('map')} (assoc {{}} :else {x('num')}))",
            ],
            "nums": [
                lambda: f"(map {self.unary('num', 'num', d, v)} {x('nums')})",
                lambda: f"(filter {self.predicate(d, v)} {x('nums')})",
                lambda: f"(map {self.pick(':k', '(fn (m) (get m :k 0))')} {x('maps')})",
                lambda: f"(cons {x('num')} {x('nums')})",
                lambda: f"(append {x('nums')} {x('nums')})",
                lambda: f"(reverse {x('nums')})",
                lambda: f"(sort {x('nums')})",
                lambda: f"(map {self.unary('num', 'num', d, v)} (filter {self.predicate(d, v)} {x('nums')}))",
                lambda: f"(sort-by {self.unary('num', 'num', d, v)} {x('nums')})",
                lambda: f"(foldl (fn (acc item) (cons item acc)) '() {x('nums')})",
                lambda: f"(map string-length {x('texts')})",
                lambda: f"(let build ((i 0) (out '())) (if (= i {self.pick('2', '3')}) out (build (+ i 1) (cons {self.value('num', d, (*v, ('i', 'num')))} out))))",
            ],
            "maps": [
                lambda: f"(map {self.unary('map', 'map', d, v)} {x('maps')})",
                lambda: f"(map {self.unary('num', 'map', d, v)} {x('nums')})",
                lambda: f"(filter (fn (m) {self.test(d, (*v, ('m', 'map')))}) {x('maps')})",
                lambda: f"(cons {x('map')} {x('maps')})",
                lambda: f"(sort-by :k {x('maps')})",
                lambda: f"(map (fn (i) (assoc {x('map')} :n i)) {x('nums')})",
                lambda: f"(let lp ((i 0) (m {{}}) (out '())) (if (= i 3) out (lp (+ i 1) (assoc m i {x('num')}) (cons {self.pick('m', '(assoc m :z 0)', '{:k i}')} out))))",
                lambda: f"(foldl (fn (out n) (cons {self.value('map', d, (*v, ('n', 'num')))} out)) '() {x('nums')})",
                lambda: f"(map (fn (a b) (assoc a :n b)) {x('maps')} {x('nums')})",
                lambda: f"(foldl (fn (out m) (append out (list (assoc m :j 0)))) '() {x('maps')})",
            ],
            "texts": [
                lambda: f"(map (fn (t) (str t {x('num')})) {x('texts')})",
                lambda: f"(string/split {x('text')} {self.pick(chr(34) + ',' + chr(34), chr(34) + ' ' + chr(34))})",
                lambda: f"(map str {x('nums')})",
            ],
            "text": [
                lambda: f"(str {x('num')} {x('map')})",
                lambda: f"(string-append {x('text')} {x('text')})",
                lambda: f"(string/join {x('texts')} {self.pick(chr(34) + '-' + chr(34), chr(34) + chr(34))})",
                lambda: f"(let ((parts (string/split {x('text')} \",\"))) (str (first parts) (length parts)))",
                lambda: f"(let ((parts (string/split {x('text')} \"=\"))) (nth parts {self.pick('0', '1')}))",
            ],
            "vec": [
                lambda: f"[{x('num')} {x('any')}]",
                lambda: f"(vector {x('num')} {x('map')})",
                lambda: f"(foldl (fn ([a m] n) [(+ a n) (assoc m n a)]) [0 {{}}] {x('nums')})",
                lambda: f"(let lp ((i 0) (m {x('map')})) (if (>= i 2) [i m] (lp (+ i 1) (assoc m :k i))))",
            ],
            "any": [
                lambda: x(self.pick("num", "map", "nums", "maps", "text", "vec")),
                lambda: f"[{x('map')} {x('num')}]",
                lambda: f"(list {x('maps')} {x('any')})",
                lambda: f"(let (([p q] {x('vec')})) (list q p))",
                lambda: f"(let (({{:k kk}} {x('map')})) kk)",
                lambda: f"(match {x('any')} ([a b] (list a b)) ({{:k z}} z) (n when (number? n) (+ n 1)) (_ :other))",
                lambda: f"(throw {x('any')})",
                lambda: f"(let ((f (fn (z) {self.value('any', d - 1, (*v, ('z', 'num')))}))) (list (f {x('num')}) (f {x('num')})))",
                lambda: f"(let ((n {x('num')})) (define (bump) (set! n (+ n 1)) n) (list (bump) (+ n (bump)) n))",
                lambda: f"(let ((m {x('map')})) (let ((g (fn (k) (get m k :none)))) (list (g :k) (assoc m :j 1) (g :j))))",
                lambda: f"{{:m {x('map')} :ms {x('maps')}}}",
                lambda: f"(list {x('map')} {x('map')} {x('num')})",
                lambda: f"(when {self.test(d, v)} {x('map')})",
                lambda: f"(and {x('any')} {x('num')})",
                lambda: f"(or {x('map')} {x('num')})",
                lambda: f"(foldr cons '() {x('nums')})",
                lambda: f"(list/group-by {self.unary('num', 'num', d, v)} {x('nums')})",
                lambda: f"(map (fn (f) (f {x('num')})) (let lp ((i 0) (fs '())) (if (= i 3) fs (lp (+ i 1) (cons (fn (y) (+ i y)) fs)))))",
            ],
        }  # fmt: skip
        return special.get(kind, [lambda: self.literal(kind)]) * 2 + shared

    def let(self, kind: str, d: int, v: tuple[tuple[str, str], ...]) -> str:
        name, its_kind = self.fresh("v"), self.pick("num", "map", "nums", "maps", "any")
        body = self.value(kind, d, (*v, (name, its_kind)))
        if self.chance(0.25):
            body = f"(set! {name} {self.value(its_kind, d, (*v, (name, its_kind)))}) {body}"
        return f"(let (({name} {self.value(its_kind, d, v)})) {body})"

    def test(self, d: int, v: tuple[tuple[str, str], ...]) -> str:
        if self.chance(0.15):
            return self.value("any", d - 1, v)
        if self.chance(0.15):
            return f"(null? {self.value('nums', d - 1, v)})"
        if self.chance(0.15):
            return f"(contains? {self.value('map', d - 1, v)} {self.pick(*KEYS)})"
        return f"({self.pick('<', '>', '=', '<=', '>=')} {self.value('num', d - 1, v)} {self.value('num', d - 1, v)})"

    def unary(self, takes: str, gives: str, d: int, v: tuple[tuple[str, str], ...]) -> str:
        """A function of one argument: one of the program by name, or a lambda."""
        names = [f.name for f in self.functions if f.takes == (takes,) and f.gives == gives]
        if names and self.chance(0.65):
            return self.pick(*names)
        name = self.fresh("e")
        return f"(fn ({name}) {self.value(gives, d, (*v, (name, takes)))})"

    def predicate(self, d: int, v: tuple[tuple[str, str], ...]) -> str:
        if self.chance(0.3):
            return self.pick("even?", "odd?", "positive?")
        return f"(fn (q) {self.test(d, (*v, ('q', 'num')))})"

    def loop_map(self, d: int, v: tuple[tuple[str, str], ...]) -> str:
        """A named let that builds a map and gives it, or something made of it."""
        inner = (*v, ("i", "num"), ("m", "map"))
        start = self.pick("{}", "(hashmap/new)", self.value("map", d, v))
        end = self.pick(
            "m", "m", "(assoc m :end i)", "(dissoc m 0)", "(merge m {:z 1})", "(if (> (count m) 1) m {:few i})"
        )
        step = self.pick(
            f"(assoc m i {self.value('num', d - 1, inner)})",
            "(assoc m :k (+ 1 (get m :k 0)))",
            f"(if {self.test(d - 1, inner)} (assoc m :k i) m)",
            "(let ((n (assoc m :n i))) (assoc n :j (get n :k 0)))",
            "(begin (set! seen m) (assoc m :i i))",
        )
        bound = self.pick("3", "3", "(length (list 1 2))")
        return f"(let lp ((i 0) (m {start})) (if (= i {bound}) {end} (lp (+ i 1) {step})))"

    def while_map(self, d: int, v: tuple[tuple[str, str], ...]) -> str:
        step = self.pick("(assoc m i i)", "(assoc m :k i)", "(merge m {:i i})", "(if (even? i) (assoc m i 0) m)")
        return f"(let ((m {self.pick('{}', self.value('map', d - 1, v))}) (i 0)) (while (< i 3) (set! m {step}) (set! i (+ i 1))) m)"

    def do_map(self, d: int, v: tuple[tuple[str, str], ...]) -> str:
        end = self.pick("m", "(assoc m :end i)", "[m i]", "(list m m)")
        return f"(do ((i 0 (+ i 1)) (m {self.pick('{}', self.value('map', d - 1, v))} (assoc m i {self.pick('i', '(count m)')}))) ((= i 3) {end}))"

    def folding(self, d: int, v: tuple[tuple[str, str], ...]) -> str:
        """A function of a map and a number that gives a map: one of the program by name, or a lambda."""
        names = [f.name for f in self.functions if f.takes == ("map", "num") and f.gives == "map"]
        if names and self.chance(0.6):
            return self.pick(*names)
        inner = (*v, ("m", "map"), ("n", "num"))
        return f"(fn (m n) {self.value('map', d - 1, inner)})"

    def nested_fold(self, d: int, v: tuple[tuple[str, str], ...]) -> str:
        body = self.pick(
            "(assoc m (+ a b) a)",
            "(assoc m a (+ b (get m a 0)))",
            "(if (> a b) (assoc m b a) m)",
            "(assoc m :last m)",
        )
        outer = self.value("nums", d - 1, v)
        return f"(foldl (fn (m a) (foldl (fn (m b) {body}) m {self.pick('(range 3)', chr(39) + '(1 2)', outer)})) {self.pick('{}', '(hashmap/new)')} {outer})"

    def sum_of_sums(self, d: int, v: tuple[tuple[str, str], ...]) -> str:
        inner = (*v, ("row", "num"), ("s", "num"))
        return f"(foldl (fn (s row) (+ s (foldl (fn (t cell) (+ t (* row cell))) {self.value('num', d - 1, inner)} (range 3)))) 0 {self.value('nums', d - 1, v)})"

    # Top-level forms

    def define(
        self, base: str, takes: tuple[str, ...], gives: str, body: Callable[[tuple[tuple[str, str], ...]], str]
    ) -> list[str]:
        name = self.fresh(base)
        params = tuple((f"{kind[0]}{index}", kind) for index, kind in enumerate(takes))
        text = f"(define ({' '.join([name, *(param for param, _ in params)])}) {body(params)})"
        self.functions.append(Function(name, takes, gives))
        return [text]

    def kinds(self, most: int = 2) -> tuple[str, ...]:
        return tuple(self.pick("num", "map", "nums", "maps", "any") for _ in range(self.random.randrange(1, most + 1)))

    def constructor(self) -> list[str]:
        shape = self.pick(
            "{:k n0}", "{:k n0 :j 1}", "(assoc {} :k n0)", "(hashmap/new :k n0)", "(assoc (hashmap/new) :k n0 :n 2)"
        )
        return self.define("make", ("num",), "map", lambda _: shape)

    def updater(self) -> list[str]:
        key = self.pick(*KEYS)
        return self.define("up", ("map",), "map", lambda v: self.pick(
            f"(assoc m0 {key} (+ 1 (get m0 {key} 0)))", f"(assoc m0 {key} {self.value('num', 1, v)})",
            f"(if {self.test(1, v)} m0 (assoc m0 {key} 9))", f"(let ((m m0)) (assoc m {key} (count m)))", "m0",
        ))  # fmt: skip

    def reader(self) -> list[str]:
        return self.define(
            "read", ("map",), "num", lambda v: self.pick("(:k m0)", "(get m0 :k 0)", self.value("num", 2, v))
        )

    def folder(self) -> list[str]:
        if self.chance(0.5):
            step = self.define("step", ("map", "num"), "map", lambda v: self.pick(
                "(assoc m0 n1 (+ 1 (get m0 n1 0)))", f"(assoc m0 :k {self.value('num', 1, v)})", "(if (even? n1) m0 (assoc m0 n1 1))",
            ))  # fmt: skip
            name = self.functions[-1].name
            return step + self.define(
                "tally", ("nums",), "map", lambda _: f"(foldl {name} {self.pick('{}', '(hashmap/new)')} n0)"
            )
        return self.define("tally", ("nums",), "map", lambda v: self.nested_fold(2, v))

    def builder(self) -> list[str]:
        gives = self.pick("map", "map", "num", "nums", "maps", "any")
        return self.define("f", self.kinds(), gives, lambda v: self.value(gives, 3, v))

    def vector_builder(self) -> list[str]:
        body = "(let lp ((i 0) (entries {})) (if (>= i n0) [i entries] (lp (+ i 1) (assoc entries i (* i i)))))"
        other = "(let lp ((i 0) (a {}) (b '())) (if (= i 3) (list a b n0) (lp (+ i 1) (assoc a :k i) (cons a b))))"
        return self.define("pairs", ("num",), "vec", lambda _: self.pick(body, other))

    def global_value(self) -> list[str]:
        name, kind = self.fresh("g"), self.pick("num", "map", "nums", "maps", "any")
        text = f"(define {name} {self.value(kind, 3)})"
        if self.chance(0.3):
            text = f"(define {name} {self.guarded(self.value(kind, 3))})"
        self.globals.append((name, kind))
        return [text]

    def caller(self) -> list[str]:
        gives = self.pick("num", "map", "maps", "any")
        return self.define("use", self.kinds(3), gives, lambda v: f"(begin {self.effect(v)} {self.value(gives, 2, v)})")

    def effect(self, v: tuple[tuple[str, str], ...]) -> str:
        return self.random.choice([
            lambda: f"(println {self.value('any', 1, v)})",
            lambda: f"(set! total (+ total {self.value('num', 1, v)}))",
            lambda: f"(set! seen (assoc seen :k {self.value('num', 1, v)}))",
            lambda: f"(for-each (fn (x) (println x)) {self.value(self.pick('nums', 'maps'), 1, v)})",
            lambda: f"(for-each (fn (x) (set! total (+ total x))) {self.value('nums', 1, v)})",
            lambda: f"(dotimes (i {self.pick('2', '3')}) (set! total (+ total i)))",
            lambda: f"(when {self.test(1, v)} (println {self.value('num', 1, v)}))",
        ])()  # fmt: skip

    def counter(self) -> list[str]:
        """A self tail call with an accumulator."""
        name, gives = self.fresh("count"), self.pick("num", "map")
        v = (("n", "num"), ("acc", gives))
        step = (
            self.pick("(assoc acc n 1)", "(assoc acc :k n)") if gives == "map" else f"(+ acc {self.value('num', 1, v)})"
        )
        end = self.value(gives, 1, v) if self.chance(0.3) else "acc"
        self.functions.append(Function(name, ("num", gives), gives))
        return [f"(define ({name} n acc) (if (<= n 0) {end} ({name} (- n 1) {step})))"]

    def walker(self) -> list[str]:
        """Recursion over a list that isn't a tail call."""
        name = self.fresh("walk")
        self.functions.append(Function(name, ("nums",), "nums"))
        head = self.value("num", 1, (("xs", "nums"), ("x", "num")))
        return [f"(define ({name} xs) (if (null? xs) '() (let ((x (car xs))) (cons {head} ({name} (cdr xs))))))"]

    def chain(self) -> list[str]:
        """Functions that call each other in the order of their definitions, more than twelve now and then."""
        base = self.fresh("link")
        count = self.pick("3", "4", "14")
        texts = []
        for index in range(int(count)):
            last = index == int(count) - 1
            body = (
                self.pick("(+ n0 1)", "(str n0)", "[n0]")
                if last
                else f"({base}-{index + 1} {self.pick('n0', '(+ n0 1)')})"
            )
            texts.append(f"(define ({base}-{index} n0) {body})")
        self.functions.append(Function(f"{base}-0", ("num",), "any"))
        return texts

    def record(self) -> list[str]:
        name = self.fresh("rec")
        self.records.append((f"make-{name}", f"{name}?", f"{name}-x"))
        self.functions.append(Function(f"make-{name}", ("num", "map"), "any"))
        reads = self.fresh("field")
        self.functions.append(Function(reads, ("num",), "any"))
        return [
            f"(define-record-type {name} (make-{name} x y) {name}? (x {name}-x) (y {name}-y))",
            f"(define ({reads} n0) (let ((r (make-{name} n0 {{:k n0}}))) (list ({name}-x r) (assoc ({name}-y r) :j 1) ({name}? r))))",
        ]

    def higher(self) -> list[str]:
        """A function that takes a function, and calls of it with functions of the program."""
        name = self.fresh("twice")
        texts = [f"(define ({name} f x) (f (f x)))"]
        for function in self.functions:
            if function.takes in (("num",), ("map",)) and function.gives == function.takes[0] and self.chance(0.7):
                result = self.fresh("g")
                texts.append(
                    f"(define {result} {self.guarded(f'({name} {function.name} {self.value(function.gives, 1)})')})"
                )
                self.globals.append((result, "any"))
        return texts

    def closure(self) -> list[str]:
        """A function that makes functions which share a variable."""
        name, result = self.fresh("counter"), self.fresh("g")
        kind = self.pick(
            "(set! n (+ n step))", "(set! n (assoc {} :n step))", "(begin (set! n (cons step (list n))) n)"
        )
        self.globals.append((result, "any"))
        return [
            f"(define ({name} step) (let ((n 0)) (fn () {kind} n)))",
            f"(define {result} (let ((c ({name} {self.value('num', 1)}))) (list (c) (c) (({name} 2)))))",
        ]

    def memo(self) -> list[str]:
        """A table in a global that a recursive function fills."""
        table, name = self.fresh("table"), self.fresh("fib")
        self.functions.append(Function(name, ("small",), "num"))
        self.globals.append((table, "map"))
        return [
            f"(define {table} {{}})",
            f"(define ({name} n) (if (contains? {table} n) (get {table} n) (let ((r (if (< n 2) n (+ ({name} (- n 1)) ({name} (- n 2)))))) (set! {table} (assoc {table} n r)) r)))",
        ]

    def tree(self) -> list[str]:
        """A tree of maps or vectors: inserted by recursion, read by recursion."""
        insert, total, result = self.fresh("insert"), self.fresh("sum"), self.fresh("g")
        self.globals.append((result, "any"))
        built = self.guarded(f"(let ((t (foldl {insert} nil {self.value('nums', 2)}))) (list t ({total} t)))")
        if self.chance(0.5):
            return [
                f"(define ({insert} t n) (cond ((nil? t) {{:n n}}) ((< n (:n t)) (assoc t :l ({insert} (get t :l) n))) (else (assoc t :r ({insert} (get t :r) n)))))",
                f"(define ({total} t) (if (nil? t) 0 (+ (:n t) ({total} (get t :l)) ({total} (get t :r)))))",
                f"(define {result} {built})",
            ]
        return [
            f"(define ({insert} t n) (match t (nil [n nil nil]) ([m l r] (if (< n m) [m ({insert} l n) r] [m l ({insert} r n)]))))",
            f"(define ({total} t) (if (nil? t) 0 (let (([n l r] t)) (+ n ({total} l) ({total} r)))))",
            f"(define {result} {built})",
        ]

    def table(self) -> list[str]:
        """Functions kept in data and called from there."""
        makers = [function for function in self.functions if len(function.takes) == 1]
        if not makers:
            return []
        function, result = self.random.choice(makers), self.fresh("g")
        argument = self.value(function.takes[0], 1)
        self.globals.append((result, "any"))
        text = self.pick(
            f"((get {{:f {function.name}}} :f) {argument})",
            f"(map (fn (f) (f {argument})) (list {function.name}))",
            f"(apply {function.name} (list {argument}))",
            f"(let ((f {function.name})) (f {argument}))",
            f"(map {function.name} (list {argument} {argument}))",
        )
        return [f"(define {result} {self.guarded(text)})"]

    def statement(self) -> list[str]:
        return [self.guarded(self.effect(()))]

    def text_function(self) -> list[str]:
        gives = self.pick("texts", "text", "num", "map")
        return self.define("text", ("text",), gives, lambda v: self.value(gives, 3, tuple((n, "text") for n, _ in v)))

    def matcher(self) -> list[str]:
        v = (("a0", "any"),)
        return self.define("match", ("any",), "any", lambda _: (
            f"(match a0 ({{:k z}} {self.value('any', 1, (*v, ('z', 'num')))}) ([p q] (list q p)) (n when (number? n) "
            f"{self.value('num', 1, (*v, ('n', 'num')))}) (_ a0))"
        ))  # fmt: skip

    def redefinition(self) -> list[str]:
        """A second definition of a function, or a change of it, seen by those who call it."""
        candidates = [
            function
            for function in self.functions
            if len(function.takes) == 1 and function.name[:2] in ("up", "re", "ma")
        ]
        if not candidates or self.chance(0.4):
            return []
        function = self.random.choice(candidates)
        v = ((f"{function.takes[0][0]}0", function.takes[0]),)
        self.functions.remove(function)  # it would call itself for ever
        body = self.value(function.gives, 2, v)
        self.functions.append(function)
        if self.chance(0.5):
            return [f"(define ({function.name} {v[0][0]}) {body})"]
        return [f"(set! {function.name} (fn ({v[0][0]}) {body}))"]


def main() -> None:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    modules = Modules(seed)
    for number in range(count):
        print(json.dumps({"id": f"modules-{seed}/{number}", "src": modules.program()}))


if __name__ == "__main__":
    main()
