"""Random programs of top-level forms whose values nobody reads: choices, loops and calls, for their effects alone.

Functions change globals; others answer what guards and tests ask, with effects of their own. Other globals keep what
one of these held, and functions that no form calls are left for who imports the program.
"""

from __future__ import annotations

from programs.written.choices import Choices

KEYS = (":a", ":b", "0", "2")
START = {"m": ("{}", "{}", "{:a 1}"), "l": ("'()", "'()", "(list 1 2)"), "c": ("0", "1")}


class Programs(Choices):
    """The program of a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.tables: list[str] = []  # globals; the first letter is the kind
        self.changers: list[str] = []  # functions of a value that change a global
        self.askers: list[str] = []  # functions of a value whose result is a test
        self.kept: list[str] = []

    def program(self) -> str:
        forms = ["(define log '())", "(define (note x) (set! log (cons x log)) x)"]
        for kind in self.random.choice(("m", "ml", "mc", "mm", "ml")):
            self.tables.append(self.fresh(kind))
            forms.append(f"(define {self.tables[-1]} {self.pick(*START[kind])})")
        for table in self.tables:
            forms += [self.changer(table) for _ in range(self.random.choice((1, 1, 2)))]
        forms += [self.asker() for _ in range(self.random.choice((1, 2)))]
        for _ in range(self.random.choice((3, 4, 6))):
            forms.append(self.form())
        position = self.random.randrange(len(forms) - 2, len(forms) + 1)
        if self.chance(0.7):  # for who imports the program
            forms.insert(position, f"(define (later n) (dotimes (i n) {self.act('i')}) {self.pick(*self.tables)})")
        shown = " ".join((*self.tables, *self.kept))
        return "\n".join([*forms, f"(println {shown})", "(println log)"])

    def changer(self, table: str) -> str:
        name = self.fresh("do")
        value = self.changed(table, "x")
        self.changers.append(name)
        before = self.pick("", "", "(note x) ", f"(note {table}) ")
        after = self.pick("", "", "", f" {table}", " x", f" (list x {table})", " (note :done)", " nil")
        return f"(define ({name} x) {before}(set! {table} {value}){after})"

    def changed(self, table: str, x: str) -> str:
        if table[0] == "m":
            key = self.pick(x, x, *KEYS)
            return self.pick(
                f"(assoc {table} {key} {x})", f"(assoc {table} {key} (+ 1 (get {table} {key} 0)))",
                f"(dissoc {table} {key})", f"(if (contains? {table} {key}) {table} (assoc {table} {key} 0))",
                f"(map/update {table} {key} (fn (v) (if v (+ v 1) 0)))", f"(assoc (assoc {table} {key} 1) {x} 2)",
            )  # fmt: skip
        if table[0] == "l":
            return self.pick(
                f"(cons {x} {table})", f"(cons {x} {table})", f"(append {table} (list {x}))", f"(reverse {table})",
                f"(if (null? {table}) {table} (cdr {table}))", f"(filter (fn (v) (not (= v {x}))) {table})",
            )  # fmt: skip
        return self.pick(f"(+ {table} 1)", f"(* {table} 2)", f"(if (number? {x}) (+ {table} {x}) {table})")

    def asker(self) -> str:
        name = self.fresh("ask")
        test = self.test("x")
        answer = self.pick(
            test, f"(if {test} 1 nil)", f"(cond ({test} (note :yes) #t) (else (note :no) #f))", "(note x)",
            "(note nil)", f"(when {test} {self.act('x')} :some)", f"(match x (0 nil) (v when {test} (note v)) (_ #f))",
        )  # fmt: skip
        self.askers.append(name)
        return f"(define ({name} x) {self.pick('', '(note (list :ask x)) ')}{answer})"

    def test(self, x: str) -> str:
        asked = [f"({name} {x})" for name in self.askers]
        maps = [f"(contains? {table} {x})" for table in self.tables if table[0] == "m"]
        return self.pick(
            f"(and (number? {x}) (> {x} 1))", f"(= {x} 2)", f"(nil? {x})", *asked, *asked, *maps,
            f"(> (length log) {self.pick('2', '5', '9')})", "1", "nil", "#t",
        )  # fmt: skip

    def value(self) -> str:
        return self.pick(
            "0", "1", "2", "3", ":a", "nil", *self.tables, "(length log)", f"({self.pick(*self.changers)} 2)"
        )

    def act(self, x: str) -> str:
        """An expression for its effects."""
        table, call = self.pick(*self.tables), f"({self.pick(*self.changers)} {x})"
        return self.pick(
            f"(note {x})", f"(note {table})", call, call,
            f"(set! {table} {self.changed(table, x)})", f"(begin ({self.pick(*self.changers)} {x}) (note {x}))",
        )  # fmt: skip

    def form(self) -> str:
        what = self.random.randrange(5)
        if what == 0:
            name = self.fresh("s")
            self.kept.append(name)
            table = self.pick(*self.tables)
            held = self.pick(
                table, table, f"({self.pick(*self.changers)} 1)", f"(list {table})", f"{{:k {table}}}",
                f"(let ((t {table})) ({self.pick(*self.changers)} 3) t)",
            )  # fmt: skip
            return f"(define {name} {held})"
        if what == 1:
            return self.act(self.pick("0", "1", "2", ":a"))
        return self.statement(self.value(), 2)

    def statement(self, value: str, depth: int) -> str:
        if depth == 0:
            return self.act(value)
        x = self.fresh("x")
        inner, other = self.statement(x, depth - 1), self.statement(x, depth - 1)
        test, there = self.test(x), self.random.randrange(12)
        if there < 3:
            guard = self.pick(
                f"({x} when {test} {inner})", f"([{x}] when {test} {inner})", f"({self.value_literal()} 1)"
            )
            more = self.pick(f"({x} when {self.test(x)} {other})", "")
            return f"(match {value} {guard} {more} (_ {self.act('9')}))"
        if there == 3:
            return f"(match* {value} ({x} when {test} {inner}))"
        if there < 6:
            return f"(let (({x} {value})) (if {test} {inner} {other}))"
        return self.pick(
            f"(let (({x} {value})) (cond ({test} {inner}) ({self.test(x)}) (else {other})))",
            f"(let (({x} {value})) ({self.pick('when', 'unless')} {test} {inner}))",
            f"(let (({x} {value})) ({self.pick('and', 'or')} {test} {inner}))",
            f"(case {value} ((0 1) {self.act('1')}) ((:a nil) {self.act('2')}) (else {self.act('3')}))",
            f"(try (let (({x} {value})) {inner} (throw {x})) (catch e {self.act('(:value e)')}))",
            f"(for-each (fn ({x}) {inner}) (list 0 2 {self.pick('1', 'nil', ':a')}))",
            f"(dotimes ({x} 3) {inner})",
            f"(let lp (({x} 0)) (when (< {x} 3) {inner} (lp (+ {x} 1))))",
            f"((fn ({x}) {inner}) {value})",
            f"(if-let ({x} {value}) {inner} {self.act('7')})",
        )  # fmt: skip

    def value_literal(self) -> str:
        return self.pick("0", "nil", ":a", "[]")
