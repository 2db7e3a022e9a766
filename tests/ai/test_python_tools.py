"""Tools of Python functions: what models are told of them, how they are called, what can't be one."""

from __future__ import annotations

import asyncio
import datetime
import enum
import functools
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pydantic
import pytest
from llm_support import Answer, Received, chat_reply, claude_reply, problems, run, serving
from llm_support import llm as llm

from sema_runtime import ai
from sema_runtime.interop import to_sema
from sema_runtime.llm.tools.docstrings import parsed
from sema_runtime.llm.tools.python_functions import PythonTool
from sema_runtime.values.errors import LlmError, SemaError
from sema_runtime.values.printer import to_text
from semac.session import Session

pytestmark = pytest.mark.usefixtures("llm")


def properties(function: Any) -> dict[str, Any]:
    found: dict[str, Any] = PythonTool(function).schema().parameters["properties"]
    return found


def invoke(function: Any, **arguments: Any) -> Any:
    tool = function if isinstance(function, PythonTool) else PythonTool(function)
    return tool.invoke(to_sema(arguments))


# Schemas


class Unit(enum.Enum):
    CELSIUS = "C"
    KELVIN = "K"


@dataclass
class Place:
    city: str
    country: str = "NO"


class Span(TypedDict):
    start: int
    end: NotRequired[int]


class Node(pydantic.BaseModel):
    name: str
    children: list[Node] = []


def everything(
    text: str,
    count: int,
    share: float,
    flag: bool,
    items: list[int],
    table: dict[str, float],
    choice: Literal["a", "b"],
    unit: Unit,
    either: int | str,
    anything: Any,
    place: Place,
    span: Span,
    tree: Node,
    day: datetime.date,
    noted: Annotated[str, "what it is"],
    bounded: Annotated[int, pydantic.Field(ge=1, description="at least one")],
    maybe: int | None = None,
    limit: int = 10,
    schema: str = "json",
) -> str:
    return ""


