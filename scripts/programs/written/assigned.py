"""Random programs in statements: variables under `set!` hold maps and lists, which loops and branches change.

Other names, lists, closures and handlers keep what the variables held before, and everything is looked at in the end.
"""

from __future__ import annotations

from programs.written.choices import Choices

MAP, LIST, INT = "m", "l", "i"
Scope = tuple[str, ...]  # variables; the first letter is the kind
STARTS = {MAP: ("{}", "{}", "{:a 1}", "{0 1 1 2}"), LIST: ("'()", "'()", "(list 1 2)", "(list)"), INT: ("0", "1", "2")}


class Programs(Choices):
    """The program of a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.functions: list[str] = []
        self.rounds = 0  # loops around

    def program(self) -> str:
        forms = ["(define kept '())"]
        for number in range(self.random.randrange(1, 4)):
            forms.append(self.function(f"f{number}"))
            self.functions.append(f"f{number}")
        calls = [f"(try ({name} {count} {{:a 5}}) (catch e (:value e)))" for name in self.functions for count in (0, 3)]
        shown = [call for call in calls if self.chance(0.8)]
        top = "".join(f"(define {kind}0 {self.pick(*STARTS[kind])})" for kind in (MAP, LIST, INT))
        if self.chance(0.4):
            forms += [top, self.block(3, ("m0", "l0", "i0")), "(println m0 l0 i0)"]
        return "\n".join([*forms, f"(println {' '.join(shown)})", "(println kept)"])

    def function(self, name: str) -> str:
        bound = [self.fresh(kind) for kind in (MAP, LIST, INT, self.pick(MAP, LIST))]
        scope = (*bound, "n", "given")
        starts = " ".join(f"({name} {self.pick(*STARTS[name[0]])})" for name in bound)
        result = self.pick(
            bound[0], bound[1], f"(list {' '.join(bound)})", f"[{bound[0]} {bound[2]}]", self.map(2, scope)
        )
        return f"(define ({name} n given) (let* ({starts}) {self.block(4, scope)} {self.block(3, scope)} {result}))"

    def block(self, depth: int, scope: Scope) -> str:
        return " ".join(self.statement(depth - 1, scope) for _ in range(self.random.randrange(1, 4)))

    def of(self, kind: str, scope: Scope) -> str:
        names = [name for name in scope if name[0] == kind]
        return self.random.choice(names) if names else self.pick(*STARTS[kind])

    def statement(self, depth: int, scope: Scope) -> str:
        if depth <= 0 or self.chance(0.45):
            return self.change(depth, scope)
        what = self.random.randrange(11)
        test = self.test(scope)
        if what < 4 and self.rounds < 2:
            return self.loop(depth, scope)
        if what < 6:
            return f"({self.pick('when', 'unless')} {test} {self.block(depth, scope)})"
        if what == 6:
            return f"(if {test} {self.statement(depth - 1, scope)} {self.statement(depth - 1, scope)})"
        if what == 7:
            ending = f"(when {test} (throw {self.int(1, scope)}))"
            return f"(try (begin {self.block(depth, scope)} {ending}) (catch e {self.statement(depth - 1, scope)}))"
        if what == 8:
            other = self.fresh(self.pick(MAP, LIST))
            value = self.map(1, scope) if other[0] == MAP else self.list(1, scope)
            return f"(let (({other} {value})) {self.block(depth, (*scope, other))})"
        if what == 9:
            return f"(set! kept (cons {self.of(self.pick(MAP, LIST), scope)} kept))"
        inner = self.block(depth, scope)
        return f"(let ((g (fn () {inner}))) {self.pick('(g)', 'nil', '(set! kept (cons (g) kept))')})"

    def change(self, depth: int, scope: Scope) -> str:
        names = [name for name in scope if name[0] in (MAP, LIST, INT)]
        name = self.random.choice(names) if names else "kept"
        if name[0] == MAP:
            value = (
                f"(assoc {name} {self.key(scope)} {self.int(1, scope)})" if self.chance(0.6) else self.map(depth, scope)
            )
        elif name[0] == LIST:
            value = f"(cons {self.int(1, scope)} {name})" if self.chance(0.6) else self.list(depth, scope)
        elif name == "kept":
            value = "(cons 1 kept)"
        else:
            value = self.int(2, scope)
        return f"(set! {name} {value})"

    def loop(self, depth: int, scope: Scope) -> str:
        self.rounds += 1
        i = self.fresh(INT)
        inner = self.block(depth, (*scope, i))
        self.rounds -= 1
        map_, list_ = self.of(MAP, scope), self.of(LIST, scope)
        return self.pick(
            f"(for-range ({i} 0 {self.pick('2', '3', 'n')}) {inner})",
            f"(for-each (fn ({i}) {inner}) {self.pick(list_, f'(vals {map_})', '(list 1 0 2)')})",
            f"(let lp{i} (({i} 0)) (when (< {i} {self.pick('2', '3')}) {inner} (lp{i} (+ {i} 1))))",
        )

    def key(self, scope: Scope) -> str:
        return self.pick(":a", ":b", "0", f"(mod {self.of(INT, scope)} 3)", self.of(INT, scope))

    def test(self, scope: Scope) -> str:
        return self.pick(
            f"(contains? {self.of(MAP, scope)} {self.key(scope)})", f"(null? {self.of(LIST, scope)})",
            f"(even? {self.int(1, scope)})", f"(> (count {self.of(self.pick(MAP, LIST), scope)}) 2)",
        )  # fmt: skip

    def int(self, depth: int, scope: Scope) -> str:
        if depth <= 0 or self.chance(0.3):
            return self.pick("1", "2", self.of(INT, scope))
        map_, list_ = self.of(MAP, scope), self.of(LIST, scope)
        return self.pick(
            f"(get {map_} {self.key(scope)} 0)", f"(+ 1 (get {map_} {self.key(scope)} 0))", f"(count {map_})",
            f"(if (null? {list_}) 0 (car {list_}))", f"(length {list_})", f"(+ 1 {self.int(depth - 1, scope)})",
        )  # fmt: skip

    def map(self, depth: int, scope: Scope) -> str:
        old = self.of(MAP, scope)
        if depth <= 0 or self.chance(0.3):
            return self.pick(old, old, "{}")
        inner, i, other = self.map(depth - 1, scope), self.fresh(INT), self.fresh(MAP)
        within = (*scope, i, other)
        calls = [f"({name} 2 {inner})" for name in self.functions[:1]]
        return self.pick(
            f"(assoc {inner} {self.key(scope)} {self.int(1, scope)})", f"(dissoc {inner} {self.key(scope)})",
            f"(if {self.test(scope)} {inner} {self.map(depth - 1, scope)})",
            f"(foldl (fn ({other} {i}) (assoc {other} {i} {self.int(1, within)})) {inner} (range 3))",
            f"(let (({other} {inner})) {self.map(depth - 1, (*scope, other))})",
            f"(let* (({other} {inner}) (r (assoc {other} :z {self.int(1, scope)}))) {self.pick('r', other)})",
            *(f"(let ((r {call})) (if (map? r) r {{}}))" for call in calls),
        )  # fmt: skip

    def list(self, depth: int, scope: Scope) -> str:
        old = self.of(LIST, scope)
        if depth <= 0 or self.chance(0.3):
            return self.pick(old, old, "'()")
        inner, other = self.list(depth - 1, scope), self.fresh(LIST)
        return self.pick(
            f"(cons {self.int(1, scope)} {inner})", f"(if (null? {old}) {inner} (cdr {old}))", f"(reverse {inner})",
            f"(if {self.test(scope)} {inner} {self.list(depth - 1, scope)})", f"(append {inner} {old})",
            f"(let (({other} {inner})) {self.list(depth - 1, (*scope, other))})",
            f"(map (fn (x) (+ x 1)) {inner})",
        )  # fmt: skip
