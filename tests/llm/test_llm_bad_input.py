"""What programs, models and servers do wrong: keys, models, schemas, tools, budgets, odd and enormous texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fault_support import CALL, STREAM, asked, charged, fault
from fault_wires import WIRES, Scripted, Wire, streamed, whole
from llm_contract import outcome
from llm_support import Answer, chat_reply, run
from llm_support import llm as llm
from llm_support import serving as answering
from net_support import serving

from sema_runtime.conditions.describe import condition_map
from sema_runtime.llm.errors import ProviderError
from sema_runtime.llm.messages import Message, Reply, Request, ToolCall, ToolSchema
from sema_runtime.llm.tools.names import restored, sendable
from sema_runtime.llm.wires.replies import Mender, mended
from sema_runtime.values.printer import to_text
from semac.diagnostics.render import render
from semac.session import Session

pytestmark = pytest.mark.usefixtures("llm")
OPENAI = WIRES["openai"]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_NO_LLM", "1")


def refused(body: Any, status: int, wire: Wire = OPENAI, program: str = CALL) -> ProviderError:
    with fault(wire, [whole(body, status)]) as (url, _):
        error = asked(wire, url, program).error
    assert error is not None
    return error


# Keys and models

KEY = "sk-proj-abcdefghijklmnop1234"


@pytest.mark.parametrize(
    "echo",
    [
        f"Incorrect API key provided: {KEY}. Find yours in the settings.",
        f"Authorization: Bearer {KEY}",
        "bad key: key-of-the-test",
        "AIzaSyA-abcdefghijklmnopqrstuvwx is not valid",
        '{"authorization": "Bearer abc.def.ghi"}',
    ],
)
@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_keys_are_never_shown(echo: str, status: int) -> None:
    for program in (CALL, STREAM):
        error = refused({"error": {"message": echo}}, status, program=program)
        shown = render(error, "<input>", {}) + to_text(condition_map(error)) + str(error) + repr(error.args)
        for secret in (KEY, "key-of-the-test", "AIzaSy", "abc.def"):
            assert secret not in shown


def test_a_refused_key_says_which() -> None:
    assert refused("no", 401).hint == "provider 'local' refused the key: check its :api-key"
    assert refused("no", 403, WIRES["gemini"]).hint == "provider 'gemini' refused the key: check GOOGLE_API_KEY"


def test_a_key_that_cant_be_sent() -> None:
    for key in ("k\\nx", "ключ"):
        program = f'(llm/configure :mine {{:api-key "{key}" :base-url "http://127.0.0.1:9"}}) (llm/complete "x")'
        shown = outcome(program)
        assert shown.startswith("[llm] Config error: the header Authorization holds characters that can't be sent")
        assert "ключ" not in shown


def unknown_model(model: str, status: int = 404) -> str:
    text = f"The model `{model}` does not exist"
    return str(refused({"error": {"message": text}}, status, program=f'(llm/complete "x" {{:model "{model}"}})').hint)


def test_the_model_of_another_provider() -> None:
    assert unknown_model("claude-x") == "'claude-x' is a model of provider 'anthropic', which needs ANTHROPIC_API_KEY"
    run('(llm/configure :anthropic {:api-key "k"})')
    hint = "'claude-x' is a model of provider 'anthropic', which is configured: (llm/set-default :anthropic)"
    assert unknown_model("claude-x") == unknown_model("claude-x", 400) == hint
    assert unknown_model("gemini-3") == "'gemini-3' is a model of provider 'gemini', which needs GOOGLE_API_KEY"
    assert unknown_model("my-model").startswith(
        "check the model's name (my-model) and the base URL of provider 'local'"
    )


@pytest.mark.parametrize(
    ("status", "text", "hint"),
    [
        (400, "This model's maximum context length is 8192 tokens", "send less: "),
        (402, "Insufficient credit", "the account of provider 'local' needs credit"),
        (413, "Request too long", "send less: "),
        (429, "You exceeded your current quota", "the provider says: You exceeded your current quota"),
        (503, "overloaded", "provider 'local' has trouble; llm/with-fallback"),
    ],
)
def test_advice(status: int, text: str, hint: str) -> None:
    assert str(refused({"error": {"message": text}}, status).hint).startswith(hint)


def test_errors_as_programs_see_them() -> None:
    error = refused({"error": {"message": "no such model"}}, 404)
    caught = condition_map(error)
    assert to_text(caught.lookup(_key("provider"))) == ":local"
    fields = {key.name: value for key, value in caught.pairs() if key.name != "stack-trace"}
    assert fields == {
        **{"type": _key("llm"), "message": "API error: 404 - no such model", "provider": _key("local")},
        **{"model": "m", "status": 404, "hint": error.hint},
    }
    shown = render(error, "<input>", {})
    assert "LLM error: API error: 404 - no such model" in shown
    assert f"hint: {error.hint}" in shown
    assert "note: provider local, model m" in shown


def _key(name: str) -> Any:
    from sema_runtime.values.atoms import keyword

    return keyword(name)


def test_an_error_inside_a_callback_keeps_its_provider() -> None:
    program = """(llm/define-provider :inner {:complete (fn (r) (error "no")) :default-model "i"})
    (define (ask piece) (llm/set-default :inner) (llm/complete piece))
    (try (llm/stream "hi" ask) (catch e (list (:message e) (:provider e) (:model e))))"""
    with fault(OPENAI, [streamed(OPENAI.events)]) as (url, _):
        session = Session()
        session.run(OPENAI.configure(url))
        session.run("(define outer (llm/default-provider))")
        shown = session.run(program.replace("(try (llm", "(llm/set-default outer) (try (llm"))
    assert to_text(shown) == '("API error: 0 - no" :inner "i")'


def test_other_errors_have_the_keys_they_had() -> None:
    shown = run('(try (llm/send "x") (catch e (keys e)))')
    assert to_text(shown) == "(:expected :got :message :stack-trace :type)"
    assert to_text(run("(try (llm/set-default :x) (catch e (keys e)))")) == "(:message :stack-trace :type)"


# Schemas


@pytest.mark.parametrize(
    "schema",
    [
        *("5", "nil", '""', ":a", "[]", "'()", "[:a :b]", "{}", "(fn (x) x)", "{:a 5}", "{:a nil}", "{:a []}"),
        *("{:a [1 2]}", "{:a {:type 5}}", "{:a {:type [:x]}}", "{:a {:enum 5}}", '{"a" "string"}', "{5 :any}"),
        "{:a {:type {:b 1}}}",
    ],
)
def test_schemas_that_are_none(schema: str) -> None:
    """They don't check anything that they don't say; whatever happens, it is no failure of ours."""
    shown = outcome(f'(script "{{\\"a\\": 1}}" "{{\\"a\\": 1}}" "{{\\"a\\": 1}}") (llm/extract {schema} "x")')
    refusals = ("[llm] extraction validation failed after 3 attempt(s): ", "[type-error] expected schema map, got ")
    assert shown == "{:a 1}" or shown.startswith(refusals)
    with answering(Answer(200, chat_reply("done"))) as server:
        configured = f'(llm/configure :local {{:api-key "k" :base-url "{server.url}"}})'
        program = f'(deftool t "d" {schema} (fn () 1)) (llm/chat [(message :user "x")] {{:tools [t]}})'
        assert outcome(configured + program) == '"done"'
    sent = server.received[0].body["tools"][0]["function"]["parameters"]
    assert sent["type"] == "object"
    assert json.loads(json.dumps(sent)) == sent


# Tools


@pytest.mark.parametrize(
    "handler",
    [
        '(fn () (error "broken"))',
        "(fn () (throw {:a 1}))",
        "(fn () (car 5))",
        "(fn () (undefined-function))",
        "(fn (a b c) (+ a b))",
        "(fn () (/ 1 0))",
        "(fn () (define (deep n) (+ 1 (deep n))) (deep 1))",
        "5",
        '"text"',
    ],
)
def test_handlers_that_fail(handler: str) -> None:
    """The model hears of it and goes on."""
    program = (
        f'(deftool t "d" {{}} {handler}) (script {{:tool-calls (calls "t")}} "done")'
        '(list (agent/run (agent {:tools [t]}) "x") (string/starts-with? (:content (last (sent :messages))) "Error: "))'
    )
    assert outcome(program) == '("done" #t)'


@pytest.mark.parametrize(
    "value",
    [
        *("(fn (x) x)", "(bytevector 1 2)", "'sym", "1/3", "(delay 1)", "(/ 0.0 0.0)", "(/ 1.0 0)", "(range 1000)"),
        *("{5 [nil {:a 1.5}]}", "(hashmap/new :a 1)", '(message :user "x")', "(conversation/new)", "(llm/last-usage)"),
    ],
)
def test_handlers_that_return_anything(value: str) -> None:
    program = (
        f'(deftool t "d" {{}} (fn () {value})) (script {{:tool-calls (calls "t")}} "done")'
        '(list (agent/run (agent {:tools [t]}) "x") (string? (:content (last (sent :messages)))))'
    )
    assert outcome(program) == '("done" #t)'


@pytest.mark.parametrize("arguments", ['"x"', "[1]", "5", "null", "{bad", '{"a": "x"}', '{"b": 1}', "", "[" * 5000])
def test_arguments_that_break_their_schema(arguments: str) -> None:
    """They go back to the model as an error; the handler isn't called."""
    call = chat_reply(None, [("c1", "t", {})])
    call["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = arguments
    with answering(Answer(200, call), Answer(200, chat_reply("done"))) as server:
        program = f"""(llm/configure :local {{:api-key "k" :base-url "{server.url}"}})
        (define called 0)
        (deftool t "d" {{:a {{:type :number}}}} (fn (a) (set! called (+ called 1))))
        (list (agent/run (agent {{:tools [t]}}) "x") called)"""
        assert outcome(program) == '("done" 0)'
    told = server.received[1].body["messages"][-1]
    assert (told["role"], told["tool_call_id"]) == ("tool", "c1")
    assert told["content"].startswith("Error: LLM error: invalid arguments for tool 't': ")


def test_names_that_providers_refuse() -> None:
    """They are sent as names that can be, and come back as they were."""
    names = ["db/get-user!", "db_get-user_", "ready?", "2nd", "x" * 80, "x" * 81, "größe", "fine"]
    request = Request([Message("user", "x")], tools=[ToolSchema(name, "d", {}) for name in names])
    request.messages.append(Message("assistant", "", tool_calls=(ToolCall("1", "ready?", {}),)))
    request.messages.append(Message("tool", "yes", tool_call_id="1", tool_name="ready?"))
    sent, back = sendable(request)
    assert [tool.name for tool in sent.tools][:4] == ["db_get-user__2", "db_get-user_", "ready_", "_2nd"]
    assert len({tool.name for tool in sent.tools}) == len(names)
    assert all(len(tool.name) <= 64 and tool.name.isascii() for tool in sent.tools)
    assert (sent.messages[1].tool_calls[0].name, sent.messages[2].tool_name) == ("ready_", "ready_")
    assert request.messages[2].tool_name == "ready?"
    reply = Reply("", "m", tool_calls=[ToolCall("1", tool.name, {}) for tool in sent.tools])
    assert [call.name for call in restored(reply, back).tool_calls] == names
    plain = Request([], tools=[ToolSchema("fine", "d", {})])
    assert sendable(plain) == (plain, {})


def _with_tool(wire: str) -> tuple[Any, Any]:
    """A reply of that wire that calls `ask_`, and how to find the name in what is sent."""
    if wire == "anthropic":
        use = {"type": "tool_use", "id": "1", "name": "ask_", "input": {}}
        return {**WIRES[wire].whole, "content": [use]}, lambda body: body["tools"][0]["name"]
    if wire == "gemini":
        parts = [{"functionCall": {"name": "ask_", "args": {}}}]
        found = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
        return found, lambda body: body["tools"][0]["function_declarations"][0]["name"]
    if wire == "ollama":
        calls = [{"function": {"name": "ask_", "arguments": {}}}]
        found = {**WIRES[wire].whole, "message": {"role": "assistant", "content": "", "tool_calls": calls}}
        return found, lambda body: body["tools"][0]["function"]["name"]
    return chat_reply(None, [("1", "ask_", {})]), lambda body: body["tools"][0]["function"]["name"]


@pytest.mark.parametrize("name", list(WIRES))
def test_a_tool_with_an_odd_name_on_each_wire(name: str) -> None:
    wire = WIRES[name]
    call, named = _with_tool(name)
    server = Scripted([whole(call)], [whole(wire.whole)], [streamed(wire.events)])
    with serving(server) as url:
        session = Session()
        session.run(wire.configure(url) + '(deftool ask? "d" {} (fn () "yes")) (define a (agent {:tools [ask?]}))')
        history = session.run('(define r (agent/run a "x" {})) (map :tool-name (:messages r))')
        assert to_text(history) == '(nil nil "ask?" nil)'
        session.run('(agent/run a "y" {:messages (:messages r) :on-text (fn (s) s)})')
    for request in server.requests:
        body = json.loads(request.body)
        assert named(body) == "ask_"
        assert "ask?" not in request.body.decode()


def test_many_tools() -> None:
    with answering(Answer(200, chat_reply("done"))) as server:
        tools = "(map (fn (i) (tool-number i)) (range 500))"
        program = f"""(llm/configure :local {{:api-key "k" :base-url "{server.url}"}})
        (define (tool-number i) (deftool t "d" {{:a :string}} (fn (a) i)) t)
        (agent/run (agent {{:tools {tools}}}) "x")"""
        shown = outcome(program)
    assert shown == '"done"' or "named 't'" in shown


# Budgets


@pytest.mark.parametrize(
    ("limit", "shown"),
    [
        (":max-tokens 0", "[llm] token budget exceeded: used 5 of 0 tokens"),
        (":max-tokens -1", "[llm] token budget exceeded: used 5 of 0 tokens"),
        (":max-tokens 1000000000000000000000000", '"n"'),
        (":max-cost-usd 0", "[llm] budget exceeded: spent $7.0000 of $0.0000 limit"),
        (":max-cost-usd -1", "[llm] budget exceeded: spent $7.0000 of $-1.0000 limit"),
        (":max-cost-usd 1e300", '"n"'),
        (":max-cost-usd (expt 10 400)", '"n"'),
    ],
)
def test_odd_budgets(limit: str, shown: str) -> None:
    program = (
        '(llm/set-pricing "fake" 1000000 2000000) (script {:content "n" :usage usage})'
        f'(llm/with-budget {{{limit}}} (fn () (llm/complete "x")))'
    )
    assert outcome(program) == shown


def test_a_budget_that_is_no_number_is_none() -> None:
    shown = outcome('(llm/with-budget {:max-cost-usd (- (/ 1.0 0.0) (/ 1.0 0.0))} (fn () (llm/complete "x")))')
    assert shown.startswith("[eval] ")


# Texts


def test_texts_of_any_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NUL bytes, characters beyond the basic plane and halves of them, in what is sent and kept."""
    monkeypatch.chdir(tmp_path)
    text = "a\0b \U0001f600 \u202e \ud800 end"
    with answering(Answer(200, chat_reply("ok"))) as server:
        session = Session()
        session.run(f'(llm/configure :local {{:api-key "k" :base-url "{server.url}"}})')
        session.globals["text"] = text
        for program in (
            "(llm/complete text {:system text})",
            "(llm/with-cache (fn () (llm/complete text)))",
            '(llm/with-cassette "t.jsonl" (fn () (llm/complete text)))',
            '(llm/with-cassette "t.jsonl" {:mode :replay} (fn () (llm/complete text)))',
            "(conversation/last-reply (conversation/say (conversation/new) text))",
        ):
            assert session.run(program) == "ok"
        assert session.run("(llm/token-count text)") == len(text.encode("utf-8", "replace")) // 4
    assert server.received[0].body["messages"][1]["content"] == text.replace("\ud800", "?")


def test_halves_of_characters_in_replies(capsys: pytest.CaptureFixture[str]) -> None:
    assert mended("a \ud83d\ude00 \ud83d b") == "a \U0001f600 \ufffd b"
    mender = Mender()
    assert [mender.feed(piece) for piece in ("a\ud83d", "\ude00b", "\ud83d", "c")] == [
        "a",
        "\U0001f600b",
        "",
        "\ufffdc",
    ]
    with answering(Answer(200, chat_reply("x \ud800 y"))) as server:
        configured = f'(llm/configure :local {{:api-key "k" :base-url "{server.url}"}})'
        assert run(configured + '(define r (llm/complete "hi")) (println r) r') == "x \ufffd y"
    assert capsys.readouterr().out == "x \ufffd y\n"


def test_halves_of_characters_in_a_stream() -> None:
    pieces = [
        b'data: {"choices": [{"delta": {"content": "%s"}}]}\n\n' % text for text in (rb"a\ud83d", rb"\ude00", b"b")
    ]
    with fault(OPENAI, [streamed([*pieces, b"data: [DONE]\n\n"])]) as (url, _):
        seen = asked(OPENAI, url, STREAM)
    assert (seen.heard, seen.value) == (["a", "\U0001f600", "b"], "a\U0001f600b")


def test_a_huge_prompt_and_reply() -> None:
    text = "é" * 5_000_000
    with answering(lambda got: Answer(200, chat_reply(got.body["messages"][0]["content"]))) as server:
        session = Session()
        session.run(f'(llm/configure :local {{:api-key "k" :base-url "{server.url}"}})')
        session.globals["text"] = text
        assert session.run("(llm/complete text)") == text


def test_a_long_conversation() -> None:
    program = """
    (define c (foldl (fn (c i) (conversation/add-message c (if (even? i) :user :assistant) (str "m" i)))
                     (conversation/new) (range 10000)))
    (define d (conversation/say c "and now?"))
    (list (conversation/length c) (conversation/length d) (conversation/turns d) (length (sent :messages))
          (length (conversation/search d "m99")) (conversation/token-count c))"""
    assert outcome(program) == "(10000 10002 5001 10001 111 12223)"


def test_a_template_with_many_slots() -> None:
    program = '(string/length (prompt/render (string/repeat "{{x}} and " 100000) {:x "y"}))'
    assert outcome(program) == str(6 * 100_000)


JUNK = [None, True, -1, 1.5, "", [], {}, [None], [[]], [{}], {"a": 1}, 10**30]


@pytest.mark.parametrize("wire", WIRES.values(), ids=list(WIRES))
def test_replies_of_any_shape(wire: Wire) -> None:
    """Each value of a good reply replaced by junk: a text, or an error of the provider; never a negative count."""
    from importlib import import_module

    from sema_runtime.llm.wires import replies

    module = import_module(f"sema_runtime.llm.wires.{next(name for name, one in WIRES.items() if one is wire)}")
    request = Request([Message("user", "x")])
    for broken in _broken(wire.whole):
        try:
            reply = replies.checked(
                replies.read(module.parse, json.dumps(broken), Request([Message("user", "x")])), "m"
            )
        except ProviderError as error:
            assert error.message.startswith(("Parse error: ", "API error: ", "HTTP error: "))
        else:
            assert {type(reply.content), type(reply.model)} == {str}
            assert min(reply.usage.prompt, reply.usage.completion) >= 0
    for deep in ("[" * 100_000, '{"a":' * 100_000):
        with pytest.raises(ProviderError, match=r"^Parse error: "):
            replies.read(module.parse, deep, request)
    assert charged() == 0


def _broken(value: Any) -> list[Any]:
    """The value with each of its parts replaced by each kind of junk."""
    made = list(JUNK)
    if isinstance(value, dict):
        made += [{**value, key: junk} for key in value for junk in _broken(value[key])]
        made += [{other: value[other] for other in value if other != key} for key in value]
    elif isinstance(value, list):
        made += [[*value[:at], junk, *value[at + 1 :]] for at in range(len(value)) for junk in _broken(value[at])]
    return made
