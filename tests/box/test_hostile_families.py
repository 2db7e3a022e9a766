"""Hostile programs by family: none may stall, bring the host down, or die where a limit has a name."""

from __future__ import annotations

import re
import resource
from concurrent.futures import ThreadPoolExecutor

import pytest

from sema_runtime.box import Limits, Outcome, Pool

LIMITS = Limits(wall_ms=600, memory_mb=96)
SECONDS = 3.0  # from handing a program over to its outcome, on a machine that is busy
LEAKS = re.compile(
    r"\w+Error: |<(class|module|function|frame|built-in|bound|code)|0x[0-9a-f]{8}|/site-packages|sema_runtime|Traceback"
)
DUNDERS = ["__class__", "__globals__", "__init__", "__dict__", "__builtins__", "f_back", "gi_frame", "mro"]
BUILTINS_OF_KEYS = [
    '(get "a" "{d}")', "(get car :{d})", "(:{d} car)", "(get (fn () 1) :{d})", '(get-in {{}} ["{d}"])', "car.{d}",
    "(car.{d})", '(hashmap/get car "{d}")', "(assoc car :{d} 1)", "(update car :{d} inc)", '(map :{d} (list car "a"))',
    "(sort-by :{d} (list car car))", "(let (({{:keys [{d}]}} car)) {d})", "(match car ({{:{d} x}} x) (_ 0))",
    "(define-record-type {d} (mk x) p? (x {d}x)) (mk 1)", "(define {d} 5) {d}", "(let (({d} 1)) (fn () {d}))",
    "(try (throw {{:{d} 1}}) (catch e (:{d} e)))", "(try (car 1) (catch e (list (:{d} e) (:stack-trace e))))",
    "(defmulti {d} (fn (x) x)) ({d} 1)", "((fn ({d}) {d}) 1)", "(defmacro {d} (x) x) ({d} 1)",
    "(let loop (({d} 0)) (if (= {d} 3) {d} (loop (+ {d} 1))))", '(json/decode "{{\\"{d}\\": 1}}")',
]  # fmt: skip
WRAPS = ["(list x)", "[x]", "{:a x}", "(cons 1 x)", "(fn () x)", "(delay x)", "(values x 1)", "(list [x] {:a x})"]
USES = ["x", "(= x x)", "{x x}", "(list x x)", "(throw x)", "(error x)", "(fail x)", "(return x)", "(pprint x)",
        "(string->symbol (str x))", "(length (flatten x))", "(sort (list x [x]))", "(assert= x 5)",
        "(try (throw x) (catch e (str e)))"]  # fmt: skip
PATTERNS = ["(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*)*x", "((a*)*)*b", "(a?){50}a{50}", "(?:a{1,1000}){1,1000}b",
            "a{1000000000}", "((((a{100}){100}){100}){100})", "(?P<x>a)(?P=x)+$", "(?<=a+)b", "[a-z", "(?i)(ſ|s)+$",
            "(?:" * 3000]  # fmt: skip