def test_types_become_schemas() -> None:
    tool = PythonTool(everything).schema()
    found = tool.parameters["properties"]
    assert {name: found[name] for name in ("text", "count", "share", "flag", "anything")} == {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "flag": {"type": "boolean"},
        "anything": {},
    }
    assert found["items"] == {"type": "array", "items": {"type": "integer"}}
    assert found["table"] == {"type": "object", "additionalProperties": {"type": "number"}}
    assert found["choice"] == {"type": "string", "enum": ["a", "b"]}
    assert found["unit"] == {"type": "string", "enum": ["C", "K"]}
    assert found["either"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    city = {"city": {"type": "string"}, "country": {"type": "string", "default": "NO"}}
    assert found["place"] == {"type": "object", "properties": city, "required": ["city"]}
    numbers = {"start": {"type": "integer"}, "end": {"type": "integer"}}
    assert found["span"] == {"type": "object", "properties": numbers, "required": ["start"]}
    assert found["tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert found["day"] == {"type": "string", "format": "date"}
    assert found["noted"] == {"type": "string", "description": "what it is"}
    assert found["bounded"] == {"type": "integer", "minimum": 1, "description": "at least one"}
    assert (found["maybe"], found["limit"]) == ({"type": "integer"}, {"type": "integer", "default": 10})
    assert found["schema"] == {"type": "string", "default": "json"}
    assert tool.parameters["required"] == [*found][:-3]
    assert list(tool.parameters["$defs"]) == ["Node"]


def test_arguments_become_values_of_the_types() -> None:
    def seen(unit: Unit, place: Place, day: datetime.date, tree: Node, span: Span, count: int = 1) -> tuple[Any, ...]:
        return unit, place, day, tree.children[0].name, span, count

    tree = {"name": "a", "children": [{"name": "b"}]}
    got = invoke(seen, unit="K", place={"city": "Oslo"}, day="2026-02-03", tree=tree, span={"start": 1}, count="7")
    assert got == (Unit.KELVIN, Place("Oslo"), datetime.date(2026, 2, 3), "b", {"start": 1}, 7)


def test_bad_arguments_are_named() -> None:
    def seen(count: int, place: Place) -> None: ...

    with pytest.raises(LlmError) as caught:
        invoke(seen, count="x", place={"country": 5})
    assert caught.value.message == (
        "invalid arguments for tool 'seen': count: Input should be a valid integer, unable to parse string as an"
        " integer; place.city: Field required; place.country: Input should be a valid string"
    )


def test_defaults_that_are_no_json() -> None:
    marker = object()

    def seen(a: Any = marker, when: datetime.date = datetime.date(2026, 1, 1), items: list[str] = []) -> Any:  # noqa: B006
        return a is marker, when, items

    assert properties(seen)["when"]["default"] == "2026-01-01" and properties(seen)["a"] == {}
    first = invoke(seen)
    assert first == (True, datetime.date(2026, 1, 1), [])
    first[2].append("x")
    assert invoke(seen)[2] == []


# Docstrings

GOOGLE = """Finds rows.

    More about
    that.

    Args:
        table: the table,
            by name
        limit (int, optional): at most
        *rest: more

    Returns:
        rows: no parameter
    """
NUMPY = """
    Finds rows.

    More about
    that.

    Parameters
    ----------
    table : str
        the table,
        by name
    limit : int, optional
        at most
    *rest
        more

    Returns
    -------
    rows
        no parameter
    """
SPHINX = """Finds rows.

    More about
    that.

    :param table: the table,
        by name
    :param int limit: at most
    :type limit: int
    :param rest: more
    :returns: rows
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX])
def test_docstrings(text: str) -> None:
    expected = {"table": "the table, by name", "limit": "at most", "rest": "more"}
    assert parsed(text) == ("Finds rows.\n\nMore about that.", expected)


@pytest.mark.parametrize(
    ("text", "description"),
    [
        (None, ""),
        ("", ""),
        ("One line: with a colon.", "One line: with a colon."),
        ("Note: this is text.\n\nExample::\n\n    code", "Note: this is text.\n\nExample::\n\ncode"),
        ("Raises hands.\n\nRaises:\n    ValueError: no", "Raises hands."),
    ],
)
def test_docstrings_without_parameters(text: str | None, description: str) -> None:
    assert parsed(text) == (description, {})


def test_several_parameters_of_one_text() -> None:
    assert parsed("Adds.\n\nParameters\n----------\na, b : int\n    numbers")[1] == {"a": "numbers", "b": "numbers"}


# What can be a tool


class Shop:
    """A shop."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def price(self, item: str) -> int:
        """What an item costs."""
        return len(item) * self.factor

    @ai.tool
    def stock(self, item: str) -> int:
        """How many there are."""
        return self.factor

    @staticmethod
    def name(short: bool = False) -> str:
        """What it is called."""
        return "S" if short else "Shop"

    def __call__(self, question: str) -> str:
        """Answers."""
        return question * self.factor


def test_methods_partials_and_objects() -> None:
    shop = Shop(2)
    assert invoke(shop.price, item="abc") == 6 and PythonTool(shop.price).description == "What an item costs."
    assert invoke(shop.stock, item="x") == 2 and shop.stock("x") == 2
    assert list(shop.stock.schema().parameters["properties"]) == ["item"]  # type: ignore[attr-defined]
    assert invoke(Shop.name, short=True) == "S"
    ask = PythonTool(shop, name="ask")
    assert (invoke(ask, question="a"), ask.description, ask.name) == ("aa", "Answers.", "ask")

    def send(to: str, key: str, text: str = "hi") -> str:
        """Sends."""
        return f"{to} {key} {text}"

    bound = functools.partial(send, key="secret")
    tool = PythonTool(bound)
    assert (tool.name, tool.description) == ("send", "Sends.")
    assert list(properties(bound)) == ["to", "text"] and "secret" not in json.dumps(tool.schema().parameters)
    assert invoke(bound, to="Ann") == "Ann secret hi"


def test_a_decorated_function_stays_one() -> None:
    @ai.tool(name="double", description="Doubles.")
    def twice(n: int) -> int:
        return 2 * n

    assert twice(3) == 6 and (twice.name, twice.description) == ("double", "Doubles.")
    assert ai.tool(twice) is twice  # type: ignore[comparison-overlap]


def positional(a: int, /) -> None: ...
def rest(*a: int) -> None: ...
def named_rest(**a: int) -> None: ...
def untyped(a, b: int = 1):  # type: ignore[no-untyped-def]
    ...


def unknown(a: NoSuchType) -> None:  # type: ignore[name-defined]  # noqa: F821
    ...


def unsuitable(a: threading.Event) -> None: ...
def callback(a: Callable[[], None]) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (positional, "tool 'positional': parameter a is positional-only, but arguments of tools are passed by name"),
        (rest, "tool 'rest': parameter *a takes any number of arguments, which a schema can't say"),
        (named_rest, "tool 'named_rest': parameter **a takes any number of arguments, which a schema can't say"),
        (untyped, "tool 'untyped': parameter a has no type"),
        (unknown, "tool 'unknown': a type in its signature isn't known: name 'NoSuchType' is not defined"),
        (
            unsuitable,
            "no schema can be made of the parameters of tool 'unsuitable': Unable to generate pydantic-core schema for"
            " <class 'threading.Event'>",
        ),
        (
            callback,
            "no schema can be made of the parameters of tool 'callback': Cannot generate a JsonSchema for"
            " core_schema.CallableSchema",
        ),
        (lambda: 1, "a tool needs a name, which this function doesn't have"),
        (5, "expected tool, got int"),
        (int, "expected function, got native-fn"),
    ],
)
def test_what_cannot_be_a_tool(function: Any, message: str) -> None:
    with pytest.raises(SemaError) as caught:
        ai.Agent(tools=[function])._value.tools[0].schema()
    assert caught.value.message == message


