"""The contract of the LLM part, line by line: results, defaults, printed forms and error texts, as programs see them.

Each entry is (program, what it prints); an error is shown as `[kind] message`. The ids name the sections: 1 registry,
4 providers written in Sema, 5 completions. test_llm_contract_values.py has 6 (prompts), 7 (conversations) and 8 (tools
and agents); test_llm_contract_scopes.py the environment (2), errors of providers (3), 9 to 12 and 16.
"""

from __future__ import annotations

import pytest
from llm_contract import outcome, table
from llm_support import SLEPT
from llm_support import llm as llm

pytestmark = pytest.mark.usefixtures("llm")
KEYED = ["deepseek", "openrouter", "together", "fireworks", "cerebras", "sambanova", "perplexity"]

REGISTRY = [
    ('(llm/configure :openai {:api-key "k"})', "nil"),
    ('(llm/configure :openai {:api-key "k"}) (llm/current-provider)', '{:model "gpt-5.5" :name :openai}'),
    (
        '(llm/configure :openai {:api-key "k" :default-model "m"}) (llm/current-provider)',
        '{:model "m" :name :openai}',
    ),
    ('(llm/configure :gemini {:api-key "k" :default-model 5}) (:model (llm/current-provider))', '"gemini-3.5-flash"'),
    ("(llm/configure :ollama {}) (llm/default-provider)", ":ollama"),
    ('(llm/configure :mine {:api-key "k" :base-url "http://h"}) (:model (llm/current-provider))', '"default"'),
    *((f"(llm/configure :{name} {{}})", "[llm] missing :api-key") for name in ("anthropic", "openai", "gemini")),
    *((f"(llm/configure :{name} {{}})", "[llm] missing :api-key") for name in ("groq", "xai", "mistral", "moonshot")),
    *((f"(llm/configure :{name} {{}})", "[llm] missing :api-key") for name in KEYED),
    (
        "(llm/configure :zzz {})",
        "[llm] unknown provider 'zzz': provide :api-key and :base-url to register as OpenAI-compatible",
    ),
    (
        '(llm/configure :zzz {:api-key "k"})',
        "[llm] unknown provider 'zzz': provide :base-url to register as OpenAI-compatible",
    ),
    ('(llm/configure "openai" {:api-key "k"})', "[type-error] expected keyword, got string"),
    ("(llm/configure :openai 5)", "[type-error] expected map, got int"),
    ("(llm/configure :openai)", "[arity] llm/configure expects 2 arguments, got 1"),
    ("(llm/set-default :zzz)", "[llm] provider not configured: zzz"),
    ('(llm/set-default "zzz")', "[llm] provider not configured: zzz"),
    ("(llm/set-default 5)", "[type-error] expected keyword or string, got int"),
    ("(llm/set-default :fake)", ":fake"),
    ('(llm/set-default "fake")', ":fake"),
    ("(llm/list-providers)", "(:fake)"),
    ("(llm/providers)", "(:fake)"),
    ('(llm/configure :b {:api-key "k" :base-url "http://h"}) (llm/providers)', "(:b :fake)"),
    ("(llm/current-provider)", '{:model "fake-1" :name :fake}'),
    ("(llm/default-provider)", ":fake"),
    (
        '(llm/define-provider :fake {:complete (fn (r) "new")}) (list (llm/complete "x") (llm/providers))',
        '("new" (:fake))',
    ),
    (
        '(llm/define-provider :b {:complete (fn (r) "b")}) (llm/set-default :fake) (llm/complete "x")',
        '"ok"',
    ),
]

