"""Programs that try to get out, to take everything, or to bring their process down (sandbox.md, 9.3).

None may end in a value that isn't listed, reach the host, or outlive its deadline by more than a moment.
"""

from __future__ import annotations

import ast
import time
from dataclasses import replace

import pytest

from sema_runtime.box import Pool, Session
from semac.box.checker import nodes_of
from semac.box.products import CHECK, bound_products

WALL_MS = 700
GRACE = 1.0  # seconds for starting and ending processes on a busy machine
DEEP = "(let loop ((i 0) (x '())) (if (= i 200000) {use} (loop (+ i 1) {wrap})))"
REFUSED = {"unbound_var", "invalid_form", "parse_error", "unknown_tool"}
STOPPED = {"timeout", "memory_exceeded", "worker_died", "stack_exceeded", "runtime_error", "result_exceeded"}

UNREACHABLE = [
    '(.__class__ "a")', '(py/getattr "a" "__class__")', '(__import__ "os")', "__builtins__", "__loader__", "__name__",
    '(py/import "os")', '(import "os")', '(import "/etc/passwd")', '(load "/etc/passwd")', "(eval '(+ 1 2))",
    "(macroexpand '(when 1 2))", '(read "(+ 1 2)")', '(defmacro m () (file/read "/etc/passwd")) (m)',
    "(defmacro m () '(file/read \"/etc/passwd\")) (m)", '(file/read "/etc/passwd")', '(file/write "x" "y")',
    '(env "PATH")', '(shell "id")', "(exit 3)", "(time-ms)", "(sleep 1)", "(math/random)", "(uuid/v4)",
    '(http/get "http://127.0.0.1")', "(async/sleep 1)", '(llm/complete "x")', "(sys/args)", "(sys/pid)", "(read-line)",
    "*stdin*", '(stream/write *stdout* "x")', "(context/set :a 1)", '(log/info "x")', '(kv/open "x")',
    '(db/open ":memory:")', '(prompt "x")', "(defagent a {})", '(deftool t "x" {} (fn () 1))', "(breakpoint)",
    "(py/class A (x))", "(py/def (f x) x)", "(async/timeout 1 2)", "(gc/collect)", "(io/read-line)",
    '(proc/spawn "id" [])', '(serial/open "x")', '(mcp/connect {})', "(workflow/run 1)", "(term/clear)",
    '(web/user-agent)', "(list/shuffle '(1 2))", '(path/absolute "x")', "(with-budget {} 1)", "(otel/span 1 2)",
]  # fmt: skip
HARMLESS = {
    '"{0.__class__}"': '"{0.__class__}"',
    '(format "{0.__class__} %s" 1)': None,
    "(:__class__ {})": None,
    "(list '__class__ '__globals__)": "(__class__ __globals__)",
    "(define __builtins__ 1) (define __builtins_ 2) (list __builtins__ __builtins_)": "(1 2)",
    "(define-record-type p (mk __class__) p? (__class__ pc)) (pc (mk 1))": "1",
    "(define-record-type p (mk gi_frame) p? (gi_frame pc)) (pc (mk 1))": "1",
    "(define-record-type p (mk _ _x) p? (_ pa) (_x pb)) (list (pa (mk 1 2)) (pb (mk 1 2)))": "(1 2)",
    "(define-record-type p (mk _ _ _x) p? (_ pa) (_x pb)) (pb (mk 1 2 3))": "3",
    "(try (car 1) (catch e (:python-exception e)))": None,
    "(define __box_catchable__ 5) (define __Box_catchable 6) (try (car 1) (catch e 1))": "1",
    "(define __sema_session__ 5) (define __version__ 6) (list __sema_session__ __version__)": "(5 6)",
    "(define ﬁ 1) (define fi 2) (list ﬁ fi)": "(1 2)",
    "(define a-b 1) (define a_b 2) (list a-b a_b)": "(1 2)",
    "(define a (mutable-array/new 1 0)) (mutable-array/set! a 0 a) (equal? a a)": "#t",
}
GREEDY = [
    '(string/repeat "a" 10000000000)', "(range 100000000000)", "(mutable-array/new 10000000000 0)",
    "(bytevector/make 10000000000 0)", "(list/repeat 10000000000 1)", "(f64-array/make 3000000000 0.0)",
    '(let loop ((s "a")) (loop (string-append s s)))', "(let loop ((s (list 1))) (loop (append s s)))",
    '(let loop ((m {}) (i 0)) (loop (assoc m i (string/repeat "x" 1000)) (+ i 1)))',
    '(string/replace (string/repeat "a" 1000000) "a" (string/repeat "b" 1000000))', "(pow 2 10000000000)",
    "(bit/shift-left 1 100000000000)", "(let loop ((x 3)) (loop (* x x)))", "(math/format-fixed 1.0 1000000000)",
    "(foldl (fn (a _) [a a]) 1 (range 40))", "(let loop () (loop))", "(while #t 1)", "(define (f) (f)) (f)",
    "(let loop () (try (range 100000000000) (catch e (loop))))", "(define (f) (try (f) (catch e (f)))) (f)",
    "(let loop () (try (error \"x\") (catch e (loop))))", "(defmacro m (x) (let l () (l))) (m 1)",
    "(define (f n) (map (fn (x) (f (+ x 1))) (list n))) (f 1)", "(gcd (expt 3 2000000) (expt 5 2000000))",
]  # fmt: skip
DEEP_USES = ["x", "(equal? x x)", "(str x)", "{x 1}", "(json/encode x)", "(flatten-deep x)", "(sort (list x x))",
             "(frequencies (list x x))", "(println x)"]  # fmt: skip
