"""Random programs that go through the characters of texts: one or two at a time, with maps of characters that are
counted in, handed on, changed, shown and looked into."""

from __future__ import annotations

from programs.written.choices import Choices

TEXTS = ('"abca"', '"aXb"', '""', '"banana"', '"zażółć"', '"a1 b2"', "nil", "5", ":ab")
CHARS = ("#\\a", "#\\b", "#\\space", "#\\ż", '"a"', "nil")


class Programs(Choices):
    """The program of a seed."""

    def program(self) -> str:
        forms = [self.maker(index) for index in range(self.random.randrange(1, 4))]
        self.makers = [f"m{index}" for index in range(len(forms))]
        forms += [self.user(index) for index in range(self.random.randrange(1, 4))]
        users = [form.split()[1][1:] for form in forms if form.startswith("(define (u")]
        calls = [
            f"(println (try ({user} {self.text()} {self.text()}) (catch e (:message e))))"
            for user in users
            for _ in "123"
        ]
        return "\n".join(forms + calls)

    def text(self) -> str:
        return self.pick(*TEXTS[:6]) if self.chance(0.85) else self.pick(*TEXTS)

    def maker(self, index: int) -> str:
        """A function that makes a map of characters of two texts."""
        return f"(define (m{index} a b) {self.made('a', 'b', 2)})"

    def made(self, a: str, b: str, depth: int) -> str:
        """A map whose keys are characters, most of the time."""
        start = self.start(a, b, depth)
        i = self.fresh("i")
        return self.pick(
            *(f"(foldl (fn (m c) {self.next('m', 'c', 2)}) {start} (string->list {a}))",) * 2,
            *(f"(foldl (fn (m p) (let (([c d] p)) {self.next('m', 'c', 2, 'd')})) {start} "
              f"(map {self.pick('list', 'vector')} (string->list {a}) (string->list {b})))",) * 2,
            f"(let loop (({i} 0) (m {start})) (if (>= {i} (string-length {a})) {self.end('m')} "
            f"(loop (+ {i} 1) {self.next('m', f'(string-ref {a} {i})', 2)})))",
            f"(let loop ((cs (string->list {a})) (m {start})) (if (null? cs) {self.end('m')} "
            f"(loop (cdr cs) {self.next('m', '(car cs)', 2)})))",
            f"(foldl (fn (m e) (let (([i c] e)) {self.next('m', 'c', 2)})) {start} (enumerate (string->list {a})))",
        )  # fmt: skip

    def start(self, a: str, b: str, depth: int) -> str:
        made = [f"({self.pick(*self.makers)} {b} {a})"] if getattr(self, "makers", None) else []
        inner = [self.made(b, a, depth - 1)] if depth > 1 else []
        return self.pick("{}", "{}", "{}", "{#\\a 1}", '{"a" 2}', *made, *inner)

    def end(self, m: str) -> str:
        return m if self.chance(0.8) else self.pick(f"(assoc {m} #\\a 0)", f"(begin (println {m}) {m})")

    def next(self, m: str, c: str, depth: int, d: str = "") -> str:
        key = self.pick(c, c, c, d or c, "#\\a", f"(char-upcase {c})") if self.chance(0.9) else self.pick(*CHARS)
        value = self.pick("#t", "1", f"(+ 1 (get {m} {key} 0))", f"(+ 1 (get {m} {key} 0))", c, f"(get {m} {key})",
                          f"(char->integer {c})")  # fmt: skip
        step = self.pick(*(f"(assoc {m} {key} {value})",) * 5, f"(dissoc {m} {key})",
                         f"(map/update {m} {key} (fn (v) (if (nil? v) 1 2)))", m)  # fmt: skip
        if depth and self.chance(0.6):
            other = self.next(m, c, depth - 1, d)
            return f"(if {self.test(m, c, d)} {step} {other})"
        return step

    def test(self, m: str, c: str, d: str) -> str:
        other = d or "#\\b"
        return self.pick(
            f"(contains? {m} {c})", f"(= {c} {other})", f"(eq? {other} {c})", f"(char<? {c} {other})",
            f"(char-alphabetic? {c})", f"(> (count {m}) 2)", f"(nil? (get {m} {other}))", f"(= (get {m} {c} 0) 1)",
            f"(member {c} '(#\\a #\\b))",
        )  # fmt: skip

    def user(self, index: int) -> str:
        made = self.pick(f"({self.pick(*self.makers)} a b)", self.made("a", "b", 1))
        other = f"({self.pick(*self.makers)} b a)"
        body = self.pick(
            "m", "(keys m)", "(vals m)", "(count m)", "(map/entries m)", "(get m #\\a)", f"(list m {other})",
            f"(= m {other})", f"(merge m {other})", "(every (fn (v) (= v 1)) (vals m))",
            "(filter (fn (c) (contains? m c)) (string->list b))",
            "(map (fn (c d) (list (get m c) d)) (string->list a) (string->list b))",
            "(map-indexed (fn (i c) (if (contains? m c) i c)) (string->list a))",
            f"(foldl (fn (n c) (+ n (get m c 0) (get {other} c 0))) 0 (string->list b))",
            "(begin (set! m (assoc m #\\c 3)) m)", f"(let ((n (assoc m #\\z 0))) (list n {other} (get m #\\z)))",
            "(let ((f (fn (c) (get m c)))) (map f (string->list a)))",
        )  # fmt: skip
        return f"(define (u{index} a b) (let ((m {made})) {body}))"
