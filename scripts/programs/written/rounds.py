"""Random programs of loops whose rounds make closures, work off lists of what is to be done, or take words apart.

Some closures are made where the loop ends, others where it goes on; some lists of work get new items in front and
behind; words are lists of characters that are sorted, turned, compared, counted and joined.
"""

from __future__ import annotations

from programs.written.choices import Choices

WORDS = ('"abba"', '"b"', '""', '"sema"', '"zya"', '"aä€"', '"level"', '"éa é"')


class Programs(Choices):
    """The program of a seed."""

    def program(self) -> str:
        forms = [f"(define words (list {' '.join(self.random.choice(WORDS) for _ in range(4))}))"]
        for number in range(self.random.choice((2, 3, 4))):
            made = self.pick(self.closures, self.closures, self.work, self.letters, self.letters)
            forms += made(number)
        return "\n".join(forms)

    # Closures

    def closures(self, number: int) -> list[str]:
        """A loop, or a function that calls itself, that makes closures of what a round binds."""
        again = f"(again{number} (+ i 1) {self.collected()})" if self.chance(0.5) else "(loop (+ i 1) %s)"
        is_loop = again.startswith("(loop")
        if is_loop:
            again = again.replace("%s", self.collected())
        body = self.round(again, self.random.choice((1, 2, 3)))
        if self.chance(0.3):  # a loop inside of the round, in tail position or not
            inner = f"(let in ((j 0)) (if (> (* j j) i) {self.pick(again, 'j', '(fn () (list i j))')} (in (+ j 1))))"
            body = self.pick(
                f"(if (> i 5) {self.leaf()} {inner})",
                f"(let ((got {inner})) (if (> i 5) (list got acc) (if (number? got) {again} (list got acc))))",
            )
            if "got" in body:
                body = body.replace(f"{again} (in", "0 (in")
        if is_loop:
            text = f"(define (again{number} i acc) (let loop ((i i) (acc acc)) {body}))"
        else:
            text = f"(define (again{number} i acc) {body})"
        shown = "(let shown ((v %s)) (cond ((fn? v) (shown (v))) ((list? v) (map shown v)) (else v)))"
        calls = self.pick(
            f"(again{number} {self.pick('0', '1', '7')} '())",
            f"(map (fn (k) (again{number} k '())) (range 3))",
            f"(let ((f (again{number} 0 '()))) (list f f))",
        )
        return [text, f"(println {shown % calls})"]

    def collected(self) -> str:
        return self.pick("acc", "(cons i acc)", "(cons (fn () i) acc)", "(cons (fn () (* 2 i)) acc)")

    def leaf(self) -> str:
        return self.pick(
            "acc", "i", "(fn () i)", "(fn () (list i acc))", "(list (fn () i) acc)", "(cons (fn () i) acc)"
        )

    def round(self, again: str, levels: int) -> str:
        test = self.pick("(> i 5)", "(= i 6)", "(and (> i 2) (even? i))", "(> (length acc) 3)")
        there = self.leaf() if levels < 2 or self.chance(0.6) else self.round(again, levels - 1)
        here = again if levels < 2 or self.chance(0.4) else self.round(again, levels - 1)
        if self.chance(0.2):
            here = f"(let ((f (fn () i))) {here if self.chance(0.5) else here.replace('acc)', '(cons f acc))', 1)})"
        if self.chance(0.15):
            here = f"(begin (for-each (fn (x) x) (list i)) {here})"
        if test != "(> i 5)":
            here = f"(if (> i 9) {self.leaf()} {here})"
        return self.pick(
            f"(if {test} {there} {here})", f"(cond ({test} {there}) (else {here}))", f"(if (not {test}) {here} {there})"
        )

    # Work

    def work(self, number: int) -> list[str]:
        """A search with a list of what is to be done."""
        start = self.pick("(list n)", "(list n 1)", "'(3)", "(list n n)")
        new = self.pick(
            "(filter (fn (m) (not (contains? seen m))) (list (- x 1) (quotient x 2)))",
            "(if (> x 2) (list (- x 2) 0) '())",
            "(map (fn (d) (- x d)) (if (> x 0) '(1 2) '()))",
            "(if (odd? x) [(- x 1) (- x 3)] [])",
        )
        todo = self.pick(
            "(append new (rest todo))", "(append new (cdr todo))", "(append (rest todo) new)",
            "(append new (cons x (rest todo)))" if "odd" in new else "(append new (rest todo))",
            "(if (null? new) (rest todo) (append new (rest todo)))",
        )  # fmt: skip
        order = self.pick("<", ">", "<=", ">=", "-", "(fn (a b) (< a b))")
        key = self.pick(
            "[(- x) x]", "[(mod x 3) (str x)]", "[(if (= x 2) 1.5 x) x]", "(if (odd? x) [x] [x 1])", "(- x)"
        )
        found = self.pick("found", "(cons x found)", "(cons (length new) found)", "(cons (first todo) found)")
        end = self.pick(
            "found", "(reverse found)", "(list found todo)", "(list n found)", f"(sort found {order})",
            f"(sort-by (fn (x) {key}) found)", f"(first (sort found {order}))", f"(last (sort-by (fn (x) {key}) todo))",
        )  # fmt: skip
        stop = self.pick("(null? todo)", "(or (null? todo) (> i 20))", "(empty? todo)")
        limit = "(> i 40)"
        text = (
            f"(define (search{number} n) (let loop ((todo {start}) (seen {{}}) (found '()) (i 0)) "
            f"(cond ({stop} {end}) ({limit} (list i found {self.pick('todo', '(length todo)')})) "
            f"(else (let* ((x (first todo)) (new {new})) (loop {todo} (assoc seen x #t) {found} (+ i 1)))))))"
        )
        return [text, f"(println (map search{number} '(0 1 5 8)))"]

    # Words

    def letters(self, number: int) -> list[str]:
        """A function of a word that takes it apart."""
        body = self.answer("w", 3)
        if self.chance(0.3):
            body = f"(let ((chars {self.chars('w', 2)})) {self.of_chars('chars')})"
        text = f"(define (word{number} w) {body})"
        return [text, f"(println (map word{number} words))"]

    def chars(self, word: str, levels: int) -> str:
        """A list of characters."""
        if levels == 0 or self.chance(0.3):
            return self.pick(
                f"(string->list {word})", f'(string->list (string-append {word} "ab"))', f"(string/chars {word})"
            )
        inner = self.chars(word, levels - 1)
        return self.pick(
            f"(sort {inner})", f"(reverse {inner})", f"(filter (fn (c) (member c '(#\\a #\\b #\\é))) {inner})",
            f"(filter (fn (c) (not (= c #\\a))) {inner})", f"(filter vowel? {inner})", f"(sort {inner})",
            f"(reverse {inner})", f"(map (fn (c) (if (= c #\\a) #\\z c)) {inner})", f"(rest {inner})",
            f"(cons #\\q {inner})",
        ).replace("vowel?", "(fn (c) (member c (list #\\a #\\e)))")  # fmt: skip

    def answer(self, word: str, levels: int) -> str:
        a, b = self.chars(word, levels), self.chars(word, self.random.randrange(3))
        return self.pick(
            f"(list->string {a})", f"(= {a} {b})", f"(equal? {a} {b})", f"(length {a})", f"(length {a})",
            f"(list (list->string {a}) (length {b}))", f"(= {a} '(#\\a #\\b))", f"(null? {a})", f"(first {a})", a,
            f"(let ((chars {a})) (= chars (reverse chars)))", f"(string-length (list->string {a}))",
        )  # fmt: skip

    def of_chars(self, name: str) -> str:
        return self.pick(
            f"(= {name} (reverse {name}))", f"(list (length {name}) (list->string {name}))",
            f"(if (null? {name}) nil (list->string (sort {name})))",
            f"(list (= {name} (sort {name})) {name})", f"(list->string (append {name} (reverse {name})))",
            f"(map char->integer {name})", f"(foldl (fn (n c) (+ n (char->integer c))) 0 (sort {name}))",
            f"(let loop ((cs {name}) (acc '())) "
            "(if (null? cs) (list->string acc) (loop (rest cs) (cons (first cs) acc))))",
        )  # fmt: skip
