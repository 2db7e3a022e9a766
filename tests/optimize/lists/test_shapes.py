"""Maps of known keywords are tuples where nobody sees them, and programs answer as before."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from outcomes import python, run

from sema_runtime.values.lists import List
from sema_runtime.values.printer import to_text
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

ITEMS = "(define (items n) (map (fn (i) {:id i :price (* 3 i) :tags (list i)}) (range n))) "
TUPLES = [
    ITEMS + "(foldl (fn (t x) (+ t (:price x) (length (:tags x)))) 0 (filter (fn (x) (odd? (:id x))) (items 6)))",
    ITEMS + "(define (worth x) (let (({:keys [price tags]} x)) (+ price (length tags)))) "
    "(list (map worth (items 3)) (foldl (fn (t {:keys [id price]}) (+ t id price)) 0 (items 4)))",
    ITEMS + "(map (fn (x) (:price (assoc x :price (+ 1 (:price x))))) (items 3))",
    ITEMS + "(define (dearest xs) (foldl (fn (b x) (if (or (nil? b) (> (:price x) (:price b))) x b)) nil xs)) "
    "(list (:id (dearest (items 4))) (try (:id (dearest '())) (catch e (:message e))))",
    "(define (leaf v) {:v v :left nil :right nil}) "
    "(define (add t v) (cond ((nil? t) (leaf v)) ((< v (:v t)) (assoc t :left (add (:left t) v))) "
    "(else (assoc t :right (add (:right t) v))))) "
    "(define (total t) (if (nil? t) 0 (+ (:v t) (total (:left t)) (total (:right t))))) (total (foldl add nil '(5 2 8 1)))",
    "(define (token k v) {:kind k :value v}) (define (next ts) (if (null? ts) nil (first ts))) "
    "(define (names ts) (let loop ((ts ts) (out '())) (let ((t (next ts))) (if (nil? t) (reverse out) "
    "(loop (rest ts) (if (= (:kind t) :name) (cons (:value t) out) out)))))) "
    '(names (list (token :name "a") (token :op "+") (token :name "b")))',
    "(define (many p) (fn (s i) (let loop ((i i) (n 0)) (let ((r (p s i))) (if r (loop (:next r) (+ n (:value r))) "
    "{:value n :next i}))))) (define (digit s i) (if (< i (length s)) {:value (nth s i) :next (+ i 1)} nil)) "
    "(define (both p q) (fn (s i) (let ((r (p s i))) (if r (q s (:next r)) nil)))) "
    "(:value ((both digit (many digit)) [4 5 6] 0))",
    "(define rules (list (fn (o) (if (> (:n o) 3) 5 0)) (fn (o) (if (:vip o) 7 0)))) "
    "(define (off o) (foldl (fn (t r) (+ t (r o))) 0 rules)) (list (off {:n 4 :vip #t}) (off {:n 1 :vip #f}))",
    "(define (deck n) (flat-map (fn (s) (map (fn (r) {:rank r :suit s}) (range n))) '(1 2))) "
    "(foldl (fn (t c) (+ t (* (:rank c) (:suit c)))) 0 (deck 3))",
    "(defmulti area (fn (s) (:kind s))) (defmethod area :box (fn (s) (* (:w s) (:h s)))) "
    "(defmethod area :dot (fn (s) 0)) (map area (list {:kind :box :w 2 :h 3} {:kind :dot}))",
    "(define (mk n) (if (> n 1) {:a n} {:b n})) (map (fn (m) (list (:a m) (:b m))) (map mk (range 3)))",
    "(define (mk n) {:a n :b nil}) (map (fn (m) (list (get m :a 7) (get m :b 7))) (map mk (range 2)))",
    "(define (g x) (get-in x [:p :q])) (list (g {:p {:q 1}}) (g {:p nil}) (g {:p 5}))",
    "(define (bump x) (map/update x :n (fn (n) (+ n 1)))) (define (f k) (:n (bump (bump {:n k :m 0})))) (f 3)",
    "(define (f n) (:b (update-in {:b n} [:b] (fn (x) (* 2 x))))) (f 3)",
]
SEEN = [  # somebody would notice
    ITEMS + "(items 2)",
    ITEMS + "(println (first (items 2)))",
    ITEMS + "(map (fn (x) (= x {:id 0 :price 0 :tags '(0)})) (items 2))",
    ITEMS + "(map count (items 2))",
    ITEMS + "(map (fn (x) (contains? x :id)) (items 2))",
    ITEMS + "(map (fn (x) (keys (dissoc x :id))) (items 2))",
    ITEMS + "(map (fn (x) (get x :none :absent)) (items 2))",
    ITEMS + "(map (fn (x) (list (map? x) (vector? x))) (items 2))",
    ITEMS + "(map (fn (x) (try (first x) (catch e (:message e)))) (items 2))",
    ITEMS + "(map (fn (x) (try (nth x 0) (catch e (:message e)))) (items 2))",
    ITEMS + "(map (fn (x) (try (foldl + 0 x) (catch e (:message e)))) (items 2))",
    "(try (let (({:a {:b x}} {:a {}})) x) (catch e 1))",
    "(define (f) (let lp () 1)) (define (both a) (list (made a {}) (made a {:size 1.5 :tags '(1)}) (:size (made a {:color a})) "
    '(merge (made "x" {}) {:size a}))) '
    "(define (made c o) (let (({:keys [size color tags]} o)) {:color (or color :red) :name c "
    ":size (if size (* 2 size) 3) :tags (append (or tags '()) (list c))})) "
    "(list (try (missing {:left :k} {:a 1}) (catch e (:message e))) (map (fn (x) 3.0) (list 1 2)) "
    "(try (both 1.0) (catch e (:message e))) (try (f) (catch e 1)))",
    ITEMS + "(map (fn ({:id id :b {:keys [c]}}) (list id c)) (list {:id 1 :b {:c 2}} {:id 2 :b {}}))",
    ITEMS + "(define (cheap xs) (list/find (fn (x) (< (:price x) 0)) xs)) "
    "(try (let (({:keys [id price]} (cheap (items 3)))) (list id price)) (catch e (:message e)))",
    ITEMS + "(map (fn (x) (try (+ 1 x) (catch e (:message e)))) (items 2))",
    ITEMS + "(map (fn (x) (let (([a b c] x)) a)) (list [1 2 3] (list 4 5 6)))",
    ITEMS + "(map (fn (x) (match x ({:id i} i) ([a b c] :vector) (_ :other))) (items 2))",
    ITEMS + "(map (fn (x) (match x ([a b c] :vector) (_ :other))) (items 2))",
    ITEMS + "(define (keyed k) (map (fn (x) (k x)) (items 2))) (list (keyed :id) (keyed (fn (x) (:price x))))",
    ITEMS + "(map (fn (x) (x :id)) (list (fn (k) k)))",
    ITEMS + "(map :id (sort-by :price (items 3)))",
    ITEMS + "(map (fn (x) (:extra (merge x {:extra 1}))) (items 2))",
    ITEMS + "(try (throw (first (items 1))) (catch e (:price (:value e))))",
    "(define (f m) (try (:b (assoc m :b (length (vals (dissoc missing 1))))) (catch e (:message e)))) "
    "(list (f {:a 1 :b 2}) (f nil))",
    "(define (f n) (try ((list n 2) 1) (catch e (:message e)))) (f 1)",
    "(define (f n) (try (match (list n 2) ([a] a) ([a 3] a)) (catch e (:message e)))) (f 1)",
    "(define (f n) (try ({:a (list n 2)} 1) (catch e (:message e)))) (f 1)",
    "(define (f n) (let ((m {:a n})) (list (:a (assoc m :b 1)) (count (assoc m :b 1))))) (f 1)",
    "(define (f m) (try (:a (assoc m :a 1)) (catch e (:message e)))) (list (f {:a 2 :b 3}) (f nil) (f 5))",
    "(define (f m) (try (:a m) (catch e (:message e)))) (list (f {:a 2}) (f nil) (f 5) (f [1]))",
    "(define (f n) (let ((s {:seen {n 1} :n 0})) (:seen (assoc s :seen (assoc (:seen s) 5 2))))) (f 1)",
    "(define (f n) (let ((m {(list n 2) {:a 1}})) (list (get m (list 1 2)) (get m [1 2])))) (f 1)",
]
KEYS = [
    "(define (table n) (foldl (fn (m i) (assoc m (list i (mod i 2)) (* i i))) {} (range n))) "
    "(define t (table 5)) (list (get t (list 3 1)) (get t (list 3 0)) (get t (list 2 0) :none))",
    "(define (table n) (foldl (fn (m i) (assoc m (list i 1.0) i)) {} (range n))) (list (get (table 2) (list 1 1.0)))",
    "(define (f n) (get (assoc {} (list n 1) :list [n 1] :vector) (list 1 1))) (f 1)",
    "(define (f n) (get (assoc {} (list n (list 1)) :list) (list 1 [1]))) (f 1)",
    "(define (f n) (let ((m (assoc {} (list n {:a 1}) 5))) (get m (list 1 {:a 1})))) (f 1)",
    "(define (f n) (let ((m (assoc {} (list n 1) 5 (list 0 1) 4))) (list (vals m) (contains? m (list 0 1))))) (f 1)",
    "(define (f n) (keys (assoc {} (list n 1) 5))) (f 1)",
]


SHOWN = [  # tuples become lists and maps again where they are printed
    ITEMS + "(println (items 2) (first (items 1)) (:tags (first (items 1))))",
    ITEMS + "(println (foldl (fn (m x) (assoc m (list (:id x) 0) x)) {} (items 20)))",
    ITEMS + '(println (str "all: " (reverse (items 12))) (:id (first (items 1))))',
    "(define (tree n) (if (= n 0) nil {:kids (list (tree (- n 1)) (tree (- n 1))) :n [n (list n)]})) "
    "(println (tree 3) (nth (:n (first (:kids (tree 2)))) 0))",
    "(define (chain n) (let loop ((i 0) (out nil)) (if (= i n) out (loop (+ i 1) (list out i))))) "
    "(println (string-length (str (chain 20000))) (cadr (chain 2)))",
    "(define (mk n) (if (> n 1) {:a n} {:b n})) (println (map mk (range 3)))",
]


@pytest.mark.parametrize("source", [*TUPLES, *SEEN, *KEYS, *SHOWN])
def test_answers_are_those_of_plain_code(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain = run(source, optimize=False)
    printed = capsys.readouterr().out
    for mode in ("program", "module"):
        assert run(source, mode=mode, watch=Verifier()) == plain
        assert capsys.readouterr().out == printed


@pytest.mark.parametrize("source", TUPLES)
def test_maps_are_tuples(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_SKIP", "calls,fields")
    with_tuples = python(source)
    assert "Map(" not in with_tuples
    monkeypatch.setenv("SEMA_SKIP", "calls,fields,shapes")
    assert python(source) != with_tuples


@pytest.mark.parametrize("source", SHOWN[:-1])
def test_what_is_printed_is_made_of_tuples(source: str) -> None:
    assert "restored(" in python(source)


GLOBALS = """
(define (mk i) {:id i :row (list i (list i 1)) :kids (map (fn (k) {:name k}) (range 2))})
(define (make n) (map mk (range n)))
(define things (make 30))
(define table (foldl (fn (m x) (assoc m (list (:id x) 1) x)) {} things))
(define dearest (foldl (fn (b x) (if (> (:id x) (:id b)) x b)) (first things) things))
(define (id-of x) (:id x))
(define total (foldl (fn (t x) (+ t (id-of x) (first (:row x)) (length (:kids x)))) 0 (vals table)))
(define (look k) (get table k))
"""


def test_globals_have_lists_and_maps_when_the_import_has_ended() -> None:
    unit = compile_source(GLOBALS, "test.sema", "module")
    assert "_import_things" in ast.unparse(unit.tree)
    scope: dict[str, Any] = {"__name__": "test"}
    exec(unit.code, scope)
    assert scope["total"] == 2 * sum(range(30)) + 60
    assert len(scope["things"]) == 30
    assert to_text(scope["things"].cdr.car) == "{:id 1 :kids ({:name 0} {:name 1}) :row (1 (1 1))}"
    assert to_text(scope["dearest"]) == "{:id 29 :kids ({:name 0} {:name 1}) :row (29 (29 1))}"
    assert scope["dearest"]["kids"][1]["name"] == 1
    assert scope["look"](List([3, 1]))["row"][0] == 3
    assert scope["id_of"](scope["things"][7]) == 7
    assert scope["table"].copy()[List([2, 1])] is scope["look"](List([2, 1]))


def test_keys_are_tuples() -> None:
    assert "List([i" not in python(KEYS[0])


CHANGED_AND_READ = (
    "(define (tape xs) {:left '() :head (first xs) :right (rest xs)}) "
    "(define (right t) (assoc t :left (cons (:head t) (:left t)) :head (if (null? (:right t)) 0 (first (:right t))) "
    ":right (if (null? (:right t)) '() (rest (:right t))))) "
    "(define (step m) {:tape (right (assoc (:tape m) :head (+ 1 (:head (:tape m))))) :n (+ 1 (:n m))}) "
    "(define (run m) (if (= (:n m) 4) m (run (step m)))) (define (tape-of m) (:tape m)) "
    "(map (fn (n) (let ((t (tape-of (run (if (even? n) {:tape (tape (list 1 n 3)) :n 0} {:tape (tape (list n)) :n 2}))))) "
    "(list (:left t) (:head t) (:right t)))) (list 1 2))"
)


def test_fields_of_tuples_just_made_are_what_was_put_there() -> None:
    plain = run(CHANGED_AND_READ, optimize=False)
    for mode in ("program", "module"):
        assert run(CHANGED_AND_READ, mode=mode, watch=Verifier()) == plain
    tree = ast.parse(python(CHANGED_AND_READ))
    (code,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "run")
    made = [node for node in ast.walk(code) if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load)]
    assert len(made) == 2  # the machine and its new tape; none with the changed head alone
