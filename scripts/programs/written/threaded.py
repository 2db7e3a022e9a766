"""Random programs that thread a map through functions which return it beside a value: `[value memo]`.

Functions call themselves and each other, take results apart with patterns, give results of others on, keep old maps in
lists and closures, return one map twice or two that have parts in common, and throw in the middle. Everything is
printed in the end.
"""

from __future__ import annotations

from programs.written.choices import Choices

INT, MAP = "int", "map"
Scope = tuple[tuple[str, str], ...]  # names and kinds of variables


class Programs(Choices):
    """The program of a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.functions: list[tuple[str, str]] = []  # name, shape of the result
        self.is_nested = self.chance(0.4)  # whether the maps hold maps

    def program(self) -> str:
        forms = ["(define kept '())", "(define shared {1 1})" if not self.is_nested else "(define shared {1 {:n 1}})"]
        forms.append("(define (fail x) (throw x))")
        forms += [self.function(f"f{index}") for index in range(self.random.randrange(1, 4))]
        for index in range(self.random.randrange(1, 4)):
            forms.append(f"(define g{index} {self.top()})")
        forms.append(f"(println {' '.join(form.split()[1] for form in forms if form.startswith('(define g'))} shared)")
        forms.append("(println (map (fn (k) (if (procedure? k) (k) k)) kept))")
        return "\n".join(forms)

    def top(self) -> str:
        name, shape = self.random.choice(self.functions)
        start = self.pick("{}", "{}", "shared", "{2 {:n 2}}" if self.is_nested else "{2 2}")
        call = f"({name} {self.random.randrange(6)} {start})"
        pattern, variables = self.pattern(shape)
        shown = " ".join(variable for variable, _ in variables)
        text = self.pick(
            f"(let (({pattern} {call})) (list {shown}))",
            f"(let (({pattern} {call})) (list {shown}))",
            call,
            f"(foldl (fn (m i) (let (({pattern} ({name} i m))) {self.map_of(variables)})) {start} (range 5))",
        )
        return f"(try {text} (catch e (list :failed (:value e))))"

    def function(self, name: str) -> str:
        shape = self.pick("[i m]", "[i m]", "[m i]", "[m m]", "[i m i]", "{:v i :m m}")
        self.functions.append((name, shape))
        scope: Scope = (("n", INT), ("memo", MAP))
        body = self.result(shape, 3, scope)
        return f"(define ({name} n memo) (if (<= n 0) {self.result(shape, 0, scope)} {body}))"

    def result(self, shape: str, depth: int, scope: Scope) -> str:
        """What a function returns."""
        what = self.random.randrange(10) if depth else 0
        if what == 1:
            branches = (self.result(shape, depth - 1, scope) for _ in range(2))
            return f"(if {self.test(scope)} {' '.join(branches)})"
        if what in (2, 3, 4):
            return self.taken(shape, depth, scope)
        if what == 5:
            same = [name for name, its in self.functions if its == shape]
            if same:
                return f"({self.random.choice(same)} (- n 1) {self.map(depth - 1, scope)})"
        if what == 6:
            name = self.fresh("m")
            inner = self.result(shape, depth - 1, (*scope, (name, MAP)))
            return f"(let (({name} {self.map(depth - 1, scope)})) {inner})"
        if what == 7:
            keep = self.pick("{0}", "(fn () {0})", "(count {0})").format(self.known(MAP, scope))
            return f"(begin (set! kept (cons {keep} kept)) {self.result(shape, depth - 1, scope)})"
        if what == 8:
            throws = f"(when {self.test(scope)} (throw {self.int(scope)}))"
            risky = f"(begin {throws} {self.result(shape, depth - 1, scope)})"
            fails = self.pick(f"(throw {self.int(scope)})", '(error "failed")', f"(fail {self.int(scope)})")
            ends = f"(if {self.test(scope)} {fails} {self.result(shape, depth - 1, scope)})"
            caught = f"(try {self.pick(ends, risky)} (catch e {self.result(shape, 0, scope)}))"
            return self.pick(ends, ends, risky, caught)
        parts = {"i": lambda: self.int(scope), "m": lambda: self.map(depth, scope)}
        if shape[0] == "{":
            return f"{{:v {self.int(scope)} :m {self.map(depth, scope)}}}"
        return "".join(parts[each]() if each in parts else each for each in shape)

    def taken(self, shape: str, depth: int, scope: Scope) -> str:
        """The result of a call taken apart."""
        name, its = self.random.choice(self.functions)
        pattern, variables = self.pattern(its)
        call = f"({name} (- n {self.pick('1', '2')}) {self.map(depth - 1, scope)})"
        if its[0] == "[" and self.chance(0.15):
            call = f"(if {self.test(scope)} {call} {self.result(its, 0, scope)})"
        return f"(let (({pattern} {call})) {self.result(shape, depth - 1, (*scope, *variables))})"

    def pattern(self, shape: str) -> tuple[str, Scope]:
        kinds = [MAP if each == "m" else INT for each in shape if each in "im"] if shape[0] == "[" else [INT, MAP]
        variables = tuple((self.fresh(kind[0]), kind) for kind in kinds)
        names = [name if self.chance(0.9) else "_" for name, _ in variables]
        if shape[0] != "[":
            names = [name for name, _ in variables]
            return f"{{:v {names[0]} :m {names[1]}}}", variables
        return f"[{' '.join(names)}]", tuple(each for each, name in zip(variables, names, strict=True) if name != "_")

    def map_of(self, variables: Scope) -> str:
        return next((name for name, kind in variables if kind == MAP), "m")

    def known(self, kind: str, scope: Scope) -> str:
        names = [name for name, its in scope if its == kind]
        return self.random.choice(names[-3:] if self.chance(0.7) else names)

    def map(self, depth: int, scope: Scope) -> str:
        old = self.known(MAP, scope)
        what = self.random.randrange(8) if depth > 0 else self.random.randrange(3)
        if what < 1:
            return old
        key = self.key(scope)
        if what == 5:
            added = "{:n 1}" if self.is_nested else self.int(scope)
            return self.pick(
                f"(dissoc {old} {key})",
                f"(merge {old} {{{key} {added}}})",
                f"(merge {old} {self.known(MAP, scope)})",
            )
        if what == 6:
            return f"(if {self.test(scope)} {self.map(depth - 1, scope)} {old})"
        if what == 7:
            i, m = self.fresh("i"), self.fresh("m")
            body = self.map(depth - 1, (*scope, (i, INT), (m, MAP)))
            return f"(foldl (fn ({m} {i}) {body}) {old} (range 3))"
        if self.is_nested:
            return self.pick(
                f"(assoc-in {old} [{key} :n] {self.int(scope)})",
                f"(update-in {old} [{key} :n] (fn (v) (+ 1 (or v 0))))",
                f"(assoc {old} {key} (get {self.known(MAP, scope)} {self.key(scope)} {{:n 0}}))",
            )
        return f"(assoc {old} {key} {self.int(scope)})"

    def key(self, scope: Scope) -> str:
        return self.pick("n", "n", "(mod n 3)", str(self.random.randrange(3)), self.known(INT, scope))

    def int(self, scope: Scope) -> str:
        m, i = self.known(MAP, scope), self.known(INT, scope)
        found = f"(get (get {m} {self.key(scope)} {{}}) :n 0)" if self.is_nested else f"(get {m} {self.key(scope)} 0)"
        return self.pick(i, found, found, f"(count {m})", f"(+ 1 {i})", str(self.random.randrange(4)))

    def test(self, scope: Scope) -> str:
        m, i = self.known(MAP, scope), self.known(INT, scope)
        return self.pick(f"(even? {i})", f"(contains? {m} {self.key(scope)})", f"(> (count {m}) 2)", f"(= {i} 1)")
