"""Random programs of many top-level forms, for comparing optimized code with plain code and with the reference.

    python scripts/random_modules.py SEED COUNT > programs.jsonl      {"id","src"} a line

`random_programs.py` nests expressions in one or two functions. These programs are what people write instead: records
and maps that pass through several functions, functions passed by name and kept in data, globals that functions change,
folds in folds, loops that build maps and return them inside of other values. The last form shows every global and the
results of calls, errors included.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from random_expressions import KEYS, Expressions, Function, Variables


class Modules(Expressions):
    """Programs: top-level forms that define functions and globals, and calls of them."""

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

    # Top-level forms

    def define(self, base: str, takes: tuple[str, ...], gives: str, body: Callable[[Variables], str]) -> list[str]:
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

    def effect(self, v: Variables) -> str:
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
        """A second definition of a function, or a change of it, which its callers see."""
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
