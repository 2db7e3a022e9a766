"""Random programs of tasks that nobody sees at work, and of what later asks where they are.

    python scripts/random_pipelines.py SEED COUNT > pipelines.jsonl      {"id","src"} a line

Stages receive, compute and send; the main program takes what comes out. In most programs something else follows: tasks
that print, promises that are awaited, second receivers, timers, channels that are asked for their state. The answer
shows in which order all of that happened.
"""

from __future__ import annotations

import json
import random
import re
import sys

STAGES = (
    "(define log '()) (define (note x) (set! log (cons x log)) x) "
    "(define (numbers n cap) (let ((out (channel/new cap))) (async (for-range (i 0 n) (channel/send out i))"
    " (channel/close out)) out)) "
    "(define (items xs cap) (let ((out (channel/new cap))) (async (for-each (fn (x) (channel/send out x)) xs)"
    " (channel/close out)) out)) "
    "(define (counter from cap) (let ((out (channel/new cap))) (async (let loop ((n from)) (channel/send out n)"
    " (loop (+ n 1)))) out)) "
    "(define (stage f in cap) (let ((out (channel/new cap))) (async (let loop ((x (channel/recv in)))"
    " (if (nil? x) (channel/close out) (begin (channel/send out (f x)) (loop (channel/recv in)))))) out)) "
    "(define (keep f in cap) (let ((out (channel/new cap))) (async (let loop () (let ((x (channel/recv in)))"
    " (cond ((nil? x) (channel/close out)) ((f x) (channel/send out x) (loop)) (else (loop)))))) out)) "
    "(define (twice in cap) (let ((out (channel/new cap))) (async (let loop ((x (channel/recv in)))"
    " (when (not (nil? x)) (channel/send out x) (channel/send out (list x)) (loop (channel/recv in))))"
    " (channel/close out)) out)) "
    "(define (shorten n in cap) (let ((out (channel/new cap))) (async (dotimes (i n) (channel/send out"
    " (channel/recv in))) (channel/close out)) out)) "
    "(define (unclosed in cap) (let ((out (channel/new cap))) (async (let loop ((x (channel/recv in)))"
    " (when (not (nil? x)) (channel/send out x) (loop (channel/recv in))))) out)) "
    "(define (pump in out) (let ((x (channel/recv in))) (if (nil? x) (channel/close out)"
    " (begin (channel/send out x) (pump in out))))) "
    "(define (pumped in cap) (let ((out (channel/new cap))) (async (pump in out)) out)) "
    "(define (merge-into out a b x y) (cond ((and (nil? x) (nil? y)) (channel/close out))"
    " ((nil? x) (channel/send out y) (merge-into out a b nil (channel/recv b)))"
    " ((nil? y) (channel/send out x) (merge-into out a b (channel/recv a) nil))"
    " (else (channel/send out x) (merge-into out b a y (channel/recv a))))) "
    "(define (merge a b cap) (let ((out (channel/new cap)))"
    " (async (merge-into out a b (channel/recv a) (channel/recv b))) out)) "
    "(define (paired a b cap) (let ((out (channel/new cap))) (async (let loop () (let ((x (channel/recv a))"
    " (y (channel/recv b))) (if (or (nil? x) (nil? y)) (channel/close out) (begin (channel/send out (list x y))"
    " (loop)))))) out)) "
    "(define (watched f in cap) (let ((out (channel/new cap))) (async (let loop ((x (channel/recv in)))"
    " (if (nil? x) (channel/close out) (begin (note (list :passes x)) (channel/send out (f x))"
    " (loop (channel/recv in)))))) out)) "
    "(define held '()) "
    "(define (held-stage f in cap) (let ((out (channel/new cap))) (set! held (cons (async (let loop"
    " ((x (channel/recv in))) (if (nil? x) (channel/close out) (begin (channel/send out (f x))"
    " (loop (channel/recv in)))))) held)) out)) "
    "(define (take-from in n) (let loop ((n n) (xs '())) (if (= n 0) (reverse xs)"
    " (let ((x (channel/recv in))) (if (nil? x) (reverse (cons :end xs)) (loop (- n 1) (cons x xs))))))) "
    "(define (collect in) (take-from in 25)) "
    "(define weight 3) (define table {:a 1 :b 2}) (define tally 0) "
)
SPLIT = re.split(r" (?=\(define )", STAGES.strip())
CAUGHT = "(catch e (note (list :err (:message e))))"


