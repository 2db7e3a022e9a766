"""Random programs about rows: tables that are turned, joined, numbered and counted into maps of maps, with functions
that look into what others have made while more is made."""

from __future__ import annotations

from programs.written.choices import Choices

ROWS = ("'((1 2) (3 4))", "(list (list 1 2 3) (list 4 5))", "[[1 2] [3 4]]", "(list [1 2] '(3 4))", "'((1 2 3))", "'()",
        "(list '() '(1))", "'(1 2)", "nil", '\'("ab" "cd")', "(map (fn (i) (list i (* i i) 5)) (range 4))")  # fmt: skip


class Programs(Choices):
    """The program of a seed."""

    def program(self) -> str:
        forms = [f"(define (f{index} rows) {self.rows('rows', 3)})" for index in range(self.random.randrange(1, 4))]
        self.makers = [f"f{index}" for index in range(len(forms))]
        forms += [f"(define (g{index} rows n) {self.summary('rows')})" for index in range(self.random.randrange(1, 3))]
        forms.append(f"(define (h m) {self.report('m')})")
        forms += [self.call() for _ in range(self.random.randrange(3, 7))]
        return "\n".join(forms)

    def call(self) -> str:
        rows = self.pick(*ROWS[:5]) if self.chance(0.8) else self.pick(*ROWS)
        made = f"({self.pick(*self.makers)} {rows})" if self.chance(0.5) else rows
        index = self.random.randrange(self.pick(1, 2))
        count = f"(g{index} {made} {self.pick('0', '1', '5')})"
        shown = self.pick(made, count, f"(h {count})", f"(list (h {count}) {count})",
                          f"(map (fn (k) (h (g0 {rows} k))) (range 3))")  # fmt: skip
        return f"(println (try {shown} (catch e (:message e))))"

    def rows(self, rows: str, depth: int) -> str:
        """An expression for rows, of rows."""
        if not depth:
            return rows
        inner = self.rows(rows, depth - 1)
        k = self.fresh("k")
        return self.pick(
            f"(apply map list {inner})", f"(apply map vector {inner})", f"(reverse (apply map list {inner}))",
            f"(apply map list (map reverse {inner}))", f"(map (fn (row) (apply vector row)) {inner})",
            f"(map (fn (row) (map (fn (x {k}) (if (= {k} 1) x {self.cell('x')})) row "
            f"(range {self.pick('2', '4')}))) {inner})",
            f"(list (apply append (map (fn (row) {self.few('row')}) {inner})))",
            f"(list (apply append {inner}))", f"(map (fn (row) {self.padded('row')}) {inner})",
            f"(if (> (length {rows}) 1) {inner} {self.rows(rows, depth - 1)})",
            f"(let loop ((left {inner}) (out '())) (if (null? left) {self.end('out')} "
            f"(loop (rest left) (cons {self.few('(first left)')} out))))",
        )  # fmt: skip

    def few(self, row: str) -> str:
        return self.pick(row, f"(list (first {row}))", f"(if (even? (length {row})) {row} '())", f"(reverse {row})",
                         f"[(length {row}) {row}]", f"(map (fn (x) (list x x)) {row})",
                         f"(if (null? {row}) (list {row}) '())")  # fmt: skip

    def padded(self, row: str) -> str:
        """A row that a loop makes, with as much more as is missing."""
        tail = self.pick("(map (fn (_) 0) (range (- 4 (length out))))", "(list (length out))", "(reverse out)")
        return (
            f"(let loop ((left {row}) (out '())) (if (null? left) (append (reverse out) {tail}) "
            f"(loop (cdr left) (cons (car left) out))))"
        )

    def cell(self, x: str) -> str:
        return self.pick("0", f"(list {x})", x, f"(str {x})")

    def end(self, out: str) -> str:
        return self.pick(
            f"(reverse {out})", out, f"(list {out} (reverse {out}))", f"(list (reverse {out}) (length {out}))"
        )

    def summary(self, rows: str) -> str:
        """Maps of maps, counted."""
        first, second = self.pick("(first row)", "(length row)", "n"), self.pick("(last row)", "(nth row 0)", "n")
        step = self.pick(
            f"(update-in m [{first} {second}] (fn (c) (+ 1 (or c 0))))", f"(assoc-in m [{first} {second}] row)",
            f"(let ((inner (get m {first} {{}}))) "
            f"(assoc m {first} (assoc inner {second} (+ 1 (get inner {second} 0)))))",
            f"(map/update m {first} (fn (inner) (assoc (or inner {{}}) {second} n)))",
        )  # fmt: skip
        start = self.pick("{}", "{}", "{1 {2 3}}")
        kept = self.pick(step, f"(if (> n 3) m {step})", f"(begin (when (= n 5) (println (vals m))) {step})")
        made = f"(foldl (fn (m row) {kept}) {start} {rows})"
        return self.pick(made, made, f"(let ((m {made})) (if (= n 1) (assoc m :n n) m))")

    def report(self, m: str) -> str:
        return self.pick(f"(map count (vals {m}))", f"(map (fn (k) (get {m} k)) (keys {m}))", f"(map/entries {m})",
                         f"(map (fn (inner) (foldl + 0 (vals inner))) (vals {m}))", f"(count {m})")  # fmt: skip
