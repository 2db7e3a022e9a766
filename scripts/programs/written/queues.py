"""Random programs that go through lists from the head and add to their end: what is to be done, windows, rings.

Loops, functions that call themselves and variables under `set!` hold such lists. In the middle they are kept, returned,
shown, caught, and handed to builtins and functions; what they held before is read again. Everything is printed in the
end.
"""

from __future__ import annotations

from programs.written.choices import Choices

ROUNDS = ("4", "7", "12")


class Programs(Choices):
    """The program of a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.keeps = self.chance(0.3)  # whether lists are kept where others see them
        self.functions: list[str] = []

    def program(self) -> str:
        forms = ["(define kept '())", "(define (peek q) (if (null? q) :none (first q)))"]
        for index in range(self.random.randrange(1, 4)):
            forms.append(self.function(f"f{index}"))
            self.functions.append(f"f{index}")
        shown = []
        for index in range(self.random.randrange(1, 4)):
            name = self.random.choice(self.functions)
            forms.append(f"(define g{index} (try ({name} {self.start('xs0')} 0) (catch e (list :failed (:value e)))))")
            shown.append(f"g{index}")
        forms.insert(1, "(define xs0 '(5 6))")
        forms.append(f"(println {' '.join(shown)} xs0 (map (fn (k) (if (procedure? k) (k) k)) kept))")
        return "\n".join(forms)

    def function(self, name: str) -> str:
        what = self.random.randrange(3)
        if what == 0:
            return f"(define ({name} q i) (cond {self.ends('q')} (else ({name} {self.queue('q', 2)} (+ i 1)))))"
        if what == 1:
            inner = f"(cond {self.ends('q')} (else (loop {self.queue('q', 2)} (+ i 1))))"
            return f"(define ({name} xs n) (let loop ((q {self.start('xs')}) (i n)) {inner}))"
        steps = " ".join(self.step("q") for _ in range(self.random.randrange(1, 4)))
        loop = f"(dotimes (i {self.pick(*ROUNDS)}) {steps})"
        return f"(define ({name} xs n) (let ((q {self.start('xs')})) {loop} {self.result('q')}))"

    def start(self, xs: str) -> str:
        return self.pick(
            "(list 1)", "'()", "(list)", "(list 3 4 5)", "'(1 2)", "(range 4)", f"(map (fn (x) x) {xs})", xs,
            f"(filter (fn (x) (number? x)) {xs})", f"(append {xs} (list 9))",
        )  # fmt: skip

    def ends(self, q: str) -> str:
        empty = f"((null? {q}) {self.pick('i', q, ':empty', f'(throw {q})')})" if self.chance(0.8) else ""
        return f"{empty} ((> i {self.pick(*ROUNDS)}) {self.result(q)})"

    def result(self, q: str) -> str:
        return self.pick(
            q, f"[{q} (length {q})]", f"(list (peek {q}) {q})", f"(throw {q})", f"(map (fn (x) x) {q})", f"(last {q})",
            f"(foldl (fn (n x) (+ n 1)) 0 {q})", f"(count {q})", f"(reverse {q})",
        )  # fmt: skip

    def step(self, q: str) -> str:
        if self.chance(0.25):
            return f"(when {self.test(q)} (set! {q} {self.queue(q, 1)}))"
        return f"(set! {q} {self.queue(q, 2)})"

    def queue(self, q: str, depth: int) -> str:
        """A list made of that of a variable."""
        what = self.random.randrange(12) if depth else self.random.randrange(6)
        if what < 3:
            return f"(append {self.rest(q)} {self.items(q)})"
        if what < 5:
            return f"(append {self.pick(q, self.rest(q))} {self.items(q)})"
        if what == 5:
            return self.rest(q)
        if what in (6, 7):
            return f"(if {self.test(q)} {self.queue(q, depth - 1)} {self.queue(q, depth - 1)})"
        if what in (8, 9):
            new = self.fresh("q")
            return f"(let (({new} {self.queue(q, depth - 1)})) {self.queue(self.pick(new, new, new, q), depth - 1)})"
        if what == 10 and self.keeps:
            keep = self.pick("{0}", "(fn () {0})", "(length {0})").format(q)
            return f"(begin (set! kept (cons {keep} kept)) {self.queue(q, depth - 1)})"
        if what == 11:
            failing = f"(begin (when {self.test(q)} (throw {self.pick(q, 'i')})) {self.queue(q, depth - 1)})"
            return f"(try {failing} (catch e {self.pick(q, self.queue(q, 0))}))"
        return self.pick(
            f"(list/drop-last 1 {q})", f"(cons i {q})", f"(append (list i) {q})", f"(rest {self.queue(q, 0)})"
        )

    def rest(self, q: str) -> str:
        return self.pick(f"(rest {q})", f"(rest {q})", f"(cdr {q})", f"(cddr {q})", f"(if (null? {q}) {q} (rest {q}))")

    def items(self, q: str) -> str:
        return self.pick(
            "(list i)", "(list i)", f"(list (first {q}))", f"(list (peek {q}) i)", "(list)", "[i]", "'(7)",
            f"(list (length {q}))", f"(map (fn (x) i) {q})", f"(if {self.test(q)} (list i) '())", f"(list (cadr {q}))",
        )  # fmt: skip

    def test(self, q: str) -> str:
        return self.pick("(even? i)", f"(> (length {q}) 3)", f"(null? {q})", "(= 0 (mod i 3))", f"(pair? {q})")