LISP_PROVIDERS = [
    ('(llm/define-provider :p {:complete (fn (r) "x")})', ":p"),
    ('(llm/define-provider :p {:complete (fn (r) "x")}) (llm/current-provider)', '{:model "default" :name :p}'),
    ("(llm/define-provider :p {})", "[eval] llm/define-provider requires :complete function"),
    ("(llm/define-provider :p {:complete 5})", "[type-error] expected function, got int"),
    ("(llm/define-provider :p {:complete :k})", "[type-error] expected function, got keyword"),
    ('(llm/define-provider :p {:complete "x"})', "[type-error] expected function, got string"),
    ('(llm/define-provider "p" {:complete answer})', "[type-error] expected keyword, got string"),
    ("(llm/define-provider :p 5)", "[type-error] expected map, got int"),
    ("(llm/define-provider :p)", "[arity] llm/define-provider expects 2 arguments, got 1"),
    ('(llm/complete "hi") (last seen)', '{:max-tokens 4096 :messages ({:content "hi" :role "user"}) :model "fake-1"}'),
    (
        '(llm/complete "hi" {:model "m" :max-tokens 5 :temperature 1 :system "S"}) (last seen)',
        '{:max-tokens 5 :messages ({:content "hi" :role "user"}) :model "m" :system "S" :temperature 1.0}',
    ),
    (
        '(llm/chat [(message/with-image :user "look" (bytevector 1))]) (sent :messages)',
        '({:content "look" :role "user"})',
    ),
    (
        '(deftool t "d" {:a :string} (fn (a) a)) (llm/chat [(message :user "x")] {:tools [t]}) (sent :tools)',
        '({:description "d" :name "t" :parameters {:properties {:a {:type "string"}} :required ("a") :type "object"}})',
    ),
    ('(script "text") (llm/complete "x")', '"text"'),
    ('(script {}) (llm/complete "x")', '""'),
    ('(script {:content "text"}) (llm/complete "x")', '"text"'),
    ('(script {:content 5}) (llm/complete "x")', '""'),
    (
        '(script {:content "t" :usage usage}) (llm/complete "x") (llm/last-usage)',
        '{:cache-creation-tokens 0 :cache-read-tokens 0 :completion-tokens 2 :model "fake-1" :prompt-tokens 3'
        " :total-tokens 5}",
    ),
    (
        '(script {:model "other" :usage {:cache-read-tokens 4 :cache-creation-tokens 5}}) (llm/complete "x")'
        " (llm/last-usage)",
        '{:cache-creation-tokens 5 :cache-read-tokens 4 :completion-tokens 0 :model "other" :prompt-tokens 0'
        " :total-tokens 0}",
    ),
    ('(script {:usage {:prompt-tokens "x"}}) (llm/complete "x") (:prompt-tokens (llm/last-usage))', "0"),
    ('(script {:usage {:prompt-tokens -7}}) (llm/complete "x") (:prompt-tokens (llm/last-usage))', "0"),
    *(
        (
            f'(script {value}) (llm/complete "x")',
            "[llm] Parse error: lisp provider must return a string or map with :content",
        )
        for value in ("5", "nil", ":k", "'(1)", "[1]", "#t")
    ),
    (
        '(llm/define-provider :p {:complete (fn (r) (error "boom"))}) (llm/complete "x")',
        "[llm] API error: 0 - boom",
    ),
    (
        '(llm/define-provider :p {:complete (fn (r) (throw {:a 1}))}) (llm/complete "x")',
        "[llm] API error: 0 - User exception: {:a 1}",
    ),
    (
        '(llm/define-provider :p {:complete (fn (r) (car 5))}) (llm/complete "x")',
        "[llm] API error: 0 - expected list or vector, got int",
    ),
    (
        '(llm/define-provider :p {:complete (fn () "x")}) (llm/complete "x")',
        "[llm] API error: 0 - <lambda> expects no arguments, got 1",
    ),
    (
        '(define (inner r) (llm/set-default :fake) (str "<" (llm/complete "in") ">"))'
        '(llm/define-provider :p {:complete inner}) (llm/complete "x")',
        '"<ok>"',
    ),
    ('(define (p r) (async/sleep 1) "slept") (llm/define-provider :p {:complete p}) (llm/complete "x")', '"slept"'),
    ('(define heard (list)) (llm/stream "x" (fn (s) (set! heard (cons s heard)))) heard', '("ok")'),
    (
        '(script {:tool-calls [{:arguments {}}]}) (llm/complete "x")',
        "[llm] Parse error: lisp provider: a tool call needs a :name",
    ),
]