# Calling


def test_async_functions_are_awaited_and_only_their_task_waits() -> None:
    order: list[str] = []

    async def slow(name: str) -> str:
        order.append(f"{name} begins")
        await asyncio.sleep(0.01)
        order.append(f"{name} ends")
        return name

    session = Session()
    session.globals["tool"] = PythonTool(slow)
    names = session.run(
        '(async/all (list (async (tool/invoke tool {:name "a"})) (async (tool/invoke tool {:name "b"}))))'
    )
    assert to_text(names) == '("a" "b")'
    assert order[:2] == ["a begins", "b begins"]


def test_a_function_that_blocks_runs_in_a_thread() -> None:
    @ai.tool(thread=True)
    def where() -> int:
        return threading.get_ident()

    async def main() -> Any:
        from sema_runtime.interop import run as await_sema

        return await await_sema(invoke, where)

    assert asyncio.run(main()) != threading.get_ident()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (None, "null"),
        (True, "true"),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        (Place("Oslo"), '{"city":"Oslo","country":"NO"}'),
        (Node(name="a"), '{"name":"a","children":[]}'),
        ([Unit.KELVIN, datetime.date(2026, 1, 2)], '["K","2026-01-02"]'),
        (to_sema({"a": [1]}), '{"a":[1]}'),
        (float("nan"), "NaN"),
    ],
)
def test_results_as_models_read_them(value: Any, text: str) -> None:
    def give() -> Any:
        return value

    assert PythonTool(give).text_of(value) == text


def test_what_json_has_no_word_for() -> None:
    loop: list[Any] = []
    loop.append(loop)
    tool = PythonTool(test_what_json_has_no_word_for)
    assert "object at" in tool.text_of([object()]) and "[...]" in tool.text_of(loop)


# From Sema and over the wires


def test_functions_among_the_tools_of_sema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weather_station.py").write_text(
        "import asyncio\n"
        "async def forecast(city: str, days: int = 1) -> dict:\n"
        "    '''The weather.\n\n    Args:\n        city: where\n    '''\n"
        "    await asyncio.sleep(0)\n"
        "    return {'city': city, 'days': days}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    program = """
    (py/from "weather_station" forecast)
    (define told nil)
    (llm/define-provider :player {:complete (fn (req)
      (set! told (:content (last (:messages req))))
      (if (= (length (:messages req)) 1) {:tool-calls [{:id "c" :name "forecast" :arguments {:city "Oslo"}}]} "rain"))})
    (define helper (agent {:tools [forecast]}))
    (define named (py/tool forecast {:name "weather" :description "Weather."}))
    (list (agent/run helper "?") told (map tool/name (agent/tools helper)) (tool/name named) (tool/description named)
          (tool/parameters named) (tool/invoke named {:city "Rome" :days 2})
          (llm/chat [(message :user "?")] {:tools [forecast]}))
    """
    assert to_text(run(program)) == (
        '("rain" "{\\"city\\":\\"Oslo\\",\\"days\\":1}" ("forecast") "weather" "Weather."'
        ' {:city {:description "where" :type :string} :days {:default 1 :optional #t :type :integer}}'
        ' {"city" "Rome" "days" 2} "rain")'
    )


def test_a_function_of_sema_is_told_to_use_deftool() -> None:
    with pytest.raises(SemaError) as caught:
        run("(define (f x) x) (agent {:tools [f]})")
    assert caught.value.message == "tool 'f': parameter x has no type" and "deftool" in str(caught.value.hint)


def turns(received: Received) -> Answer:
    arguments = {"place": {"city": "Oslo"}, "unit": "K"}
    if "anthropic-version" in received.headers:
        if len(received.body["messages"]) > 1:
            return Answer(200, claude_reply({"type": "text", "text": "cold"}))
        return Answer(200, claude_reply({"type": "tool_use", "id": "t", "name": "measured", "input": arguments}))
    if len(received.body["messages"]) > 1:
        return Answer(200, chat_reply("cold"))
    return Answer(200, chat_reply(None, [("c", "measured", arguments)]))


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("mode", [None, "native"])
def test_requests_that_the_sdk_accepts(provider: str, mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(place: Place, unit: Unit, maybe: int | None = None) -> float:
        """The temperature."""
        return 273.0 if unit is Unit.KELVIN and place == Place("Oslo") else 0.0

    with serving(turns) as server:
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", server.url)
        monkeypatch.setenv(f"{provider.upper()}_API_KEY", "k")
        assert asyncio.run(ai.chat("how cold?", tools=[measured], mode=mode)) == "cold"
    for received in server.received:
        assert problems(provider, received.body) == []
    assert "273.0" in json.dumps(server.received[1].body["messages"][-1])
