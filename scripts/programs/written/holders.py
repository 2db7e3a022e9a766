"""Random programs about maps in maps: states that functions and loops change, with other names for the same maps.

A state is a map of items under keywords and numbers, an item a map of numbers; trees are maps of trees. Programs keep
old states in lists, closures and globals, throw in the middle of changes, put one item under two keys, and look at
everything in the end.
"""

from __future__ import annotations

from programs.written.choices import Choices

STATE, ITEM, INT, TREE = "state", "item", "int", "tree"
NAMES = {STATE: "s", ITEM: "m", INT: "i", TREE: "t"}
Scope = tuple[tuple[str, str], ...]  # names and kinds of variables


class Programs(Choices):
    """The program of a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.functions: list[tuple[str, str, tuple[str, ...]]] = []  # name, kind of the result, kinds of the arguments
        self.rounds = 0  # loops around
        self.trees = self.chance(0.3)

    def fresh(self, prefix: str) -> str:
        return super().fresh(NAMES[prefix])

    def program(self) -> str:
        forms = ["(define kept '())"]
        for _ in range(self.random.randrange(1, 4)):
            forms.append(self.function())
        for _ in range(self.random.randrange(1, 4)):
            name = f"g{len(forms)}"
            forms.append(f"(define {name} {self.guarded(STATE, 4, tuple(self.globals(forms)))})")
        shown = " ".join(name for name, _ in self.globals(forms))
        forms.append(f"(println {shown} kept)")
        if self.chance(0.5):
            forms.append(
                f"(println (map (fn (g) (if (procedure? g) (g) g)) kept) {self.guarded(STATE, 3, ())} {shown})"
            )
        return "\n".join(forms)

    def globals(self, forms: list[str]) -> list[tuple[str, str]]:
        return [(form.split()[1], STATE) for form in forms if form.startswith("(define g")]

    def guarded(self, kind: str, depth: int, scope: Scope) -> str:
        return f"(try {self.expr(kind, depth, scope)} (catch e {{:failed (:value e)}}))"

    def function(self) -> str:
        kind = self.random.choice((STATE, STATE, ITEM, TREE if self.trees else STATE))
        name = f"f{len(self.functions)}"
        if kind == TREE and self.chance(0.6):
            self.functions.append((name, TREE, (TREE, INT)))
            t, i = self.fresh(TREE), self.fresh(INT)
            child = f"(get {t} {self.key(((i, INT),))} {self.pick('{}', '{:n 0}')})"
            k = self.key(((i, INT),))
            return (
                f"(define ({name} {t} {i}) (if (<= {i} 0) {self.expr(TREE, 2, ((t, TREE), (i, INT)))}"
                f" (assoc {t} {k} ({name} {self.pick(child, f'(get {t} {k} {{}})', t)} (- {i} 1)))))"
            )
        args = tuple(self.random.choice((kind, STATE, ITEM, INT)) for _ in range(self.random.randrange(1, 3)))
        if kind not in args:
            args = (kind, *args)
        scope = tuple((self.fresh(arg), arg) for arg in args)
        text = f"(define ({name} {' '.join(name for name, _ in scope)}) {self.expr(kind, 3, scope)})"
        self.functions.append((name, kind, args))
        return text

    def key(self, scope: Scope) -> str:
        numbers = [name for name, kind in scope if kind == INT]
        if numbers and self.chance(0.6):
            number = self.random.choice(numbers)
            return self.pick(number, f"(mod {number} 2)", f"(mod {number} 2)")
        return self.pick(":a", ":b", "0", "1")

    def expr(self, kind: str, depth: int, scope: Scope) -> str:
        if kind == INT:
            return self.int(depth, scope)
        known = [name for name, its in scope if its == kind]
        if known and (depth <= 0 or self.chance(0.25)):
            return self.random.choice(known)
        if depth <= 0:
            return self.pick("{}", "{:a {:n 1} :b {:n 2} 0 {:n 3}}" if kind == STATE else "{:n 0}", "{}")
        common = self.common(kind, depth, scope)
        if self.chance(0.5):
            return common
        return self.change(kind, depth, scope)

    def change(self, kind: str, depth: int, scope: Scope) -> str:
        """A changed map."""
        old = self.expr(kind, depth - 1, scope)
        key = self.key(scope)
        part = {STATE: ITEM, ITEM: INT, TREE: TREE}[kind]
        if kind == ITEM:
            key = self.pick(":n", ":n", ":m", key)
            if self.chance(0.3):
                return f"(get {self.expr(STATE, depth - 1, scope)} {self.key(scope)} {{:n 7}})"
            return self.pick(
                f"(assoc {old} {key} {self.int(depth - 1, scope)})",
                f"(assoc {old} {key} {self.int(depth - 1, scope)})",
                f"(assoc {old} :n {self.int(depth - 1, scope)} :m {self.int(depth - 1, scope)})",
                f"(dissoc {old} {key})",
            )
        if self.chance(0.5):  # the part at the same key
            name, inner = self.fresh(kind), self.fresh(part)
            within = (*scope, (name, kind), (inner, part))
            found = f"(get {name} {key} {self.pick('{}', '{:n 5}')})"
            other = key if self.chance(0.8) else self.key(scope)
            return (
                f"(let* (({name} {old}) ({inner} {found}))"
                f" (assoc {name} {other} {self.change(part, depth - 1, within)}))"
            )
        return self.pick(
            f"(assoc {old} {key} {self.expr(part, depth - 1, scope)})",
            f"(dissoc {old} {key})",
            f"(update-in {old} [{key} :n] (fn (v) (+ 1 (if (number? v) v 0))))",
            f"(assoc-in {old} [{key} :n] {self.int(depth - 1, scope)})",
            f"(map/update {old} {key} (fn (m) (assoc (or m {{}}) :n {self.int(depth - 1, scope)})))",
            f"(assoc {old} :a {self.expr(part, depth - 1, scope)} :b {self.expr(part, depth - 1, scope)})",
        )

    def common(self, kind: str, depth: int, scope: Scope) -> str:
        """What makes a map of any kind."""
        what = self.random.randrange(12)
        name, i = self.fresh(kind), self.fresh(INT)
        within = (*scope, (name, kind))
        if what < 2:
            bound = self.random.choice((kind, ITEM, STATE))
            other = self.fresh(bound)
            value = self.expr(bound, depth - 1, scope)
            return f"(let (({other} {value})) {self.expr(kind, depth - 1, (*scope, (other, bound)))})"
        if what < 5 and self.rounds < 2:
            return self.loop(kind, depth, scope, name, i)
        if what == 5:
            return f"(if {self.test(scope)} {self.expr(kind, depth - 1, scope)} {self.expr(kind, depth - 1, scope)})"
        if what == 6:
            throws = (
                f"(begin (when {self.test(scope)} (throw {self.int(0, scope)})) {self.expr(kind, depth - 1, within)})"
            )
            text = f"(let (({name} {self.expr(kind, depth - 1, scope)})) {throws})"
            return f"(try {text} (catch e {self.expr(kind, depth - 1, scope)}))" if self.chance(0.7) else text
        if what == 7:
            keep = self.pick(name, name, f"(fn () {name})")
            return (
                f"(let (({name} {self.expr(kind, depth - 1, scope)})) (set! kept (cons {keep} kept))"
                f" {self.expr(kind, depth - 1, within)})"
            )
        if what == 8:
            items = f"(list {self.expr(kind, depth - 1, scope)} {self.expr(kind, depth - 1, scope)})"
            return f"({self.pick('first', 'cadr', 'last')} {items})"
        if what == 9:
            other = self.fresh(kind)
            pair = f"[{self.expr(kind, depth - 1, scope)} {self.expr(kind, depth - 1, scope)}]"
            return f"(let (([{name} {other}] {pair})) {self.expr(kind, depth - 1, (*within, (other, kind)))})"
        callees = [function for function in self.functions if function[1] == kind]
        if callees and self.rounds < 2:
            callee, _, args = self.random.choice(callees)
            return f"({callee} {' '.join(self.expr(arg, depth - 2, scope) for arg in args)})"
        return self.change(kind, depth, scope)

    def loop(self, kind: str, depth: int, scope: Scope, name: str, i: str) -> str:
        self.rounds += 1
        start = self.expr(kind, depth - 1, scope)
        within = (*scope, (name, kind), (i, INT))
        end = str(self.random.randrange(2, 5))
        if self.chance(0.5):
            text = f"(foldl (fn ({name} {i}) {self.expr(kind, depth - 1, within)}) {start} (range {end}))"
        elif self.chance(0.3):
            other = self.random.choice((kind, ITEM))
            more = self.fresh(other)
            inside = (*within, (more, other))
            text = (
                f"(let lp{i} (({i} 0) ({name} {start}) ({more} {self.expr(other, depth - 1, scope)}))"
                f" (if (>= {i} {end}) {self.expr(kind, 1, inside)}"
                f" (lp{i} (+ {i} 1) {self.expr(kind, depth - 1, inside)} {self.expr(other, depth - 1, inside)})))"
            )
        elif self.chance(0.3):
            text = (
                f"(let (({name} {start})) (for-range ({i} 0 {end}) (set! {name} {self.expr(kind, depth - 1, within)}))"
                f" {self.expr(kind, 1, (*scope, (name, kind)))})"
            )
        else:
            text = (
                f"(let lp{i} (({i} 0) ({name} {start})) (if (>= {i} {end}) {self.expr(kind, 1, within)}"
                f" (lp{i} (+ {i} 1) {self.expr(kind, depth - 1, within)})))"
            )
        self.rounds -= 1
        return text

    def test(self, scope: Scope) -> str:
        return self.pick(f"(even? {self.int(1, scope)})", f"(> {self.int(1, scope)} 2)", f"(= {self.int(1, scope)} 1)")

    def int(self, depth: int, scope: Scope) -> str:
        known = [name for name, its in scope if its == INT]
        items = [name for name, its in scope if its == ITEM]
        states = [name for name, its in scope if its == STATE]
        if items and self.chance(0.3):
            return f"(get {self.random.choice(items)} {self.pick(':n', ':m')} 0)"
        if states and self.chance(0.3):
            return self.pick(
                f"(count {self.random.choice(states)})",
                f"(get (get {self.random.choice(states)} {self.key(scope)} {{}}) :n 0)",
            )
        if known and self.chance(0.6):
            return self.random.choice(known)
        if depth > 0 and self.chance(0.3):
            return f"(+ {self.int(depth - 1, scope)} {self.int(depth - 1, scope)})"
        if depth > 0 and self.chance(0.15):
            return f"(count {self.expr(STATE, depth - 1, scope)})"
        return str(self.random.randrange(4))
