"""The contract of the LLM part, continued: prompts (6), conversations (7), tools and agents (8)."""

from __future__ import annotations

import pytest
from llm_contract import outcome, table
from llm_support import llm as llm

pytestmark = pytest.mark.usefixtures("llm")

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


@pytest.mark.parametrize(("program", "shown"), table(s6=PROMPTS, s7=CONVERSATIONS, s8=TOOLS))
def test_contract(program: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_NO_LLM", "1")
    assert outcome(program) == shown
