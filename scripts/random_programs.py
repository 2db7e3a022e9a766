"""Random small programs, for comparing optimized code with plain code and with the reference.

    python scripts/random_programs.py SEED COUNT > programs.jsonl      {"id","src"} a line

They consist of what the optimizer rewrites: loops, folds, maps built step by step, closures in loops, arithmetic on
values of any type, comparisons, patterns, errors. The oracle's `--fill` adds the reference's answers to such a file,
and the conformance tool compares them with ours.
"""

from __future__ import annotations

import json
import random
import sys

ATOMS = [
    "0", "1", "2", "-3", "7", "10", "2.5", "0.0", "-1", '"a"', '"bc"', ":k", ":j", "nil", "#t", "#f", "'()", "[1 2]",
    "{:k 1}", "'(1 2 3)", "(list 1 2)",
]  # fmt: skip
KEYS = [":k", ":j", "1", '"s"']
LISTS = ["'(1 2 3)", "(list 4 5)", "(range 4)", "'()", "(list :k 2)"]
COUNTED = ["(list 1 2 1)", "(list :k :j :k)", "(list 1 1.0 #t [1] :a #t)", "(list (list 1) (list 1) 2.5 nil)"]
MAPS = ["{:k 1}", "{}", "{:k 1 :j 2}", "(hashmap/new :k 5)"]