FAMILIES: dict[str, list[str]] = {
    "dunders": [form.format(d=name) for name in DUNDERS for form in BUILTINS_OF_KEYS],
    "deep values": [
        f"(let loop ((i 0) (x '())) (if (= i 50000) {use} (loop (+ i 1) {wrap})))" for wrap in WRAPS for use in USES
    ],
    "patterns": [
        form for p in PATTERNS for form in (f'(regex/match "{p}" (string/repeat "a" 40))',
                                            f'(regex/find-all "{p}" (string/repeat "a" 5000))')
    ] + ['(regex/match (string/repeat "(a" 100000) "a")', '(regex/replace-all "a" "\\\\99" "aaa")',
         '(regex/replace "(a+)+b" "\\\\1" (string/repeat "a" 40))', '(regex/split "(a*)*" (string/repeat "a" 30))'],
    "memory": [
        "(let loop ((v [1])) (loop (append v v)))", '(let loop ((s "ab")) (loop (string/join (list s s s) "x")))',
        "(let loop ((i 0) (m {})) (loop (+ i 1) (assoc m i i)))", "(let loop ((b (bytevector 1))) (loop (bytevector-append b b)))",
        '(let loop ((i 0) (a (list))) (loop (+ i 1) (cons (string->symbol (str "s" i)) a)))',
        '(let loop ((i 0) (a (list))) (loop (+ i 1) (cons (string->keyword (str "s" i)) a)))',
        "(let loop ((i 0) (a (list))) (loop (+ i 1) (cons (fn () (list i a)) a)))", "(iota 5000000000)",
        "(apply append (map (fn (i) (range 10000)) (range 100000)))", '(string/pad-left "x" 5000000000)',
        "(list/interleave (range 30000000) (range 30000000))", "(list/chunk 1 (range 50000000))",
        '(string/split (string/repeat "a," 100000000) ",")', '(string->list (string/repeat "a" 200000000))',
        '(string/upper (string/repeat "ß" 200000000))', '(base64/encode (string/repeat "a" 300000000))',
        "(json/encode (range 30000000))", '(json/decode (string/repeat "[" 100000000))', "(f64-array/make 3000000000 0.0)",
        '(csv/parse (string/repeat "a,b\n" 30000000))', '(toml/decode (str (string/repeat "a." 100000) "b=1"))',
    ],
    "integers": [
        "(number->string (pow 3 500000) 16)", '(string->number "1e1000000000")', '(string->number (string/repeat "9" 10000000))',
        "(str (pow 10 300000))", "(println (pow 10 300000))", "(throw (pow 10 300000))", "(reduce expt (list 9 9 9 9 9))",
        "(sqrt (pow 10 300000))", "(foldl * 1 (range 1 1000000))", "(foldl (fn (a i) (+ a (/ 1 i))) 0 (range 1 1000000))",
        "(foldl lcm 1 (range 1 1000000))", "(gcd (pow 2 900000) (pow 3 500000))", "(expt 1/3 1000000)", "(pow 1/3 10000000)",
        "(let loop ((x 2)) (loop (bit/or (* x x) 1)))", "(bit/shift-left 1 (pow 2 64))", "(apply pow (list 2 100000000000))",
        "(map pow (list 2 2) (list 100000000000 5))", "(let ((p pow)) (p 2 100000000000))", "(exact 1e308)",
        "(foldl bit/shift-left 1 (list 900000 900000))", "(let loop ((x 1/3)) (loop (* x x)))", "(pow 10 300000)",
        "(json/encode (pow 10 300000))", "(defmacro m () (list pow 2 100000000000)) (m)", "(math/format-fixed 1e308 100000000)",
    ],
    "messages": [
        '(error (string/repeat "x" 50000000))', '(assert #f (string/repeat "x" 50000000))',
        '(error (string/repeat "Exceeds the limit (" 2000000))', '(error "not callable")', '(error "maximum depth")',
        "(raise (list (pow 2 900000)))", '(string/repeat "" 99999999999999999999)', '(string->utf8 data/text)',
        '(throw data/text)', '(doc data/text)', "(. 1)", ".5", "...",
    ],
    "tasks": [
        "(map (fn (i) (async (throw 1))) (range 200000))", "(async/map (fn (i) (throw i)) (range 200000))",
        "(async/pool-map (fn (x) (throw x)) (range 200000) 100000)", "(define (f) (async (f))) (f)",
        "(define (f) (await (async (f)))) (f)", "(let l () (async (channel/recv (channel/new 1))) (l))",
        "(define p (async (await p))) (await p)", "(async/race (map (fn (i) (async (let l () (l)))) (range 10)))",
    ],
    "hashes": [
        f"({use} (map (fn (i) (* i 2305843009213693951)) (range 200000)))" for use in ("frequencies", "list/unique", "list/mode")
    ] + ["(define h (hashmap/new)) (let loop ((i 0)) (hashmap/set! h (* i 2305843009213693951) 1) (loop (+ i 1)))"],
    "orders": [
        "(sort (range 100000) (fn (a b) (throw 1)))", "(sort (range 100000) (fn (a b) (fail 1)))",
        "(sort (range 100000) (fn (a b) nil))", '(sort (list 1 "a" nil [1] {:a 1} (fn () 1)))', "(sort-by (fn (x) (return 7)) (range 10))",
        "(define a (mutable-array/new 10 0)) (sort-by (fn (x) (mutable-array/push! a 1) x) a)",
        "(sort (range 1000000) (fn (a b) (sort (range 1000000))))", "(define (c a b) (sort (list a b) c)) (sort (list 1 2) c)",
        "(sort-by (fn (x) (/ 0.0 0.0)) (range 100000))", "(define m (mutable-array/new 1 0)) (for-each (fn (x) (mutable-array/push! m 1)) m)",
    ],
    "cycles": [
        f"(define a (mutable-array/new 2 0)) (mutable-array/set! a 0 a) {use}"
        for use in ("a", "(= a a)", "(json/encode a)", "(sort (list a a))", "(flatten a)", "{a 1}", "(throw a)", "(fail a)", "(str a)")
    ] + [f"(define h (hashmap/new)) (hashmap/set! h :a h) {use}" for use in ("h", "(str h)", "(= h h)", "(throw h)", "(pprint h)")],
    "macros": [
        "(defmacro m (x) `(do (m ,x) (m ,x))) (m 1)", "(defmacro m (x) `(m (m ,x))) (m 1)", "(defmacro m () (m)) (m)",
        "(defmacro m (n) (if (= n 0) 1 `(+ (m ,(- n 1)) (m ,(- n 1))))) (m 30)", "(defmacro m () `(defmacro m () (m))) (m)",
        "(define-syntax m (syntax-rules () ((_ x) (m x x)) ((_ x ...) (m x ... x ...)))) (m 1)",
        '(defmacro m () (string->symbol "__builtins__")) (m)', '(defmacro m () (list (string->symbol "py/import") "os")) (m)',
        '(defmacro m () (list (string->symbol "eval") 1)) (m)', "(defmacro m () (return 5)) (m)", "(defmacro m () (fail 5)) (m)",
        "(defmacro m () (let l () (println 1) (l))) (m)", "(defmacro m () (throw 1)) (try (m) (catch e 1))",
        "(defmacro m () (hashmap/new)) (m)", "(defmacro m () car) ((m) '(1))", "(defmacro define (x y) 1) (define a 2)",
        "(defmacro m () (let loop ((i 0) (x 1)) (if (= i 100000) x (loop (+ i 1) (list '+ 1 x))))) (m)",
        "(defmacro m () (let loop ((i 0) (x 1)) (if (= i 100000) x (loop (+ i 1) [x])))) (m)",
        "(defmacro return (x) x) (return 5)", "(defmacro m (x) (list 'quote (range 100000000))) (m 1)",
    ],
    "handlers": [
        "(try (fail 1) (catch e 2) (finally (let l () (l))))", "(dynamic-wind (fn () 1) (fn () (let l () (l))) (fn () (let l () (l))))",
        "(dynamic-wind (fn () 1) (fn () (return 1)) (fn () (return 2)))", "(with-exception-handler (fn (e) 1) (fn () (let l () (l))))",
        "(guard (e (#t (let l () (l)))) (error 1))", "(define p (delay (force p))) (force p)", "(define (f) (try (f) (finally (f)))) (f)",
        "(define (f) (try (f) (catch e (f)) (finally (f)))) (f)", "(let l () (try (let r ((n 0)) (+ 1 (r n))) (catch e (l))))",
        '(let l () (try (println (string/repeat "x" 999)) (catch e 1)) (l))', "(let l () (display 1) (l))", "(let l () (pprint [1]) (l))",
        "(let l () (newline) (l))", "(try (mutable-array/new 10000000000 0) (catch e 1) (finally 2))", "(while #t (try (error 1) (catch e 1)))",
        "(set! __Box_catchable (fn () 1)) (try (mutable-array/new 10000000000 0) (catch e 1))", "(set! return 5)", "(set! fail (fn (x) 1)) (fail 2)",
    ],
    "source": [
        "(" * 50_000 + ")" * 50_000, "'" * 50_000 + "x", "(quote " * 30_000 + "x" + ")" * 30_000, "{:a " * 20_000 + "1" + "}" * 20_000,
        "(let ((x 1)) " * 5_000 + "x" + ")" * 5_000, "(fn () " * 3_000 + "1" + ")" * 3_000, "(if #t " * 5_000 + "1" + ")" * 5_000,
        "(try " * 500 + "1" + " (catch e 1))" * 500, "(+ " + "1 " * 50_000 + ")", "(-> 1 " + "(+ 1) " * 20_000 + ")", "`" * 10_000 + "x",
        "#;" * 50_000 + "1", "#|" * 50_000, "1" * 200_000, "1e" + "9" * 10_000, "1/" + "3" * 100_000, "(define " + "a" * 100_000 + " 1)",
        "(fn (" + " ".join(f"a{i}" for i in range(20_000)) + ") 1)", "{" + " ".join(f":k{i} {i}" for i in range(10_000)) + "}",
        "#u8(" + "256 " * 10_000 + ")", "#\\xD800", '"\\xD800;"', '"\\x110000;"', "\x00", "\ufeff(+ 1 2)", "\u202e(+ 1 2)",
        "(define \u200b 1) \u200b", "\ud800", '(println "\ud800")', "(let loop (" + " ".join(f"(a{i} 1)" for i in range(300)) + ") 1)",
    ],
    "words of Python": [
        f"(define {name} 1) {name}" for name in ("None", "True", "self", "lambda", "class", "def", "import", "print", "exec", "open", "λ",
                                                  "𝐱", "a.b", "a$b", "->", "...", "_", "__", "%", "a!b", "__sema_result__", "tool/x", "data/x")
    ],
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_gets_nowhere(pool: Pool, family: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with ThreadPoolExecutor(2) as threads:
        outcomes = list(
            threads.map(lambda source: pool.run(source, {"text": "a\ud800b"}, limits=LIMITS), FAMILIES[family])
        )
    for source, outcome in zip(FAMILIES[family], outcomes, strict=True):
        assert problem(outcome) is None, (source[:200], problem(outcome), outcome)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes
    assert pool.run("(+ 1 2)").value == 3


def problem(outcome: Outcome) -> str | None:
    """What is wrong with the way in which a hostile program ended."""
    if outcome.reason in ("internal_error", "worker_died"):
        return outcome.reason
    if outcome.duration_ms > SECONDS * 1000:
        return "late"
    said = "".join(text or "" for text in (outcome.text, outcome.message, outcome.hint, *outcome.prints))
    return "leak" if LEAKS.search(said) else None
