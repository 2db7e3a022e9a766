"""Random programs whose functions define few names again and again, in bodies, sequences and operands, and set them."""

from __future__ import annotations

from programs.written.choices import Choices

NAMES = ("a", "b", "c")


class Programs(Choices):
    """The program of a seed."""

    def program(self) -> str:
        forms = [f"(define {name} {self.pick('10', '20', ':g')})" for name in NAMES if self.chance(0.6)]
        params = self.random.sample(NAMES, self.random.randrange(3))
        body = " ".join(self.statement(2) for _ in range(self.random.randrange(1, 3)))
        forms.append(f"(define (f {' '.join(params)}) {body} {self.value(3)})")
        forms.append(f"(println (f {' '.join(self.pick('5', '6') for _ in params)}))")
        forms.append(f"(println (list {' '.join(f'(try {name} (catch e :no))' for name in NAMES)}))")
        return "\n".join(forms)

    def name(self) -> str:
        return self.pick(*NAMES)

    def value(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.35):
            return self.pick(*NAMES, "1", "2", "3")
        name, one, two, before = self.name(), self.value(depth - 1), self.value(depth - 1), self.statement(depth - 1)
        test = self.pick("#t", "#f", "a", "b", "(> 2 1)")
        return self.pick(
            f"(list {one} {two})", f"(list {one} {two})", f"(begin {before} {one})", f"(begin {before} {one})",
            f"(if {test} {one} {two})", f"(let (({name} {one})) {before} {two})", f"(define {name} {one})",
            f"(define {name} {one})", f"(set! {name} {one})", f"((fn ({name}) {before} {one}) {two})",
            f"(try {before} {one} (catch e {two}))", f"(case {one} ((1 2) {before} {two}) (else {one}))",
        )  # fmt: skip

    def statement(self, depth: int) -> str:
        name, value = self.name(), self.value(depth)
        if depth <= 0:
            return self.pick(f"(define {name} {value})", f"(set! {name} {value})", f"(println {name})")
        one, two = self.statement(depth - 1), self.statement(depth - 1)
        return self.pick(
            f"(define {name} {value})", f"(define {name} {value})", f"(define ({name} q) {value})",
            f"(define [{name} q] (list {value} 2))", f"(set! {name} {value})", f"(println {name})",
            f"(begin {one} {two})", f"(when {self.pick('#t', 'a', '#f')} {one} {two})",
            f"(cond ({name} {one} {two}) (else {two}))", f"(dotimes (i 2) {one} {two})", value,
        )  # fmt: skip