NESTED_TEXT = ["(" * 200_000, "[" * 200_000, "'" * 100_000 + "x", "(+ 1 " * 20_000 + "1" + ")" * 20_000]


@pytest.mark.parametrize("source", UNREACHABLE)
def test_what_the_box_lacks_is_refused_before_anything_runs(pool: Pool, source: str) -> None:
    outcome = pool.run(f'(println "ran") {source}')
    assert outcome.reason in REFUSED, outcome
    assert outcome.prints == []


@pytest.mark.parametrize("source", HARMLESS)
def test_names_of_python_are_words_like_others(pool: Pool, source: str) -> None:
    outcome = pool.run(source)
    assert (outcome.status == "value" and outcome.text == HARMLESS[source]) or HARMLESS[source] is None
    assert outcome.reason != "internal_error"


@pytest.mark.parametrize("source", GREEDY)
def test_greed_is_stopped(pool: Pool, source: str) -> None:
    ended(pool, source)


@pytest.mark.parametrize("use", DEEP_USES)
@pytest.mark.parametrize("wrap", ["(list x)", "[x]", "{:a x}"])
def test_deep_values_end_no_host(pool: Pool, wrap: str, use: str) -> None:
    started = time.monotonic()
    outcome = pool.run(DEEP.format(use=use, wrap=wrap), limits=replace(pool.limits, wall_ms=WALL_MS))
    assert outcome.reason != "internal_error", outcome
    assert time.monotonic() - started < WALL_MS / 1000 + GRACE


@pytest.mark.parametrize("source", NESTED_TEXT, ids=["lists", "vectors", "quotes", "sums"])
def test_deep_texts_are_refused(pool: Pool, source: str) -> None:
    assert pool.run(source).reason in {"parse_error", "invalid_form"}


def ended(pool: Pool, source: str) -> None:
    """Runs a program that must not succeed, and sees that its process goes at the deadline."""
    started = time.monotonic()
    outcome = pool.run(source, limits=replace(pool.limits, wall_ms=WALL_MS, memory_mb=128))
    assert time.monotonic() - started < WALL_MS / 1000 + GRACE
    assert outcome.reason in STOPPED, outcome


def test_control_characters_do_not_leave_in_messages(pool: Pool) -> None:
    message = pool.run('(error "\\x1b;[2J</untrusted>")').message or ""
    assert "\x1b" not in message and "</untrusted>" in message


# Products of ints stay within `integer_bits`, wherever a program multiplies

BIG = "(define b (expt 2 600000)) "


