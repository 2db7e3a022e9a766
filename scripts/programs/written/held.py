"""Random programs whose loops make closures, delays and tasks, which hold variables and states of the rounds: while
they wait or are called later, other rounds bind and change these."""

from __future__ import annotations

from collections.abc import Callable

from programs.written.choices import Choices

Scope = dict[str, str]  # variables → "any", "int", "map", "list" or "record"

STARTS = {"map": ("{}", "{0 1}"), "list": ("'()", "(range 3)"), "record": ("{:n 0 :log '() :sub {:x 1}}",)}
ASKS = ("list?", "nil?", "map?", "vector?", "number?")
DRAIN = """(define held '())
(define (drain)
  (let ((them (reverse held)))
    (set! held '())
    (for-each (fn (f) (println (try (f) (catch e (list :failed (:message e)))))) them)))"""


class Programs(Choices):
    """The program of a seed."""

    def program(self) -> str:
        self.loops = 0  # around what is written
        self.has_tasks = self.chance(0.7)
        self.makers = self.chosen()
        forms = [DRAIN]
        for _ in range(self.random.randrange(1, 4)):
            if self.chance(0.6):
                function = self.fresh("f")
                forms.append(f"(define ({function} a)\n  {self.loop({'a': 'any'}, 3)}\n  {self.statement({}, 1)})")
                forms.append(f"({function} {self.value({}, 1)})")
            else:
                forms.append(self.loop({}, 3))
            forms.append("(drain)")
            if self.has_tasks:
                forms.append("(async/run)")
        return "\n".join([*forms, "(drain)"])

    # Values

    def of_kind(self, scope: Scope, *kinds: str) -> list[str]:
        return [name for name, kind in scope.items() if kind in kinds]

    def int(self, scope: Scope, depth: int = 1) -> str:
        ints = self.of_kind(scope, "int")
        if not depth:
            return self.pick(*ints, *ints, "1", "2")
        part = self.int(scope, depth - 1)
        return self.pick(part, f"(+ {part} {self.int(scope, 0)})", f"(* 2 {part})", f"(mod {part} 3)")

    def value(self, scope: Scope, depth: int = 2) -> str:
        names = self.of_kind(scope, "any", "int")
        states = self.of_kind(scope, *STARTS)
        if states and self.chance(0.4):
            return self.part(self.pick(*states), scope)
        if not depth or (names and self.chance(0.3)):
            return self.pick(*names, *names, "'(1 2)", "[3 4]", "{:a 1}", "nil", '"t"', "1")
        inner, name = self.value(scope, depth - 1), self.pick(*names * 3, "nil")
        copy = self.fresh("t")
        return self.pick(
            inner, self.int(scope), f"(list {inner} {self.int(scope)})", f"[{inner} {self.int(scope)}]",
            f"(str {inner})", f"(let (({copy} {inner})) {self.value({**scope, copy: 'any'}, depth - 1)})",
            f"(if {self.test(scope)} {inner} {self.value(scope, depth - 1)})",
            f"(if (list? {name}) (list (car {name}) (car {name})) {name})", f"(try (+ {name} 1) (catch e :no))",
            f"(cond ((map? {name}) (:a {name})) ((vector? {name}) (nth {name} 0)) (else {name}))",
        )  # fmt: skip

    def test(self, scope: Scope) -> str:
        names = self.of_kind(scope, "any", "int")
        asked = f"({self.pick(*ASKS)} {self.pick(*names * 3, 'nil')})"
        return asked if self.chance(0.6) else f"(> {self.int(scope)} 1)"

    def part(self, state: str, scope: Scope) -> str:
        if scope[state] == "map":
            return self.pick(state, f"(get {state} {self.int(scope)} 0)", f"(count {state})", f"(keys {state})")
        if scope[state] == "list":
            return self.pick(
                state, f"(length {state})", f"(if (null? {state}) :none (car {state}))", f"(take 2 {state})"
            )
        return self.pick(state, f"(:n {state})", f"(:log {state})", f"(get-in {state} [:sub :x])")

    def changed(self, state: str, scope: Scope) -> str:
        n = self.int(scope)
        if scope[state] == "map":
            return self.pick(f"(assoc {state} {n} (count {state}))", f"(dissoc {state} {n})",
                             f"(assoc {state} 0 (+ 1 (get {state} 0 0)))", f"(merge {state} {{5 {n}}})")  # fmt: skip
        if scope[state] == "list":
            return self.pick(f"(cons {n} {state})", f"(append {state} (list {n}))", f"(reverse {state})",
                             f"(if (null? {state}) {state} (cdr {state}))")  # fmt: skip
        return self.pick(f"(assoc {state} :n (+ 1 (:n {state})))", f"(assoc {state} :log (cons {n} (:log {state})))",
                         f"(update-in {state} [:sub :x] (fn (x) (+ x 1)))",
                         f"(assoc-in {state} [:sub :y] {n})")  # fmt: skip

    # What is held

    def body(self, scope: Scope, depth: int) -> str:
        before = [self.statement(scope, depth - 1) for _ in range(self.random.choice((0, 1, 1, 2)))]
        return " ".join([*before, self.value(scope)])

    def closure(self, scope: Scope, depth: int) -> str:
        """An expression for a function without parameters."""
        body = self.body(scope, depth)
        if self.has_tasks and self.chance(0.5):
            return f"(let ((p (async {body}))) (fn () (await p)))"
        return self.pick(f"(fn () {body})", f"(fn () {body})", f"(let ((p (delay (begin {body})))) (fn () (force p)))")

    # Statements

    def statements(self, scope: Scope, depth: int) -> str:
        return " ".join(self.statement(scope, depth) for _ in range(self.random.randrange(1, 4)))

    def statement(self, scope: Scope, depth: int) -> str:
        if depth <= 0:
            return self.shown(scope, 0)
        return self.random.choice(self.makers)(scope, depth)

    def chosen(self) -> list[Callable[[Scope, int], str]]:
        """What a program's statements are: few kinds, as what one does to a task depends on what else is going on."""
        some: list[Callable[[Scope, int], str]] = [self.kept, self.attempt, self.state, self.change]
        if self.has_tasks:
            some += [self.wait, self.received, self.received, self.piped, self.started, self.twice, self.twice]
        return [self.shown, self.bound, self.loop, *self.random.sample(some, self.random.randrange(1, len(some)))]

    def shown(self, scope: Scope, _: int) -> str:
        return f"(println {self.value(scope)} {self.value(scope, 1)})"

    def bound(self, scope: Scope, depth: int) -> str:
        name, other = self.fresh("x"), self.fresh("y")
        if self.chance(0.8):
            return f"(let (({name} {self.value(scope)})) {self.statements({**scope, name: 'any'}, depth - 1)})"
        inner = self.statements({**scope, name: "int", other: "any"}, depth - 1)
        return f"(let (([{name} {other}] [{self.int(scope)} {self.value(scope)}])) {inner})"

    def kept(self, scope: Scope, depth: int) -> str:
        return f"(set! held (cons {self.closure(scope, depth)} held))"

    def attempt(self, scope: Scope, depth: int) -> str:
        fault = self.pick("", "(throw 1)", "(car 5)")
        inner = self.statement(scope, depth - 1)
        return f"(try (begin {inner} {fault} {inner}) (catch e {self.statement({**scope, 'e': 'any'}, depth - 1)}))"

    def state(self, scope: Scope, depth: int) -> str:
        name, kind = self.fresh("s"), self.pick(*STARTS)
        inner = self.statements({**scope, name: kind}, depth)
        return f"(let (({name} {self.pick(*STARTS[kind])})) {inner} (println {name}))"

    def change(self, scope: Scope, depth: int) -> str:
        states = self.of_kind(scope, *STARTS)
        if states:
            state = self.pick(*states)
            return f"(set! {state} {self.changed(state, scope)})"
        names = self.of_kind(scope, "any")
        return f"(set! {self.pick(*names)} {self.value(scope)})" if names else self.state(scope, depth - 1)

    def wait(self, _: Scope, __: int) -> str:
        return self.pick("(async/sleep 0)", "(async/sleep 1)", "(await (async 1))")

    def started(self, scope: Scope, depth: int) -> str:
        return f"(async {self.body(scope, depth)})"

    def received(self, scope: Scope, depth: int) -> str:
        """A channel of the round, with a task that sends."""
        channel, got = self.fresh("c"), self.fresh("g")
        before = self.pick("", self.statement(scope, depth - 1))
        more = self.pick("", f"(async (let ((x (channel/recv {channel}))) (println x)))")
        inner = self.statements({**scope, got: "any"}, depth - 1)
        return (
            f"(let (({channel} (channel/new {self.pick('1', '2')}))) "
            f"(async {before} (channel/send {channel} {self.value(scope)})) {more} "
            f"(let (({got} (channel/recv {channel}))) {inner}))"
        )

    def piped(self, scope: Scope, depth: int) -> str:
        """Tasks of the round that hand on what they receive."""
        first, second, got = self.fresh("c"), self.fresh("c"), self.fresh("g")
        sent = f"(for-each (fn (x) (channel/send {first} (+ x {self.int(scope)}))) (range {self.pick('1', '3')}))"
        received = f"(channel/recv {first})"
        handed = self.pick("x", f"(list x {self.int(scope)})")
        return (
            f"(let (({first} (channel/new 1)) ({second} (channel/new {self.pick('1', '4')}))) "
            f"(async {sent} (channel/close {first})) "
            f"(async (let go ((x {received})) (when x (channel/send {second} {handed}) (go {received})))) "
            f"(let (({got} (channel/recv {second}))) {self.statements({**scope, got: 'any'}, depth - 1)}))"
        )

    def twice(self, scope: Scope, _: int) -> str:
        """A task that asks the same before and after it has waited."""
        name, value = self.pick(*self.of_kind(scope, "any") * 3, "nil"), self.value(scope)
        asked = self.pick(f"(if (list? {name}) (car {name}) {value})", f"(try (car {name}) (catch e {value}))", value)
        wait, more = self.wait(scope, 0), self.pick("", self.wait(scope, 0))
        return f"(async (let ((x {asked})) {wait} (println x {asked} {value}))) {more}"

    def loop(self, scope: Scope, depth: int) -> str:
        if self.loops > 1:
            return self.shown(scope, 0)
        self.loops += 1
        i, state, kind = self.fresh("i"), self.fresh("acc"), self.pick(*STARTS)
        inner = self.statements({**scope, i: "int"}, depth - 1)
        within = {**scope, i: "int", state: kind}
        changing, changed, start = self.statements(within, depth - 1), self.changed(state, within), STARTS[kind][0]
        self.loops -= 1
        return self.pick(
            f"(dotimes ({i} 3) {inner})", f"(for-range ({i} 0 3) {inner})",
            f"(do (({i} 0 (+ {i} 1))) ((= {i} 3)) {inner})",
            f"(let (({i} 0)) (while (< {i} 3) {inner} (set! {i} (+ {i} 1))))",
            f"(for-each (fn ({i}) {inner}) (range 3))",
            f"(let loop (({i} 0)) (when (< {i} 3) {inner} (loop (+ {i} 1))))",
            f"(let loop (({i} 0) ({state} {start})) "
            f"(if (< {i} 3) (begin {changing} (loop (+ {i} 1) {changed})) (println {state})))",
            f"(let (({state} {start})) (dotimes ({i} 3) {changing} (set! {state} {changed})) (println {state}))",
        )  # fmt: skip