class Programs:
    """Makes programs; every method returns the text of an expression of depth at most d over the variables v."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def program(self) -> str:
        """One or two functions and calls of them with values of many types."""
        caught = "(catch e (list :err (:message e)))"
        text = f"(define g 0) (define (f a b) {self.value(4, ['a', 'b'])}) "
        calls = [
            f"(f {self.pick(*ATOMS)} {self.pick(*ATOMS)})",
            f"(f {self.pick('1', '2', '3')} {self.pick('1', '4')})",
        ]
        if self.random.random() < 0.5:
            v = ["n", "acc"]
            text += f"(define (h n acc) (if (<= n 0) {self.value(2, v)} (h (- n 1) {self.value(3, v)}))) "
            calls.append(f"(h {self.pick('2', '3')} {self.pick(*ATOMS)})")
        return text + "(list " + " ".join(f"(try {call} {caught})" for call in calls) + " g)"

    def number(self, d: int, v: list[str]) -> str:
        if d <= 0 or self.random.random() < 0.3:
            return self.pick(*v, "1", "2", "3", "5", "-2", "0", "10")
        n = self.number
        makers = [
            lambda: f"({self.pick('+', '-', '*')} {n(d - 1, v)} {n(d - 1, v)})",
            lambda: f"({self.pick('+', '-', '*')} {n(d - 1, v)} {n(d - 1, v)})",
            lambda: f"({self.pick('+', '*', '-')} {n(d - 1, v)} {n(d - 1, v)} {n(d - 1, v)})",
            lambda: f"({self.pick('min', 'max')} {n(d - 1, v)} {n(d - 1, v)})",
            lambda: f"(mod {n(d - 1, v)} {self.pick('3', '7', '5')})",
            lambda: f"(if {self.test(d - 1, v)} {n(d - 1, v)} {n(d - 1, v)})",
            lambda: f"(let ((x {n(d - 1, v)})) {n(d - 1, [*v, 'x'])})",
            lambda: f"(length {self.items(d - 1, v)})",
            lambda: f"(foldl (fn (acc e) (+ acc (if (number? e) e 1))) {n(d - 1, v)} {self.items(d - 1, v)})",
            lambda: f"(begin (set! g (+ g 1)) {n(d - 1, v)})",
            lambda: f"(get {self.map(d - 1, v)} {self.pick(':k', ':j', '1')} {n(d - 1, v)})",
            lambda: (
                f"(let loop ((i 0) (s {n(d - 1, v)})) "
                f"(if (= i {self.pick('0', '3', '4')}) s (loop (+ i 1) {n(d - 2, [*v, 'i', 's'])})))"
            ),
        ]
        return self.random.choice(makers)()

    def test(self, d: int, v: list[str]) -> str:
        n, t, a = self.number, self.test, self.value
        if d <= 0 or self.random.random() < 0.3:
            return f"({self.pick('<', '>', '=', '<=', '>=')} {n(d - 1, v)} {n(d - 1, v)})"
        makers = [
            lambda: f"({self.pick('<', '=')} {n(d - 1, v)} {n(d - 1, v)} {n(d - 1, v)})",
            lambda: f"({self.pick('and', 'or')} {t(d - 1, v)} {t(d - 1, v)})",
            lambda: f"(not {t(d - 1, v)})",
            lambda: f"(null? {self.items(d - 1, v)})",
            lambda: a(d - 1, v),
            lambda: f"(equal? {a(d - 1, v)} {a(d - 1, v)})",
            lambda: f"(even? {n(d - 1, v)})",
        ]
        return self.random.choice(makers)()

    def items(self, d: int, v: list[str]) -> str:
        n, a, xs = self.number, self.value, self.items
        if d <= 0 or self.random.random() < 0.25:
            return self.pick(*LISTS)
        makers = [
            lambda: f"(map (fn (e) {n(d - 1, [*v, 'e'])}) (range {self.pick('2', '3')}))",
            lambda: f"(filter (fn (e) {self.test(d - 1, [*v, 'e'])}) (list 1 2 3 4))",
            lambda: f"(cons {a(d - 1, v)} {xs(d - 1, v)})",
            lambda: f"(cdr {xs(d - 1, v)})",
            lambda: f"(reverse {xs(d - 1, v)})",
            lambda: f"(append {xs(d - 1, v)} {xs(d - 1, v)})",
            lambda: f"(let build ((i 0) (out '())) (if (= i 3) out (build (+ i 1) (cons {n(d - 1, [*v, 'i'])} out))))",
        ]
        return self.random.choice(makers)()

    def map(self, d: int, v: list[str]) -> str:
        if d <= 0 or self.random.random() < 0.3:
            return self.pick(*MAPS)
        start = self.pick("{}", "(hashmap/new)", self.map(d - 1, v))
        makers = [
            lambda: f"(assoc {self.map(d - 1, v)} {self.pick(*KEYS)} {self.value(d - 1, v)})",
            lambda: f"(foldl (fn (m e) (assoc m e (+ 1 (get m e 0)))) {start} {self.pick(*COUNTED)})",
            lambda: (
                f"(let lp ((i 0) (m {start})) (if (= i 3) {self.pick('m', '(assoc m :end i)', '(dissoc m 1)')} "
                f"(lp (+ i 1) (assoc m i {self.number(d - 1, [*v, 'i'])}))))"
            ),
        ]
        return self.random.choice(makers)()

    def handler(self) -> str:
        """A handler of a caught error `e`: reads its fields or those of a thrown map, or throws either."""
        return self.pick(
            "(if (= (:type e) :user) (:k (:value e)) (:message e))",
            "(list (:type e) (:value e) (:k (:value e)))",
            "(list (:value e) (:value e) (keys (:value e)))",
            "(list (:type e) (dissoc e :stack-trace))",
            "(throw e)",
            "(throw (:value e))",
            "(throw (assoc (:value e) :j 3))",
        )

    def value(self, d: int, v: list[str]) -> str:
        """An expression of any type."""
        n, t, a = self.number, self.test, self.value
        if d <= 0 or self.random.random() < 0.2:
            return self.pick(*ATOMS, *v)
        shapes = "([a b] (list a b)) ({:k z} z) (n when (number? n) (+ n 1)) (_ :other)"
        makers = [
            lambda: n(d, v),
            lambda: n(d, v),
            lambda: self.items(d, v),
            lambda: self.map(d, v),
            lambda: f"(if {t(d - 1, v)} {a(d - 1, v)} {a(d - 1, v)})",
            lambda: f"(try {a(d - 1, v)} (catch e (list :caught (:type e) (:message e))))",
            lambda: f"(let (([p q] (list {a(d - 1, v)} {a(d - 1, v)}))) (list q p))",
            lambda: f"(match {a(d - 1, v)} {shapes})",
            lambda: f"(cond ({t(d - 1, v)} {a(d - 1, v)}) ({t(d - 1, v)} {a(d - 1, v)}) (else {a(d - 1, v)}))",
            lambda: f"((fn (w) {a(d - 1, [*v, 'w'])}) {a(d - 1, v)})",
            lambda: f"(str {a(d - 1, v)} {a(d - 1, v)})",
            lambda: f"(do ((i 0 (+ i 1)) (z {n(d - 1, v)} {n(d - 2, [*v, 'i', 'z'])})) ((= i 3) z) {a(d - 2, v)})",
            lambda: f"(let ((q {n(d - 1, v)})) (set! q {n(d - 1, [*v, 'q'])}) {a(d - 1, [*v, 'q'])})",
            lambda: (
                "(map (fn (c) (c)) (let lp ((i 0) (fs '())) (if (= i 2) fs "
                f"(lp (+ i 1) (cons (fn () (+ i {n(d - 2, [*v, 'i'])})) fs)))))"
            ),
            lambda: f"(for-each (fn (e) (println (list e {a(d - 2, [*v, 'e'])}))) {self.items(d - 1, v)})",
            lambda: f"(throw {a(d - 1, v)})",
            lambda: f"(throw {{:k {a(d - 1, v)} {self.pick(*KEYS, ':type')} {a(d - 1, v)}}})",
            lambda: f"(try {a(d - 1, v)} (catch e {self.handler()}))",
            lambda: f"(begin (println {a(d - 1, v)}) {a(d - 1, v)})",
        ]
        return self.random.choice(makers)()


def main() -> None:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    programs = Programs(seed)
    for number in range(count):
        print(json.dumps({"id": f"random-{seed}/{number}", "src": programs.program()}))


if __name__ == "__main__":
    main()
