"""The forms of workflows as the reference has them: arities, expansions, fan-out, forms as data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from llm_support import llm as llm
from workflow_support import error_of, run

from sema_runtime.values.printer import to_text
from semac.session import Session

pytestmark = pytest.mark.usefixtures("llm")

# Arities and what is no run: as the reference says it


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(checkpoint :a 1 2)", "checkpoint takes 1 or 2 arguments"),
        ("(checkpoint)", "checkpoint expects 1 or more arguments, got 0"),
        ("(phase)", "phase expects 1 argument, got 0"),
        ('(phase "a" "b")', "phase expects 1 argument, got 2"),
        ("(step)", "step expects 1 or more arguments, got 0"),
        ('(defworkflow a "")', "defworkflow expects 3 or more arguments, got 2"),
        ('(defworkflow a "" {})', "lambda expects 2 or more arguments, got 1"),
        ("(with-retry {})", "with-retry expects 2 arguments, got 1"),
        ("(parallel)", "parallel expects 1 or more arguments, got 0"),
        ("(pipeline)", "pipeline expects 1 or more arguments, got 0"),
        ("(workflow/run-form)", "workflow/run-form expects 1 argument, got 0"),
        ("(workflow/checkpoint :a 1 2)", "workflow/checkpoint expects 1 to 2 arguments, got 3"),
        ("(workflow/step :a)", "workflow/step expects 2 arguments, got 1"),
        ("(workflow/tool-call)", "workflow/tool-call expects 1 to 2 arguments, got 0"),
        ("(workflow/mcp-handle)", "workflow/mcp-handle expects 1 argument, got 0"),
        ("(workflow/check)", "workflow/check expects 1 argument, got 0"),
        ("(workflow/tool-call 5)", "expected keyword or string, got int"),
        ('(workflow/mcp-handle "a")', "expected symbol or keyword, got string"),
        ("(checkpoint 5 1)", "expected keyword or string, got int"),
        ("(policy/without 5 1)", "policy/without requires a literal reason string and at least one body form"),
        ('(policy/without "why")', "policy/without requires a literal reason string and at least one body form"),
        ('(policy/without "why" 1)', "policy/without requires an active workflow policy"),
    ],
)
def test_what_is_wrong_before_anything_runs(text: str, message: str, tmp_path: Path) -> None:
    assert error_of(tmp_path, text) == message
    assert not any(tmp_path.iterdir())


# What the macros stand for, as the reference expands them; the numbers of made-up names are left out


@pytest.mark.parametrize(
    ("form", "expansion"),
    [
        (
            '(defworkflow a "d" {:mcp {x {:command "c"} b {:url "u"}} :n 1} 1)',
            '(workflow/run (symbol->string (quote a)) "d" {:mcp (quote {b {:url "u"} x {:command "c"}}) :n 1} (lambda '
            "() (let ((b (workflow/mcp-handle (quote b))) (x (workflow/mcp-handle (quote x)))) 1)))",
        ),
        (
            '(defworkflow a "d" {:mcp (servers)} 1 2)',
            '(workflow/run (symbol->string (quote a)) "d" {:mcp (servers)} (lambda () 1 2))',
        ),
        ("(defworkflow a doc meta 1)", "(workflow/run (symbol->string (quote a)) doc meta (lambda () 1))"),
        ("(phase x)", "(workflow/phase x)"),
        ("(checkpoint k)", "(workflow/checkpoint k)"),
        ("(checkpoint k (f))", "(workflow/checkpoint k (fn () (f)))"),
        ("(approval k o)", "(workflow/approval k o)"),
        ('(policy/without "why" 1 2)', '(workflow/policy-without "why" (fn () 1 2))'),
        (
            "(defpolicy p {:tools {}})",
            "(define p (assoc (assoc {:tools {}} :__policy-name (symbol->string (quote p))) :__policy-version 1))",
        ),
        (
            "(parallel fs)",
            "(map (fn (pr__) (if (contains? pr__ :err) nil (:ok pr__))) (__fanout-tagged (fn (th__) (th__)) fs 8))",
        ),
        ("(parallel-settled fs n)", "(__fanout-tagged (fn (th__) (th__)) fs n)"),
        (
            "(with-retry o f)",
            "(let ((wr-opts__ o) (wr-f__ f)) "
            "(let ((wr-max__ (or (get wr-opts__ :max) 3)) (wr-base__ (or (get wr-opts__ :base-ms) 200)) "
            "(wr-fac__ (or (get wr-opts__ :factor) 2)) (wr-on__ (get wr-opts__ :on))) "
            "(letrec ((go__ (fn (n__ delay__) (try (wr-f__) (catch e__ (when wr-on__ (wr-on__ e__ n__)) "
            "(if (>= n__ wr-max__) (throw e__) "
            "(begin (async/sleep delay__) (go__ (+ n__ 1) (* delay__ wr-fac__))))))))) (go__ 1 wr-base__))))",
        ),
    ],
)
def test_expansions(form: str, expansion: str) -> None:
    assert re.sub(r"__\d+", "__", to_text(Session().run(f"(macroexpand '{form})"))) == expansion


# Section 8: fan-out


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(parallel (list (fn () (async/sleep 9) 1) (fn () 2) (fn () (async/sleep 3) 3)))", "(1 2 3)"),
        ("(parallel [(fn () 1)])", "(1)"),
        ("(pipeline nil str)", "()"),
        ("(pipeline (list 1 2) 5)", "(nil nil)"),
        ("(define seen (list)) (define (see n) (set! seen (append seen (list n))) n)"
         " (pipeline '(9 1) (fn (ms) (async/sleep ms) ms) see (fn (n) (if (= n 1) (error \"x\") n)) see) seen",
         "(1 9 9)"),  # no waiting between stages; none after an error
        ("(define n 0) (pipeline (range 20) (fn (i) (set! n (+ n 1)) (async/sleep 1) (set! n (- n 1))))"
         " n", "0"),
        ("(map (fn (r) (:value (:err r))) (parallel-settled (list (fn () (throw {:x 1})))))", "({:x 1})"),
        ("(pipeline-settled '(1) (fn (n) nil))", "({:ok nil})"),
        ("(settled/ok? 5)", "E expected map or hashmap, got int"),
        ("(settled/err? {:err nil})", "#t"),
        ("(settled-partition nil)", "E expected list, vector, or mutable-array, got nil in filter"),
        ("(settled-partition (list {:ok 1 :err 2}))", "{:err (2) :ok (1)}"),
        ("(with-retry nil (fn () 1))", "E expected map or hashmap, got nil"),
        ("(with-retry {:max 2 :base-ms 1 :on 5} (fn () (error \"x\")))", "E not callable: 5 (int)"),
        ("(with-retry {:max 0} (fn () (error \"x\")))", "E x"),
        ("(with-retry {:base-ms 1 :on (fn (e n) (error (str \"on\" n)))} (fn () (error \"x\")))", "E on1"),
        ("(define n 0) (define (fails) (set! n (+ n 1)) (error \"x\"))"
         " (list (try (with-retry {:base-ms 1} fails) (catch e 0)) n)", "(0 3)"),
        ("(define n 0) (define (third) (set! n (+ n 1)) (if (< n 3) (error \"x\") n))"
         " (with-retry {:base-ms 1} third)", "3"),
        ("(define n 0) (define (fails) (set! n (+ n 1)) (error \"x\"))"
         " (list (try (retry fails {:base-delay-ms 1}) (catch e 0)) n)", "(0 3)"),
        ("(workflow/run-form '((define zz 5) (+ zz 1)))", "6"),
        ("(workflow/run-form '())", "nil"),
        ("(workflow/run-form 5)", "5"),
        ("(workflow/run-form '(((fn (x) x) 5)))", "5"),
        ("(workflow/check '(defworkflow w \"d\" {} {:status :success}))", "()"),
        ("(map keys (workflow/check \"(\"))", "((:code :col :hint :line :message :severity))"),
        ("(map :severity (workflow/check \"(defworkflow w \\\"\\\" {} 1) (\"))", "(:error :warning)"),
    ],
)  # fmt: skip
def test_fan_out_and_forms_as_data(text: str, value: str, tmp_path: Path) -> None:
    if value.startswith("E "):
        assert error_of(tmp_path, text) == value[2:]
    else:
        assert to_text(run(tmp_path, text).value) == value
