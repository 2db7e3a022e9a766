"""What a host gets from the box: outcomes, limits, sessions, tools; and that it lives on whatever happens."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from paths import ROOT

from sema_runtime.box import Limits, Outcome, Pool, Session
from sema_runtime.box.limits import CEILINGS, parsed
from sema_runtime.values.errors import SemaError

ROW = re.compile(r"\| `(.+?)` \| (?:`(\w+)=(\d+)`)? ?\| `(\w+)` \| (.+) \|")
DOC = (ROOT / "docs/reference/box.md").read_text(encoding="utf-8")
EXAMPLES = [match.groups() for match in map(ROW.fullmatch, DOC.split("\n")) if match]
# A line and a column are known of every error but that of a limit of the whole program
OF_PROGRAMS = re.compile(r"(?!stack)\w+_exceeded|timeout")


@pytest.mark.parametrize(
    ("source", "status", "value", "text"),
    [
        ("(+ 1 2)", "value", 3, "3"),
        ('{:a [1 2.5 "x" #\\c nil #t :k]}', "value", {"a": [1, 2.5, "x", "c", None, True, "k"]}, None),
        ("nil", "value", None, None),
        ("(list 1/2 (fn (x) x))", "value", [0.5, "<native-fn <vm-closure>>"], "(1/2 <native-fn <vm-closure>>)"),
        ("(define (f x) (return (* x 2)) 5) (f 4)", "return", 8, "8"),
        ('(try (fail {:why "no"}) (catch e 1))', "fail", {"why": "no"}, '{:why "no"}'),
        ("(map (fn (x) (return x)) '(1 2))", "return", 1, "1"),
    ],
)
def test_a_program_ends_with_its_value_or_its_word(
    pool: Pool, source: str, status: str, value: Any, text: str | None
) -> None:
    outcome = pool.run(source)
    assert (outcome.status, outcome.value) == (status, value)
    assert outcome.ok == (status != "fail")
    assert text is None or outcome.text == text


def test_prints_and_data(pool: Pool) -> None:
    outcome = pool.run(
        '(println "n" (count data/rows)) (print "s") (list/sum (map :qty data/rows))',
        data={"rows": [{"qty": 2}, {"qty": 40}], "unused": 1},
    )
    assert outcome.prints == ["n 2", '"s"'] and outcome.value == 42


@pytest.mark.parametrize(
    ("source", "reason", "line", "column", "words"),
    [
        ("(+ 1", "parse_error", 1, 1, "unterminated"),
        ("1\n  (nosuch 1)\n(other)", "unbound_var", 2, 3, "nosuch, other"),
        ("(lenght '(1))", "unbound_var", 1, 1, "lenght"),
        ('(file/read "x")', "unbound_var", 1, 1, "isn't available in the box"),
        ("(tool/search {:q 1})", "unknown_tool", 1, 1, "tool/search"),
        ('(import "os")', "invalid_form", 1, 1, "import isn't available in the box"),
        ("(+ 1 (eval '(+ 1 2)))", "invalid_form", 1, 6, "eval isn't available in the box"),
        ("(list shell (http/get 1))", "unbound_var", 1, 7, "shell, http/get aren't available in the box"),
        ("(define __name__ 1)", "invalid_form", 1, 1, "__name__ isn't available in the box"),
        ("((fn () file/read))", "unbound_var", 1, 9, "file/read isn't available in the box"),
        ("(let ((x 1) y) x)", "invalid_form", 1, None, "let"),
        ('\n(+ 1 "a")', "type_error", 2, 1, "expected number"),
        ("(define (f a) a)\n(f 1 2)", "arity_error", 2, 1, "expects 1 argument"),
        ('("x" 1)', "not_callable", 1, 1, "not callable"),
        ("(/ 1 0)", "arithmetic_error", 1, 1, "division by zero"),
        ("(nth [1] 5)", "index_error", 1, 1, "out of bounds"),
        ("(throw {:a 1})", "runtime_error", 1, 1, "{:a 1}"),
        ("(define (f n) (+ 1 (f n)))\n(f 1)", "stack_exceeded", 1, None, "depth"),
    ],
)
def test_errors_say_what_and_where(
    pool: Pool, source: str, reason: str, line: int | None, column: int | None, words: str
) -> None:
    outcome = pool.run(source)
    assert (outcome.status, outcome.reason, outcome.line) == ("error", reason, line)
    assert column is None or outcome.column == column
    assert words in (outcome.message or "")


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("(lenght '(1))", "did you mean length?"), ("data/rosw", "did you mean data/rows? the inputs are data/rows"),
        ("(tool/serch)", "did you mean tool/search? the tools are tool/search"), ("(inc 1)", "write (+ n 1)"),
        ("(doseq [x '(1)] x)", "write (for-each"), ("(list_sum '(1))", "did you mean list/sum?"),
        ("(define top-left 1) (+ top_left 1)", "did you mean top-left?"), ("(math/cubert 8)", "math/ has math/acos"),
        ("(defmacro m (x) (return x)) (m 1)", "macros run before the program"),
        ("(define (g x) x) (defmacro m (x) (g x)) (m 1)", "no tools, inputs or definitions"),
        ("(list if)", "if is a special form"), ("(random)", "no randomness"), ("(slurp 1)", None), ("(a1b2)", None),
    ],
)  # fmt: skip
def test_an_unknown_name_gets_advice_that_works_in_the_box(pool: Pool, source: str, hint: str | None) -> None:
    outcome = pool.run(source, data={"rows": 2}, tools={"search": lambda: 1})
    assert outcome.status == "error" and (hint in (outcome.hint or "") if hint else outcome.hint is None), outcome


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('(define (f) 1)\n(format "~d" 5)', "line 2: `~d` is no directive of format"),
        ("(match '(1) ((list a ...) 1) (_ 0))", "line 1: the pattern (list a ...) matches only this very list"),
        ("(defmacro m () '(fn (x & y) x)) (m)", "line 1: `&` is an ordinary parameter"),
    ],
)
def test_mistakes_that_the_language_accepts_are_told(pool: Pool, source: str, words: str) -> None:
    assert any(text.startswith(words) for text in pool.run(source).warnings)


def test_an_error_shows_its_line(pool: Pool) -> None:
    assert pool.run("(define x 1)\n  (list x\t(car x))").excerpt == "      (list x (car x))\n              ^"
    assert (pool.run(f"(list {'1 ' * 500}(car 5))").excerpt or "").count("1") == 30
    assert pool.run("(let l () (l))", limits=replace(pool.limits, wall_ms=100)).excerpt is None


@pytest.mark.parametrize(
    ("source", "limits", "reason", "named"),
    [
        ("(let loop () (loop))", {"wall_ms": 200}, "timeout", "wall_ms of 200"),
        ("(try (let loop () (loop)) (catch e 1))", {"wall_ms": 200}, "timeout", "wall_ms of 200"),
        ("(length (map list (range 100000000000)))", {"memory_mb": 64}, "memory_exceeded", "memory_mb"),
        (
            "(try (length (map list (range 100000000000))) (catch e 1))",
            {"memory_mb": 64},
            "memory_exceeded",
            "memory_mb",
        ),
        ("(let loop () (println 1) (loop))", {"output_entries": 5}, "output_exceeded", "output_entries of 5"),
        ('(println (string/repeat "x" 99))', {"output_bytes": 50}, "output_exceeded", "output_bytes of 50"),
        ('(string/repeat "x" 99)', {"result_bytes": 50}, "result_exceeded", "result_bytes of 50"),
        ("(+ 1 2 3 4 5 6)", {"source_bytes": 10}, "source_exceeded", "source_bytes of 10"),
        ("(let loop () (loop))", {"cpu_ms": 100}, "cpu_exceeded", "cpu_ms of 100"),
        ("(list (list (list 1)))", {"nesting": 2}, "parse_error", "limit 2"),
        ('(regex/match? (string/repeat "a" 200) "a")', {"regex_chars": 100}, "runtime_error", "regex_chars is 100"),
        ("(pow 2 2000)", {"integer_bits": 1000}, "runtime_error", "integer_bits is 1,000"),
    ],
)
def test_limits_name_themselves(pool: Pool, source: str, limits: dict[str, int], reason: str, named: str) -> None:
    outcome = pool.run(source, limits=replace(pool.limits, **limits))
    assert outcome.reason == reason
    assert named in (outcome.message or "") and next(iter(limits)) in (outcome.hint or "")


def test_limits_have_ceilings() -> None:
    assert parsed(["wall_ms=500", "memory-mb=64"]) == Limits(wall_ms=500, memory_mb=64)
    for texts, words in (
        (["wall=1"], "unknown limit"),
        (["wall_ms"], "wall_ms=NUMBER"),
        (["wall_ms=0"], "positive"),
        ([f"wall_ms={CEILINGS['wall_ms'] + 1}"], f"ceiling is {CEILINGS['wall_ms']}"),
    ):
        with pytest.raises(SemaError, match=words):
            parsed(texts)


def test_a_session_keeps_what_succeeds_and_nothing_else(pool: Pool) -> None:
    with Session(pool) as session:
        assert session.run("(define (sq x) (* x x)) (define a (mutable-array/new 1 0))").ok
        assert session.run("(sq 5)").value == 25
        assert not session.run("(define (sq x) 0) (mutable-array/set! a 0 9) (car 5)").ok
        assert session.run("(define (sq x) 0) (fail 1)").status == "fail"
        assert session.run("(list (sq 3) (mutable-array/get a 0))").value == [9, 0]
        assert session.run("(return (sq 2))").value == 4


def test_a_session_has_the_values_of_its_last_programs(pool: Pool) -> None:
    with Session(pool) as session:
        for source in ("*1", "(+ 20 1)", "(car 5)", '(return "not kept")', "(list *1 2)", "(+ 1"):
            session.run(source)
        assert session.run("(list *1 *2 *3)").text == "((21 2) 21 nil)"
        assert not session.run("(define x (car 5))").ok
        assert session.run("*1").text == "((21 2) 21 nil)"


def test_later_programs_may_call_functions_with_anything(pool: Pool) -> None:
    with Session(pool) as session:
        session.run("(define (total x) (let loop ((i 0) (s 0)) (if (< i x) (loop (+ i 1) (+ s i)) s)))")
        session.run("(define (down n) (or (= n 0) (down (- n 1)))) (list (total 3) (down 10))")
        for _ in range(2):  # the second time in a process that ran the programs again
            assert session.run("(total 2.5)").value == 3
            assert session.run("(down 'a)").message == "- expected number, got symbol and int, in down"


def test_what_a_session_keeps_is_bounded(pool: Pool) -> None:
    tools = {"text": lambda: "x" * 30_000}
    with Session(pool, tools=tools, limits=replace(pool.limits, kept_mb=8, history_bytes=80_000)) as session:
        outcome = session.run('(define s (string/repeat "x" 9000000)) 1')
        assert outcome.reason == "kept_exceeded" and "kept_mb of 8" in (outcome.message or "")
        assert (
            session.run("s").reason == "unbound_var" and session.run('(string-length (string/repeat "x" 9000000))').ok
        )
        reasons = [session.run("(string-length (tool/text))").reason for _ in range(3)]
        assert reasons == [None, None, "history_exceeded"]
        session.forget(1)
        assert session.run("(string-length (tool/text))").ok
    assert pool.run('(define s (string/repeat "x" 9000000)) 1', limits=replace(pool.limits, kept_mb=8)).ok


def test_tools_are_called_by_name_and_validated(pool: Pool) -> None:
    def boom() -> None:
        raise RuntimeError("no disk")

    tools = {"add": lambda a, b: a + b, "boom": boom, "big": lambda: object()}
    outcome = pool.run("(list (tool/add {:a 1 :b 2}) (tool/add :a 1 :b 20))", tools=tools)
    assert outcome.value == [3, 21]
    assert [call["args"] for call in outcome.tool_calls] == [{"a": 1, "b": 2}, {"a": 1, "b": 20}]
    assert pool.run("(try (tool/boom) (catch e (:message e)))", tools=tools).value == "tool/boom: RuntimeError: no disk"
    assert "names" in (pool.run("(tool/add 1 2 3)", tools=tools).message or "")
    limited = pool.run(
        "(let loop () (tool/add :a 1 :b 2) (loop))", tools=tools, limits=replace(pool.limits, tool_calls=3)
    )
    assert limited.reason == "tool_calls_exceeded" and len(limited.tool_calls) == 3


def test_tools_are_not_called_again_when_a_session_is_restored(pool: Pool) -> None:
    calls: list[int] = []

    def note(n: int) -> int:
        calls.append(n)
        return n

    with Session(pool, tools={"note": note}) as session:
        assert session.run("(define x (tool/note :n 7))").ok
        assert not session.run("(car 5)").ok
        assert session.run("x").value == 7
    assert calls == [7]


def test_data_that_are_too_large_are_refused(pool: Pool) -> None:
    with pytest.raises(SemaError, match="data_bytes"):
        pool.run("1", data={"x": "y" * 1000}, limits=replace(pool.limits, data_bytes=100))


def test_the_host_survives_the_death_of_its_processes() -> None:
    with Pool(Limits(wall_ms=5_000), needs=frozenset()) as own, Session(own) as session:
        assert session.run("(define x 1)").ok
        assert session.worker is not None
        os.kill(session.worker.pid, signal.SIGKILL)
        assert session.run("x").reason == "worker_died"
        assert session.run("x").value == 1
        own.zygote.process.kill()
        own.zygote.process.wait()
        while own.ready:
            own.ready.popleft().end()
        assert own.run("(+ 1 1)").value == 2


def test_a_session_survives_that_its_program_is_cancelled(pool: Pool) -> None:
    with Session(pool, tools={"stop": lambda: session.cancel()}) as session:
        assert session.run("(define x 1)").ok
        outcome = session.run("(tool/stop) (let loop () (loop))")
        assert outcome.reason == "cancelled" and "nothing that it defined was kept" in (outcome.message or "")
        assert session.run("x").value == 1
        session.cancel()  # nothing runs
        assert session.run("x").value == 1


@pytest.mark.parametrize(
    "source",
    ["(define return 5)", "(set! fail 5)", "(define (fail x) x)", "(define-values (return x) (values 1 2))",
     "(defmacro return (x) x)", "(define-syntax fail (syntax-rules () ((_ a) a)))", "(defmacro tool/stop () 5)",
     "(defmacro data/rows () 5)", "(define-record-type p (return a) p? (a pa))"],
)  # fmt: skip
def test_no_program_takes_the_place_of_what_later_ones_rely_on(pool: Pool, source: str) -> None:
    with Session(pool, data={"rows": [1]}, tools={"stop": lambda: 7}) as session:
        outcome = session.run(source)
        assert outcome.reason == "invalid_form" and "another name" in (outcome.hint or "")
        assert session.run("(return (list (tool/stop) data/rows))").status == "return"
    assert pool.run("(let ((return 5)) return)").value == 5


def test_texts_as_keys_of_inputs_are_warned_of(pool: Pool) -> None:
    data = {"rows": [{"total": 1}]}
    warned = pool.run('\n(map (fn (row) (get row "total")) data/rows)', data)
    assert warned.value == [None] and warned.warnings[0].startswith('line 2: the key "total" is a text')
    assert pool.run('(list (get (first data/rows) :total) (get {"x" 2} "x"))', data).warnings == []


def test_threads_and_loops_share_a_pool(pool: Pool) -> None:
    with ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(lambda n: pool.run(f"(* {n} {n})").value, range(12)))
    assert outcomes == [n * n for n in range(12)]

    async def several() -> list[Outcome]:
        return await asyncio.gather(*(pool.run_async(f"(+ 1 {n})") for n in range(3)))

    assert [outcome.value for outcome in asyncio.run(several())] == [1, 2, 3]


def test_a_session_waits_in_a_loop(pool: Pool) -> None:
    async def turns() -> list[Outcome]:
        with Session(pool) as session:
            return [await session.run_async(source) for source in ("(define x 2)", "(car x)", "(* x 21)")]

    assert [outcome.reason or outcome.value for outcome in asyncio.run(turns())] == [None, "type_error", 42]


def test_a_task_that_is_cancelled_ends_its_program(pool: Pool) -> None:
    called = threading.Event()
    limits = replace(pool.limits, wall_ms=600_000)

    async def cancelled() -> Outcome:
        with Session(pool, tools={"tell": called.set}, limits=limits) as session:
            session.run("(define x 21)")
            work = asyncio.create_task(session.run_async("(define x 1) (tool/tell {}) (let loop () (loop))"))
            await asyncio.to_thread(called.wait)
            work.cancel()
            await asyncio.wait([work])
            assert work.cancelled()
            return await session.run_async("(* 2 x)")

    assert asyncio.run(cancelled()).value == 42


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ('(println "one") (let loop () (loop))', "timeout"),
        ('(println "one") (count (map list (range 100000000)))', "memory_exceeded"),
        ('(println "one") (car 5)', "type_error"),
    ],
)
def test_what_a_program_printed_outlives_it(pool: Pool, source: str, reason: str) -> None:
    wall_ms = 1_000 if reason == "timeout" else 60_000
    outcome = pool.run(source, limits=replace(pool.limits, wall_ms=wall_ms, memory_mb=48))
    assert (outcome.reason, outcome.prints) == (reason, ["one"])


def test_what_many_lines_print_is_told_once(pool: Pool) -> None:
    outcome = pool.run('(for-each println (range 200)) (tool/f {}) (println "end")', tools={"f": lambda: 1})
    assert outcome.prints == [*map(str, range(200)), "end"]


def test_programs_share_nothing(pool: Pool) -> None:
    assert pool.run("(define + -) (define x 1) (set! car cdr) (+ 2 1)").value == 1
    assert pool.run("(list (+ 2 1) (car '(1 2)))").value == [3, 1]
    assert pool.run("x").reason == "unbound_var"


def test_descriptors_are_given_back(pool: Pool) -> None:
    pool.run("1")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        pool.run("(+ 1 2)")
    assert len(os.listdir("/proc/self/fd")) <= before + 2


@pytest.mark.parametrize("source", ["(pow 2 1000001)", "(expt 10 100000000)", "(bit/shift-left 1 100000000000)"])
def test_huge_powers_are_refused_before_they_are_computed(pool: Pool, source: str) -> None:
    outcome = pool.run(source)
    assert outcome.reason == "runtime_error" and "integer_bits" in (outcome.message or "")
    assert outcome.duration_ms < 1_000
    assert pool.run("(= (pow 2 1000) (bit/shift-left 1 1000))").value is True


def search(query: str, limit: int = 10) -> list[Any]:
    return [query] * limit


def broken() -> None:
    raise ValueError("no connection")


@pytest.mark.parametrize(("source", "limit", "most", "reason", "message"), EXAMPLES)
def test_a_program_ends_for_the_reason_in_the_reference(
    pool: Pool, source: str, limit: str | None, most: str | None, reason: str, message: str
) -> None:
    limits = replace(pool.limits, **{limit: int(most)}) if limit and most else pool.limits
    with Session(pool, tools={"search": search, "broken": broken}, limits=limits) as session:
        outcome = session.run(source)
    assert (outcome.status, outcome.reason, outcome.message) == ("error", reason, message)
    assert (outcome.line is not None and outcome.excerpt is not None) == (OF_PROGRAMS.fullmatch(reason) is None)


def test_every_reason_of_programs_has_an_example() -> None:
    section = DOC.partition("## Reasons")[2].partition("An example of each")[0]
    listed = {name for row in re.findall(r"^\| (`.+?) \|", section, re.M) for name in re.findall(r"`(\w+)`", row)}
    assert listed - {example[3] for example in EXAMPLES} == {
        "cancelled",
        "worker_died",
        "internal_error",
        "invalid_request",
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('(define (total x) (* 2 x)) (total "x")', "* expected number, got int and string, in total"),
        ("(define (f x) (+ x nil)) (f 1)", "+ expected number or string, got int and nil, in f"),
        ("(define (g x) (car x)) (map g (list 1 2))", "car expected list or vector, got int, in g"),
        ('(define (outer y) (let ((inner (fn (z) (- z "a")))) (inner y))) (outer 3)',
         "- expected number, got int and string, in outer"),
        ("(define (r n) (if (= n 0) (string-length 1) (+ 1 (r (- n 1))))) (r 3)",
         "string-length expected string, got int, in r"),
        ("(define (avg xs) (/ (foldl + 0 xs) (count xs))) (avg (list 1 nil))",
         "+ argument 2 expected number, got nil, in avg"),
        ("(define (h m) (:k m)) (h 5)", "expected map or hashmap, got int, in h"),
        ("(car 5)", "car expected list or vector, got int"),
        ("(get 5 :a)", "get argument 1 expected map or hashmap, got int"),
        ("(nth 5 1)", "nth expected list or vector, got int"),
        ('(sort (list 1 "a"))', "sort expected int, got string"),
        ('(substring "abc" "x" 2)', "substring argument 2 expected int, got string"),
        ('(define (cut s) (string/split s ",")) (cut 5)', "string/split argument 1 expected string, got int, in cut"),
    ],
)  # fmt: skip
def test_a_type_error_says_whose_value_it_was(pool: Pool, source: str, message: str) -> None:
    outcome = pool.run(source)
    assert (outcome.reason, outcome.message) == ("type_error", message)


def test_long_names_are_cut(pool: Pool) -> None:
    name = "n" * 5_000
    message = pool.run(f"(define ({name} x) (car x)) ({name} 1)").message
    assert message == f"car expected list or vector, got int, in {'n' * 80}"


# Programs that a session has run before: they mean what they would mean if they were compiled anew


@pytest.mark.parametrize(
    ("sources", "values"),
    [
        (["(define n 1)", "n", "n", "(set! n 2)", "n", "n"], [None, 1, 1, None, 2, 2]),
        (["1", "(+ *1 1)", "(+ *1 1)", "(+ *1 1)"], [1, 2, 3, 4]),
        (["(define (f x) x)", "(f 2)", "(f 2)", "(defmacro f (x) (list '* x 10))", "(f 2)", "(f 2)"],
         [None, 2, 2, None, 20, 20]),
        (["(abs -1)", "(abs -1)", "(define (abs x) 9)", "(abs -1)", "(abs -1)"], [1, 1, None, 9, 9]),
        (["(let ((a (list 1 2))) (length a))"] * 3, [2, 2, 2]),
        (["(let ((a (mutable-array/new 1 0))) (mutable-array/set! a 0 (+ 1 (mutable-array/get a 0))) a)"] * 3,
         [[1], [1], [1]]),
        (["data/x", "data/x", "(define data/x 5)", "data/x", "(+ 1 data/x)"], [1, 1, None, 1, 2]),
        (["(tool/next)", "(tool/next)", "(define (tool/next) 0)", "(tool/next)", "(tool/next)"], [1, 2, None, 3, 4]),
        (["(return 1)", "(return 1)", "(fail 2)", "(return 1)"], [1, 1, 2, 1]),
    ],
)  # fmt: skip
def test_a_program_is_not_stale(pool: Pool, sources: list[str], values: list[Any]) -> None:
    count = 0

    def next_() -> int:
        nonlocal count
        count += 1
        return count

    with Session(pool, {"x": 1}, {"next": next_}) as session:
        for source, value in zip(sources, values, strict=True):
            outcome = session.run(source)
            assert outcome.status != "error", outcome
            if value is not None:
                assert outcome.value == value, source


def test_limits_and_warnings_are_those_of_each_run(pool: Pool) -> None:
    with Session(pool) as session:
        warned = [session.run("(if 1 2 3) (lambda (x) (+ 1))").warnings for _ in range(2)]
        assert warned[0] == warned[1]
        assert [session.run("(pow 2 500)").status for _ in range(2)] == ["value", "value"]
        session.limits = Limits(integer_bits=100)
        assert session.run("(pow 2 500)").message == "pow: the result would have 500 bits, limit integer_bits is 100"


def test_inputs_cross_once_to_each_process(pool: Pool) -> None:
    text = "a" * 100_000
    with Session(pool, {"long": text, "other": [1]}) as session:
        assert session.run("(string-length data/long)").value == len(text)
        assert session.worker is not None
        assert session.worker.told["data"] == {"long"}
        assert session.run("(list (string-length data/long) data/other)").value == [len(text), [1]]
        assert not session.run("(car 5)").ok
        assert session.run("(string-length data/long)").value == len(text)
        assert session.run("data/none").hint == "did you mean data/long? the inputs are data/long, data/other"
