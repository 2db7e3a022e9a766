"""Policies in force: completions, streams, tools, embeddings, caches and tapes under them, and the events that tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from llm_support import run

from sema_runtime.values.errors import PolicyDenied, SemaError
from sema_runtime.values.printer import to_text
from sema_runtime.workflow import policy

pytestmark = pytest.mark.usefixtures("llm")

ECHO = """
(define asked (list))
(define (answers-with f)
  (llm/define-provider :fake {:default-model "m1" :complete (fn (req) (set! asked (cons req asked)) (f req))})
  (llm/set-default :fake))
(define (last-text req) (:content (last (:messages req))))
(answers-with (fn (req) {:content (str "re: " (last-text req)) :usage {:prompt-tokens 3 :completion-tokens 2}}))
"""


class Journal:
    """The events that were told, as (name, fields)."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def record(self, kind: Any, **fields: Any) -> None:
        kind(0, "", **fields)  # has all fields
        self.events.append((kind.name.removeprefix("policy."), fields))

    def told(self, *names: str) -> list[tuple[str, ...]]:
        return [(name, *(str(fields[one]) for one in names)) for name, fields in self.events]


def under(rules: str, program: str, journal: Journal | None = None) -> str:
    """What a program prints as its value where policies are in force."""
    with policy.in_force(policy.compiled(run(rules)), (journal or Journal()).record):
        return to_text(run(ECHO + program))


def denial(rules: str, program: str, journal: Journal | None = None) -> PolicyDenied:
    with pytest.raises(PolicyDenied) as caught:
        under(rules, program, journal)
    return caught.value


# Models


def test_an_allowed_model() -> None:
    journal = Journal()
    assert under('{:models {:allow ["fake/m1"]}}', '(llm/complete "a")', journal) == '"re: a"'
    assert journal.told("boundary", "subject", "rule", "source") == [
        ("checked", "model", "fake/m1", "models.allow", "request")
    ]


def test_a_denied_model_is_a_condition_with_its_fields() -> None:
    program = '(list (try (llm/complete "a" {:model "m2"}) (catch e (dissoc e :stack-trace))) (length asked))'
    shown = under('(defpolicy strict {:models {:allow ["fake/m1"]}}) strict', program)
    assert shown == (
        '({:action "fail" :boundary "model" :message "Policy \'strict\' denied model \'fake/m2\': the model is not '
        'allowed" :policy "strict" :reason "the model is not allowed" :rule "models.default-deny" :source "request" '
        ':subject "fake/m2" :type :policy-denied} 0)'
    )


def test_a_denial_is_told() -> None:
    journal = Journal()
    denial('{:models {:deny ["fake/*"]}}', '(llm/complete "a")', journal)
    assert journal.told("rule", "action") == [("violation", "models.deny", "fail")]


CHAIN = """
(llm/define-provider :first {:default-model "x" :complete (fn (req) (error "down"))})
(llm/define-provider :second {:default-model "y" :complete (fn (req) {:content "second"})})
(llm/with-fallback [:first :second] (fn () (llm/complete "a")))
"""


def test_skip_passes_over_a_target_of_a_chain() -> None:
    journal = Journal()
    rules = '{:models {:default :allow :deny ["first/*"] :on-deny :skip}}'
    assert under(rules, CHAIN.replace('(error "down")', '{:content "first"}'), journal) == '"second"'
    assert ("violation", "first/x", "skip") in [(n, f["subject"], f.get("action")) for n, f in journal.events]


def test_skip_fails_without_another_target() -> None:
    rules = '{:models {:deny ["first/*" "second/*"] :on-deny :skip}}'
    assert denial(rules, CHAIN).subject == "first/x"
    assert denial('{:models {:deny ["fake/*"] :on-deny :skip}}', '(llm/complete "a")').action == "skip"


def test_a_later_target_is_denied_when_its_turn_comes(capsys: pytest.CaptureFixture[str]) -> None:
    rules = '{:models {:allow ["first/x"]}}'
    assert under(rules, CHAIN.replace('(error "down")', '{:content "first"}')) == '"first"'
    assert denial(rules, CHAIN).subject == "second/y"


# Texts


