"""Random programs that sort rows with comparators of several keys, of which some contradict themselves.

Some go through a list of keys, which are keywords or functions with effects.
"""

from __future__ import annotations

from programs.written.choices import Choices

FIELDS = {  # by key: values of one kind, with few different ones; now and then of several
    ":i": ("0", "1", "2", "-1"),
    ":j": ("0", "1", "4000000000000"),
    ":s": ('"a"', '"b"', '"B"', '""'),
    ":t": ('"x"', '"y"'),
    ":f": ("0.5", "1.0", "-2.5"),
    ":m": ("0", "1", "1.0", '"a"', "nil", "#t"),
    ":n": ("1.5", "math/nan", "0.0"),
}
LEAVES = ("-1", "0", "1", "#t", "#f", "nil", "2.5")


class Programs(Choices):
    """The program of a seed."""

    def program(self) -> str:
        self.keys = [
            self.random.choice(list(FIELDS) if self.chance(0.3) else [":i", ":j", ":s", ":t", ":f"]) for _ in "123"
        ]
        rows = "\n  ".join(self.row(index) for index in range(self.random.choice((0, 1, 2, 9, 25))))
        forms = [f"(define rows (list {rows}))", "(define (name r) (str (:i r) (:s r)))"]
        forms += [
            "(define (low r) (let loop ((i (:i r))) (if (> i 1) (loop (- i 1)) i)))",
            "(define seen 0)",
            "(define ranks {0 2 1 0 2 1 -1 7})",
        ]
        for number in range(2):
            body = self.decision(self.random.randrange(1, 4))
            if self.chance(0.08):
                body = f"(begin (set! seen (+ seen 1)) {body})"
            if self.chance(0.3):
                key = self.key()
                body = f"(let ((x {key.format('a')}) (y {key.format('b')})) {body})"
            sort = self.pick(f"(sort rows (fn (a b) {body}))", f"(sort rows before{number})")
            forms.append(f"(define (before{number} a b) {body})")
            forms.append(f"(println (try (map :id {sort}) (catch e (:message e))) seen)")
        if self.chance(0.4):
            forms += self.going_through_keys()
        return "\n".join(forms)

    def going_through_keys(self) -> list[str]:
        """A comparator that compares one key of a list after the other."""
        first, last = self.pick(("-1", "1"), ("1", "-1"), ("#t", "#f"), ("#f", "#t"), ("-1", self.pick(*LEAVES)))
        a, b = self.pick(("x", "y"), ("y", "x"))
        again = "(loop (rest keys))"
        decision = self.pick(
            f"(cond ((< {a} {b}) {first}) ((> {a} {b}) {last}) (else {again}))",
            f"(cond ((< {a} {b}) {first}) ((= x y) {again}) (else {last}))",
            f"(if (= x y) {again} (< {a} {b}))",
        )
        body = (
            f"(let loop ((keys keys)) (if (null? keys) {self.pick(*LEAVES)} "
            f"(let* ((key (first keys)) (x (key a)) (y (key b))) {decision})))"
        )
        keys = [
            self.pick(*self.keys, *self.keys, *self.keys, ":i", "noted", ":none")
            for _ in range(self.random.randrange(4))
        ]
        calls = [f"(by {' '.join(keys)})", f"(by {' '.join(reversed(keys))})"]
        return [
            "(define (noted r) (set! seen (+ seen 1)) (:i r))",
            f"(define (by . keys) (fn (a b) {body}))",
            *(f"(println (try (map :id (sort rows {call})) (catch e (:message e))) seen)" for call in calls),
        ]

    def row(self, index: int) -> str:
        fields = " ".join(f"{key} {self.random.choice(values)}" for key, values in FIELDS.items())
        return f"{{:id {index} {fields}}}"

    def key(self) -> str:
        field = self.random.choice(self.keys)
        return self.pick(
            *(f"({field} {{0}})",) * 5,
            "(name {0})",
            f"(get ranks ({field} {{0}}))",
            f"(+ 1 ({field} {{0}}))",
            "{0}",
            "(low {0})",
        )

    def test(self, key: str, names: str) -> str:
        a, b = (key.format(name) for name in names)
        return f"({self.pick('=', '<', '>', '<=', '>=', '=', '=')} {a} {b})"

    def decision(self, levels: int) -> str:
        key = self.key()
        names = self.pick("ab", "ab", "ba")
        a, b = (key.format(name) for name in names)
        rest = self.decision(levels - 1) if levels > 1 else self.pick(*LEAVES)
        first, last = self.pick(("-1", "1"), ("1", "-1"), ("#t", "#f"), ("#f", "#t"), ("-1", self.pick(*LEAVES)))
        last_one = self.pick("<", ">", "<=", ">=", "-")
        kind = self.random.randrange(10)
        if kind == 0:
            return f"({last_one} {a} {b})"
        if kind <= 2:
            return f"(cond ((< {a} {b}) {first}) ((> {a} {b}) {last}) (else {rest}))"
        if kind <= 4:
            return f"(if (= {a} {b}) {rest} ({last_one} {a} {b}))"
        if kind <= 6:
            return f"(if (not (= {a} {b})) ({last_one} {self.pick(f'{a} {b}', f'{b} {a}')}) {rest})"
        if kind == 7:
            return f"(or (< {a} {b}) (and (= {a} {b}) {rest}))"
        if kind == 8:
            return f"(cond ((< {a} {b}) {first}) ((< {b} {a}) {last}) (else {rest}))"
        return f"(if {self.test(key, names)} {first} {self.pick(last, rest)})"
