"""Bodies of public functions that have a private copy: packed until they are needed."""

from __future__ import annotations

import functools
import inspect
import marshal
import sys
import threading
from fractions import Fraction
from types import ModuleType
from typing import Any

import pytest

from sema_runtime.conditions.describe import describe
from sema_runtime.packed_code import PACKED, is_stub, open_all, opened, packed_in, whole
from sema_runtime.values.lists import List
from semac.pipeline import compile_source

PROGRAM = """
(define (total items limit)
  "Adds up."
  (let loop ((xs items) (sum 0))
    (cond ((null? xs) sum)
          ((> (car xs) limit) (loop (cdr xs) (+ sum (* 2 (car xs)) limit)))
          ((< (car xs) 0) (loop (cdr xs) (- sum (* (car xs) (car xs)))))
          (else (loop (cdr xs) (- sum (/ (car xs) 2)))))))
(define (deep n acc)
  (cond ((= n 0) (error "bottom" acc))
        ((> n 1000) (deep (- n 1000) (+ acc n)))
        (else (let ((k (+ acc (* n 2)))) (+ 1 (deep (- n 1) k))))))
(define (sum-of first . others) (foldl (fn (a b) (+ a (* b first))) first others))
(define (use) (list (total '(1 2 3) 2) (sum-of 1 2 3)))
(use)
"""


def module() -> ModuleType:
    made = ModuleType("packed_program")
    code = compile_source(PROGRAM, "<input>", "module").code
    exec(code, made.__dict__)
    return made


def test_a_function_gets_its_code_when_its_copy_cannot_serve() -> None:
    packed = module()
    stub = packed.total.__code__
    assert is_stub(stub)
    assert packed.total([3, 1], 2) == 6 + 2 - Fraction(1, 2)
    packed.total([], Fraction(1, 2))
    assert not is_stub(packed.total.__code__)
    assert packed.total([Fraction(7, 2), 1], Fraction(5, 2)) == 7 + Fraction(5, 2) - Fraction(1, 2)
    assert packed.total.__code__ == whole(stub, packed.__dict__)


def test_python_sees_the_function_as_it_is() -> None:
    total = module().total
    assert str(inspect.signature(total)) == "(items, limit)"
    assert total.__doc__ == "Adds up."
    assert total.__code__.co_firstlineno == 2


def test_a_function_behind_another_name_gets_its_code_too() -> None:
    packed = module()
    original = packed.deep

    @functools.wraps(original)
    def wrapper(*args: Any) -> Any:
        return original(*args)

    packed.__dict__["deep"] = wrapper
    with pytest.raises(Exception, match="bottom"):
        packed.deep(2.5 - 0.5, Fraction(1, 2))
    assert not is_stub(original.__code__)


def test_rest_arguments_reach_the_code() -> None:
    assert module().sum_of(2, Fraction(1, 2), 3) == 9


def test_the_first_trace_is_that_of_later_ones() -> None:
    packed = module()
    assert is_stub(packed.deep.__code__)
    first, second = trace(packed), trace(packed)
    assert first == second
    assert [name for name, _, _ in first] == ["deep"] * 4


def trace(packed: ModuleType) -> list[tuple[str, int, int]]:
    with pytest.raises(Exception, match="bottom") as caught:
        packed.deep(3, Fraction(1, 2))
    return [(frame.name, frame.line, frame.col) for frame in describe(caught.value).frames]


def test_threads_may_ask_at_once() -> None:
    packed = module()
    results: list[Any] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=lambda: results.append(packed.total([3], Fraction(5, 2)))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert results == [6 + Fraction(5, 2)] * 8


def test_what_is_packed_is_not_read_before() -> None:
    packed = module()
    assert all(type(pack) is tuple for pack in packed.__dict__[PACKED])
    packed.deep.__code__ = whole(packed.deep.__code__, packed.__dict__)
    assert any(type(pack) is dict for pack in packed.__dict__[PACKED])