COMPLETIONS = [
    ('(llm/complete "x")', '"ok"'),
    ('(llm/complete (prompt (user "x")))', '"ok"'),
    ("(llm/complete 5)", "[type-error] expected string or prompt, got int"),
    ("(llm/complete)", "[arity] llm/complete expects 1 to 2 arguments, got 0"),
    ('(llm/complete "x" nil)', '"ok"'),
    ('(llm/complete "x" {:model 5 :max-tokens "x" :temperature "hot" :system 5}) (count (keys (last seen)))', "3"),
    ('(llm/complete "x" {:max-tokens 5.0}) (sent :max-tokens)', "4096"),
    ('(llm/complete "x" {:temperature 0}) (sent :temperature)', "0.0"),
    (
        '(llm/complete (prompt (system "S") (user "x")) {:system "T" :max-tokens 7 :temperature 0.5 :model "m"})'
        "(list (sent :system) (sent :max-tokens) (sent :temperature) (sent :model) (sent :messages))",
        '(nil 7 0.5 "m" ({:content "S" :role "system"} {:content "x" :role "user"}))',
    ),
    ('(llm/send (prompt (user "x")) {:system "T" :model "m"}) (list (sent :system) (sent :model))', '(nil "m")'),
    ('(llm/send "x")', "[type-error] expected prompt, got string"),
    ('(script "") (llm/complete "x")', '""'),
    ('(llm/chat [(message :user "x")])', '"ok"'),
    ("(llm/chat '()) (sent :messages)", "()"),
    ('(llm/chat (prompt (user "x")) {:system "S"}) (sent :system)', '"S"'),
    ('(llm/chat [(message :user "x") 5])', "[type-error] expected message, got int"),
    ('(llm/chat "x")', "[type-error] expected list of messages or prompt, got string"),
    ("(llm/chat {})", "[type-error] expected list of messages or prompt, got map"),
    ("(llm/stream 5)", "[type-error] expected string, prompt, or messages, got int"),
    ('(llm/stream ["x"])', "[type-error] expected message, got string"),
    ('(llm/stream (prompt (user "x")) (fn (s) s))', '"ok"'),
    ('(llm/stream [(message :user "x")] {:system "S"} (fn (s) s)) (sent :system)', '"S"'),
    ('(llm/stream "x" (fn (s) s) {:model "m" :temperature 1 :reasoning-effort :high}) (count (keys (last seen)))', "4"),
    ('(llm/stream "x" (fn (s) (error "stop")))', "[eval] stop"),
    ("(llm/stream)", "[arity] llm/stream expects 1 to 3 arguments, got 0"),
    ('(script ":bug") (llm/classify [:bug :question] "x")', '":bug"'),
    ('(script " bug\\n") (llm/classify [:bug :question] "x")', ":bug"),
    ('(script "bug") (llm/classify ["bug" :question] "x")', '"bug"'),
    ('(script "Bug") (llm/classify [:bug] "x")', '"Bug"'),
    (
        '(llm/classify [:bug "other" 5] "x") (list (sent :messages) (string/contains? (sent :system) "bug, other, 5"))',
        '(({:content "x" :role "user"}) #t)',
    ),
    ('(llm/classify 5 "x")', "[type-error] expected list or vector, got int"),
    ("(llm/classify [:a] 5)", "[type-error] expected string, got int"),
    ('(llm/batch ["a" :b 5])', '("ok" "ok" "ok")'),
    ('(llm/batch ["a" :b [1 "c"]]) (map (fn (r) (:content (car (:messages r)))) seen)', '("a" ":b" "[1 \\"c\\"]")'),
    ("(llm/batch [])", "()"),
    ('(llm/batch "a")', "[type-error] expected list or vector, got string"),
    ('(llm/batch ["a"] {:model "m" :max-tokens 3 :temperature 1 :system "S"}) (count (keys (last seen)))', "5"),
    ('(script "1" "2") (llm/pmap (fn (n) (* n 2)) [1 2])', '("1" "2")'),
    ("(llm/pmap (fn (n) (* n 2)) [1 2]) (map (fn (r) (:content (car (:messages r)))) seen)", '("2" "4")'),
    ("(llm/pmap (fn (n) n) 5)", "[type-error] expected list or vector, got int"),
    ('(llm/pmap (fn (n) (error "no")) [1])', "[eval] no"),
    ('(llm/summarize "long")', '"ok"'),
    ('(map llm/token-count ["abcdefg" ["abc" "d" 5] 12345678 nil "é"])', "(1 1 2 0 0)"),
    ('(llm/token-estimate "ééé")', '{:chars 6 :method "chars/4" :tokens 1}'),
    ("(llm/summarize 5)", "[type-error] expected string, got int"),
    ('(llm/summarize "long" {:max-length 20 :style "bullets"}) (string/contains? (sent :system) "20")', "#t"),
    (
        '(script "```json\\n{\\"similarity\\": 0.5, \\"differences\\": [\\"a\\"], \\"summary\\": \\"s\\"}\\n```")'
        '(llm/compare "a" "b")',
        '{:differences ("a") :similarity 0.5 :summary "s"}',
    ),
    ('(llm/compare 5 "b")', "[type-error] expected string, got int"),
    (
        '(string/starts-with? (try (llm/compare "a" "b") (catch e (:message e))) "failed to parse comparison JSON: ")',
        "#t",
    ),
    ('(string/ends-with? (try (llm/compare "a" "b") (catch e (:message e))) "\\nResponse: ok")', "#t"),
]

