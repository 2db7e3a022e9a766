"""Maps that nobody else holds change in place, and programs answer as before."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.lib.collections.owned_maps import Owner, drop_from, put, put_all, put_in
from sema_runtime.values.maps import HashMap, Map
from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

CASES = {
    "a changed copy of a state goes into that": """
        (define (step m i)
          (let* ((m3 (assoc m :b m :c i)) (h (update-in m3 [:b :c] (fn (x) 1))))
            (assoc-in h [1 :c] i)))
        (foldl step {} (range 3))""",
    "a variable of a loop, under set! and in a closure": (
        "(define (f n) (let lp ((i 0) (m {:j 1})) (set! m m) (if (= n i) m (lp (+ 1 i) (assoc m :j (map (fn (x) m) "
        "(range 1))))))) (f 3)"
    ),
    "a parameter under set! and in a closure": (
        "(define (f m n) (let ((k (fn () m))) (set! m (assoc m :a n)) (if (= n 0) (list (k) m) "
        "(f (assoc m :j (list (k))) (- n 1))))) (f {:j 1} 2)"
    ),
    "alias of two keys": (
        "(define (f n) (let loop ((i 0) (m {0 {:n 0} 1 {:n 0}})) (if (= i n) m (let ((a (get m 0))) (loop "
        "(+ i 1) (assoc (assoc m 0 (assoc a :n i)) 1 a)))))) (f 5)"
    ),
    "same inner at two keys": (
        "(define (f n) (let loop ((i 0) (m {})) (if (= i n) m (let ((a (assoc (get m :a {}) :n i))) (loop "
        "(+ i 1) (assoc m :a a :b a)))))) (list (f 5) (let ((m (f 3))) (assoc m :a (assoc (:a m) :n "
        "100))))"
    ),
    "same inner at two keys then changed": (
        "(define (bump m k) (assoc m k (assoc (get m k) :n (+ 1 (:n (get m k)))))) (define (f n) (let "
        "loop ((i 0) (m {:a {:n 0} :b {:n 0}})) (if (= i n) m (let ((m2 (bump m :a))) (loop (+ i 1) (bump "
        "(assoc m2 :b (:a m2)) :a)))))) (f 5)"
    ),
    "history of states": (
        "(define (step s i) (assoc s :n i :in (assoc (:in s) :k i))) (define (f n) (let loop ((i 0) (s "
        "{:n 0 :in {:k 0}}) (old '())) (if (= i n) old (loop (+ i 1) (step s i) (cons s old))))) (f 4)"
    ),
    "undo": (
        "(define (step s i) (assoc s :n i :in (assoc (:in s) :k (+ i (:k (:in s)))))) (define (f n) (let "
        "loop ((i 0) (s {:n 0 :in {:k 0}}) (old '())) (cond ((= i n) (list s old)) ((= 0 (mod i 3)) (loop "
        "(+ i 1) (if (null? old) s (car old)) old)) (else (loop (+ i 1) (step s i) (cons s old)))))) (f "
        "9)"
    ),
    "handler sees old": (
        "(define (bad s i) (let ((s2 (assoc s :n i :in (assoc (:in s) :k i)))) (if (= 0 (mod i 2)) (throw "
        "{:i i}) s2))) (define (f n) (foldl (fn (s i) (try (bad s i) (catch e (assoc s :errors (+ 1 "
        "(:errors s)))))) {:n -1 :in {:k -1} :errors 0} (range n))) (f 5)"
    ),
    "handler in a fold inline": (
        "(define (f n) (foldl (fn (s i) (try (let ((t (assoc s :in (assoc (:in s) :k i)))) (if (even? i) "
        "(throw i) t)) (catch e (assoc s :errors (cons (:k (:in s)) (:errors s)))))) {:in {:k -1} :errors "
        "'()} (range n))) (f 6)"
    ),
    "two accounts": (
        "(define (move m a b x) (let ((p (get m a)) (q (get m b))) (-> m (assoc a (assoc p :n (- (:n p) "
        "x))) (assoc b (assoc q :n (+ (:n q) x)))))) (define (f n) (foldl (fn (m i) (move m (mod i 3) "
        "(mod (* i 2) 3) i)) {0 {:n 0} 1 {:n 0} 2 {:n 0}} (range n))) (f 20)"
    ),
    "loop carries inner": (
        "(define (f n) (let loop ((i 0) (m {0 {:n 0} 1 {:n 0} 2 {:n 0}}) (last {:n -1})) (if (= i n) "
        "(list m last) (let ((k (mod i 3))) (loop (+ i 1) (assoc m k (assoc (get m k) :n (+ i (:n "
        "last)))) (get m k)))))) (f 10)"
    ),
    "loop carries changed inner": (
        "(define (f n) (let loop ((i 0) (m {0 {:n 0} 1 {:n 0} 2 {:n 0}}) (last {:n -1})) (if (= i n) "
        "(list m last) (let* ((k (mod i 3)) (x (assoc last :n i))) (loop (+ i 1) (assoc m k x) (get m "
        "(mod (+ i 1) 3))))))) (f 10)"
    ),
    "closure keeps": (
        "(define (f n) (let loop ((i 0) (m {:a {:n 0}}) (fs '())) (if (= i n) (map (fn (g) (g)) fs) (loop "
        "(+ i 1) (assoc m :a (assoc (:a m) :n i)) (cons (fn () (:n (:a m))) fs))))) (f 4)"
    ),
    "vals in the loop": (
        "(define (f n) (let loop ((i 0) (m {0 {:n 0} 1 {:n 1}}) (seen '())) (if (= i n) seen (loop (+ i "
        "1) (assoc m (mod i 2) (assoc (get m (mod i 2)) :n i)) (cons (vals m) seen))))) (f 4)"
    ),
    "vals after": (
        "(define (f n) (let ((m (foldl (fn (m i) (assoc m (mod i 2) (assoc (get m (mod i 2) {}) :n i))) "
        "{} (range n)))) (list (vals m) (map/entries m) m))) (f 5)"
    ),
    "vals then changed": (
        "(define (f n) (let* ((m (foldl (fn (m i) (assoc m (mod i 2) (assoc (get m (mod i 2) {}) :n i))) "
        "{} (range n))) (v (vals m)) (m2 (foldl (fn (m i) (assoc m (mod i 2) (assoc (get m (mod i 2) {}) "
        ":n (* 100 i)))) m (range n)))) (list v m2))) (f 5)"
    ),
    "old after loop": (
        "(define (f m n) (let ((r (foldl (fn (m i) (assoc m (mod i 2) (assoc (get m (mod i 2) {}) :n i))) "
        "m (range n)))) (list m r))) (define x (f {0 {:n 100}} 4)) (list x (f (car (cdr x)) 3) x)"
    ),
    "tree": (
        "(define empty {:end #f :kids {}}) (define (ins t cs) (if (null? cs) (assoc t :end #t) (let* ((c "
        "(car cs)) (k (get (:kids t) c empty))) (assoc t :kids (assoc (:kids t) c (ins k (cdr cs))))))) "
        '(define t1 (foldl ins empty (map string->list (list "ab" "ac" "b")))) (define t2 (foldl ins t1 '
        '(map string->list (list "abc")))) (list t1 t2 empty)'
    ),
    "tree local": (
        "(define (ins t cs) (if (null? cs) (assoc t :end #t) (let* ((c (car cs)) (k (get (:kids t) c "
        "{:end #f :kids {}}))) (assoc t :kids (assoc (:kids t) c (ins k (cdr cs))))))) (define (build ws) "
        '(foldl ins {:end #f :kids {}} (map string->list ws))) (define (both) (let* ((a (build (list "ab" '
        '"ac"))) (b (ins a (string->list "abc")))) (list a b))) (both)'
    ),
    "shared subtree": (
        "(define (ins t cs) (if (null? cs) (assoc t :n (+ 1 (get t :n 0))) (assoc t (car cs) (ins (get t "
        "(car cs) {}) (cdr cs))))) (define (f) (let* ((a (ins {} '(1 2))) (b (assoc a 5 (get a 1)))) "
        "(foldl ins b '((5 2) (1 3) (5 2))))) (f)"
    ),
    "swap": (
        "(define (f n) (foldl (fn (m i) (let ((a (:a m)) (b (:b m))) (assoc m :a (assoc b :n i) :b a))) "
        "{:a {:n :x} :b {:n :y}} (range n))) (f 5)"
    ),
    "merge others": (
        "(define (f n) (let loop ((i 0) (a {:x {:n 0}}) (b {:x {:n 1}})) (if (= i n) (list a b) (loop (+ "
        "i 1) (assoc a :x (assoc (:x b) :n i)) b)))) (f 3)"
    ),
    "update-in": (
        "(define (f n) (foldl (fn (s i) (-> s (update-in [:u (mod i 3) :n] (fn (x) (+ 1 (or x 0)))) "
        "(assoc-in [:last :i] i))) {} (range n))) (f 7)"
    ),
    "update-in reads old": (
        "(define (f n) (foldl (fn (s i) (let ((t (update-in s [:u (mod i 3) :n] (fn (x) (+ 1 (or x "
        "0)))))) (assoc t :prev (get-in s [:u 0 :n])))) {} (range n))) (f 7)"
    ),
    "hashmaps": (
        "(define (f n) (foldl (fn (s i) (assoc s (mod i 3) (assoc (get s (mod i 3) (hashmap/new)) i i))) "
        "(hashmap/new) (range n))) (let ((r (f 5))) (list (type r) (type (get r 0)) (get (get r 0) 3)))"
    ),
    "set! state": (
        "(define (f n) (let ((s {:in {:n 0}})) (for-range (i 0 n) (set! s (assoc s :in (assoc (:in s) :n "
        "i)))) s)) (f 4)"
    ),
    "set! captured": (
        "(define (f n) (let ((s {:in {:n 0}}) (log '())) (for-each (fn (i) (set! log (cons s log)) (set! "
        "s (assoc s :in (assoc (:in s) :n i)))) (range n)) (list s log))) (f 4)"
    ),
    "dissoc": (
        "(define (f n) (foldl (fn (s i) (if (even? i) (assoc s :in (dissoc (:in s) (- i 1))) (assoc s :in "
        "(assoc (:in s) i i)))) {:in {}} (range n))) (f 8)"
    ),
    "big": (
        "(define (f n) (foldl (fn (s i) (assoc s (mod i 300) (assoc (get s (mod i 300) {}) :n i))) {} "
        "(range n))) (define a (f 700)) (define b (foldl (fn (s i) (assoc s i {:z i})) a (range 600))) "
        "(list (count a) (get a 5) (get b 5) (foldl + 0 (map (fn (m) (get m :n 0)) (vals a))) (foldl + 0 "
        "(map (fn (m) (get m :n 0)) (vals b))))"
    ),
    "big twice": (
        "(define (g s k) (foldl (fn (s i) (assoc s i (+ k i))) s (range 500))) (define (sum s) (foldl + 0 "
        "(vals s))) (define a (g {} 0)) (define b (g a 1)) (define c (g a 2)) (list (sum a) (sum b) (sum "
        "c))"
    ),
    "in a list": (
        "(define (f n) (foldl (fn (s i) (let ((p (assoc (get s :p {}) :i i))) (assoc s :p p :all (cons p "
        "(get s :all '()))))) {} (range n))) (f 3)"
    ),
    "in a vector": (
        "(define (g s i) [(assoc s :in (assoc (:in s) :n i)) s]) (define (f n) (let loop ((i 0) (s {:in "
        "{:n 0}}) (olds '())) (if (= i n) olds (let (([t o] (g s i))) (loop (+ i 1) t (cons o olds)))))) "
        "(f 3)"
    ),
    "a function that keeps": (
        "(define kept '()) (define (keep! m) (set! kept (cons m kept)) m) (define (f n) (foldl (fn (s i) "
        "(assoc (keep! s) :in (assoc (:in s) :n i))) {:in {:n 0}} (range n))) (f 3) kept"
    ),
    "keys as maps": (
        "(define (f n) (foldl (fn (s i) (let ((k (assoc (get s :k {}) :i (mod i 2)))) (assoc s :k k k "
        "i))) {} (range n))) (f 3)"
    ),
    "equal": (
        "(define (f n) (foldl (fn (s i) (let ((t (assoc (:in s) :n (mod i 2)))) (assoc s :same (= t (:in "
        "s)) :in t))) {:in {:n 0}} (range n))) (list (f 1) (f 2) (f 3))"
    ),
    "returned parts": (
        "(define (part s) (:in s)) (define (f n) (let loop ((i 0) (s {:in {:n 0}}) (x 0)) (if (= i n) "
        "(list s x) (let ((p (part s))) (let ((t (assoc s :in (assoc (:in s) :n i)))) (loop (+ i 1) t (+ "
        "x (:n p)))))))) (f 5)"
    ),
    "returned parts kept": (
        "(define (part s) (:in s)) (define (f n) (let loop ((i 0) (s {:in {:n 0}}) (x 0)) (if (= i n) "
        "(list s x) (let* ((p (part s)) (q (assoc p :n i)) (t (assoc s :other q))) (loop (+ i 1) t (+ x "
        "(:n p) (:n (part t)))))))) (f 5)"
    ),
    "mutual": (
        "(define (a s i) (if (= i 0) s (b (assoc s :in (assoc (:in s) :a i)) (- i 1)))) (define (b s i) "
        "(if (= i 0) s (a (assoc s :in (assoc (:in s) :b i)) (- i 1)))) (define s0 {:in {}}) (list (a s0 "
        "5) s0 (b (a s0 3) 3))"
    ),
    "recursion with branches": (
        "(define (go s n) (if (= n 0) (assoc s :leaf (+ 1 (get s :leaf 0))) (go (go (assoc s :in (assoc "
        "(:in s) n 1)) (- n 1)) (- n 1)))) (go {:in {}} 3)"
    ),
    "recursion keeps old": (
        "(define (go s n) (if (= n 0) (list (:in s)) (append (go (assoc s :in (assoc (:in s) n 1)) (- n "
        "1)) (go s (- n 1))))) (go {:in {}} 3)"
    ),
    "memo through": (
        "(define (fibm n memo) (if (< n 2) {:v n :memo memo} (if (contains? memo n) {:v (get memo n) "
        ":memo memo} (let* ((a (fibm (- n 1) memo)) (b (fibm (- n 2) (:memo a))) (v (+ (:v a) (:v b)))) "
        "{:v v :memo (assoc (:memo b) n v)})))) (fibm 10 {})"
    ),
    "generator": (
        "(define (f n) (let ((ch (channel/new 1))) (async (let loop ((i 0) (s {:in {:n 0}})) (if (= i n) "
        "(channel/close ch) (let ((t (assoc s :in (assoc (:in s) :n i)))) (channel/send ch t) (loop (+ i "
        "1) t))))) (let loop ((acc '())) (let ((x (channel/recv ch))) (if (nil? x) acc (loop (cons x "
        "acc))))))) (f 3)"
    ),
    "for-each with printing": (
        "(define (f n) (foldl (fn (s i) (println s) (assoc s :in (assoc (:in s) :n i))) {:in {:n 0}} (range n))) (f 3)"
    ),
    "match parts": (
        "(define (f n) (foldl (fn (s i) (match s ({:in x} (assoc s :in (assoc x :n i) :old x)))) {:in {:n "
        "0}} (range n))) (f 3)"
    ),
    "cond merges": (
        "(define (f n) (foldl (fn (s i) (let ((x (if (even? i) (:a s) (:b s)))) (assoc s :a (assoc x :n "
        "i)))) {:a {:n 0} :b {:n 1}} (range n))) (f 5)"
    ),
    "default kept": (
        "(define (f n) (let ((d {:n 0})) (let ((r (foldl (fn (s i) (assoc s (mod i 2) (assoc (get s (mod "
        "i 2) d) :n i))) {} (range n)))) (list r d)))) (f 5)"
    ),
    "default made": (
        "(define (f n) (let ((d (assoc {:n 0} :z (+ n 1)))) (let ((r (foldl (fn (s i) (assoc s (mod i 2) "
        "(assoc (get s (mod i 2) d) :n i))) {} (range n)))) (list r d)))) (f 5)"
    ),
    "default made in the loop": (
        "(define (f n) (foldl (fn (s i) (let ((d (assoc (get s :proto) :z i))) (assoc s :a (assoc (get s "
        ":a d) :n i) :b (assoc (get s :b d) :m i)))) {:proto {:p 1}} (range n))) (f 2)"
    ),
    "taken out": (
        "(define (f n) (foldl (fn (s i) (let ((x (get s 1 {}))) (assoc (dissoc s 1) 2 (assoc x :n i) 1 "
        "{:fresh i}))) {} (range n))) (f 4)"
    ),
    "inner loop": (
        "(define (f n) (foldl (fn (s i) (assoc s (mod i 2) (foldl (fn (x j) (assoc x j (+ i j))) (get s "
        "(mod i 2) {}) (range i)))) {} (range n))) (f 5)"
    ),
    "inner loop reads outer": (
        "(define (f n) (foldl (fn (s i) (assoc s (mod i 2) (foldl (fn (x j) (assoc x j (count (get s (mod "
        "i 2) {})))) (get s (mod i 2) {}) (range i)))) {} (range n))) (f 5)"
    ),
    "error within": (
        "(define (f n) (try (foldl (fn (s i) (assoc s :in (assoc (:in s) i (/ 10 (- 3 i))))) {:in {}} "
        "(range n)) (catch e (:message e)))) (list (f 2) (f 6))"
    ),
    "printed after": (
        "(define (run n) (let ((s (foldl (fn (s i) (assoc-in s [:u i :v] i)) {} (range n)))) (println s) "
        "(for-each println (vals (:u s))) (map :v (vals (:u s))))) (run 3)"
    ),
    "python keys seen": (
        '(define (f n) (foldl (fn (s i) (json/encode s) (assoc s "in" (assoc (get s "in") "n" i))) {"in" '
        '{"n" 0}} (range n))) (json/encode (f 3))'
    ),
}

CASES |= {
    "a part that a function finds": (
        "(define (of s k) (get-in s [k :in])) (define (f n) (foldl (fn (s i) (let ((w (or (of s (mod i 2)) {:n 0})))"
        " (assoc-in s [(mod i 2) :in] (assoc w :n (+ i (:n w)))))) {} (range n))) (list (f 5) (of (f 3) 0))"
    ),
    "a part that a function finds elsewhere": (
        "(define (of s k) (get-in s [(- 1 k) :in])) (define (f n) (foldl (fn (s i)"
        " (let ((w (or (of s (mod i 2)) {:n 0}))) (assoc-in s [(mod i 2) :in] (assoc w :n (+ i (:n w))))))"
        " {} (range n))) (f 5)"
    ),
    "a function that gives one of two": (
        "(define (one a b i) (if (even? i) a b)) (define (f n) (foldl (fn (s i)"
        " (let ((w (one (get s :a) (get s :b) i))) (assoc s :a (assoc w :n i))))"
        " {:a {:n 0} :b {:n 0}} (range n))) (f 5)"
    ),
    "a part that is stored back as it is": (
        "(define (f n) (let ((s0 {:a {:n 0}})) (list (foldl (fn (s i) (let ((a (get s :a)))"
        " (assoc s :a (if (even? i) (assoc a :n i) a)))) s0 (range n)) s0))) (f 4)"
    ),
    "a missing part that is stored": (
        "(define none {}) (define (f n) (foldl (fn (s i) (let ((a (get s i none))) (assoc s i a))) {} (range n))) (f 3)"
    ),
    "a missing part that is stored as nil": (
        "(define (f n) (foldl (fn (s i) (let ((m (get s :m {}))) (assoc s :m (assoc m i (get m i)) :x (get s :x))))"
        " {} (range n))) (f 3)"
    ),
    "a missing part of an item": (
        "(define (g s) (assoc s :k (:k s))) (define (f xs) (map (fn (s) (g (g s))) xs)) (f (list {} {:k 1}))"
    ),
    "levels of other values": (
        "(define (f n) (foldl (fn (s i) (assoc-in s [(mod i 2) :x] i)) {0 5 1 nil} (range n))) (list (f 1) (f 3))"
    ),
}

CASES |= {
    "the entry that changes is read later": (
        "(define (f n) (foldl (fn (s i) (let ((t (assoc-in s [:a :n] i))) (assoc t :b (get-in s [:a :n]))))"
        " {:a {:n 9} :b 0} (range n))) (list (f 1) (f 4))"
    ),
    "an entry under a computed keyword is read later": (
        "(define (f n) (foldl (fn (s i) (let ((t (assoc s :a i))) (assoc t :b (get s (if (even? i) :a :c)))))"
        " {:a 9 :b 0 :c 8} (range n))) (list (f 1) (f 2) (f 5))"
    ),
    "a map that is counted later": (
        "(define (f n) (foldl (fn (s i) (let ((t (assoc s i i))) (assoc t :size (count s) :first (:first s))))"
        " {:first 1} (range n))) (list (f 1) (f 4))"
    ),
    "a part under two keys, one of which is read": (
        "(define (f n) (foldl (fn (s i) (let* ((a (get s :a)) (t (assoc s :b a)) (u (assoc-in t [:b :n] i)))"
        " (assoc u :seen (get-in s [:a :n])))) {:a {:n 7} :b {:n 8}} (range n))) (list (f 1) (f 3))"
    ),
    "an inner loop whose map is read in it": (
        "(define (f n) (foldl (fn (s i) (assoc s :in (foldl (fn (c k) (assoc-in c [k :x] (+ i (count"
        " (get (:in s) k {}))))) (:in s) (range 3)))) {:in {} :n 0} (range n))) (list (f 1) (f 4))"
    ),
    "an inner loop whose keys are of other rounds": (
        "(define (f n) (foldl (fn (s i) (let* ((t (foldl (fn (c k) (assoc c (mod k 2) (assoc (get c (mod (+ k 1) 2) {})"
        " :x k))) (:in s) (range 3)))) (assoc s :in t :old (get-in s [:in 1])))) {:in {0 {} 1 {}}} (range n)))"
        " (list (f 1) (f 4))"
    ),
    "a state that leaves an inner loop in a vector": (
        "(define (step s i) (assoc-in s [:in (mod i 3)] i)) (define (run n) (let loop ((i 0) (s {:in {}}) (old '()))"
        " (if (= i n) [s old] (let ((v (let inner ((j 0) (t s)) (if (= j 2) [t j] (inner (+ j 1) (step t (+ i j)))))))"
        " (loop (+ i 1) (step (nth v 0) 7) (cons v old)))))) (define r (run 3)) (list r (run 1))"
    ),
    "a vector that is made before the last change": (
        "(define (step s i) (assoc-in s [:in (mod i 3)] i)) (define (run n) (let loop ((i 0) (s {:in {}})) (if (= i n)"
        " (let ((v [s i])) (list v (step s 1) s)) (loop (+ i 1) (step s i))))) (define r (run 5)) (list r (run 2))"
    ),
    "one map in two places of a result": (
        "(define (two s k) (let ((t (assoc-in s [k :n] k))) [t (get t k)])) (define (f n) (foldl (fn (s i)"
        " (let (([t part] (two s (mod i 3)))) (assoc (assoc-in t [(mod i 2) :n] 8) :part part))) {} (range n)))"
        " (list (f 1) (f 4))"
    ),
    "a result whose part is that of another function": (
        "(define (one s k) [k (assoc-in s [k :n] k)]) (define (two s k) (if (even? k) (one s k) [0 s]))"
        " (define (f n) (foldl (fn (s i) (let (([k t] (two s i))) (assoc-in (assoc t :old (get s k)) [k :m] i)))"
        " {0 {:n 0}} (range n))) (list (f 1) (f 4))"
    ),
}

OWNED = {  # programs that change maps in place, with how often they say so
    "a map in a map": "(define (f n) (foldl (fn (s i) (assoc-in s [(mod i 3) :n] i)) {} (range n))) (f 4)",
    "a tree": CASES["tree"],
    "a function that is handed the state": (
        "(define (post s k n) (map/update s k (fn (a) (assoc a :n (+ n (:n a)))))) "
        "(define (f n) (foldl (fn (s i) (post (post s :a i) :b 1)) {:a {:n 0} :b {:n 0}} (range n))) (f 4)"
    ),
    "a part that a function finds": CASES["a part that a function finds"],
    "an entry that stays is read later": (
        "(define (f n) (foldl (fn (s i) (let ((t (assoc-in s [:a :n] i))) (assoc t :steps (+ 1 (:steps s)))))"
        " {:a {} :steps 0} (range n))) (f 4)"
    ),
    "an inner loop over a part": (
        "(define (f n) (foldl (fn (s i) (assoc s :cal (foldl (fn (c k) (assoc-in c [k :x] i)) (:cal s) (range 3))"
        " :n (+ 1 (:n s)))) {:cal {} :n 0} (range n))) (f 4)"
    ),
    "a state that leaves a loop in a vector": (
        "(define (step s i) (assoc-in s [:in (mod i 3)] i)) (define (run n) (let loop ((i 0) (s {:in {} :n 0}))"
        " (if (= i n) [s i] (loop (+ i 1) (step s i))))) (define r (run 5)) (list r (run 2))"
    ),
    "a state that is returned beside a value": (
        "(define (step s i) (if (even? i) [i (assoc-in s [:a (mod i 3)] i)] [0 (update-in s [:b] (fn (n) (+ n 1)))]))"
        " (define (f n) (foldl (fn (s i) (let (([v t] (step s i))) (assoc t :v v))) {:a {} :b 0} (range n))) (f 7)"
    ),
    "two levels read before they change": (
        "(define (f n) (foldl (fn (s i) (let ((w (or (get-in s [:u (mod i 2)]) {:n 0})))"
        " (assoc-in s [:u (mod i 2)] (assoc w :n (+ i (:n w)))))) {} (range n))) (f 5)"
    ),
}


def answer(text: str, mode: str = "program", **options: Any) -> str:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(text, "<test>", mode, result=True, watch=Verifier(), **options).code, scope)
    return to_text(scope[RESULT])


@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("name", CASES)
def test_answers(name: str, mode: str) -> None:
    assert answer(CASES[name], mode) == answer(CASES[name], mode, optimize=False)


@pytest.mark.parametrize("name", OWNED)
def test_maps_change_in_place(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "calls" if name == "a state that is returned beside a value" else "fields"  # variables of most states
    monkeypatch.setenv("SEMA_SKIP", other)
    assert "put" in compile_source(OWNED[name], "<test>", "program").python_text()
    assert answer(OWNED[name]) == answer(OWNED[name], optimize=False)
    monkeypatch.setenv("SEMA_SKIP", f"{other},inplace")
    assert "put" not in compile_source(OWNED[name], "<test>", "program").python_text()


def test_a_map_of_somebody_else_stays() -> None:
    owner, old = Owner(), Map({1: 2})
    new = put(owner, old, 3, 4)
    assert put(owner, new, 5, 6) is new
    assert (old.d, new.d) == ({1: 2}, {1: 2, 3: 4, 5: 6})
    assert put(Owner(), new, 7, 8) is not new
    assert new.sorted_keys() == [1, 3, 5]
    assert put_all(owner, new, 0, 0, 1, 1).sorted_keys() == [0, 1, 3, 5]


def test_what_python_has_seen_stays() -> None:
    owner = Owner()
    new = put(owner, Map(), "a", 1)
    assert dict(new.items()) == {"a": 1}
    newer = put(owner, new, "b", 2)
    assert dict(new.items()) == {"a": 1}
    assert dict(newer.items()) == {"a": 1, "b": 2}


def test_large_maps_are_copied_after_many_changes() -> None:
    owner, old = Owner(), HashMap({i: i for i in range(1000)})
    first = current = put(owner, old, 0, -1)
    for i in range(1, 100):
        current = put(owner, current, i, -1)
    assert (old.d[0], first.d[1], current.d[1], type(current)) == (0, 1, -1, HashMap)
    assert put(owner, current, 5, 5) is current


def test_keys_and_values_of_any_type() -> None:
    owner = Owner()
    new = put_in(owner, Map(), 1, 2)
    assert put_in(owner, new, 3, 4) is new
    assert to_text(put_in(owner, new, 1.0, 2)) == "{1 2 3 4 1.0 2}"
    assert to_text(new) == "{1 2 3 4}"
    assert drop_from(owner, new, 3) is new
    assert to_text(drop_from(owner, new, 1, 3)) == "{}"
    assert to_text(new) == "{1 2}"
