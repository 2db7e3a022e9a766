"""Random programs of bindings: who sees which definition, for comparing name resolution with the reference's.

    python scripts/random_bindings.py SEED COUNT > bindings.jsonl      {"id","src"} a line

Each nests forms that bind or define the same few names, with closures made before and after, patterns (malformed ones
too), macros of both kinds, and calls of functions that are defined late or never.
"""

from __future__ import annotations

import json
import random
import sys

NAMES = ("a", "b", "f", "g")
VALUES = ("1", "2", ":k", "'(1 2)", "[1 2]", "{:a 1 :b 2}", "nil", '"s"')
PATTERNS = (
    "[a b]", "[a & b]", "{:keys [a b]}", "{:a b}", "[[a] b]", "_", "[a _]", "[a &]", "[a 5]", "{:keys 5}",
    "{:keys [5]}", "{:keys [a] :or {:a 1}}", "[a & b f]", "{:a [b]}", "[a a]", "[{:keys [a]} b]",
)  # fmt: skip
MACROS = (
    "(define-syntax m (syntax-rules () ((_ x) (let ((a 10)) (list a x)))))",
    "(define-syntax m (syntax-rules ooo () ((_ x y ooo) (list x (list y ooo) (quote ...)))))",
    "(define-syntax m (syntax-rules () ((_ (x y) ...) (list (+ x y) ...)) ((_ x ...) (list x ...))))",
    "(define-syntax m (syntax-rules (with) ((_ x with y) (list y x)) ((_ x ... y) (list y x ...))))",
    "(define-syntax m (syntax-rules () ((_ [x ...] ...) (quote ((x ...) ...))) ((_ x) (begin (define b x) b))))",
    "(define-syntax m (syntax-rules () ((_) 0) ((_ x y ...) (let ((b x)) (+ b (m y ...))))))",
    "(defmacro m (x . r) `(let ((a# ,x)) (list a# ,@r)))",
    "(defmacro m (x) `(let ((a 5)) (list a ,x)))",
    "(defmacro m (x) `(define a ,x))",
)
CALLS = ("(m a)", "(m 1 2 3)", "(m (1 2) (3 4))", "(m 1 with 2)", "(m [1 2] [3])", "(m)", "(m b)", "m", "(m (m 1))")
CAUGHT = "(catch e (:message e))"
FUEL = "(define fuel 60) (define (tick) (set! fuel (- fuel 1)) (if (< fuel 0) (throw :fuel) nil))"


class Programs:
    """Makes programs over the names above; d bounds the depth of forms."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def name(self) -> str:
        return self.pick(*NAMES)

    def program(self) -> str:
        """A macro somewhere, globals, functions that nest bindings, and calls of them before and after."""
        forms = [self.top() for _ in range(self.random.choice([1, 2, 3]))]
        forms.append(f"(define (run a) (tick) {self.body(3)})")
        forms.append(f"(println (try (run 7) {CAUGHT}))")
        forms += [self.top() for _ in range(self.random.choice([0, 1, 2]))]
        if self.random.random() < 0.6:
            forms.insert(self.random.randrange(len(forms)), self.pick(*MACROS))
        forms.append(f"(println (try (run 8) {CAUGHT}))")
        forms.append(f"(try {self.form(3)} {CAUGHT})")
        return " ".join([FUEL, *forms])

    def top(self) -> str:
        return self.pick(
            f"(define {self.name()} {self.pick(*VALUES)})",
            f"(define (f a) (tick) {self.body(2)})",
            f"(define (g) (tick) {self.body(2)})",
            f"(define b (try {self.form(2)} {CAUGHT}))",
            f"(define g (let ((a 3)) (fn () (tick) {self.form(1)})))",
        )

    def body(self, d: int) -> str:
        """Forms of a body; definitions among them."""
        return " ".join(self.item(d) for _ in range(self.random.choice([1, 2, 2, 3]))) + " " + self.form(d - 1)

    def item(self, d: int) -> str:
        return self.pick(
            f"(define {self.name()} {self.form(d - 1)})",
            f"(define ({self.pick('f', 'g')}) (tick) {self.form(d - 1)})",
            f"(define {self.pick(*PATTERNS[:6])} {self.pick(*VALUES)})",
            f"(set! {self.name()} {self.form(d - 1)})",
            self.form(d),
        )

    def form(self, d: int) -> str:
        """An expression."""
        if d <= 0:
            return self.pick(*NAMES, *VALUES, "(f)", "(g)", "(list a b)", "(fn () (tick) b)", "((fn () a))", *CALLS[:2])
        n, x, body = self.name, lambda: self.form(d - 1), lambda: self.body(d - 1)
        return self.pick(
            f"(let (({n()} {x()}) ({n()} {x()})) {body()})",
            f"(let* (({n()} {x()}) ({n()} {x()})) {body()})",
            f"(letrec (({n()} (fn () (tick) {x()})) ({n()} {x()})) {body()})",
            f"(let (({self.pick(*PATTERNS)} {x()}) ({n()} {x()})) {body()})",
            f"((fn ({self.pick(*PATTERNS)}) {body()}) {x()})",
            f"(let loop ((i 0)) (if (< i 2) (begin {self.item(d - 1)} (loop (+ i 1))) {x()}))",
            f"(let loop ((i 0)) (when (< i 2) {body()} (loop (+ i 1))))",
            f"(do ((i 0 (+ i 1))) ((= i 2) {x()}) {body()})",
            f"(dotimes (i 2) {body()})",
            f"(case {x()} ((1 2) {body()}) (else {body()}))",
            f"(cond ({x()} {body()}) (else {body()}))",
            f"(match {x()} ({self.pick(*PATTERNS)} {body()}) (_ {body()}))",
            f"(if {x()} {self.item(d - 1)} {self.item(d - 1)})",
            f"({self.pick('when', 'unless')} {self.pick(x(), '#t', '#f')} {body()})",
            f"(begin {body()})",
            f"(try {body()} (catch {n()} {body()}))",
            f"(list {x()} {x()} {x()})",
            f"(begin (println {x()}) {x()})",
            f"({self.pick('f', 'g', 'nope')} (begin (println :arg) {x()}))",
            f"(map (fn ({n()}) {body()}) (list 1 2))",
            f"(let ((k (fn () (tick) {x()}))) {self.item(d - 1)} (k))",
            self.pick(*CALLS),
        )


def main() -> None:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    programs = Programs(seed)
    for number in range(count):
        print(json.dumps({"id": f"bindings-{seed}/{number}", "src": programs.program()}))


if __name__ == "__main__":
    main()