def test_input_is_redacted_everywhere() -> None:
    program = """
    (llm/chat (list (message :system "s@x.io") (message :user "mail a@b.io")) {:system "root@c.io"})
    (list (:system (car asked)) (map :content (:messages (car asked))))"""
    journal = Journal()
    shown = under("{:input {:detect [:email] :actions {:email :redact}}}", program, journal)
    assert shown == '("«redacted:email»" ("«redacted:email»" "mail «redacted:email»"))'
    assert journal.told("label", "count", "boundary") == [("redacted", "email", "3", "llm.input")]


def test_input_is_blocked_before_anything_is_asked() -> None:
    found = denial("{:input {:detect [:secret]}}", '(llm/complete "key AKIAIOSFODNN7EXAMPLE")')
    assert (found.boundary, found.rule, found.action) == ("llm.input", "input.detect.secret", "block")
    assert "AKIA" not in found.message


def test_audit_only_tells() -> None:
    journal = Journal()
    rules = "{:input {:detect [:email] :actions {:email :audit}}}"
    assert under(rules, '(llm/complete "a@b.io c@d.io")', journal) == '"re: a@b.io c@d.io"'
    assert journal.told("label", "count", "action") == [("flagged", "email", "2", "audit")]


def test_a_text_that_is_too_large_is_blocked() -> None:
    program = '(llm/complete (string/repeat "x" 16777217))'
    assert denial("{:input {:detect [:email]}}", program).rule == "input.size"


def answering(text: str, program: str = '(llm/complete "q")') -> str:
    return f"(answers-with (fn (req) {{:content {to_text(text)}}})) {program}"


@pytest.mark.parametrize(
    ("rules", "reply", "rule"),
    [
        ("{:detect [:email]}", "a@b.io", "output.detect.email"),
        ('{:forbid [{:id :internal :contains "SECRET-"}]}', "x SECRET-1", "output.forbid.internal"),
        ('{:forbid [{:id :n :regex "[0-9]{4}"}]}', "in 2024", "output.forbid.n"),
        ('{:require ["DISCLAIMER"]}', "no", "output.require.DISCLAIMER"),
        ('{:require [{:id :sum :regex "total: [0-9]+"}]}', "total: ?", "output.require.sum"),
        ("{:max-length 3}", "four", "output.max-length"),
        ("{:schema {:a :string}}", "text", "output.schema"),
        ("{:schema {:a :string}}", "[1]", "output.schema"),
        ("{:schema {:a :string}}", '{"b": "x"}', "output.schema"),
        ("{:schema {:a {:type :number :optional #t}}}", '{"a": true}', "output.schema"),
    ],
)
def test_a_reply_that_is_denied(rules: str, reply: str, rule: str) -> None:
    found = denial(f"{{:output {rules}}}", answering(reply))
    assert (found.boundary, found.rule) == ("llm.output", rule)
    assert found.subject == "fake/m1"


def test_a_reply_that_passes() -> None:
    rules = '{:output {:schema {:a :string :n {:type :number :optional #t}} :max-length 20 :require ["x"]}}'
    assert under(rules, answering('{"a": "x"}')) == r'"{\"a\": \"x\"}"'


def test_rules_for_replies_that_are_only_told() -> None:
    journal = Journal()
    assert under("{:output {:max-length 3 :action :audit}}", answering("four"), journal) == '"four"'
    assert journal.told("rule", "action") == [("flagged", "output.max-length", "audit")]


def test_a_reply_is_redacted() -> None:
    rules = "{:output {:detect [:email] :actions {:email :redact}}}"
    assert under(rules, answering("ask a@b.io")) == '"ask «redacted:email»"'


STREAM = """
(define seen (list))
(define result (try (llm/stream "a@b.io now" (fn (piece) (set! seen (append seen (list piece))))) (catch e (:type e))))
(list result seen)"""


def test_a_stream_is_held_back_until_it_is_checked() -> None:
    assert under("{:output {:detect [:email]}}", STREAM) == "(:policy-denied ())"
    redact = "{:output {:detect [:email] :actions {:email :redact}}}"
    assert under(redact, STREAM) == '("re: «redacted:email» now" ("re: «redacted:email» now"))'
    assert under("{:output {:max-length 100}}", STREAM) == under("{}", STREAM)


def test_batches() -> None:
    redact = "{:input {:detect [:email] :actions {:email :redact}}}"
    assert under(redact, '(llm/batch ["a@b.io" "b"])') == '("re: «redacted:email»" "re: b")'
    assert denial("{:output {:max-length 5}}", '(llm/batch ["a" "bcd"])').rule == "output.max-length"


