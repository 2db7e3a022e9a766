"""Random expressions by the kind of their value, for the programs of `random_modules.py`."""

from __future__ import annotations

import random
from collections.abc import Callable

KEYS = (":k", ":j", ":n")
NUMBERS = ("0", "1", "2", "3", "5", "-2", "7", "2.5")
TEXTS = ('"a"', '"b,c"', '"x y z"', '"k=1,j=2"', '""')
ANYTHING = (*NUMBERS[:4], '"a"', ":k", "nil", "#t", "'()", "[1 2]", "{:k 1}", "(list 1 2)")
Maker = Callable[[], str]
Variables = tuple[tuple[str, str], ...]  # name, kind


class Function:
    """A function of the program: its name, the kinds of its arguments by position, and the kind of its result."""

    def __init__(self, name: str, takes: tuple[str, ...], gives: str) -> None:
        self.name = name
        self.takes = takes
        self.gives = gives


class Expressions:
    """Kinds of values: "num", "map" (keyword keys, numbers), "nums", "maps", "texts" (lists), "text", "any"."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.functions: list[Function] = []
        self.globals: list[tuple[str, str]] = []  # name, kind
        self.count = 0

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def fresh(self, base: str) -> str:
        self.count += 1
        return f"{base}{self.count}"

    def guarded(self, expression: str) -> str:
        return f"(try {expression} (catch e (list :err (:type e) (:message e))))"

    def call(self, function: Function, depth: int, variables: Variables = ()) -> str:
        args = [self.value(kind if self.chance(0.93) else "any", depth - 1, variables) for kind in function.takes]
        return f"({' '.join([function.name, *args])})"

    def value(self, kind: str, depth: int, variables: Variables = ()) -> str:
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

    def makers(self, kind: str, d: int, v: Variables) -> list[Maker]:
        """Ways to write an expression that probably has a value of a kind. d: how deep it may nest."""
        x = self.part(d, v)
        shared: list[Maker] = [
            lambda: f"(if {self.test(d, v)} {x(kind)} {x(kind)})",
            lambda: self.let(kind, d, v),
            lambda: f"(begin (set! total (+ total 1)) {x(kind)})",
            lambda: f"(try {x(kind)} (catch e {x(kind)}))",
        ]
        special: dict[str, Callable[[int, Variables], list[Maker]]] = {
            "num": self.numbers,
            "map": self.maps,
            "nums": self.lists_of_numbers,
            "maps": self.lists_of_maps,
            "texts": self.lists_of_texts,
            "text": self.texts,
            "vec": self.vectors,
            "any": self.anything,
        }
        makers = special[kind](d, v) if kind in special else [lambda: self.literal(kind)]
        return makers * 2 + shared

    def part(self, d: int, v: Variables) -> Callable[[str], str]:
        """The function from a kind to an expression inside another one."""
        return lambda kind: self.value(kind, d, v)

    def key(self) -> str:
        return self.pick(*KEYS)

    def numbers(self, d: int, v: Variables) -> list[Maker]:
        x = self.part(d, v)
        return [
            lambda: f"({self.pick('+', '-', '*')} {x('num')} {x('num')})",
            lambda: f"({self.pick('min', 'max')} {x('num')} {x('num')})",
            lambda: f"(mod {x('num')} {self.pick('3', '7', '5')})",
            lambda: f"(get {x('map')} {self.key()} 0)",
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
            lambda: f"(get-in {x('map')} (list {self.key()} {self.key()}) 0)",
            lambda: f"(->> {x('nums')} (map (fn (x) (+ x 1))) (filter {self.predicate(d, v)}) (foldl + 0))",
            lambda: f"(reduce + (cons 0 {x('nums')}))",
            lambda: f"(car {x('nums')})",
            lambda: f"(quotient {x('num')} {self.pick('2', '3', x('num'))})",
        ]  # fmt: skip

    def maps(self, d: int, v: Variables) -> list[Maker]:
        x = self.part(d, v)
        return [
            lambda: f"(assoc {x('map')} {self.key()} {x('num')})",
            lambda: f"(dissoc {x('map')} {self.key()})",
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
            lambda: f"(assoc {x('map')} {self.key()} {x(self.pick('map', 'maps', 'any'))})",
            lambda: f"(update-in {x('map')} (list {self.key()}) (fn (old) (if (number? old) (+ old 1) 0)))",
            lambda: f"(assoc-in {x('map')} (list {self.key()} :in) {x('num')})",
            lambda: f"(let (({{:k a}} {x('map')})) (assoc {{}} :a a))",
            lambda: f"(map/map-vals (fn (x) (if (number? x) (+ x 1) x)) {x('map')})",
            lambda: f"(let* ((m {x('map')}) (m2 (assoc m :n {x('num')}))) (assoc m2 :same (count m)))",
            lambda: f"(if {self.test(d, v)} {x('map')} (assoc {{}} :else {x('num')}))",
        ]  # fmt: skip

    def lists_of_numbers(self, d: int, v: Variables) -> list[Maker]:
        x = self.part(d, v)
        return [
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
        ]  # fmt: skip

    def lists_of_maps(self, d: int, v: Variables) -> list[Maker]:
        x = self.part(d, v)
        return [
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
        ]  # fmt: skip

    def lists_of_texts(self, d: int, v: Variables) -> list[Maker]:
        x = self.part(d, v)
        return [
            lambda: f"(map (fn (t) (str t {x('num')})) {x('texts')})",
            lambda: f"(string/split {x('text')} {self.pick(chr(34) + ',' + chr(34), chr(34) + ' ' + chr(34))})",
            lambda: f"(map str {x('nums')})",
        ]  # fmt: skip

    def texts(self, d: int, v: Variables) -> list[Maker]:
        x = self.part(d, v)
        return [
            lambda: f"(str {x('num')} {x('map')})",
            lambda: f"(string-append {x('text')} {x('text')})",
            lambda: f"(string/join {x('texts')} {self.pick(chr(34) + '-' + chr(34), chr(34) + chr(34))})",
            lambda: f"(let ((parts (string/split {x('text')} \",\"))) (str (first parts) (length parts)))",
            lambda: f"(let ((parts (string/split {x('text')} \"=\"))) (nth parts {self.pick('0', '1')}))",
        ]  # fmt: skip

    def vectors(self, d: int, v: Variables) -> list[Maker]:
        x = self.part(d, v)
        return [
            lambda: f"[{x('num')} {x('any')}]",
            lambda: f"(vector {x('num')} {x('map')})",
            lambda: f"(foldl (fn ([a m] n) [(+ a n) (assoc m n a)]) [0 {{}}] {x('nums')})",
            lambda: f"(let lp ((i 0) (m {x('map')})) (if (>= i 2) [i m] (lp (+ i 1) (assoc m :k i))))",
        ]  # fmt: skip

    def anything(self, d: int, v: Variables) -> list[Maker]:
        x = self.part(d, v)
        return [
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
        ]  # fmt: skip

    def let(self, kind: str, d: int, v: Variables) -> str:
        name, its_kind = self.fresh("v"), self.pick("num", "map", "nums", "maps", "any")
        body = self.value(kind, d, (*v, (name, its_kind)))
        if self.chance(0.25):
            body = f"(set! {name} {self.value(its_kind, d, (*v, (name, its_kind)))}) {body}"
        return f"(let (({name} {self.value(its_kind, d, v)})) {body})"

    def test(self, d: int, v: Variables) -> str:
        if self.chance(0.15):
            return self.value("any", d - 1, v)
        if self.chance(0.15):
            return f"(null? {self.value('nums', d - 1, v)})"
        if self.chance(0.15):
            return f"(contains? {self.value('map', d - 1, v)} {self.pick(*KEYS)})"
        return f"({self.pick('<', '>', '=', '<=', '>=')} {self.value('num', d - 1, v)} {self.value('num', d - 1, v)})"

    def unary(self, takes: str, gives: str, d: int, v: Variables) -> str:
        """A function of one argument: one of the program by name, or a lambda."""
        names = [f.name for f in self.functions if f.takes == (takes,) and f.gives == gives]
        if names and self.chance(0.65):
            return self.pick(*names)
        name = self.fresh("e")
        return f"(fn ({name}) {self.value(gives, d, (*v, (name, takes)))})"

    def predicate(self, d: int, v: Variables) -> str:
        if self.chance(0.3):
            return self.pick("even?", "odd?", "positive?")
        return f"(fn (q) {self.test(d, (*v, ('q', 'num')))})"

    def loop_map(self, d: int, v: Variables) -> str:
        """A named let that builds a map and returns it, or a value built from it."""
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

    def while_map(self, d: int, v: Variables) -> str:
        step = self.pick("(assoc m i i)", "(assoc m :k i)", "(merge m {:i i})", "(if (even? i) (assoc m i 0) m)")
        return f"(let ((m {self.pick('{}', self.value('map', d - 1, v))}) (i 0)) (while (< i 3) (set! m {step}) (set! i (+ i 1))) m)"

    def do_map(self, d: int, v: Variables) -> str:
        end = self.pick("m", "(assoc m :end i)", "[m i]", "(list m m)")
        return f"(do ((i 0 (+ i 1)) (m {self.pick('{}', self.value('map', d - 1, v))} (assoc m i {self.pick('i', '(count m)')}))) ((= i 3) {end}))"

    def folding(self, d: int, v: Variables) -> str:
        """A function from a map and a number to a map: one of the program by name, or a lambda."""
        names = [f.name for f in self.functions if f.takes == ("map", "num") and f.gives == "map"]
        if names and self.chance(0.6):
            return self.pick(*names)
        inner = (*v, ("m", "map"), ("n", "num"))
        return f"(fn (m n) {self.value('map', d - 1, inner)})"

    def nested_fold(self, d: int, v: Variables) -> str:
        body = self.pick(
            "(assoc m (+ a b) a)",
            "(assoc m a (+ b (get m a 0)))",
            "(if (> a b) (assoc m b a) m)",
            "(assoc m :last m)",
        )
        outer = self.value("nums", d - 1, v)
        return f"(foldl (fn (m a) (foldl (fn (m b) {body}) m {self.pick('(range 3)', chr(39) + '(1 2)', outer)})) {self.pick('{}', '(hashmap/new)')} {outer})"

    def sum_of_sums(self, d: int, v: Variables) -> str:
        inner = (*v, ("row", "num"), ("s", "num"))
        return f"(foldl (fn (s row) (+ s (foldl (fn (t cell) (+ t (* row cell))) {self.value('num', d - 1, inner)} (range 3)))) 0 {self.value('nums', d - 1, v)})"
