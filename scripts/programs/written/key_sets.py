"""Random programs about sets that are kept as maps: filled, joined, intersected, asked and shown."""

from __future__ import annotations

from programs.written.choices import Choices

ITEMS = {"int": ("0", "1", "2", "3", "7"), "text": ('"a"', '"b"', '"c"'), "pair": ("[0 1]", "[1 1]", "'(0 1)"),
         "odd": ("1", "1.0", "#t", "nil", ":a", "[1.0]", "'(1)", '"a"')}  # fmt: skip


class Programs(Choices):
    """The program of a seed."""

    def program(self) -> str:
        self.kind = self.pick("int", "int", "text", "pair", "odd")
        self.value = self.pick("#t", "1", "nil")
        forms = [
            f"(define (set-of xs) (foldl (fn (s x) (assoc s x {self.value})) {{}} xs))",
            f"(define (add-all a b) (foldl (fn (s x) (assoc s x {self.pick(self.value, '2', 'x')})) a (keys b)))",
            f"(define (both a b) {self.chosen('(contains? b x)')})",
            f"(define (but a b) {self.chosen('(not (contains? b x))')})",
            f"(define (some a b) {self.chosen(self.pick('(contains? a x)', '(contains? b b)', '(< (count b) 3)'))})",
            f"(define (all a b) ({self.pick('every', 'any')} (fn (x) {self.test()}) (keys a)))",
            f"(define (number a b) (length (filter (fn (x) {self.test()}) (keys a))))",
            f"(define (big n) (set-of (range {self.pick('n', '(+ n 120)')})))",
        ]
        sets = [f"s{index}" for index in range(3)]
        forms += [f"(define {name} {self.pick(self.literal(), f'(set-of {self.items()})')})" for name in sets]
        for _ in range(self.random.randrange(3, 6)):
            name = self.fresh("r")
            forms.append(f"(define {name} {self.expr(3, sets)})")
            sets.append(name)
        shown = " ".join(f"(try (all {self.pick(*sets)} {self.pick(*sets)}) (catch e 0))" for _ in "12")
        forms.append(f"(println {' '.join(sets)} {shown} (number {self.pick(*sets)} {self.pick(*sets)}))")
        return "\n".join(forms)

    def test(self) -> str:
        return self.pick("(contains? b x)", "(not (contains? b x))", "(contains? b x)", "(= x 1)", "(> x 0)")

    def chosen(self, test: str) -> str:
        value = self.value if self.chance(0.8) else "x"
        return self.pick(
            f"(foldl (fn (s x) (if {test} (assoc s x {value}) s)) {{}} (keys a))",
            f"(foldl (fn (s x) (if {test} s (assoc s x {value}))) {{}} (keys a))",
            f"(set-of (filter (fn (x) {test}) (keys a)))",
            f"(let ((xs (filter (fn (x) {test}) (keys a))) (c (assoc a 1 5))) (foldl (fn (s x) (assoc s x 1)) c xs))",
            f"(foldl (fn (s x) (assoc s x {value})) a (filter (fn (x) {test}) (keys b)))",
        )

    def items(self) -> str:
        kind = self.kind if self.chance(0.9) else "odd"
        return f"(list {' '.join(self.pick(*ITEMS[kind]) for _ in range(self.random.randrange(5)))})"

    def literal(self) -> str:
        return "{" + " ".join(f"{self.pick(*ITEMS[self.kind])} {self.pick('#t', '1', '5')}" for _ in "12") + "}"

    def expr(self, depth: int, sets: list[str]) -> str:
        if depth == 0 or self.chance(0.2):
            return self.pick(*sets)
        one, two = (self.expr(depth - 1, sets) for _ in "12")
        call = self.pick("add-all", "both", "but", "some", "add-all", "both")
        return self.pick(
            *(f"({call} {one} {two})",) * 4, f"(assoc {one} 1 2)", f"(dissoc {one} 1)", f"(merge {one} {two})",
            f"(let ((a {one})) ({call} a a))", f"(let ((a {one})) (merge ({call} a {two}) a))", "(big 3)",
            f"(try ({call} {one} {self.pick('nil', two)}) (catch e {two}))",
        )  # fmt: skip