# Several policies


def test_all_policies_must_allow_and_the_strictest_action_wins() -> None:
    rules = """[{:tools {:on-deny :tool-error} :models {:default :allow}}
                (begin (defpolicy second {:models {:default :allow} :input {:detect [:email]}}) second)]"""
    assert denial(rules, '(llm/complete "a@b.io")').policy == "second"
    both = "[{:input {:detect [:email] :actions {:email :redact}}} {:input {:detect [:ipv4] :actions {:ipv4 :redact}}}]"
    assert under(both, '(llm/complete "a@b.io 10.0.0.1")') == '"re: «redacted:email» «redacted:ipv4»"'


def test_an_inner_policy_only_tightens() -> None:
    outer, inner = (
        policy.compiled(run(text)) for text in ('{:models {:deny ["fake/m1"]}}', "{:models {:default :allow}}")
    )
    record = Journal().record
    with policy.in_force(outer, record), policy.in_force(inner, record), pytest.raises(PolicyDenied):
        run(ECHO + '(llm/complete "a")')


# Without


def test_without() -> None:
    journal = Journal()
    program = '(policy/without "reviewed by legal" (llm/complete "a@b.io"))'
    rules = "{:models {} :input {:detect [:email]} :output {:detect [:email]}}"
    assert under(rules, program, journal) == '"re: a@b.io"'
    assert journal.told("boundary", "reason") == [
        ("bypassed", one, "reviewed by legal") for one in ("model", "llm.input", "llm.output")
    ]


def test_without_ends_with_its_body_and_needs_a_policy_and_a_reason() -> None:
    denial("{:models {}}", '(policy/without "r" 1) (llm/complete "a")')
    with pytest.raises(SemaError, match="policy/without requires an active workflow policy"):
        run('(policy/without "r" 1)')
    with pytest.raises(SemaError, match="1 to 256 characters"):
        under("{}", '(policy/without "" 1)')
    with pytest.raises(SemaError, match="requires a literal reason string and at least one body form"):
        run('(policy/without "r")')


# Tools

TOOLS = """
(define ran (list))
(deftool read-file "Reads" {:path {:type :string}} (fn (path) (set! ran (cons path ran)) (str "text of " path)))
(deftool echo "Echoes" {:text {:type :string :default "x"}} (fn (text) (set! ran (cons text ran)) text))
(define told (list))
(define (calling . calls)
  (answers-with (fn (req)
    (if (= (length asked) 1)
      {:content "" :tool-calls (map (fn (c) {:id (str c) :name (car c) :arguments (cadr c)}) calls)}
      {:content (string/join (map :content (filter (fn (m) (= (:role m) "tool")) (:messages req))) " | ")}))))
(define (go)
  (llm/chat (list (message :user "go"))
    {:tools [read-file echo] :on-tool-call (fn (e) (set! told (cons (list (:event e) (:tool e)) told)))}))
"""


def test_tools_that_may_be_called() -> None:
    rules = '{:tools {:allow {:read-file {:paths ["docs/**"]} :echo {}}}}'
    program = TOOLS + '(calling (list "read-file" {:path "docs/a"}) (list "echo" {:text "t"})) (go)'
    journal = Journal()
    assert under(rules, program, journal) == '"text of docs/a | t"'
    assert journal.told("boundary", "subject", "rule") == [
        ("checked", "tool", "read-file", "tools.allow"),
        ("checked", "tool", "echo", "tools.allow"),
    ]


def test_a_denied_call_fails_the_whole_batch_before_any_tool_runs() -> None:
    rules = '{:tools {:allow {:echo {} :read-file {:paths ["docs/**"]}}}}'
    program = TOOLS + '(calling (list "echo" {:text "t"}) (list "read-file" {:path "../x"}))'
    assert under(rules, program + "(list (try (go) (catch e (:type e))) ran told)") == "(:policy-denied () ())"
    assert denial(rules, program + "(go)").rule == "tools.allow.paths"


def test_a_denied_call_may_be_answered_with_its_denial() -> None:
    rules = "{:tools {:allow {:echo {}} :on-deny :tool-error}}"
    program = TOOLS + '(calling (list "read-file" {:path "a"}) (list "echo" {:text "t"})) (list (go) ran told)'
    assert under(rules, program) == (
        "(\"Error: Policy 'inline' denied tool 'read-file': the tool is not allowed | t\" (\"t\") "
        '(("end" "echo") ("start" "echo") ("end" "read-file")))'
    )


