"""`:mode :native`: what providers are asked to hold a model to, and what becomes of their answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llm_support import Answer, Received, chat_reply, problems, run, serving
from llm_support import llm as llm
from native_support import configured, reply_of

from sema_runtime.llm.messages import ToolSchema
from sema_runtime.llm.providers import PRESETS
from sema_runtime.llm.wires.native import function_schema, is_open, strict, without_nulls
from sema_runtime.values.errors import LlmError, SemaError
from sema_runtime.values.printer import to_text

SCHEMA = """{:name {:type :string :description "whose"} :age {:type :int :optional #t} :mood {:enum [:good :bad]}
             :tags [:string] :home {:fields {:city :string :zip {:type :string :optional #t}}}
             :trips {:items {:fields {:to :string}} :optional #t}}"""
ANSWER = {"name": "Ada", "age": None, "mood": "good", "tags": [], "home": {"city": "Oslo", "zip": None}, "trips": None}
READ = '{:home {:city "Oslo"} :mood "good" :name "Ada" :tags ()}'
STRICT = {
    "type": "object",
    "properties": {
        "age": {"type": ["integer", "null"]},
        "home": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"type": ["string", "null"]}},
            "required": ["city", "zip"],
            "additionalProperties": False,
        },
        "mood": {"type": "string", "enum": ["good", "bad"]},
        "name": {"type": "string", "description": "whose"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "trips": {
            "type": ["array", "null"],
            "items": {
                "type": "object",
                "properties": {"to": {"type": "string"}},
                "required": ["to"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["age", "home", "mood", "name", "tags", "trips"],
    "additionalProperties": False,
}


def sent_schema(wire: str, body: dict[str, Any]) -> Any:
    if wire == "anthropic":
        assert body["output_config"]["format"]["type"] == "json_schema"
        return body["output_config"]["format"]["schema"]
    if wire == "gemini":
        assert body["generationConfig"]["responseMimeType"] == "application/json"
        return body["generationConfig"]["responseJsonSchema"]
    if wire == "ollama":
        return body["format"]
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["strict"] is True
    return body["response_format"]["json_schema"]["schema"]


@pytest.mark.parametrize("wire", ["openai", "anthropic", "gemini", "ollama"])
def test_extract(wire: str, llm: None) -> None:
    with serving(Answer(body=reply_of(wire, json.dumps(ANSWER)))) as server:
        value = run(configured(wire, server.url) + f'(llm/extract {SCHEMA} "Ada lives in Oslo." {{:mode :native}})')
    [request] = server.received
    assert to_text(value) == READ, "nulls that stand for absent keys are gone"
    assert sent_schema(wire, request.body) == STRICT
    assert problems(wire, request.body) == []


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.wire == "openai"])
def test_who_takes_schemas(name: str, llm: None) -> None:
    """The others get JSON mode; the schema stands in the instruction in any case, and the answer is checked."""
    with serving(Answer(body=chat_reply(json.dumps(ANSWER)))) as server:
        value = run(configured(name, server.url) + f'(llm/extract {SCHEMA} "Ada" {{:mode :native}})')
    kind = server.received[0].body["response_format"]["type"]
    assert kind == ("json_object" if name in ("deepseek", "moonshot") else "json_schema")
    assert to_text(value) == READ


@pytest.mark.parametrize("wire", ["openai", "anthropic", "gemini", "ollama"])
def test_the_default_asks_in_words(wire: str, llm: None) -> None:
    with serving(Answer(body=reply_of(wire, '{"a": "x"}'))) as server:
        run(
            configured(wire, server.url)
            + '(llm/extract {:a :string} "t") (llm/extract {:a :string} "t" {:mode :prompt})'
        )
    first, second = (request.body for request in server.received)
    assert first == second
    assert first.get("response_format") == ({"type": "json_object"} if wire == "openai" else None)
    assert not {"output_config", "format"} & set(first)
    assert "responseMimeType" not in first.get("generationConfig", {})


def test_answers_are_checked_and_asked_for_again(llm: None) -> None:
    """Predicates go beyond what a schema says."""
    answers = [Answer(body=chat_reply(json.dumps({"n": n}))) for n in (-1, 5)]
    schema = "{:n {:type :number :validate (fn (n) (> n 0))}}"
    with serving(*answers) as server:
        value = run(configured("openai", server.url) + f'(llm/extract {schema} "t" {{:mode :native}})')
    assert to_text(value) == "{:n 5}"
    assert len(server.received) == 2


def test_a_list_travels_in_an_object(llm: None) -> None:
    with serving(Answer(body=chat_reply('{"value": ["a", "b"]}'))) as server:
        value = run(configured("openai", server.url) + '(llm/extract [:string] "a b" {:mode :native})')
    assert to_text(value) == '("a" "b")'
    assert sent_schema("openai", server.received[0].body)["properties"] == {"value": STRICT["properties"]["tags"]}


def test_settings_of_the_call(llm: None) -> None:
    with serving(Answer(body=chat_reply('{"a": "x"}'))) as server:
        options = '{:max-tokens 30 :temperature 0.5 :model "big"}'
        run(
            configured("local", server.url)
            + f'(llm/extract {{:a :string}} "t" {options}) (llm/classify [:a] "t" {options})'
        )
    for request in server.received:
        assert [request.body[key] for key in ("max_tokens", "temperature", "model")] == [30, 0.5, "big"]


# What can't be


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("42", "expected schema map, got int"),
        ("nil", "expected schema map, got nil"),
        ("(fn (x) x)", "expected schema map, got"),
    ],
)
@pytest.mark.parametrize("mode", [":native", ":prompt"])
def test_a_schema_that_is_none(schema: str, message: str, mode: str, llm: None) -> None:
    with pytest.raises(SemaError, match=message):
        run(f'(llm/extract {schema} "t" {{:mode {mode}}})')


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ('"a name"', r'llm/extract: :mode :native needs a schema map, got "a name"'),
        ("[:list :string]", r"needs a schema map, got \[:list :string\]"),
        ("{:a 42}", r"llm/extract: key a: 42 is no type"),
        ("{:a {:city :string}}", r"key a: \{:city :string\} is no type"),
        ("{:a {:type :object}}", r"key a: a model can only be held to an object whose keys are given"),
        ("{:a {:items {:fields {:b :map}}}}", r"key b: a model can only be held to an object"),
    ],
)
def test_a_schema_that_no_model_can_be_held_to(schema: str, message: str, llm: None) -> None:
    with pytest.raises(SemaError, match=message):
        run(f'(llm/extract {schema} "t" {{:mode :native}})')


def test_an_unknown_mode(llm: None) -> None:
    for call in (
        '(llm/extract {} "t" {:mode :strict})',
        "(llm/chat [] {:mode :strict})",
        '(agent/run (agent {}) "a" {:mode "x"})',
    ):
        with pytest.raises(SemaError, match="unknown :mode"):
            run(call)


def test_a_model_that_takes_no_schema(llm: None) -> None:
    refusal = {"error": {"message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported"}}
    with serving(Answer(400, refusal)) as server, pytest.raises(LlmError, match="API error: 400 - Invalid") as caught:
        run(configured("openai", server.url) + '(llm/extract {:a :string} "t" {:mode :native})')
    assert "leave :mode :native out" in str(caught.value.hint)


def test_a_refusal_is_shown(llm: None) -> None:
    answer = chat_reply(None)
    answer["choices"][0]["message"]["refusal"] = "I can't help with that."
    with (
        serving(Answer(body=answer)) as server,
        pytest.raises(LlmError, match=r"Response was: I can't help with that\."),
    ):
        run(configured("openai", server.url) + '(llm/extract {:a :string} "t" {:mode :native})')


# Tools


def test_strict_tools_of_an_agent(llm: None) -> None:
    """The null that a strict schema asks for is an absent argument."""

    def answer(request: Received) -> Answer:
        calls = [("t", "look", {"path": "a", "line": None})] if len(request.body["messages"]) == 1 else []
        return Answer(body=chat_reply(None if calls else "done", calls))

    tool = """
    (define seen nil)
    (deftool look "Looks" {:path {:type :string} :line {:type :int :optional #t}}
      (fn (path line) (set! seen [path line]) "ok"))
    """
    with serving(answer) as server:
        program = configured("openai", server.url) + tool
        by_agent = run(program + '(list (agent/run (agent {:tools [look]}) "go" {:mode :native}) seen)')
        by_chat = run(program + '(list (llm/chat [(message :user "go")] {:tools [look] :mode :native}) seen)')
    assert to_text(by_agent[1]) == '["a" nil]'
    assert to_text(by_chat) == '("done" ["a" nil])'
    for request in server.received:
        [tool] = request.body["tools"]
        assert tool["function"]["strict"] is True
        assert tool["function"]["parameters"]["required"] == ["line", "path"]
        assert problems("openai", request.body) == []
    results = [message["content"] for message in server.received[1].body["messages"] if message["role"] == "tool"]
    assert results == ["ok"]


# Schemas


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        ({}, {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}),
        ({"type": "date"}, {"type": "string"}),
        ({"enum": ["a"]}, {"type": "string", "enum": ["a"]}),
        ({"type": "string", "default": "x", "description": "d"}, {"type": "string", "description": "d"}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"type": ["integer", "null"]}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (
            {"oneOf": [{"const": "a"}, {"type": "date"}]},
            {"anyOf": [{"type": "string", "const": "a"}, {"type": "string"}]},
        ),
    ],
)
def test_strict(schema: dict[str, Any], made: dict[str, Any]) -> None:
    assert strict(schema) == made


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object", "properties": {}}, False),
        ({"type": "object"}, True),
        ({"type": "object", "properties": {"a": {"type": "object"}}}, True),
        ({"type": "array", "items": {"type": "object", "properties": {}, "additionalProperties": True}}, True),
        ({"anyOf": [{"type": "string"}, {"type": "object"}]}, True),
        ({"type": "array", "items": {}}, False),
    ],
)
def test_open_objects(schema: dict[str, Any], value: bool) -> None:
    assert is_open(schema) == value


def test_a_tool_that_takes_any_map_stays_loose() -> None:
    tool = ToolSchema("save", "Saves", {"type": "object", "properties": {"what": {"type": "object"}}, "required": []})
    assert function_schema(tool, "openai", True)["parameters"] == tool.parameters
    assert "strict" not in function_schema(tool, "openai", True)


def test_an_optional_choice_may_be_null() -> None:
    schema = {"type": "object", "properties": {"a": {"enum": ["x"]}, "b": {}}, "required": []}
    made = strict(schema)["properties"]
    assert made["a"] == {"type": ["string", "null"], "enum": ["x", None]}
    assert {"type": "null"} in made["b"]["anyOf"]
    assert without_nulls(schema, {"a": None, "b": None, "c": None}) == {"c": None}