def needed(text: str) -> str:
    """A text with the definitions before it that it names."""
    chosen: list[str] = []
    for definition in reversed(SPLIT):
        name = definition.split()[1].strip("()")
        if any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", part) for part in [text, *chosen]):
            chosen.append(definition)
    return " ".join([*reversed(chosen), text])


class Pipelines:
    """Makes programs. The channels p0, p1, ... are ends of pipelines."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def capacity(self) -> str:
        return self.pick("1", "1", "2", "5")

    def program(self) -> str:
        count = self.random.choice([1, 1, 2, 2, 3])
        text = ""
        if self.random.random() < 0.3:
            text += f"(define c (channel/new {self.capacity()})) "
        else:
            text += "(define c (numbers 3 2)) "
        for number in range(count):
            text += f"(define p{number} {self.pipeline(self.random.choice([0, 1, 1, 2, 3]))}) "
        for _ in range(self.random.choice([1, 2, 3, 4, 5])):
            step = self.quiet(count) if self.random.random() < 0.6 else self.loud(count)
            text += f"(try {step} {CAUGHT}) "
        states = " ".join(
            f"(channel/{self.pick('count', 'closed?', 'empty?', 'full?', 'try-recv')} p{n})" for n in range(count)
        )
        promises = "(map (fn (p) (list (async/pending? p) (async/resolved? p))) held)"
        return needed(f"{text}(list (reverse log) {states} tally {promises})")

    def pipeline(self, stages: int) -> str:
        """An expression whose value is a channel."""
        if stages == 0:
            return self.pick(
                f"(numbers {self.pick('0', '3', '7', '20')} {self.capacity()})",
                f"(items {self.values()} {self.capacity()})",
                f"(counter {self.pick('0', '5')} {self.capacity()})",
            )
        inner = self.pipeline(stages - 1)
        cap = self.capacity()
        return self.random.choice([
            lambda: f"({self.pick('stage', 'stage', 'keep', 'held-stage', 'watched')} {self.function()} {inner} {cap})",
            lambda: f"(stage {self.function()} {inner} {cap})",
            lambda: f"(keep {self.function()} {inner} {cap})",
            lambda: f"(twice {inner} {cap})",
            lambda: f"(shorten {self.pick('0', '2', '5')} {inner} {cap})",
            lambda: f"(pumped {inner} {cap})",
            lambda: f"({self.pick('merge', 'paired')} {inner} {self.pipeline(stages - 1)} {cap})",
            lambda: f"(unclosed {inner} {cap})",
        ])()  # fmt: skip

    def values(self) -> str:
        return self.pick(
            "'(1 2 3 4)", "(list 1 (list 2 3) \"x\")", "'()", "(range 6)", "(list (mutable-array/new 2 0) 1)",
            "(list nil 1 2)", "'(1 2 #f 3)", "[1 2 3]", "5",
        )  # fmt: skip

    def function(self) -> str:
        return self.pick(
            "(fn (x) (* x 2))", "(fn (x) (+ x weight))", "(fn (x) (list x (:a table)))", "(fn (x) (> x 1))",
            "(fn (x) (number? x))", "list", "(fn (x) (str x))", "(fn (x) (if (= x 3) (error \"three\") x))",
            "(fn (x) (car x))", "(fn (x) (note x))", "(fn (x) (set! tally (+ tally 1)) x)", "(fn (x) (+ tally x))",
            "(fn (x) (length (map (fn (y) (* y y)) (range x))))", "(fn (x) (foldl + 0 (list x x)))",
            "(fn (x) (async/sleep 0) x)", "(fn (x) (try (* x 2) (catch e :odd)))", "(fn (x) nil)",
        )  # fmt: skip

    def quiet(self, count: int) -> str:
        """A step that receives, and may start a pipeline more."""
        p = f"p{self.random.randrange(count)}"
        return self.pick(
            f"(note (take-from {p} {self.pick('1', '1', '2', '5', '30')}))",
            f"(note (channel/recv {p}))",
            f"(note (list (channel/recv {p}) (channel/recv {p})))",
            f"(note (foldl (fn (acc _) (cons (channel/recv {p}) acc)) '() '(1 2 3)))",
            f"(note (map (fn (x) (channel/recv {p})) '(1 2)))",
            f"(for-each (fn (x) (note (list x (channel/recv {p})))) '(1 2))",
            f"(note (collect {self.pipeline(1)}))",
            f"(note (collect {self.pipeline(2)}))",
            f"(note (take-from {self.pipeline(2)} 3))",
            f"(note (take-from (stage {self.function()} {p} {self.capacity()}) 2))",
            f"(set! {p} (stage {self.function()} {p} {self.capacity()}))",
            f"(set! {p} (merge {p} {self.pipeline(1)} {self.capacity()}))",
            f"(note (foldl + 0 (collect (numbers 5 {self.capacity()}))))",
            f"(set! tally (+ tally 10)) (note (channel/recv {p}))",
        )

    def loud(self, count: int) -> str:
        """A step that somebody sees, or that asks where a pipeline is."""
        p = f"p{self.random.randrange(count)}"
        q = f"p{self.random.randrange(count)}"
        return self.pick(
            f"(async (note (list :task (channel/recv {p}))))",
            f"(async (dotimes (i 3) (note (list :task i (channel/recv {p})))))",
            f"(begin (async (note :a)) (note (channel/recv {p})) (note (channel/recv {p})))",
            "(begin (async (note :a) (async/sleep 0) (note :b) (async/sleep 0) (note :c)) (note :main))",
            f"(note (channel/try-recv {p}))",
            f"(note (list (channel/count {p}) (channel/full? {q})))",
            f"(channel/close {p})",
            f"(channel/send {p} :sent)",
            "(async/run)",
            "(async/sleep 1)",
            f"(note (await (async (channel/recv {p}))))",
            f"(note (list :w (async/with-timeout 50 (fn () (channel/recv {p})))))",
            "(for-each (fn (p) (note (async/cancel p))) held)",
            "(for-each (fn (p) (note (await p))) held)",
            f"(note (async/all (map (fn (i) (async (channel/recv {p}))) '(1 2))))",
            f"(begin (async (channel/send c (channel/recv {p}))) (note (channel/recv c)))",
            "(channel/send c 5)",
            f"(begin (async (note (list (channel/count {p}) :seen))) (note (take-from {q} 3)))",
            f"(let ((d (channel/new 2))) (channel/send d 1) (note (channel/recv d)) (note (channel/recv {p})))",
            f"(let ((d (channel/new 3))) (channel/send d 1) (channel/send d 2) (channel/close d)"
            f" (note (collect (stage {self.function()} d 1))))",
            f"(let ((d (channel/new 3))) (channel/send d 1) (let ((s (stage {self.function()} d 1)))"
            f" (note (channel/recv s)) (channel/send d 2) (note (channel/recv s))))",
            f"(let* ((d (channel/new 1)) (s (stage {self.function()} d 1))) (async (dotimes (i 3) (channel/send d i))"
            " (channel/close d)) (note (collect s)))",
        )


def main() -> None:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    for number in range(seed, seed + count):
        print(json.dumps({"id": f"pipelines/{number}", "src": Pipelines(number).program()}))


if __name__ == "__main__":
    main()
