"""The contract of the LLM part, line by line: results, defaults, printed forms and error texts, as programs see them.

Each entry is (program, what it prints); an error is shown as `[kind] message`. The ids name the sections: 1 registry,
2 auto-configuration, 3 errors of providers, 4 providers written in Sema, 5 completions, 6 prompts, 7 conversations,
8 tools and agents. test_llm_contract_scopes.py has sections 9 to 12 and 16.
"""

from __future__ import annotations

from typing import Any

import pytest
from llm_support import SLEPT, run
from llm_support import llm as llm

from sema_runtime.values.conditions import condition_of
from sema_runtime.values.printer import to_text

pytestmark = pytest.mark.usefixtures("llm")

FAKE = """
(define replies '())
(define seen '())
(define (script . given) (set! replies given))
(define (answer req)
  (set! seen (append seen (list req)))
  (if (null? replies) "ok" (let ((first-one (car replies))) (set! replies (cdr replies)) first-one)))
(define (sent key) (get (last seen) key))
(llm/define-provider :fake {:default-model "fake-1" :complete answer})
(define usage {:prompt-tokens 3 :completion-tokens 2})
(define (calls . names) (map (fn (name) {:id name :name name :arguments {:a 1}}) names))
"""


def outcome(program: str) -> str:
    """What a program prints, or `[kind] message`."""
    try:
        return to_text(run(FAKE + program))
    except Exception as raised:
        error = condition_of(raised)
        return f"[{error.kind}] {error.message}"


def table(**sections: list[tuple[str, str]]) -> list[Any]:
    return [
        pytest.param(program, shown, id=f"{section}: {program[:70]}")
        for section, entries in sections.items()
        for program, shown in entries
    ]


NO_PROVIDER = "[llm] no LLM provider configured. Use (llm/configure :anthropic {:api-key ...}) first"
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

PROMPTS = [
    ('(message :user "a" 1 :k "b" nil)', '<message user "a1:kbnil">'),
    ('(prompt (system "a") (user "b") (assistant "c") (tool "d"))', "<prompt 4 messages>"),
    ('(prompt (list "user" (list "a" 1)) (message :user "b"))', "<prompt 2 messages>"),
    ("(prompt 5)", "[eval] prompt: expected (role parts) pair or message value"),
    ('(prompt (prompt (user "x")))', "[eval] prompt: expected (role parts) pair or message value"),
    ('(prompt (list "weird" (list "a")))', "[eval] prompt: unknown role 'weird'"),
    ('(message :weird "a")', "[eval] message: unknown role 'weird'"),
    ('(message/role (message :tool "a"))', ":tool"),
    ("(message/role 5)", "[type-error] expected message, got int"),
    ('(message/content (message :user "a" "b"))', '"ab"'),
    ('(message/content "x")', "[type-error] expected message, got string"),
    ('(list (message? (message :user "x")) (message? "x") (prompt? (prompt)) (prompt? nil))', "(#t #f #t #f)"),
    ('(message/with-image :user "t" (bytevector 1))', '<message user "t">'),
    ('(message/with-image :weird "t" (bytevector 1))', "[eval] message/with-image: unknown role 'weird'"),
    ('(message/with-image "user" "t" (bytevector 1))', "[type-error] expected keyword, got string"),
    ("(message/with-image :user 5 (bytevector 1))", "[type-error] expected string, got int"),
    ('(message/with-image :user "t" "path.png")', "[type-error] expected bytevector, got string"),
    ('(message/with-image :user "t")', "[arity] message/with-image expects 3 to 4 arguments, got 2"),
    ('(prompt/messages (prompt (user "a") (system "b")))', '(<message user "a"> <message system "b">)'),
    ("(prompt/messages 5)", "[type-error] expected prompt, got int"),
    ('(prompt/append (prompt (user "a")) (prompt (user "a")) (prompt))', "<prompt 2 messages>"),
    ('(prompt/concat (prompt (user "a")))', "<prompt 1 messages>"),
    ("(prompt/append)", "[arity] prompt/append expects 1 or more arguments, got 0"),
    ('(prompt/append (prompt) "x")', "[type-error] expected prompt, got string"),
    (
        '(prompt/messages (prompt/set-system (prompt (user "a") (system "x") (system "y")) "z"))',
        '(<message system "z"> <message user "a">)',
    ),
    ("(prompt/messages (prompt/set-system (prompt) 5))", '(<message system "5">)'),
    (
        '(prompt/messages (prompt/fill (prompt (user "{{a}} {{b}} {{ a }} {{c}} {{d")) {:a "x" :b [1 "y"] :d 1}))',
        '(<message user "x [1 "y"] {{ a }} {{c}} {{d">)',
    ),
    ("(prompt/fill (prompt) [])", "[type-error] expected map, got vector"),
    ('(prompt/fill "x" {})', "[type-error] expected prompt, got string"),
    ('(prompt/slots (prompt (user "{{b}} {{a}} {{}}") (system "{{a}} {{c d}} {{e")))', "(:b :a :c d)"),
    (
        '(prompt/diff (prompt (user "a") (user "b")) (prompt (user "b") (system "a")))',
        '{:added (<message system "a">) :removed (<message user "a">)}',
    ),
    ('(prompt/diff (prompt) "x")', "[type-error] expected prompt, got string"),
    (
        '(define both (prompt/union (prompt (user "a") (user "a")) (prompt (user "b") (user "a"))))'
        "(map message/content (prompt/messages both))",
        '("a" "b")',
    ),
    (
        '(prompt/messages (prompt/intersection (prompt (user "a") (user "b") (user "b")) (prompt (user "b"))))',
        '(<message user "b">)',
    ),
    (
        '(prompt/messages (prompt/difference (prompt (user "a") (user "a") (user "b")) (prompt (user "b"))))',
        '(<message user "a">)',
    ),
    (
        '(prompt/union (prompt (message/with-image :user "a" (bytevector 1))) (prompt (user "a")))',
        "<prompt 1 messages>",
    ),
    ('(prompt/template "{{x}}")', '"{{x}}"'),
    ("(prompt/template 5)", "[type-error] expected string, got int"),
    ('(prompt/render "{{x}} {{y}} {{x" {:x "{{y}}" :y 1})', '"{{y}} 1 {{x"'),
    ("(prompt/render 5 {})", "[type-error] expected string, got int"),
    ('(prompt/render "x" 5)', "[type-error] expected map, got int"),
]

