"""Random programs whose functions get a state, a map of some fields, and give it back changed.

They call each other, in tail position as well, go on in loops and folds, give the state as it is, nil or something
else, and now and then show, keep or copy it, add a field to it, or get one that lacks a field.
"""

from __future__ import annotations

from programs.written.choices import Choices

START = "{:a 0 :b '() :c {} :d 5}"
STARTS = ("(assoc (start) :a 3)", "{:a 1 :b '(1) :c {1 2} :d nil}", "{:a 1 :b '() :c {}}", "(hashmap/new)", "nil")


class Programs(Choices):
    """The program of a seed."""

    def program(self) -> str:
        self.functions = [f"f{index}" for index in range(self.random.randrange(2, 5))]
        self.is_odd = self.chance(0.25)  # whether states are used otherwise, too
        forms = ["(define kept '())", f"(define (start) {START})"]
        forms += [f"(define ({name} s n) {self.state('s', 3)})" for name in self.functions]
        forms += [f"(println (try {self.top()} (catch e (list (:message e) (:value e)))))" for _ in "1234"]
        forms.append("(println kept)")
        return "\n".join(forms)

    def top(self) -> str:
        start = self.pick("(start)", "(start)", START)
        if self.chance(0.06):
            start = self.pick(*STARTS)
        call = self.pick(*self.functions)
        n = self.pick("0", "1", "3", "6")
        return self.pick(
            f"({call} {start} {n})",
            f"(let (({self.fresh('r')} ({call} {start} {n}))) ({self.pick(*self.functions)} {start} 2))",
            f"(foldl (fn (s n) ({call} s n)) {start} (range {n}))",
            f"(foldl (fn (s n) {self.state('s', 2)}) {start} (range {n}))",
            f"(let loop ((i 0) (s {start})) (if (= i {n}) {self.end('s')} (loop (+ i 1) ({call} s i))))",
            f"(let loop ((i 0) (s {start})) (if (>= (or (:a s) 9) 9) {self.end('s')} "
            f"(loop (+ i 1) (assoc ({call} s i) :a i))))",
            f"(:a ({call} {start} {n}))",
            f"(let (({{:keys [a b]}} ({call} {start} {n}))) (list a b))",
        )  # fmt: skip

    def end(self, s: str) -> str:
        return self.pick(s, f"(:b {s})", f"(list (:a {s}) (:c {s}))", f"(count (:c {s}))")

    def state(self, s: str, depth: int) -> str:
        """An expression for a state, of the state in a variable."""
        what = self.random.randrange(15) if depth else self.random.randrange(4)
        inner = depth - 1
        if what < 3:
            return self.change(s)
        if what == 3:
            return s
        if what in (4, 5):
            return f"(if {self.test(s)} {self.state(s, inner)} {self.state(s, inner)})"
        if what in (6, 7, 8):
            call = f"({self.pick(*self.functions)} {self.state(s, inner)} (- n 1))"
            return f"(if (> n 0) {call} {self.state(s, inner)})"
        if what == 9:
            new = self.fresh("s")
            return f"(let (({new} {self.state(s, inner)})) {self.state(self.pick(new, new, new, s), inner)})"
        if what == 10:
            new = self.fresh("s")
            return f"(foldl (fn ({new} n) {self.state(new, inner)}) {s} {self.pick('(range 3)', '(list n 1)')})"
        if what == 11:
            new, i = self.fresh("s"), self.fresh("i")
            return f"(let loop (({i} 0) ({new} {s})) (if (= {i} 2) {new} (loop (+ {i} 1) {self.state(new, inner)})))"
        if what == 12:
            return f"(try {self.state(s, inner)} (catch e {self.state(s, inner)}))"
        if what == 13:
            return (
                f"(cond ({self.test(s)} {self.state(s, inner)}) ((= n 4) (throw :four)) (else {self.state(s, inner)}))"
            )
        return self.other(s, inner) if self.is_odd else self.change(s)

    def other(self, s: str, depth: int) -> str:
        """What isn't just handed on."""
        return self.pick(
            f"(begin (println {s}) {self.state(s, depth)})",
            f"(begin (set! kept (cons {s} kept)) {self.state(s, depth)})",
            f"(assoc {s} :e n)", "nil", "(start)", "{:a 7 :b '() :c {} :d n}", f"(dissoc {s} :d)",
            f"(merge {s} {{:a n}})",
            f"(when {self.test(s)} {self.state(s, depth)})", f"(list {s})", f"((fn (t) (assoc t :a n)) {s})",
        )  # fmt: skip

    def change(self, s: str) -> str:
        return self.pick(
            f"(assoc {s} :a {self.number(s)})", f"(assoc {s} :b (cons {self.number(s)} (:b {s})))",
            f"(assoc {s} :c (assoc (:c {s}) {self.number(s)} n))", f"(update-in {s} [:c n] (fn (v) (+ 1 (or v 0))))",
            f"(assoc {s} :a {self.number(s)} :d (:a {s}))", f"(assoc-in {s} [:c :k] (:d {s}))",
            f"(map/update {s} :a (fn (a) (+ a n)))", f"(-> {s} (assoc :a n) (assoc :b '()))",
            f"(assoc {s} :d {self.pick('nil', '#f', 'n', f'(:c {s})')})",
        )  # fmt: skip

    def number(self, s: str) -> str:
        return self.pick(
            "n", "1", f"(:a {s})", f"(count (:c {s}))", f"(length (:b {s}))", f"(+ 1 (:a {s}))", "(mod n 3)"
        )

    def test(self, s: str) -> str:
        return self.pick("(even? n)", f"(> (:a {s}) 2)", f"(:d {s})", f"(null? (:b {s}))", f"(contains? (:c {s}) n)",
                         f"(nil? (get (:c {s}) n))")  # fmt: skip
