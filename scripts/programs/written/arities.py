"""Random programs whose calls of builtins have any number of arguments, mostly a wrong one, of any types.

A pass that knows a builtin reads its arguments; it must leave calls alone that have others.
"""

from __future__ import annotations

from programs.builtin_templates import names
from programs.written.choices import Choices

OPERATORS = ("+", "-", "*", "/", "=", "<", ">", "<=", ">=", "min", "max", "mod", "not", "cons", "list", "get", "assoc")
ARGS = (
    "n", "n", "xs", "m", "s", "f", "(length xs)", "2", "0", '"ab"', "[1 2]", "'(3 1 2)", "{:a 1}", "(fn (x) x)",
    "(fn (a b) a)", ":a", "nil", "1.5", "#\\a", "(list n 2)",
)  # fmt: skip
USES = (
    "{}", "{}", "(let ((r {})) (list r r))", "(if {} 1 2)", "(begin {} 0)", "(map (fn (n) {}) xs)", "(first {})",
    "(+ 1 {})", "(cons 1 {})", "(let (([a b] {})) a)", "(match {} ([a b] a) (_ 0))",
)  # fmt: skip
BUILTINS = names()


class Programs(Choices):
    """The program of a seed."""

    def program(self) -> str:
        calls = "\n ".join(f"(try {self.use()} (catch e (:message e)))" for _ in range(8))
        return f'(define (g n xs m s f) (list {calls}))\n(g 3 \'(1 2) {{:a 1}} "abc" (fn (x) x))'

    def use(self) -> str:
        name = self.pick(*(OPERATORS if self.chance(0.3) else BUILTINS))
        args = [self.pick(*ARGS) for _ in range(self.random.choice((0, 1, 1, 2, 2, 3, 4, 5)))]
        return self.pick(*USES).format(f"({' '.join([name, *args])})")
