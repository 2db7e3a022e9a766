"""Random programs of loops that go down lists at their own pace: with what comes next in view, by several lists, by
loops inside that go on with the same list.

A list is what a builtin made, a rest of that, or has items in front that were consed. A round reads some first items,
the length or what is left, and goes on with the list, a rest of it, one or the other, or what a loop inside has left.
Some lists end too early for what a round asks of them.
"""

from __future__ import annotations

from programs.written.choices import Choices


class Programs(Choices):
    """The program of a seed."""

    def program(self) -> str:
        forms: list[str] = []
        for number in range(self.random.choice((2, 3, 4))):
            forms += self.walk(number)
        return "\n".join(forms)

    def walk(self, number: int) -> list[str]:
        """A function with a loop down one list or two, or one that calls itself."""
        self.appends = self.chance(0.2)
        names = ["xs"] if self.chance(0.55) else ["xs", "ys"]
        again = self.pick("loop", "loop", f"walk{number}")
        body = self.round(names, again, 3)
        params = " ".join(names)
        if again == "loop":
            inits = " ".join(f"({name} {self.start(name)})" for name in names)
            acc = self.pick("acc", "acc", "(list 7)", "(cons n acc)", "(reverse (list n 1))", "(map - (list n))")
            if self.appends:
                acc = "[]"
            text = f"(define (walk{number} {params} n acc) (let loop ({inits} (n n) (acc {acc})) {body}))"
        else:
            text = f"(define (walk{number} {params} n acc) {body})"
        calls = []
        is_flat, is_vector = self.chance(0.4), self.chance(0.1)
        for _ in range(3):
            lists = " ".join("[1 2 3]" if is_vector else self.flat() if is_flat else self.made() for _ in names)
            calls.append(f"(try (walk{number} {lists} {self.pick('0', '1', '3')} '()) (catch e (:message e)))")
        return [text, f"(println {' '.join(calls)})"]

    def start(self, name: str) -> str:
        return self.pick(
            *[name] * 6, f"(rest {name})", f"(map (fn (x) x) {name})", f"(cons 9 {name})", f"(drop 1 {name})"
        )

    def flat(self) -> str:
        """A list that has its items at hand."""
        return self.pick(
            "(range 7)", "(list 1 2 2 3)", "(list 4)", "(map (fn (i) (mod (* i 5) 7)) (range 9))",
            "(reverse (list 3 2 1 0))", "'(1 1 2 3 3)", "(filter odd? (range 12))", "(range 3)",
        )  # fmt: skip

    def made(self) -> str:
        if self.chance(0.6):
            return self.flat()
        return self.pick(
            "'()", "(cons 1 (cons 1 (list 5 6)))", "(rest (list 1 2 3))", "(append (list 1) '(2 2))", "(cons 2 '())"
        )

    # Rounds

    def round(self, names: list[str], again: str, levels: int) -> str:
        ends = f"(if (> n 30) {self.answer(names)} %s)"
        body = self.step(names, again, levels)
        if self.chance(0.85):
            body = f"(if {self.end(names)} {self.answer(names)} {body})"
        return ends % body

    def end(self, names: list[str]) -> str:
        tests = [self.empty(name) for name in names]
        if len(tests) == 1:
            return self.pick(
                tests[0], tests[0], f"(or {tests[0]} {self.empty(f'(rest {names[0]})')})", f"(not (pair? {names[0]}))"
            )
        return self.pick(
            f"(and {' '.join(tests)})", f"(or {' '.join(tests)})", tests[0], f"(not (or (pair? xs) {tests[1]}))"
        )

    def empty(self, name: str) -> str:
        return self.pick(f"(null? {name})", f"(null? {name})", f"(empty? {name})", f"(not (pair? {name}))")

    def step(self, names: list[str], again: str, levels: int) -> str:
        """What a round does that goes on."""
        if levels > 1 and self.chance(0.4):
            return (
                f"(if {self.test(names)} {self.step(names, again, levels - 1)} {self.step(names, again, levels - 1)})"
            )
        if self.chance(0.12):
            return self.answer(names)
        if self.chance(0.35):
            return self.inside(names, again)
        if self.chance(0.15):
            name = self.random.choice(names)
            return f"(let (({name} {self.left(name)})) {self.jump(names, again)})"
        return self.jump(names, again)

    def jump(self, names: list[str], again: str) -> str:
        lists = " ".join(self.left(name) if self.chance(0.75) else name for name in names)
        return f"({again} {lists} (+ n 1) {self.collected(names)})"

    def left(self, name: str) -> str:
        return self.pick(
            f"(rest {name})", f"(rest {name})", f"(cdr {name})",
            f"(drop 2 {name})", f"(cddr {name})", f"(drop n {name})",
            f"(if {self.empty(name)} {name} (rest {name}))", f"(if (even? n) {name} (rest {name}))",
            f"(if {self.empty(name)} '() (cdr {name}))", f"(if (> n 4) '() (rest {name}))", f"(rest (rest {name}))",
        )  # fmt: skip

    def inside(self, names: list[str], again: str) -> str:
        """A loop in the round that goes on with the list: what it leaves is handed on by a jump or as a value."""
        name = self.random.choice(names)
        start = self.pick(name, f"(rest {name})", f"(rest {name})")
        test = self.pick(
            "(null? zs)", "(or (null? zs) (not (= (first zs) k)))", "(or (null? zs) (> (first zs) 2))", "(> k 3)"
        )
        rest = self.pick("(rest zs)", "(rest zs)", "(cdr zs)", "(if (= k 1) zs (rest zs))", "(drop 2 zs)")
        more = f"(in {rest} (+ k 1))"
        if self.chance(0.5):
            lists = " ".join("zs" if other == name else other for other in names)
            out = f"({again} {lists} (+ n 1) {self.pick('acc', '(cons k acc)')})"
            return f"(let in ((zs {start}) (k 0)) (if (or (> k 12) {test}) {out} {more}))"
        value = self.pick("zs", "zs", "(rest zs)", "(if (null? zs) '() zs)", "'()")
        loop = f"(let in ((zs {start}) (k 0)) (if (or (> k 12) {test}) {value} {more}))"
        lists = " ".join("left" if other == name else other for other in names)
        return f"(let ((left {loop})) ({again} {lists} (+ n 1) {self.collected(names)}))"

    # What is read

    def item(self, name: str) -> str:
        return self.pick(
            f"(first {name})", f"(car {name})", f"(cadr {name})",
            f"(nth {name} 0)", f"(nth {name} 1)", f"(caddr {name})",
            f"(length {name})", f"(count {name})", f"(length (rest {name}))", f"(take 2 {name})", f"(take n {name})",
            f"(nth {name} n)", f"(foldl + 0 {name})",
            f"(map (fn (x) (+ x n)) (rest {name}))", f"(length (filter odd? {name}))",
            "(first acc)", "(car acc)", "(+ n (first acc))",
            f"(if {self.empty(name)} 0 (first {name}))", f"(reverse (rest {name}))", f"(first (rest {name}))",
        )  # fmt: skip

    def test(self, names: list[str]) -> str:
        name = self.random.choice(names)
        return self.pick(
            "(even? n)", self.empty(name), self.empty(f"(rest {name})"), f"(= (first {name}) (cadr {name}))",
            f"(> (length {name}) 2)", f"(and (pair? {name}) (odd? (first {name})))",
            f"(= (first {names[0]}) (first {names[-1]}))",
        )  # fmt: skip

    def collected(self, names: list[str]) -> str:
        name = self.random.choice(names)
        if self.appends:
            more = self.pick(f"(list {self.item(name)})", f"[n {self.item(name)}]", f"(list n) {name}")
            return self.pick(
                f"(append acc {more})", f"(append acc {more})", "acc", f"(if (even? n) acc (append acc {more}))"
            )
        return self.pick(
            "acc",
            f"(cons {self.item(name)} acc)",
            f"(cons {self.item(name)} acc)",
            f"(append acc (list {self.item(name)}))",
            f"(cons [n {self.item(name)}] acc)",
        )

    def answer(self, names: list[str]) -> str:
        name = self.random.choice(names)
        return self.pick(
            "(reverse acc)", "acc", f"(list acc {name})",
            f"(append (reverse acc) {name})", f"(list (rest {name}) n acc)",
            f"[n {self.item(name)} acc]", f"(list (length {name}) acc)",
            f"(cons {self.item(name)} acc)", f"(if {self.empty(name)} acc {name})",
        )  # fmt: skip
