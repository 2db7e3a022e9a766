"""Tasks that are generators: the same answers as with tasks in greenlets, and which tasks become generators."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest
from outcomes import forget_tasks, outcome_of_tasks

from sema_runtime.conditions.describe import describe
from sema_runtime.tasks.steppers import Stepper
from semac.pipeline import compile_source

STAGES = """
(define log '())
(define (note x) (set! log (cons x log)) x)
(define (source n capacity)
  (let ((out (channel/new capacity)))
    (async (dotimes (i n) (channel/send out i)) (channel/close out))
    out))
(define (stage f in)
  (let ((out (channel/new 1)))
    (async
      (let loop ((x (channel/recv in)))
        (if (nil? x)
            (channel/close out)
            (begin (channel/send out (f x)) (loop (channel/recv in))))))
    out))
(define (pump in out)
  (let ((x (channel/recv in)))
    (if (nil? x) (channel/close out) (begin (channel/send out x) (pump in out)))))
(define (collect in)
  (let loop ((xs '()))
    (let ((x (channel/recv in))) (if (nil? x) (reverse xs) (loop (cons x xs))))))
"""
# Programs after STAGES → their values, as the reference has them.
ANSWERS = {
    "(collect (stage (fn (x) (* x x)) (source 5 1)))": "(0 1 4 9 16)",
    "(collect (stage (fn (x) (await (async (+ x 1)))) (source 4 2)))": "(1 2 3 4)",
    """(let ((a (source 6 2)) (b (channel/new 1)))
         (async (pump a b))
         (collect (stage note b)) (reverse log))""": "(0 1 2 3 4 5)",
    """(let ((c (channel/new 1)))
         (define t (async (try (channel/recv c) (catch e (note (:type e)) (channel/recv c))) (note :never)))
         (async/sleep 0)
         (list (async/cancel t) (async/cancelled? t) (begin (async/run) log)))""": "(#t #f (:cancelled))",
    """(let ((c (channel/new 1)))
         (define t (async (async/cancel t) (note :never)))
         (try (await t) (catch e (note (:type e))))
         log)""": "(:cancelled)",
    """(define q (async (error "q")))
       (define t (async (try (await q) (catch e (note (:message e)))) (async/sleep 0) (note :never)))
       (define c (async (note (async/cancel t))))
       (async/run)
       (list (async/cancelled? t) log)""": '(#t (#t "q"))',
    """(define (tried thunk) (async (try (thunk) (catch e (note (:type e)))) (async/sleep 0) (note :never)))
       (define t (tried (fn () (async/sleep 10))))
       (define c (async (note (async/cancel t))))
       (async/run)
       (list (async/cancelled? t) log)""": "(#t (:cancelled #t))",
    """(define q (async (error "q")))
       (try (await q) (catch e nil))
       (define (tried thunk) (async (try (thunk) (catch e (note (:message e)))) (async/sleep 0) (note :never)))
       (define t (tried (fn () (async/all (list q)))))
       (define u (tried (fn () (async/race (list q)))))
       (define c (async (note (list (async/cancel t) (async/cancel u)))))
       (async/run)
       (list (async/cancelled? t) log)""": '(#t ((#t #t) "q" "q"))',
    """(define (child k) (async (try (async/sleep 20) (note k) (catch e (note (list k (:type e)))))))
       (define t (async (child :a) 1))
       (await t)
       (note (async/cancel t))
       (note (async/with-timeout 70 (fn () (child :b) :won)))
       (try (async/map (fn (x) (child x) (if (= x 2) (error "bad") x)) (list 1 2)) (catch e (note (:message e))))
       (async/sleep 30)
       (reverse log)""": '(#f (:a :cancelled) (:b :cancelled) :won (1 :cancelled) "bad" (2 :cancelled))',
    """(define t (async (async/sleep 20)))
       (async/sleep 1)
       (define u (async (async/cancel t)))
       (define v (async (note (async/cancelled? t)) (note (async/cancelled? t)) 3))
       (async/run)
       (list (try (async/race (list t u)) (catch e (:type e))) (try (async/race (list t v)) (catch e (:type e))) log)
    """: "(#t :cancelled (#t #f))",
    """(let ((c (channel/new 1)))
         (define t (async (channel/send c 1) (channel/send c 2) (note :sent)))
         (async/sleep 0)
         (channel/close c)
         (list (try (await t) (catch e (:message e))) (channel/recv c) (channel/recv c)))""": (
        '("channel/send: channel is closed; value 2 was dropped" 1 nil)'
    ),
    "(let ((t (async (channel/recv 5)))) (try (await t) (catch e (:message e))))": '"expected channel, got int (5)"',
    """(let ((t (async (let loop () (channel/send :c 5) (loop))))) (try (await t) (catch e (:message e))))""": (
        '"expected channel, got keyword (:c)"'
    ),
    """(let ((c (channel/new 1)))
         (define t (async (throw {:code (channel/recv c)})))
         (channel/send c 7)
         (try (await t) (catch e (:code (:value e)))))""": "7",
    """(let ((c (channel/new 1)) (d (channel/new 1)))
         (define (work) (note (channel/recv c)))
         (define t (async (work) (channel/send d (channel/recv c))))
         (channel/send c 1)
         (channel/send c 2)
         (list (channel/recv d) log))""": "(2 (1))",
    """(let ((c (channel/new 3)))
         (define t (async (channel/send c (channel/count c)) (channel/send c (channel/full? c))
                          (list (channel/empty? c) (channel/closed? c) (channel/try-recv c))))
         (list (await t) (channel/recv c)))""": "((#f #f 0) #f)",
    # waits in a callback, in a greenlet of its own, where the wait ends with an error
    """(let ((c (channel/new)) (d (channel/new)))
         (define t (async (try (async/map 1 '(2)) (catch e 1)) (channel/close d)))
         (define b (async (try (for-each (fn (y) (map (fn (x) (channel/send d x)) (list y))) '(1 2)) (catch e (note e)))
                          (await t) (channel/try-recv c) :end))
         (async/run)
         (list (length log) (async/rejected? b) (await b)))""": "(1 #f :end)",
}


@pytest.fixture(autouse=True)
def fresh_scheduler() -> Iterator[None]:
    yield
    forget_tasks()


@pytest.mark.parametrize("skipped", ["", "steps"])
@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("program", ANSWERS)
def test_answers(program: str, mode: str, skipped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_SKIP", skipped)
    assert outcome_of_tasks(STAGES + program, mode) == ANSWERS[program]


def generators(source: str) -> set[str]:
    """The names of the generators in the code of a program."""
    found = set()
    stack: list[CodeType] = [compile_source(source, "tasks.sema", "program").code]
    while stack:
        code = stack.pop()
        stack += [constant for constant in code.co_consts if type(constant) is CodeType]
        if code.co_flags & 0x20:
            found.add(code.co_qualname)
    return found


def test_tasks_and_what_they_call_by_name_are_generators() -> None:
    names = {"source.<locals>.task", "stage.<locals>.task"}
    assert generators(STAGES) == names | {f"{name}_2" for name in names}  # those that yield what they send
    assert generators(STAGES + "(async (pump (source 1 1) (channel/new 1)))") >= {"task", "_fast_pump"}


@pytest.mark.parametrize(
    "program",
    [
        "(define c (channel/new 1)) (map (fn (x) (channel/recv c)) '())",
        '(define (work) (http/get "http://localhost")) (async (work))',
        "(async (+ 1 2))",
    ],
)
def test_other_code_has_no_generators(program: str) -> None:
    assert generators(program) == set()


def test_under_a_debugger_tasks_are_plain_functions() -> None:
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        assert generators(STAGES) == set()
    finally:
        sys.settrace(before)


def test_a_trace_names_the_functions_of_the_program() -> None:
    source = f"""{STAGES}
(define (send-all out n)
  (when (< n 3) (channel/send out n) (send-all out (+ n 1)))
  (+ n nil))
(define c (channel/new 5))
(define t (async (send-all c 0)))
(await t)
"""
    unit = compile_source(source, "tasks.sema", "program")
    with pytest.raises(BaseException) as caught:
        exec(unit.code, {"__name__": "__main__"})
    names = [(frame.name, frame.line) for frame in describe(caught.value).frames]
    assert ("send-all", 24) in names
    assert not any(name.startswith("_") for name, _ in names)


def test_finished_steppers_leave_nothing_in_memory() -> None:
    gc.collect()
    before = sum(type(thing) is Stepper for thing in gc.get_objects())
    assert outcome_of_tasks(STAGES + "(length (collect (stage (fn (x) x) (source 300 1))))") == "300"
    assert outcome_of_tasks(STAGES + "(for-each (fn (i) (collect (source 3 1))) (range 300))") == "nil"
    gc.collect()
    assert sum(type(thing) is Stepper for thing in gc.get_objects()) < before + 10


ENDLESS = """
(define c (channel/new 1))
(define (spin n) (spin (+ n 1)))
(define t (async (channel/recv c) (println "begun") (io/flush) (spin 0)))
(channel/send c 1)
(try (await t) (catch e (println "caught")))
"""


def test_ctrl_c_ends_a_stepper_that_computes(tmp_path: Path) -> None:
    path = tmp_path / "endless.sema"
    path.write_text(ENDLESS)
    command = [sys.executable, "-m", "semac.cli.entry", str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == ("", "Error: interrupted\n")
    assert process.returncode == 1
