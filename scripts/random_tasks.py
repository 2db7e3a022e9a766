"""Random programs of tasks and channels, for comparing the scheduler with the reference's.

    python scripts/random_tasks.py SEED COUNT > tasks.jsonl              {"id","src"} a line
    python scripts/random_tasks.py SEED COUNT pipelines > tasks.jsonl    more of functions that tasks call
    python scripts/random_tasks.py SEED COUNT quiet > tasks.jsonl        of tasks that nobody sees at work

Each starts a few tasks that send, receive, wait for each other, fail and are cancelled, and returns what they noted in
which order. Waiting times are far apart, so that they settle the order.
"""

from __future__ import annotations

import json
import random
import re
import sys

BEGINNING = (
    "(define log '()) (define (note x) (set! log (cons x log)) x) "
    "(define c (channel/new {})) (define d (channel/new {})) "
    "(define (produce ch x) (channel/send ch x) (note (list :produced x)) (channel/send ch (* 10 x)))"
)
CAUGHT = "(catch e (note (list :err (:message e))))"


class Programs:
    """Makes programs of tasks t0, t1, ... that use two channels, c and d."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def program(self) -> str:
        """Definitions of tasks, some steps of the main program, and the notes at its end."""
        text = BEGINNING.format(self.pick("1", "2", "3"), self.pick("1", "5"))
        count = self.random.choice([1, 2, 2, 3, 3, 4])
        for number in range(count):
            text += f" (define t{number} (async {self.steps(number, number)}))"
        for _ in range(self.random.choice([1, 2, 3])):
            text += f" (try {self.ending(count)} {CAUGHT})"
        states = " ".join(
            f"(async/{self.pick('pending?', 'resolved?', 'rejected?', 'cancelled?')} t{n})" for n in range(count)
        )
        return f"{text} (list (reverse log) {states} (channel/count c) (channel/closed? d))"

    def steps(self, task: int, known: int) -> str:
        steps = [self.step(task, known, index) for index in range(self.random.choice([1, 2, 3, 4]))]
        return " ".join(steps)

    def step(self, task: int, known: int, index: int) -> str:
        """One thing a task does. known: how many tasks were defined before it."""
        label = f":t{task}-{index}"
        makers = [
            lambda: f"(note {label})",
            lambda: f"(note {label})",
            lambda: f"(channel/send {self.pick('c', 'd')} {label})",
            lambda: f"(channel/send {self.pick('c', 'd')} {label})",
            lambda: f"(note (list {label} (channel/recv {self.pick('c', 'd')})))",
            lambda: f"(note (list {label} (channel/try-recv {self.pick('c', 'd')})))",
            lambda: f"(async/sleep {self.pick('0', '20', '45', '70')})",
            lambda: f"(try (channel/close {self.pick('c', 'd', 'd')}) {CAUGHT})",
            lambda: f"(try {self.wait(known)} {CAUGHT})",
            lambda: self.loop(label),
            lambda: self.loop(label),
            lambda: f"(try {self.group(task, index)} {CAUGHT})",
            lambda: self.pick('(error "oops")', '(throw :ball)', "(car 5)", "(note (channel/full? c))"),
        ]  # fmt: skip
        return self.random.choice(makers)()

    def loop(self, label: str) -> str:
        """Channel operations in a loop or in the callbacks of a builtin."""
        channel = self.pick("c", "d")
        step = self.pick(
            f"(channel/send {channel} (list {label} x)) (note (list :sent x))",
            f"(note (list {label} (channel/recv {channel})))",
            f"(note (list {label} (channel/try-recv {channel}))) (channel/send {channel} x)",
            f"(produce {channel} x)",
            "(await (async (note x)))",
            "(note x)",
        )
        shape = self.pick(
            "(for-each (fn (x) STEP) '(1 2 3))",
            "(map (fn (x) STEP) '(1 2))",
            "(foldl (fn (acc x) STEP acc) 0 '(1 2 3))",
            "(dotimes (x 3) STEP)",
            "(let loop ((x 0)) (when (< x 3) STEP (loop (+ x 1))))",
            "(sort-by (fn (x) STEP x) '(2 1))",
            "(apply (fn (x) STEP x) '(1))",
            "(for-each (fn (y) (map (fn (x) STEP) (list y))) '(1 2))",
            "(for-each (fn (x) STEP STEP) '(1 2))",
        )
        return f"(try {shape.replace('STEP', step)} {CAUGHT})"

    def wait(self, known: int) -> str:
        """An expression that waits for earlier tasks."""
        if known == 0:
            return "(note :alone)"
        task = f"t{self.random.randrange(known)}"
        tasks = " ".join(f"t{self.random.randrange(known)}" for _ in range(self.random.choice([1, 2])))
        return self.pick(
            f"(note (await {task}))",
            f"(note (async/await {task}))",
            f"(note (async/all (list {tasks})))",
            f"(note (async/race (list {tasks})))",
            f"(note (async/cancel {task}))",
            f"(note (async/with-timeout {self.pick('10', '200')} (fn () (await {task}))))",
        )

    def group(self, task: int, index: int) -> str:
        """Work that starts tasks of its own and waits for them."""
        label = f":g{task}-{index}"
        body = self.pick("x", "(note x)", "(begin (async/sleep (* 25 x)) x)", '(if (= x 2) (error "two") x)', "(* x x)")
        values = self.pick("'(1 2 3)", "(list 3 1)", "'()", "(range 4)")
        thunks = f"(map (fn (x) (fn () {body})) {values})"
        return self.pick(
            f"(note (async/map (fn (x) {body}) {values}))",
            f"(note (async/pool-map (fn (x) {body}) {values} {self.pick('1', '2')}))",
            f"(note (async/spawn-all {thunks}))",
            f"(note (parallel {thunks}))",
            f"(note (parallel {thunks} {self.pick('1', '2')}))",
            f"(note (map settled/ok? (parallel-settled {thunks})))",
            f"(note (pipeline {values} (fn (x) {body}) (fn (x) (list {label} x))))",
            f"(note (async/race-owned (map (fn (x) (async {body})) {values})))",
        ).replace("(map settled/ok? ", "(map (fn (r) (settled/ok? r)) ")

    def ending(self, count: int) -> str:
        """What the main program does."""
        every = " ".join(f"t{number}" for number in range(count))
        return self.pick(
            self.wait(count),
            self.wait(count),
            f"(note (async/all (list {every})))",
            "(async/run)",
            "(channel/send c :main)",
            "(note (channel/recv c))",
            self.loop(":main"),
            "(async/sleep 100)",
            self.group(9, 0),
        )


PIPELINES = (
    " (define (relay from to n) (let loop ((i 0)) (when (< i n) (let ((x (channel/recv from)))"
    " (note (list :relay x)) (channel/send to x) (loop (+ i 1))))))"
    " (define (pump from to) (let ((x (channel/recv from)))"
    " (if (nil? x) (channel/close to) (begin (channel/send to x) (pump from to)))))"
    " (define (ping a b n) (when (> n 0) (channel/send a n) (note (list :ping (channel/recv b))) (ping a b (- n 1))))"
    " (define (pong a b n) (when (> n 0) (note (list :pong (channel/recv a))) (channel/send b (* 10 n))"
    " (pong a b (- n 1))))"
    " (define (source n capacity) (let ((out (channel/new capacity)))"
    " (async (dotimes (i n) (channel/send out i)) (channel/close out)) out))"
    " (define (items xs capacity) (let ((out (channel/new capacity)))"
    " (async (for-each (fn (x) (channel/send out x)) xs) (note :all) (channel/close out)) out))"
    " (define (stage f in capacity) (let ((out (channel/new capacity)))"
    " (async (let loop ((x (channel/recv in))) (if (nil? x) (channel/close out)"
    " (begin (channel/send out (f x)) (loop (channel/recv in)))))) out))"
    " (define (keep f in capacity) (let ((out (channel/new capacity)))"
    " (async (let loop () (let ((x (channel/recv in))) (cond ((nil? x) (channel/close out) (note :kept))"
    " ((f x) (channel/send out x) (loop)) (else (loop)))))) out))"
    " (define (take-from in n) (let loop ((n n) (xs '())) (if (= n 0) (reverse xs)"
    " (let ((x (channel/recv in))) (if (nil? x) (reverse xs) (loop (- n 1) (cons x xs)))))))"
)
ENDING = " (list (reverse log) (channel/count c) (channel/closed? d))"


class Pipelines(Programs):
    """Makes programs of stages in a row, and of tasks whose work stands in functions."""

    def program(self) -> str:
        text = BEGINNING.format(self.pick("1", "2", "3"), self.pick("1", "5")) + PIPELINES
        for number in range(self.random.choice([0, 1, 2, 3])):
            text += f" (define t{number} (async {self.work(number)}))"
        for _ in range(self.random.choice([1, 1, 2, 3])):
            text += f" (try {self.main_step()} {CAUGHT})"
        return text + ENDING

    def work(self, number: int) -> str:
        """What a task does: mostly by functions that wait."""
        steps = [self.task_step(number, index) for index in range(self.random.choice([1, 1, 2, 3]))]
        return " ".join(steps)

    def task_step(self, number: int, index: int) -> str:
        channels = self.pick("c d", "d c", "c c")
        call = self.pick(
            f"(relay {channels} {self.pick('1', '2', '3')})",
            f"(pump {channels})",
            f"(ping {channels} {self.pick('1', '2')})",
            f"(pong {channels} {self.pick('1', '2')})",
            f"(produce {self.pick('c', 'd')} :t{number}-{index})",
            f"(note (take-from {self.pick('c', 'd')} {self.pick('1', '2')}))",
            f"(note (take-from {self.pipeline()} {self.pick('1', '3', '9')}))",
        )
        return self.pick(
            call,
            f"(try {call} {CAUGHT})",
            f"(note (list :{number} {call}))",
            f"(dotimes (k 2) {call})",
            f"(let loop ((k 0)) (if (< k 2) (begin {call} (loop (+ k 1))) (note k)))",
            self.step(number, number, index),
        )

    def pipeline(self) -> str:
        capacity = self.pick("1", "2", "4")
        chain = self.pick(f"(source {self.pick('3', '6')} {capacity})", f"(items '(1 2 3 4) {capacity})")
        for _ in range(self.random.choice([0, 1, 1, 2])):
            function = self.pick(
                "(fn (x) (* x 2))",
                "(fn (x) (note x))",
                "note",
                '(fn (x) (if (= x 2) (error "two") x))',
                "(fn (x) (channel/send d x) x)",
                "(fn (x) (await (async (+ x 1))))",
                "(fn (x) (async/sleep 20) x)",
                "(fn (x) (channel/try-recv c) x)",
                "(fn (x) (> x 1))",
            )
            chain = f"({self.pick('stage', 'stage', 'keep')} {function} {chain} {self.pick('1', '2')})"
        return chain

    def main_step(self) -> str:
        task = self.random.randrange(3)
        return self.pick(
            f"(note (take-from {self.pipeline()} {self.pick('1', '2', '9')}))",
            f"(note (take-from {self.pipeline()} {self.pick('2', '9')}))",
            f"(pump {self.pipeline()} c)",
            f"(relay {self.pipeline()} d 2)",
            f"(note (foldl (fn (acc _) (cons (channel/recv c) acc)) '() (range {self.pick('1', '2')})))",
            f"(note (async/cancel t{task}))",
            f"(note (await t{task}))",
            f"(note (async/with-timeout {self.pick('10', '200')} (fn () (relay c d 2))))",
            "(channel/send c :main)",
            "(channel/close c)",
            "(async/run)",
            "(note (channel/try-recv d))",
        )


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
    "(define (split n in cap) (let ((out (channel/new cap))) (async (let loop ((x (channel/recv in))) (when"
    " (number? x) (let inner ((j 0)) (if (and (< j n) (< j x)) (begin (channel/send out (list j x)) (inner (+ j 1)))"
    " (loop (channel/recv in)))))) (channel/close out)) out)) "
    "(define (walk tree out) (if (list? tree) (for-each (fn (x) (walk x out)) tree) (channel/send out tree))) "
    "(define (climb n out) (when (> n 0) (climb (- n 2) out) (channel/send out n) (climb (- n 3) out))) "
    "(define (steps n cap) (let ((out (channel/new cap))) (async (climb n out) (channel/close out)) out)) "
    "(define (leaves tree cap) (let ((out (channel/new cap))) (async (walk tree out) (channel/close out)) out)) "
    "(define (parts xs out) (if (null? xs) (channel/send out '(0)) (let ((inner (channel/new 2)))"
    " (async (parts (cdr xs) inner) (channel/close inner)) (let loop () (let ((p (channel/recv inner)))"
    " (when (not (nil? p)) (channel/send out p) (channel/send out (cons (first xs) p)) (loop))))))) "
    "(define (subsets xs cap) (let ((out (channel/new cap))) (async (parts xs out) (channel/close out)) out)) "
    "(define (nested n cap) (let ((out (channel/new cap))) (async (when (> n 0) (let ((inner (nested (- n 1) cap)))"
    " (let loop ((x (channel/recv inner))) (when (not (nil? x)) (channel/send out (+ x n))"
    " (loop (channel/recv inner)))) (channel/send out n))) (channel/close out)) out)) "
    "(define (branches tree cap) (let ((out (channel/new cap))) (async (if (list? tree) (for-each (fn (t)"
    " (let ((inner (branches t 1))) (let loop () (let ((x (channel/recv inner))) (unless (nil? x)"
    " (channel/send out x) (loop)))))) tree) (channel/send out tree)) (channel/close out)) out)) "
    "(define (rows n out) (for-each (fn (i) (when (odd? i) (rows (- n 1) out)) (channel/send out (list n i)))"
    " (range n))) "
    "(define (triangle n cap) (let ((out (channel/new cap))) (async (rows n out) (channel/close out)) out)) "
    "(define (alike a b) (let loop ((x (channel/recv a)) (y (channel/recv b)) (n 0)) (cond ((and (nil? x) (nil? y)) n)"
    " ((equal? x y) (loop (channel/recv a) (channel/recv b) (+ n 1))) (else (list n x y))))) "
    "(define (summed f in) (let loop ((acc '()) (n 0)) (let ((x (channel/recv in))) (if (or (nil? x) (> n 9)) acc"
    " (loop (cons (f x) acc) (+ n 1)))))) "
    "(define (rotate chans n) (let loop ((chans chans) (n n) (xs '())) (if (or (= n 0) (null? chans)) (reverse xs)"
    " (let ((x (channel/recv (first chans)))) (if (nil? x) (loop (rest chans) (- n 1) (cons :end xs))"
    " (loop (append (rest chans) (list (first chans))) (- n 1) (cons x xs))))))) "
    '(define (parse in x n) (cond ((nil? x) (list n)) ((= n 0) (error "deep")) ((number? x) (cons x (parse in'
    " (channel/recv in) (- n 1)))) (else (let ((rest (parse in (channel/recv in) (- n 2)))) (cons (car x) rest))))) "
    "(define (drained chans) (map (fn (c) (summed (fn (x) (list x)) c)) chans)) "
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


def needed(text: str) -> str:
    """A text with the definitions before it that it names."""
    chosen: list[str] = []
    for definition in reversed(SPLIT):
        name = definition.split()[1].strip("()")
        if any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", part) for part in [text, *chosen]):
            chosen.append(definition)
    return " ".join([*reversed(chosen), text])


class Quiet:
    """Makes programs of tasks that nobody sees at work, and of what later asks where they are. The channels p0, p1, ...
    are ends of pipelines; in most programs tasks follow that print, awaits, second receivers, timers."""

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
                f"(steps {self.pick('3', '7')} {self.capacity()})",
                f"(leaves '(1 (2 3) ((4))) {self.capacity()})",
                f"({self.pick('leaves', 'branches')} '(1 (2 3) ((4))) {self.capacity()})",
                f"(subsets '(1 2 3) {self.capacity()})",
                f"(nested {self.pick('0', '3', '5')} {self.capacity()})",
                f"(triangle {self.pick('2', '4')} {self.capacity()})",
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
            lambda: f"(split {self.pick('1', '3')} {inner} {cap})",
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
            f"(note (alike {p} {self.pipeline(1)}))",
            f"(note (alike {self.pipeline(0)} {self.pipeline(0)}))",
            f"(note (alike {p} {p}))",
            f"(note (summed {self.function()} {p}))",
            f"(note (summed {self.function()} {self.pipeline(1)}))",
            f"(note (rotate (list {p} {self.pipeline(1)} {self.pipeline(0)}) {self.pick('3', '9', '30')}))",
            f"(note (parse {p} (channel/recv {p}) {self.pick('3', '30')}))",
            f"(note (drained (list {p} {self.pipeline(1)})))",
            f"(note (map (fn (i) (take-from {p} i)) '(0 1 2)))",
            f"(note (map (fn (i) (channel/recv {p}) (take-from {p} i)) '(0 1 2)))",
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
    programs = {"pipelines": Pipelines, "quiet": Quiet}.get(" ".join(sys.argv[3:]), Programs)(seed)
    for number in range(count):
        print(json.dumps({"id": f"tasks/{number}", "src": programs.program()}))


if __name__ == "__main__":
    main()