def test_coverage_sees_what_is_packed() -> None:
    code = compile_source(PROGRAM, "<input>", "module").code
    assert {"total", "deep"} <= {packed.co_name for packed in packed_in(code)}


# Copies within their functions

LIBRARY = """
(define (score items limit)
  "Scores."
  (let ((scale (* 2 limit)))
    (foldl + 0 (map (fn (x) (+ x scale)) (filter (fn (x) (> x limit)) items)))))
(define (adder scale limit)
  "Adds."
  (let ((sum (* scale limit)))
    (fn (x) (+ x (* sum limit) (- scale limit)))))
(define (scaler scale limit)
  (let ((sum (- scale limit)))
    (fn (x) (* x (+ sum limit) (* scale limit)))))
(define (product items limit)
  (let loop ((xs items) (acc limit))
    (if (null? xs) acc (loop (cdr xs) (* acc (car xs))))))
(define (broken items limit)
  (let ((scale (- limit 1)))
    (map (fn (x) (if (= x limit) (error "met" scale) (+ x scale))) items)))
(define (walk items n)
  (if (null? items) (error "deep") (+ n (walk (cdr items) (car items)))))
"""
WIDE = Fraction(1, 2)  # what no copy takes


def library() -> ModuleType:
    made = ModuleType("packed_library")
    exec(compile_source(LIBRARY, "<library>", "module", lists_globals=True).code, made.__dict__)
    return made


def test_a_copy_that_is_called_seldom_is_its_function() -> None:
    made = library()
    own = made.product.__code__
    assert made.product(List((2, 3)), 2) == 12
    assert made.product.__code__ is own
    assert made.product(List((2, 3)), WIDE) == 3
    assert made.product.__code__ == whole(own, made.__dict__)
    assert made.product(List((2, 3)), 2) == 12


def test_functions_with_functions_inside_are_loaded_when_one_is_called() -> None:
    made = library()
    stubs = {name: made.__dict__[name].__code__ for name in ("adder", "scaler")}
    assert inspect.getdoc(made.adder) == "Adds."
    assert str(inspect.signature(made.adder)) == "(scale, limit)"
    assert made.adder(3, 2)(1) == 1 + 12 + 1
    assert all(made.__dict__[name].__code__ is not stub for name, stub in stubs.items())
    assert made.adder(3, WIDE)(1) == 1 + Fraction(3, 4) + Fraction(5, 2)
    assert made.scaler(3, 2)(1) == 18
    assert made.score([1, 5], 2) == 9


def test_a_loaded_function_may_have_another_name_by_then() -> None:
    made = library()
    original, made.__dict__["adder"] = made.adder, lambda scale, limit: None
    made.scaler(3, 2)
    assert original(3, 2)(1) == 14
    assert original(3, WIDE)(1) == Fraction(17, 4)


def test_traces_show_functions_once() -> None:
    made = library()
    traces = []
    for limit in (1, 1, WIDE, WIDE, 1):
        with pytest.raises(Exception, match="met") as caught:
            made.broken(List((limit,)), limit)
        traces.append([(frame.name, frame.line, frame.col) for frame in describe(caught.value).frames])
    assert traces == traces[:1] * 5
    assert [name for name, _, _ in traces[0]] == ["<lambda>", "broken"]


def test_calls_of_a_function_by_itself_stay_in_traces() -> None:
    made = library()
    with pytest.raises(Exception, match="deep") as caught:
        made.walk(List((1, WIDE)), 1)
    assert [frame.name for frame in describe(caught.value).frames].count("walk") == 3


# Functions that a module's own code has copied

USED = """
(define rates {"a" 2 "b" 3})
(define (rate-of name) (let ((rate (get rates name))) (if (nil? rate) (error "no rate" name) rate)))
(define (half n) (/ n 2))
(define (scaled name n)
  (let ((rate (rate-of name)))
    (if (> n 100) (error "too much" n) (+ (* n rate) (half rate) (* n n) (- n rate)))))
(define (all-of items) (foldl + 0 (map (fn (pair) (scaled (first pair) (nth pair 1))) items)))
(define result (all-of '(("a" 1) ("b" 2) ("a" 3))))
"""