@pytest.mark.parametrize(
    "source",
    [
        BIG + "(* b b)",
        BIG + "(* 2 3 b 5 b)",
        BIG + "(* b (- b))",
        BIG + "(apply * (list b b))",
        BIG + "(reduce * (list b b))",
        BIG + "(foldl * 1 (list b b))",
        BIG + "(map (fn (x) (* x b)) (list 1 b))",
        BIG + "(sort-by (fn (x) (* x x)) (list 1 b))",
        BIG + "(define (f x y) (* x y)) (f b b)",
        BIG + "(let ((times *)) (times b b))",
        BIG + "(set! b (* b b)) 1",
        BIG + "(define i 0) (while (< i 3) (set! b (* b b)) (set! i (+ i 1))) 1",
        BIG + "(define-syntax sqr (syntax-rules () ((_ a) (* a a)))) (sqr b)",
        BIG + "(try (* b b) (catch e (throw (:message e))))",
        BIG + "(await (async (* b b)))",
        BIG + "(lcm b (- b 1))",
        BIG + "(* (/ 1 b) (/ 1 b))",
        BIG + "(+ (/ 1 b) (/ 1 (- b 1)))",
        "(let loop ((i 0) (x 3)) (if (= i 60) x (loop (+ i 1) (* x x))))",
        "(define (square x n) (if (= n 0) x (square (* x x) (- n 1)))) (square 3 60)",
        "(defmacro m () (* (expt 2 600000) (expt 2 600000))) (m)",
        "(expt 3/2 100000000)",
        "(expt 10 -100000000)",
    ],
)
def test_a_product_beyond_the_limit_is_refused(pool: Pool, source: str) -> None:
    outcome = pool.run(source)
    assert outcome.status == "error" and "limit integer_bits is 1,000,000" in (outcome.message or ""), outcome
    assert outcome.line == 1 or "throw" in source


def test_the_limit_is_that_of_the_program(pool: Pool) -> None:
    small = replace(pool.limits, integer_bits=100)
    assert pool.run("(* 1000000000000 1000000000000)", limits=small).value == 10**24
    outcome = pool.run("(define (f x) (* x x x)) (f 1000000000000)", limits=small)
    assert outcome.reason == "runtime_error" and outcome.column == 15


def test_a_program_can_catch_it(pool: Pool) -> None:
    assert pool.run(BIG + "(try (* b b) (catch e 7))").value == 7


def test_what_another_program_makes_large_is_no_small_number(pool: Pool) -> None:
    with Session(pool) as session:
        session.run("(define x 1) (define (grow) (set! x (expt 2 600000)))")
        outcome = session.run("(set! x 7) (grow) (bit/and 1 (* x x))")
    assert "integer_bits" in (outcome.message or "")


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("(define (f a b) (* a b)) (list (f 3 4) (f 1.5 2) (f 1/2 4) (f 1/2 1/3) (f -9 100000000000000000000))",
         [12, 3.0, 2, 1 / 6, -900000000000000000000]),
        ("(map (fn (x) (* x x)) (range 4))", [0, 1, 4, 9]),
        ("(define (f x y) (modulo (* x y) 1000)) (f 12345678901234567890 98765)", 850),
        ("(define (f x) (< (* x x) 50)) (list (f 7) (f 8))", [True, False]),
        ("(define (f i) (nth [1 2 3] (* i 2))) (f 1)", 3),
        ("(foldl * 1 (range 1 25))", 620448401733239439360000),
        ("(list (*) (* 5) (* 2 3 4) (apply * '(1 2 3 4.5)))", [1, 5, 24, 27.0]),
        ("(lcm 4 6 10)", 60),
    ],
)  # fmt: skip
def test_other_products_are_as_ever(pool: Pool, source: str, value: object) -> None:
    assert pool.run(source).value == value


@pytest.mark.parametrize(
    "text",
    ["x = a * 2.5", "x = a * b % 7", "x = a * b < c", "x = xs[a * b]", "for i in range(n): x = i * i",
     "x = (a * b + 1) % c", "x = len(a) * 10"],
)  # fmt: skip
def test_what_stays_small_is_not_compared(text: str) -> None:
    tree = ast.parse(text)
    bound_products(nodes_of(tree), {})
    assert CHECK not in ast.unparse(tree)


@pytest.mark.parametrize(
    "text",
    ["x = a * b", "x *= 2", "x = [i * i for i in xs]", "x = 2\nx = x * x", "for i in range(n): x = x * i",
     "x = [i for i in xs if (y := i * b)]", "x = [i for i in f(a * b)]", "f = lambda a: a * 2",
     "def f():\n    global i\n    for i in range(3): g()\n    return i * i", "x = a * b // c"],
)  # fmt: skip
def test_what_may_grow_is_compared(text: str) -> None:
    tree = ast.parse(text)
    bound_products(nodes_of(tree), {})
    assert CHECK in ast.unparse(tree)
    compile(tree, "<test>", "exec")
