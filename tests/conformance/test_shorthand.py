"""Short names that the reference lacks: what they give, and that they are never in a program's way."""

from __future__ import annotations

import pytest

from sema_runtime.catalogue_index import INDEX
from sema_runtime.conditions.hints import SHORTHAND, for_unbound
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text
from semac.docs.entries import lookup, reference_names
from semac.session import Session

EXAMPLES = {
    '(trim "  a ")': '"a"',
    '(list (upper "a") (lower "A") (upper-case "b") (lower-case "B") (capitalize "abc"))': '("A" "a" "B" "b" "Abc")',
    '(list (starts-with? "abc" "ab") (ends-with? "abc" "ab") (includes? "abc" "b"))': "(#t #f #t)",
    '(list (contains? "abc" "b") (contains? "abc" "x") (contains? {:a 1} :a))': "(#t #f #t)",
    '(replace "a-b-c" "-" "+")': '"a+b+c"',
    '(split "a,b" ",")': '("a" "b")',
    '(split "  two\\n words ")': '("two" "words")',
    '(split-lines "a\\nb")': '("a" "b")',
    '(list (join ["a" "b"] "-") (join "-" ["a" "b"]) (join (list 1 :k)))': '("a-b" "a-b" "1:k")',
    '(index-of "hello" "l")': "2",
    "(list (index-of '(1 2) 2) (index-of [1 2] 3))": "(1 nil)",
    "(list (sum '(1 2.5)) (sum [1/2 1/3]) (sum '()))": "(3.5 5/6 0)",
    "(->> (list {:a 1} {:a 2}) (sum-by :a))": "3",
    "(list (avg '(1 2)) (avg-by :a (list {:a 1} {:a 2})) (avg-by abs '(1/2 -1/4)))": "(1.5 1.5 3/8)",
    "(list (max-by abs '(1 -3 2 3)) (min-by abs '(-1 1)) (max-by abs '()))": "(-3 -1 nil)",
    '(max-by (fn (x) x) \'("b" "c" "a"))': '"c"',
    "(count-by even? '(1 2 3))": "{#f 2 #t 1}",
    "(index-by :id (list {:id 1} {:id 2}))": "{1 {:id 1} 2 {:id 2}}",
    "(distinct-by (fn (x) (mod x 3)) '(1 2 3 4 5))": "(1 2 3)",
    "(pluck :a (list {:a 1} {:b 2}))": "(1 nil)",
    "(mapcat (fn (x) (list x x)) '(1 2))": "(1 1 2 2)",
    "(keep :a (list {:a 1} {} {:a #f}))": "(1 #f)",
}
WRONG = {
    '(sum \'(1 "a"))': "expected number, got string",
    "(sum 5)": "expected list, vector, or mutable-array, got int in sum",
    "(sum-by 5 '(1))": "expected callable, got int",
    "(avg-by abs '())": "avg-by: empty list",
    '(max-by (fn (x) x) \'(1 "a"))': "expected comparable values, got int and string",
    "(join 1 2)": "expected string, got int",
    '(split 1 ",")': "got int",
    "(blank? 1)": "expected string, got int",
    '(contains? "abc" 1)': "expected map or hashmap, got string",
}


def value(program: str) -> str:
    return to_text(Session(closed=False).run(program))


@pytest.mark.parametrize("program", EXAMPLES)
def test_values(program: str) -> None:
    assert value(program) == EXAMPLES[program]


@pytest.mark.parametrize("program", WRONG)
def test_errors(program: str) -> None:
    with pytest.raises(SemaError) as caught:
        value(program)
    assert WRONG[program] in str(caught.value)


def test_all_of_them_are_listed_and_documented_as_extensions() -> None:
    own = {name for name in INDEX if name not in reference_names() and "/" not in name and not name.startswith("__")}
    assert own == SHORTHAND
    for name in own:
        entry = lookup(name)
        assert entry is not None and any("of this implementation" in line for line in entry.remarks()), name


@pytest.mark.parametrize("name", sorted(SHORTHAND))
def test_a_definition_of_the_program_wins(name: str) -> None:
    """Also in functions before it, as a value, as a local variable, and as a macro."""
    assert value(f"(define (f) ({name} 1)) (define ({name} x) (list :mine x)) (list (f) (map {name} '(2)))") == (
        "((:mine 1) ((:mine 2)))"
    )
    assert value(f"(let (({name} 5)) (+ {name} 1))") == "6"
    assert value(f"(define (g {name}) ({name} 1)) (g (fn (x) (+ x 1)))") == "2"
    assert value(f"(defmacro {name} (x) `(quote ,x)) ({name} (a b))") == "(a b)"


def test_they_are_not_proposed_for_misspelt_names() -> None:
    assert for_unbound("splitt") is None
    assert for_unbound("trimm") is None
    assert for_unbound("trimm", ["trim"]) == "Did you mean 'trim'?"
    assert for_unbound("llm/complet") == "Did you mean 'llm/complete'?"