TALK = '(define c (conversation/add-message (conversation/add-message (conversation/new {:model "m"}) :user "Hi")'
TALK += ' :assistant "Hello")) '
CONVERSATIONS = [
    ("(conversation/new)", "<conversation 0 messages>"),
    ('(conversation/model (conversation/new {:model "m" :topic :x}))', '"m"'),
    ("(conversation/model (conversation/new {:model 5}))", '""'),
    ("(conversation/models-used (conversation/new))", "()"),
    (TALK + "(conversation/models-used c)", '("m")'),
    (TALK + "(list (conversation/length c) (conversation/turns c) (conversation? c) (conversation? 5))", "(2 1 #t #f)"),
    (TALK + "(conversation/messages c)", '(<message user "Hi"> <message assistant "Hello">)'),
    (TALK + "(conversation/last-reply c)", '"Hello"'),
    ("(conversation/last-reply (conversation/new))", "[eval] no assistant reply in conversation"),
    (TALK + '(list (conversation/system c) (conversation/system (conversation/set-system c "S")))', '(nil "S")'),
    (
        TALK + '(conversation/messages (conversation/set-system (conversation/add-message c :system "T") "S"))',
        '(<message system "S"> <message user "Hi"> <message assistant "Hello">)',
    ),
    ("(conversation/length 5)", "[type-error] expected conversation, got int"),
    (TALK + '(conversation/add-message c :weird "x")', "[eval] conversation/add-message: unknown role 'weird'"),
    (TALK + '(conversation/add-message c "user" "x")', "[type-error] expected keyword, got string"),
    (TALK + "(last (conversation/messages (conversation/add-message c :user 5)))", '<message user "5">'),
    (TALK + "(conversation/filter c (fn (m) (= :user (message/role m))))", "<conversation 1 messages>"),
    (TALK + "(conversation/map c message/content)", '("Hi" "Hello")'),
    (
        TALK + '(conversation/messages (conversation/map-role c :user (fn (m) (message :system "S"))))',
        '(<message system "S"> <message assistant "Hello">)',
    ),
    (TALK + "(conversation/map-role c :user (fn (m) 5))", "[type-error] expected message, got int"),
    (TALK + "(conversation/map-role c :weird (fn (m) m))", "[eval] conversation/map-role: unknown role 'weird'"),
    (TALK + "(conversation/find c (fn (m) (= :assistant (message/role m))))", '<message assistant "Hello">'),
    (TALK + "(conversation/find c (fn (m) #f))", "nil"),
    (TALK + '(conversation/search c "HELL")', '({:content "Hello" :index 1 :role :assistant})'),
    (TALK + "(conversation/search c 5)", "[type-error] expected string, got int"),
    (TALK + "(conversation/remove c 0)", "<conversation 1 messages>"),
    (TALK + "(conversation/remove c 2)", "[eval] conversation/remove: index 2 out of bounds (length 2)"),
    (TALK + "(conversation/remove c -1)", "[eval] conversation/remove: index -1 out of bounds (length 2)"),
    (TALK + '(conversation/remove c "0")', "[type-error] expected int, got string"),
    (TALK + '(conversation/length (conversation/insert c 2 (message :user "x")))', "3"),
    (TALK + '(car (conversation/messages (conversation/insert c 0 :system "x")))', '<message system "x">'),
    (TALK + "(car (conversation/messages (conversation/insert c 0 :user nil)))", '<message user "nil">'),
    (TALK + '(conversation/insert c 3 :user "x")', "[eval] conversation/insert: index 3 out of bounds (length 2)"),
    (TALK + '(conversation/insert c 0 "x")', "[type-error] expected message, got string"),
    (TALK + '(conversation/insert c 9 :weird "x")', "[eval] conversation/insert: unknown role 'weird'"),
    (
        TALK + '(conversation/messages (conversation/replace c 0 :user "Ho"))',
        '(<message user "Ho"> <message assistant "Hello">)',
    ),
    (TALK + '(conversation/replace c 2 :user "x")', "[eval] conversation/replace: index 2 out of bounds (length 2)"),
    (TALK + "(equal? c (conversation/fork c))", "#t"),
    (TALK + "(list (conversation/token-count c) (conversation/token-count (conversation/new)))", "(2 0)"),
    ('(conversation/token-count (conversation/add-message (conversation/new) :user "éé"))', "1"),
    (TALK + "(conversation/cost c)", "nil"),
    (
        TALK + "(conversation/stats c)",
        '{:cost nil :messages 2 :models ("m") :tokens {:completion 0 :prompt 0 :total 0} :turns 1}',
    ),
    (
        '(script {:content "hey" :usage usage}) (conversation/stats (conversation/say (conversation/new) "x"))',
        "{:cost nil :messages 2 :models () :tokens {:completion 2 :prompt 3 :total 5} :turns 1}",
    ),
    (
        '(llm/set-pricing "fake" 1000000 1000000) (script {:content "a" :usage usage} {:content "b" :usage usage})'
        '(conversation/cost (conversation/say (conversation/say (conversation/new {:model "fake-1"}) "x") "y"))',
        "10.0",
    ),
    (
        TALK + '(conversation/say c "more" {:temperature 1 :max-tokens 9 :system "S" :model "no"}) (last seen)',
        '{:max-tokens 9 :messages ({:content "Hi" :role "user"} {:content "Hello" :role "assistant"}'
        ' {:content "more" :role "user"}) :model "m" :system "S" :temperature 1.0}',
    ),
    ('(conversation/say (conversation/new) "x") (sent :model)', '"fake-1"'),
    (TALK + '(map conversation/length (list c (conversation/say c "x")))', "(2 4)"),
    (
        '(conversation/messages (conversation/say (conversation/new) [1 "a"]))',
        '(<message user "[1 "a"]"> <message assistant "ok">)',
    ),
    (
        '(define s (conversation/set-system (conversation/new) "S")) (define t (conversation/say-as s "T" "x"))'
        "(list (sent :system) (sent :messages) (conversation/messages t))",
        '("T" ({:content "x" :role "user"}) (<message system "S"> <message user "x"> <message assistant "ok">))',
    ),
    (
        '(conversation/say-as (conversation/new) (prompt (system "a") (user "u") (system "b")) "x") (sent :system)',
        '"a\\nb"',
    ),
    ('(conversation/say-as (conversation/new) 5 "x")', "[type-error] expected prompt or string, got int"),
    (
        '(conversation/stats (conversation/new {:usage-prompt-tokens "x" :usage-cost "y"}))',
        "{:cost nil :messages 0 :models () :tokens {:completion 0 :prompt 0 :total 0} :turns 0}",
    ),
    (
        '(define heard \'()) (define c (conversation/say (conversation/new) "x"'
        " {:on-text (fn (s) (set! heard (list s)))}))"
        "(list heard (conversation/last-reply c))",
        '(("ok") "ok")',
    ),
]

