"""Random programs that change a state inside of `try`, throw in the middle, and go on with the state from before.

States are maps that hold maps. Functions change them, call each other, catch errors or let them pass; handlers return
the old state, change it, or look at what was kept before; states are also shown, kept, sent to globals and put into
results in the middle. A loop applies the functions again and again, and everything is printed in the end.
"""

from __future__ import annotations

from programs.written.choices import Choices

FIELDS = (":a", ":b", ":in")  # of a state: numbers by key, a number, maps by key
START = "{:a {} :b 0 :in {0 {:n 0 :m {}}}}"


class Programs(Choices):
    """The program of a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.functions: list[str] = []
        self.keeps = self.chance(0.3)  # whether states are kept where others see them

    def program(self) -> str:
        forms = ["(define kept '())", f"(define start {START})", f"(define current {START})"]
        forms += [self.function(f"f{index}") for index in range(self.random.randrange(2, 5))]
        shown = []
        for index in range(self.random.randrange(1, 3)):
            forms.append(f"(define g{index} {self.top()})")
            shown.append(f"g{index}")
        forms.append(f"(println {' '.join(shown)} start current)")
        forms.append("(println kept)")
        return "\n".join(forms)

    def top(self) -> str:
        rounds = self.pick("3", "6", "12")
        step = self.pick(f"({self.function_name()} s i)", self.statement("s", 2))
        start = self.pick("start", START, "current")
        loop = self.pick(
            f"(foldl (fn (s i) {step}) {start} (range {rounds}))",
            f"(let loop ((i 0) (s {start})) (if (= i {rounds}) s (loop (+ i 1) {step})))",
            f"(let ((s {start})) (dotimes (i {rounds}) (set! s {step})) s)",
            *(self.outcomes(start, rounds, step),) * 2,
            f"(let ((s {start}) (all '())) (dotimes (i {rounds}) (set! s {step}) (set! all (cons s all))) [s all])",
        )
        if self.chance(0.15):
            loop = f"(begin (dotimes (i {rounds}) (set! current (let ((s current)) {step}))) current)"
        return f"(try {loop} (catch e [:failed (:value e) (:message e)]))"

    def outcomes(self, start: str, rounds: str, step: str) -> str:
        """A loop that goes on with what a `try` gives, in a map, a list or as it is."""
        more = self.pick("(+ bad 1)", "(+ bad 1)", "bad", "(count (:a s))")
        end = self.pick("[s bad]", "s", "(list bad s)")
        old = self.pick("s", "s", f"(assoc s :b {self.number('s')})", "start")
        handled, failed = self.pick(
            ("{:error (:value e)}", f"(loop (+ i 1) {old} {more})"),
            ("{:error e}", f"(if (map? (:value (:error r))) (loop (+ i 1) {old} {more}) (loop (+ i 2) s bad))"),
            ("{:error (:value e)}", f"(if (= :no (:error r)) {end} (loop (+ i 1) {old} {more}))"),
            ("{:ok nil :error 1}", f"(loop (+ i (:error r)) {old} {more})"),
        )
        good = self.pick("(loop (+ i 1) (:ok r) bad)", "(let ((s (:ok r))) (if (even? i) (loop (+ i 1) s bad) "
                         "(loop (+ i 1) s (+ bad 10))))")  # fmt: skip
        test = self.pick("(:ok r)", "(:ok r)", "(contains? r :ok)", "(not (nil? (:ok r)))")
        outcome = f"(let ((r (try {{:ok {step}}} (catch e {handled})))) (if {test} {good} {failed}))"
        if self.chance(0.3):
            nothing = self.pick("nil", "#f", ":failed")
            asked = {"nil": "(nil? r)", "#f": "(not r)", ":failed": "(= r :failed)"}[nothing]
            failed = f"(loop (+ i 1) {old} {more})"
            outcome = f"(let ((r (try {step} (catch e {nothing})))) (if {asked} {failed} (loop (+ i 1) r bad)))"
        return f"(let loop ((i 0) (s {start}) (bad 0)) (if (>= i {rounds}) {end} {outcome}))"

    def function_name(self) -> str:
        return self.random.choice(self.functions) if self.functions else "list"

    def function(self, name: str) -> str:
        body = self.statement("s", 3)
        self.functions.append(name)
        return f"(define ({name} s i) {body})"

    def statement(self, s: str, depth: int) -> str:
        """An expression for a state, made of the state of a variable."""
        what = self.random.randrange(14) if depth else self.random.randrange(4)
        if what < 3:
            return self.change(s)
        if what == 3:
            return s
        inner = depth - 1
        if what in (4, 5):
            new = self.fresh("s")
            return f"(let (({new} {self.statement(s, inner)})) {self.statement(self.pick(new, new, new, s), inner)})"
        if what in (6, 7, 8):
            return self.attempt(s, inner)
        if what == 9:
            return f"(if {self.test(s)} {self.statement(s, inner)} {self.statement(s, inner)})"
        if what == 10 and self.functions:
            return f"({self.function_name()} {self.statement(s, inner)} {self.pick('i', '(+ i 1)')})"
        if what == 11:
            first = f"(when {self.test(s)} (throw {self.thrown(s)}))"
            return f"(begin {first} {self.statement(s, inner)})"
        if what == 13:
            return self.read_later(s, inner)
        if what == 12:
            new = self.fresh("s")
            keys = self.pick("(list 1 2 3)", "(range 3)")
            return f"(foldl (fn ({new} k) {self.statement(new, inner)}) {s} {keys})"
        return self.change(s)

    def attempt(self, s: str, depth: int) -> str:
        new = self.fresh("s")
        late = self.pick(
            f"(when {self.test(new)} (throw {self.thrown(new)}))",
            f"(quotient 10 (get-in {new} [:a i] 0))",
            f'(when {self.test(s)} (error "no"))',
            f"(assert {self.test(new)})",
        )
        if self.keeps and self.chance(0.5):
            seen = self.pick(new, s, f"(:in {new})", f"(get-in {new} [:in 0])")
            late = f"(begin (set! kept (cons {seen} kept)) {late})"
        body = self.pick(
            f"(let (({new} {self.statement(s, depth)})) {late} {self.statement(new, depth)})",
            f"(let (({new} {self.statement(s, depth)})) {late} {self.statement(new, depth)})",
            self.statement(s, depth),
            f"(let (({new} {s})) {self.set(new, depth)} {late} {self.set(new, depth)} {new})",
        )
        handled = self.pick(
            s,
            self.statement(s, depth),
            f"(assoc {s} :b (+ 1 (:b {s})))",
            f"(assoc-in {s} [:a :caught] (or (:value e) (:message e)))",
            f"(if (map? (:value e)) (:value e) {s})" if self.chance(0.4) else s,
            "(throw (:value e))",
        )
        outer = f"(try {body} (catch e {handled}))"
        if self.chance(0.2):
            out = self.fresh("s")
            caught = self.pick("nil", f"(set! {out} {handled})")
            body_out = f"(begin {self.set(out, depth)} {late.replace(new, out)})"
            outer = f"(let (({out} {s})) (try {body_out} (catch e {caught})) {out})"
        if self.chance(0.1):
            outer = f"(guard (e ((map? e) {s}) ((keyword? e) {self.change(s)})) {body})"
        return outer

    def set(self, s: str, depth: int) -> str:
        return f"(set! {s} {self.statement(s, depth)})"

    def change(self, s: str) -> str:
        key = self.key(s)
        return self.pick(
            f"(assoc {s} :b {self.number(s)})",
            f"(assoc {s} :a (assoc (:a {s}) {key} {self.number(s)}))",
            f"(update-in {s} [:a {key}] (fn (v) (+ 1 (or v 0))))",
            f"(assoc-in {s} [:in {key} :n] {self.number(s)})",
            f"(update-in {s} [:in {key} :m] (fn (m) (assoc (or m {{}}) i {self.number(s)})))",
            f"(map/update {s} :a (fn (m) (dissoc m {key})))",
            f"(assoc {s} :in (assoc (:in {s}) {key} (assoc (get-in {s} [:in {key}] {{}}) :n {self.number(s)})))",
            f"(-> {s} (assoc :b {self.number(s)}) (assoc-in [:a {key}] i))",
            f"(assoc {s} :in (dissoc (:in {s}) {key}))",
            f"(assoc-in {s} [:in {key}] (get-in {s} [:in {self.key(s)}] {{:n 5}}))",
            self.at_once(s, key),
        )

    def at_once(self, s: str, key: str) -> str:
        """Changes by builtins that take a whole map or list."""
        return self.pick(
            f"(merge {s} {{:b {self.number(s)}}})",
            f"(merge {s} {{:b {self.number(s)} :c i}} {self.pick('{}', s, 'start')})",
            f"(assoc {s} :a (merge (:a {s}) {{{key} {self.number(s)}}}))",
            f"(assoc {s} :in (merge (:in {s}) (:in {self.pick(s, 'start', 'current')})))",
            f"(assoc {s} :a (map/map-vals (fn (v) (if (int? v) (+ v 1) v)) (:a {s})))",
            f"(assoc {s} :in (map/map-vals (fn (m) (assoc m :n {self.number(s)})) (:in {s})))",
            f"(map/update {s} :a (fn (m) (map/filter (fn (k v) (not (= k {key}))) m)))",
            f"(assoc {s} :log (take {self.pick('1', '3')} (cons {self.number(s)} (get {s} :log '()))))",
        )

    def read_later(self, s: str, depth: int) -> str:
        """What a state held is read after another function has changed the state."""
        part, new = self.fresh("t"), self.fresh("s")
        read = self.pick(f":b (:n {part})", f":c (:m {part})", f":b (:n {part}) :c (get-in {part} [:m i])")
        changed = f"({self.function_name()} {s} i)" if self.functions else self.statement(s, depth)
        return (
            f"(let (({part} (get-in {s} [:in {self.key(s)}] {{:n 0 :m {{}}}}))) "
            f"(let (({new} {changed})) (assoc {new} {read})))"
        )

    def key(self, s: str) -> str:
        return self.pick("i", "0", "1", "(mod i 3)", f"(count (:a {s}))")

    def number(self, s: str) -> str:
        return self.pick(
            "i", "1", f"(:b {s})", f"(get-in {s} [:a {self.key(s)}] 0)", f"(+ 1 (:b {s}))", f"(count (:in {s}))"
        )

    def test(self, s: str) -> str:
        return self.pick(
            f"(> (count (:a {s})) 2)", "(even? i)", "(= 0 (mod i 3))", f"(contains? (:a {s}) {self.key(s)})",
            f"(> (:b {s}) 3)", f"(nil? (get-in {s} [:in {self.key(s)} :n]))",
        )  # fmt: skip

    def thrown(self, s: str) -> str:
        return self.pick(":stop", ":stop", f"{{:b (:b {s})}}", s if self.chance(0.3) else ":no", f"(:b {s})")
