"""Random programs about maps that are changed several times in a row, looked at in between and kept by others."""

from __future__ import annotations

from programs.written.choices import Choices

KEYS = (":a", ":b", ":c", "k", "1")


class Programs(Choices):
    """The program of a seed."""

    def program(self) -> str:
        functions = [f"(define (f{i} m k n) {self.body(self.random.randrange(3, 9), ['m'], ['n'])})" for i in range(2)]
        start = self.pick(
            "{:a 1 :b {:a 2 :b {}} :c {}}", "{:a {:a 1} :b {}}", "{}", "(hashmap/new :a 1 :b {:a 5})", "big"
        )
        keep = "(define kept '())\n(define big (foldl (fn (m i) (assoc m i i)) {} (range 104)))"
        calls = " ".join(
            f"(try (f{self.random.randrange(2)} m0 {self.pick(':a', ':b', ':q', '1')} {n}) (catch e (:message e)))"
            for n in range(2)
        )
        loop = "(try (foldl (fn (m i) (car (f0 m :c i))) m0 (range 3)) (catch e (:message e)))"
        return "\n".join([
            keep, *functions, f"(define m0 {start})", f"(println {calls})", f"(println {loop})", "(println m0 kept)",
        ])  # fmt: skip

    def body(self, steps: int, maps: list[str], numbers: list[str]) -> str:
        """What a function does: some steps, then a list of all that it has."""
        if steps == 0:
            last = maps[-1]
            shown = [last, *(self.random.sample(maps, min(len(maps), 2)) if self.chance(0.4) else [])]
            return f"(list {' '.join([*shown, numbers[-1]])})"
        kind = self.random.randrange(10)
        if kind <= 4:
            name = self.fresh("m")
            value = self.change(maps, numbers)
            return f"(let (({name} {value})) {self.body(steps - 1, [*maps, name], numbers)})"
        if kind <= 6:
            name = self.fresh("n")
            read = self.pick(
                f"(get {self.map(maps)} {self.key()} 0)", f"(count {self.map(maps)})", f"(:a {self.map(maps)})"
            )
            number = f"(let ((x {read})) (if (number? x) (+ x 1) 7))"
            return f"(let (({name} {number})) {self.body(steps - 1, maps, [*numbers, name])})"
        if kind == 7:
            return f"(begin (set! kept (cons {self.map(maps)} kept)) {self.body(steps - 1, maps, numbers)})"
        if kind == 8:
            name = self.fresh("m")
            test = self.pick(f"(even? {numbers[-1]})", f"(contains? {self.map(maps)} :a)")
            value = f"(if {test} {self.change(maps, numbers)} {self.map(maps)})"
            return f"(let (({name} {value})) {self.body(steps - 1, [*maps, name], numbers)})"
        name = self.fresh("m")
        value = f"(try {self.pick(self.change(maps, numbers), '(throw :no)')} (catch e {self.map(maps)}))"
        return f"(let (({name} {value})) {self.body(steps - 1, [*maps, name], numbers)})"

    def map(self, maps: list[str]) -> str:
        return maps[-1] if self.chance(0.75) else self.random.choice(maps)

    def key(self) -> str:
        return "k" if self.chance(0.2) else self.random.choice(KEYS)

    def change(self, maps: list[str], numbers: list[str]) -> str:
        subject, key, number = self.map(maps), self.key(), self.random.choice(numbers)
        kind = self.random.randrange(8)
        if kind <= 2:
            value = self.pick(number, f"(+ 1 {number})", self.map(maps), "{}", f"{{:a {number}}}")
            return f"(assoc {subject} {key} {value})"
        if kind == 3:
            return f"(assoc {subject} {key} {number} {self.key()} {self.pick(number, self.map(maps), 'nil')})"
        if kind == 4:
            return f"(assoc-in {subject} [{key} {self.key()}] {number})"
        if kind == 5:
            return f"(update-in {subject} [{key} {self.key()}] (fn (x) (if (number? x) (+ x 1) {number})))"
        if kind == 6:
            return f"(-> {subject} (assoc {key} {number}) (map/update {self.key()} (fn (x) (list x))))"
        inner = f"(let ((y (get {subject} {key}))) (if (map? y) y {{:a 0}}))"
        return f"(assoc {subject} {key} (assoc {inner} {self.key()} {self.pick(number, subject)}))"