EXTRACTION = [
    ('(script "{\\"a\\": 1}") (llm/extract {:a :number} "x")', "{:a 1}"),
    ('(script "```json\\n{\\"a\\": [1, null]}\\n```") (llm/extract {:a [:number]} "x" {:validate #f})', "{:a (1 nil)}"),
    ('(script "```\\n{\\"a\\": {\\"b c\\": true}}\\n```") (llm/extract {:a {}} "x")', "{:a {:b c #t}}"),
    ('(script "  [1, 2.5] ") (llm/extract [:list :number] "x")', "(1 2.5)"),
    ('(script "5") (llm/extract "anything" "x")', "5"),
    (
        '(string/starts-with? (try (llm/extract {} "x") (catch e (:message e))) "failed to parse LLM JSON response: ")',
        "#t",
    ),
    ('(string/ends-with? (try (llm/extract {} "x") (catch e (:message e))) "\\nResponse was: ok")', "#t"),
    ('(try (llm/extract {} "x") (catch e (list (:type e) (length seen))))', "(:llm 1)"),
    ("(llm/extract {} 5)", "[type-error] expected string, got int"),
    *(
        (
            f'(script {reply!s} {reply!s} {reply!s}) (llm/extract {schema} "x")',
            f"[llm] extraction validation failed after 3 attempt(s): {errors}",
        )
        for schema, reply, errors in (
            ("{:a :string}", '"[1]"', "expected map result, got list"),
            ("{:b :string :a :number}", '"{}"', "missing key: a; missing key: b"),
            ("{:a :string}", '"{\\"a\\": 1}"', "key a: expected string, got int"),
            ("{:a {:type :number}}", '"{\\"a\\": \\"1\\"}"', "key a: expected number, got string"),
            ("{:a :boolean}", '"{\\"a\\": null}"', "key a: expected boolean, got nil"),
            ("{:a :bool}", '"{\\"a\\": 1.5}"', "key a: expected bool, got float"),
            ("{:a :list}", '"{\\"a\\": {}}"', "key a: expected list, got map"),
            ('{:a {:type "array"}}', '"{\\"a\\": 1}"', "key a: expected array, got int"),
            ("{:a :int}", '"{\\"a\\": 1.5}"', "key a: expected int, got float"),
            ("{:a [:string]}", '"{\\"a\\": 5}"', "key a: expected list, got int"),
            ("{:a {:validate (fn (v) #f)}}", '"{\\"a\\": \\"z\\"}"', 'key a: custom validation failed for value "z"'),
            ('{:a {:validate (fn (v) nil) :message "bad a"}}', '"{\\"a\\": 1}"', "key a: bad a"),
            ('{:a {:validate (fn (v) (error "oh"))}}', '"{\\"a\\": 1}"', "key a: validation error: oh"),
        )
    ),
    ('(script "{\\"a\\": 2.0}") (llm/extract {:a :int} "x")', "{:a 2.0}"),
    ('(script "{\\"a\\": 2, \\"z\\": 1}") (llm/extract {:a :mystery} "x")', "{:a 2 :z 1}"),
    ('(script "{}") (llm/extract {:a {:type :string :optional #t}} "x")', "{}"),
    ('(script "{\\"a\\": null}") (llm/extract {:a {:optional #t}} "x")', "{:a nil}"),
    ('(script "{}" "{\\"a\\": 1}") (list (llm/extract {:a :number} "x") (length seen))', "({:a 1} 2)"),
    (
        '(script "{}") (llm/extract {:a :number} "x" {:retries 0})',
        "[llm] extraction validation failed after 1 attempt(s): missing key: a",
    ),
    ('(script "{}") (llm/extract {:a :number} "x" {:validate #f})', "{}"),
    (
        '(script "{\\"q\\":1}" "{\\"a\\": 1}") (llm/extract {:a :number} "x")'
        "(map (fn (part) (string/contains? (sent :system) part))"
        ' ["```json\\n{\\"q\\":1}\\n```" "missing key: a" "number"])',
        "(#t #t #t)",
    ),
    (
        '(script "{\\"q\\":1}" "{\\"a\\": 1}") (llm/extract {:a :number} "x" {:reask? #f})'
        '(list (string/contains? (sent :system) "q") (string/starts-with? (sent :system) (:system (car seen)))'
        ' (string/contains? (sent :system) "missing key: a") (sent :messages))',
        '(#f #t #t ({:content "x" :role "user"}))',
    ),
]


@pytest.mark.parametrize(
    ("program", "shown"),
    table(
        s1=REGISTRY,
        s4=LISP_PROVIDERS,
        s5=COMPLETIONS,
        s5_extract=EXTRACTION,
    ),
)
def test_contract(program: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_NO_LLM", "1")
    assert outcome(program) == shown
    assert SLEPT in ([], [1])