ADD = '(deftool add "Adds" {:a {:type :number} :b {:type :number :optional #t}} (fn (b a) (list a b)))'
TOOLS = [
    ('(deftool t "d" {} (fn () 1))', "<tool t>"),
    ("(deftool t 5 {} (fn () 1))", "[type-error] deftool argument 2 expected string, got int"),
    ('(deftool t "d" {} {:x 1} (fn () 1))', "[eval] deftool: unknown option :x"),
    (ADD + "(list (tool/name add) (tool/description add) (tool? add) (tool? 5))", '("add" "Adds" #t #f)'),
    (ADD + "(tool/parameters add)", "{:a {:type :number} :b {:optional #t :type :number}}"),
    ("(tool/name 5)", "[type-error] expected tool, got int"),
    (ADD + "(tool/invoke add {:a 1})", "(1 nil)"),
    (ADD + "(tool/invoke add {:a 1 :b 2})", "(1 2)"),
    (ADD + '(tool/invoke add {:a "x"})', "[llm] invalid arguments for tool 'add': key a: expected number, got string"),
    (ADD + "(tool/invoke add {})", "[llm] invalid arguments for tool 'add': missing key: a"),
    ('(deftool t "d" {:a {:type :number :default 7}} (fn (a) a)) (tool/invoke t {})', "7"),
    ('(deftool t "d" {} (fn () 1)) (tool/policy-subjects t)', "[]"),
    ("(defagent a {})", "<agent a>"),
    ("(agent {})", "<agent >"),
    ("(agent 5)", "[type-error] expected map, got int"),
    (
        '(define a (agent {:name "n" :system 5 :tools 5 :model 5 :max-turns "x"}))'
        "(list (agent/name a) (agent/system a) (agent/tools a) (agent/model a) (agent/max-turns a) (agent? a))",
        '("n" "" () "" 10 #t)',
    ),
    ("(agent/name 5)", "[type-error] expected agent, got int"),
    ('(agent/run 5 "x")', "[type-error] expected agent, got int"),
    ('(agent/run (agent {}) "x")', '"ok"'),
    ('(agent/run (agent {}) [1 "a"]) (sent :messages)', '({:content "[1 \\"a\\"]" :role "user"})'),
    (
        '(agent/run (agent {:system "S" :model "m"}) "x") (list (sent :system) (sent :model) (sent :max-tokens))',
        '("S" "m" 4096)',
    ),
    (
        '(define r (agent/run (agent {}) "x" {})) (list (:response r) (:messages r) (:session r))',
        '("ok" ({:content "x" :role "user"} {:content "ok" :role "assistant"}) <conversation 2 messages>)',
    ),
    (
        ADD + '(script {:content "let me" :tool-calls (calls "add")} "done")'
        "(map (fn (m) (list (:role m) (:content m) (:tool-call-id m) (:tool-name m)))"
        ' (:messages (agent/run (agent {:tools [add]}) "x" {})))',
        '(("user" "x" nil nil) ("assistant" "let me" nil nil) ("tool" "[1,null]" "add" "add")'
        ' ("assistant" "done" nil nil))',
    ),
    (
        ADD + '(script {:content "again" :tool-calls (calls "add")} {:tool-calls (calls "add")})'
        '(list (agent/run (agent {:tools [add] :max-turns 2}) "x") (length seen))',
        '("" 2)',
    ),
    (
        '(script {:tool-calls (calls "gone")} "done") (agent/run (agent {}) "x") (:content (last (sent :messages)))',
        '"Error: LLM error: tool not found: gone"',
    ),
    (
        '(deftool t "d" {:z :string} (fn (z) 1)) (script {:tool-calls (calls "t")} "done")'
        '(agent/run (agent {:tools [t]}) "x") (:content (last (sent :messages)))',
        "\"Error: LLM error: invalid arguments for tool 't': missing key: z\"",
    ),
    (
        '(deftool t "d" {} (fn () (error "broken"))) (script {:tool-calls (calls "t")} "done")'
        '(agent/run (agent {:tools [t]}) "x") (:content (last (sent :messages)))',
        '"Error: broken"',
    ),
    (
        '(script {:tool-calls (calls "1" "2" "3")} {:tool-calls (calls "4" "5" "6")}) (agent/run (agent {}) "x")',
        "[llm] aborting agent run after 5 consecutive tool errors",
    ),
    (
        '(deftool ok "d" {} (fn () "fine"))'
        '(script {:tool-calls (calls "1" "2" "3" "4" "ok")} {:tool-calls (calls "1" "2" "3" "4")} "done")'
        '(agent/run (agent {:tools [ok]}) "x")',
        '"done"',
    ),
    *(
        (
            f'(deftool t "d" {{}} (fn () {value})) (script {{:tool-calls (calls "t")}} "done")'
            '(agent/run (agent {:tools [t]}) "x") (:content (last (sent :messages)))',
            shown,
        )
        for value, shown in (
            ('"raw"', '"raw"'),
            ("{:a [1 2.5 nil #t] :b :k}", '"{\\"a\\":[1,2.5,null,true],\\"b\\":\\"k\\"}"'),
            ('\'(1 "é")', '"[1,\\"é\\"]"'),
            ("nil", '"nil"'),
            (":k", '":k"'),
            ("1.0", '"1.0"'),
        )
    ),
    (
        ADD + '(define events (list)) (script {:tool-calls (calls "add")} "done")'
        '(agent/run (agent {:tools [add]}) "x" {:on-tool-call (fn (e) (set! events (append events (list e))))})'
        "(map (fn (e) (list (:event e) (:tool e) (:args e) (:result e) (:error e) (integer? (:duration-ms e))))"
        " events)",
        '(("start" "add" {:a 1} nil nil #f) ("end" "add" {:a 1} "[1,null]" #f #t))',
    ),
    (
        '(deftool t "d" {} (fn () (string/repeat "x" 300))) (define end nil) (script {:tool-calls (calls "t")} "done")'
        '(agent/run (agent {:tools [t]}) "x" {:on-tool-call (fn (e) (set! end e))}) (string/length (:result end))',
        "203",
    ),
    (
        ADD + '(script {:tool-calls (calls "add")} "done")'
        '(agent/run (agent {:tools [add]}) "x" {:on-tool-call (fn (e) (error "ignored"))}) (length seen)',
        "2",
    ),
    (
        '(define r (agent/run (agent {}) "one" {})) (agent/run (agent {}) "two" {:session (:session r)})'
        "(map :content (sent :messages))",
        '("one" "ok" "two")',
    ),
    (
        ADD + '(script {:tool-calls (calls "add")} "done") (define r (agent/run (agent {:tools [add]}) "one" {}))'
        '(define s (agent/run (agent {}) "two" {:messages (:messages r)}))'
        "(list (map :content (sent :messages)) (:tool-calls (nth (:messages s) 1)))",
        '(("one" "" "[1,null]" "done" "two") ({:arguments {:a 1} :id "add" :name "add"}))',
    ),
    (
        ADD + '(script {:tool-calls (calls "add")} "done")'
        '(llm/chat [(message :user "x")] {:tools [add] :max-tool-rounds 1})',
        '""',
    ),
    (ADD + '(llm/chat [(message :user "x")] {:tools [add] :tool-mode :none}) (sent :tools)', "nil"),
    (
        '(define got nil) (script {:content "part" :tool-calls (calls "1" "2" "3" "4" "5")})'
        '(try (agent/run (agent {}) "x" {:on-partial (fn (p) (set! got p) (error "swallowed"))}) (catch e'
        " (list (:message e) (:response got) (length (:messages got)))))",
        '("aborting agent run after 5 consecutive tool errors" "part" 7)',
    ),
]


@pytest.mark.parametrize(
    ("program", "shown"),
    table(
        s1=REGISTRY,
        s4=LISP_PROVIDERS,
        s5=COMPLETIONS,
        s5_extract=EXTRACTION,
        s6=PROMPTS,
        s7=CONVERSATIONS,
        s8=TOOLS,
    ),
)
def test_contract(program: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_NO_LLM", "1")
    assert outcome(program) == shown
    assert SLEPT in ([], [1])