def used() -> ModuleType:
    made = ModuleType("used")
    exec(compile_source(USED, "<used>", "module", lists_globals=True).code, made.__dict__)
    return made


def test_functions_that_are_part_of_others_are_packed_as_well() -> None:
    made = used()
    assert made.result == Fraction(61, 2)
    stub = made.scaled.__code__
    assert is_stub(stub)
    assert str(inspect.signature(made.scaled)) == "(name, n)"
    assert (made.scaled.__name__, made.scaled.__module__, stub.co_firstlineno) == ("scaled", "used", 5)
    assert stub.co_filename == "<used>"
    assert made.scaled("b", n=Fraction(1, 2)) == Fraction(3, 4)
    assert not is_stub(made.scaled.__code__)
    assert made.all_of([["a", 1], ["b", 2]]) == Fraction(27, 2)


def test_wrong_calls_of_what_is_packed_say_what_is_wrong() -> None:
    made = used()
    with pytest.raises(Exception, match="argument") as before:
        made.scaled("a")
    made.scaled("a", 1)
    with pytest.raises(Exception, match="argument") as after:
        made.scaled("a")
    assert str(before.value) == str(after.value)
    assert describe(before.value).message == describe(after.value).message


def test_traces_of_what_is_packed_have_each_frame_once() -> None:
    made = used()
    traces = []
    for _ in range(2):
        with pytest.raises(Exception, match="too much") as caught:
            made.scaled("a", 200)
        traces.append([(frame.name, frame.line, frame.col) for frame in describe(caught.value).frames])
    assert traces[0] == traces[1]
    assert [name for name, _, _ in traces[0]] == ["scaled"]


def test_tools_that_count_code_see_whole_functions() -> None:
    made = ModuleType("used")
    exec(opened(compile_source(USED, "<used>", "module").code), made.__dict__)
    assert not is_stub(made.scaled.__code__)
    packed = used()
    open_all([packed.__dict__])
    assert packed.scaled.__code__ == made.scaled.__code__
    assert packed.scaled("a", 1) == made.scaled("a", 1) == 3


def test_a_name_has_no_value_before_its_definition() -> None:
    made = ModuleType("early")
    early = '(define before (try scaled (catch e "unbound")))\n' + USED
    exec(compile_source(early, "<early>", "module").code, made.__dict__)
    assert made.before == "unbound"
    assert made.scaled("a", 1) == 3


def test_much_code_that_is_loaded_late_runs() -> None:
    made = ModuleType("large")
    adder = LIBRARY[LIBRARY.index("(define (adder") : LIBRARY.index("(define (scaler")]
    adders = "".join(adder.replace("adder", f"adder-{n}") for n in range(40))
    code = compile_source(adders, "<large>", "module").code
    assert len(marshal.dumps(code)) < 40 * 400
    exec(code, made.__dict__)
    assert [made.__dict__[f"adder_{n}"](3, 2)(1) for n in range(40)] == [14] * 40
    assert made.adder_7(3, WIDE)(1) == Fraction(17, 4)


def test_a_copy_that_is_written_alike_is_the_function() -> None:
    source = """
    (define (sum in)
      (let loop ((total 0) (x (channel/recv in))) (if (nil? x) total (loop (+ total x) (channel/recv in)))))
    (define (filled n) (let ((out (channel/new n))) (channel/send out 1) (channel/send out n) (channel/close out) out))
    (define answer (sum (filled 4)))
    """
    scope: dict[str, Any] = {"__name__": "alike"}
    exec(compile_source(source, "<test>", "module").code, scope)
    assert scope["answer"] == 5 and scope["sum"] is scope["_fast_sum"] and not is_stub(scope["sum"].__code__)
    assert scope["sum"](scope["filled"](3)) == 4