def test_an_unknown_tool_is_answered_as_ever() -> None:
    program = TOOLS + '(calling (list "nope" {})) (go)'
    assert under("{:tools {}}", program) == '"Error: LLM error: tool not found: nope"'


@pytest.mark.parametrize(
    ("rules", "call", "rule"),
    [
        ("{:default :allow :deny [:echo]}", '(tool/invoke echo {:text "a"})', "tools.deny"),
        ("{}", '(tool/invoke echo {:text "a"})', "tools.default-deny"),
        (
            '{:allow {:echo {:commands {:arg :text :allow ["ls"]}}}}',
            '(tool/invoke echo {:text "a"})',
            "tools.allow.commands",
        ),
        ('{:allow {:echo {:commands {:arg :text :allow ["ls"]}}}}', "(tool/invoke echo {})", "tools.allow.commands"),
        ('{:allow {:read-file {:paths ["a"]}}}', '(tool/invoke read-file {:path "b"})', "tools.allow.paths"),
        ('{:allow {:echo {:paths ["a"]}}}', '(tool/invoke echo {:text "b"})', "tools.allow.paths"),
    ],
)
def test_tool_invoke_is_checked(rules: str, call: str, rule: str) -> None:
    assert denial(f"{{:tools {rules}}}", TOOLS + call).rule == rule


def test_defaults_of_arguments_are_checked() -> None:
    rules = '{:tools {:allow {:echo {:commands {:arg :text :allow ["x"]}}}}}'
    assert under(rules, TOOLS + "(tool/invoke echo {})") == '"x"'


def test_both_spellings_of_an_argument_are_checked() -> None:
    tool = '(deftool cat "Cats" {:file-path {:type :string}} (fn (file-path) file-path))'
    rules = '{:tools {:allow {:cat {:paths {:arg "file_path" :allow ["ok"]}}}}}'
    assert under(rules, tool + '(tool/invoke cat {:file-path "ok"})') == '"ok"'
    assert denial(rules, tool + '(tool/invoke cat {:file-path "no" :file_path "ok"})').rule == "tools.allow.paths"


SUBJECTS = """
(deftool save "Saves" {:to {:type :string}} {:policy-subjects [{:kind :file-write :path-arg :to}]} (fn (to) to))
(deftool get "Gets" {:url {:type :string}} {:policy-subjects [{:kind :network-request :url-arg :url :method "get"}]}
  (fn (url) url))
(deftool pay "Pays" {:n {:type :number}} {:policy-subjects [{:kind :external-action :action :pay}]} (fn (n) n))
(deftool mute "Says nothing" {} (fn () 1))
"""


@pytest.mark.parametrize(
    ("rules", "call", "rule"),
    [
        ('{:allow [{:kind :file-write :paths ["out/**"]}]}', '(tool/invoke save {:to "out/a"})', None),
        (
            '{:allow [{:kind :file-write :paths ["out/**"]}]}',
            '(tool/invoke save {:to "in/a"})',
            "subjects.default-deny",
        ),
        ("{:allow [{:kind :file-write}]}", '(tool/invoke save {:to "any/a"})', None),
        ("{:allow [{:kind :file-write}]}", '(tool/invoke save {:to "/etc/a"})', "subjects.default-deny"),
        ('{:default :allow :deny [{:kind :file-write :paths ["in/**"]}]}', '(tool/invoke save {:to "out/a"})', None),
        (
            '{:default :allow :deny [{:kind :file-write :paths ["in/**"]}]}',
            '(tool/invoke save {:to "/a"})',
            "subjects.deny",
        ),
        ("{:allow [{:kind :network-request :methods [:get]}]}", '(tool/invoke get {:url "https://a.b/"})', None),
        (
            "{:allow [{:kind :network-request :methods [:post]}]}",
            '(tool/invoke get {:url "https://a.b/"})',
            "subjects.default-deny",
        ),
        (
            '{:allow [{:kind :network-request :domains ["a.b"]}]}',
            '(tool/invoke get {:url "https://a.c/"})',
            "subjects.default-deny",
        ),
        ("{:allow [{:kind :external-action :actions [:pay]}]}", "(tool/invoke pay {:n 1})", None),
        ("{:allow [{:kind :external-action :actions [:mail]}]}", "(tool/invoke pay {:n 1})", "subjects.default-deny"),
        ("{}", "(tool/invoke mute {})", "subjects.missing"),
        ("{:default :allow}", "(tool/invoke mute {})", None),
    ],
)
def test_subjects(rules: str, call: str, rule: str | None) -> None:
    if rule is None:
        under(f"{{:subjects {rules}}}", SUBJECTS + call)
    else:
        assert denial(f"{{:subjects {rules}}}", SUBJECTS + call).rule == rule


def test_a_denial_inside_a_provider_is_one() -> None:
    program = """
    (llm/define-provider :outer {:default-model "o" :complete (fn (req)
      (llm/with-fallback [:fake] (fn () (llm/complete "inner"))))})
    (llm/with-fallback [:outer :fake] (fn () (llm/complete "a")))"""
    assert denial('{:models {:default :allow :deny ["fake/*"]}}', program).subject == "fake/m1"


def test_a_denial_inside_a_tool_ends_the_run_of_the_agent() -> None:
    program = (
        TOOLS
        + '(deftool ask "Asks" {} (fn () (llm/complete "a@b.io")))'
        + """
    (calling (list "ask" {})) (llm/chat (list (message :user "go")) {:tools [ask]})"""
    )
    assert denial("{:input {:detect [:email]}}", program).boundary == "llm.input"


def test_arguments_of_calls_are_part_of_a_reply() -> None:
    program = TOOLS + '(calling (list "echo" {:text "a@b.io"})) (go)'
    assert denial("{:output {:detect [:email]}}", program).rule == "output.detect.email"
    assert under("{:output {:detect [:email] :actions {:email :redact}}}", program) == '"«redacted:email»"'


def test_rules_for_the_last_reply_don_t_concern_calls_of_tools() -> None:
    program = TOOLS + '(calling (list "echo" {:text "t"})) (go)'
    assert under('{:output {:require ["t"]}}', program) == '"t"'


# Embeddings and rankings


def test_embeddings() -> None:
    embedder = """(llm/define-provider :vec {:default-model "v" :embed (fn (req)
      (set! asked (:texts req)) (map (fn (t) [1.0 0.0]) (:texts req)))})"""
    redact = "{:input {:detect [:email] :actions {:email :redact}}}"
    assert under(redact, f'{embedder} (llm/embed ["a@b.io"]) asked') == '("«redacted:email»")'
    assert denial("{:input {:detect [:email]}}", f'{embedder} (llm/embed "a@b.io")').subject == "vec/v"
    assert denial('{:models {:allow ["fake/*"]}}', f'{embedder} (llm/embed "a")').boundary == "model"


# Caches and tapes


def test_cached_replies_are_checked_again() -> None:
    journal = Journal()
    program = '(llm/with-cache (fn () (llm/complete "q") (llm/complete "q")))'
    under("{:output {:max-length 100}}", program, journal)
    assert journal.told("source") == [("checked", "request"), ("checked", "cache")]


def test_a_policy_has_keys_of_its_own() -> None:
    program = '(llm/with-cache (fn () (llm/complete "q") (length asked)))'
    assert [under(rules, program) for rules in ("{}", "{:output {}}", "{}")] == ["1", "1", "0"]


def test_tapes_are_checked_again_and_need_no_provider(tmp_path: Path) -> None:
    rules = '{:models {:allow ["fake/m1"]} :output {:detect [:email] :actions {:email :redact}}}'
    tape = tmp_path / "tape.jsonl"
    program = f'(llm/with-cassette {to_text(str(tape))} {{:mode :auto}} (fn () (llm/complete "a@b.io")))'
    assert under(rules, program) == '"re: «redacted:email»"'
    from sema_runtime.llm import providers

    providers.reset()
    journal = Journal()
    with policy.in_force(policy.compiled(run(rules)), journal.record):
        assert run(program.replace(":auto", ":replay")) == "re: «redacted:email»"
    assert journal.told("source", "label") == [("redacted", "cassette", "email")]


# Tasks


def test_tasks_inherit_the_policy() -> None:
    program = '(await (async (try (llm/complete "a@b.io") (catch e (:type e)))))'
    assert under("{:input {:detect [:email]}}", program) == ":policy-denied"
