"""Properties: kinds of values as Hypothesis' strategies, and running a check with what these draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

from sema_runtime.values.atoms import Keyword, char, keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text

HINT = ":int, :nat, :float, :number, :bool, :string, :char, :keyword, :any, [:list kind], [:map kind kind], ..."


def run_property(name: str, function: Any, names: list[str], kinds: Any, options: dict[str, Any]) -> None:
    """Calls function with many values. Raises what the smallest failing ones raise, with a note that shows them.

    options: examples (how many, 100), deadline (milliseconds for one). Raises SemaError without Hypothesis.
    """
    try:
        import hypothesis
    except ImportError:
        raise SemaError("defproperty needs the package hypothesis", "pip install hypothesis") from None
    from hypothesis import strategies

    last: tuple[Any, ...] = ()

    def check(values: tuple[Any, ...]) -> None:
        nonlocal last
        last = values
        if function(*values) is False:
            raise AssertionError(f"the property {name} is false")

    file = crc32(function.__code__.co_filename.encode())
    check.__name__ = check.__qualname__ = f"property_{file}_{crc32(name.encode())}"  # keeps its examples apart
    settings: dict[str, Any] = {"deadline": options.get("deadline"), "report_multiple_bugs": False, "print_blob": False}
    if "examples" in options:
        settings["max_examples"] = options["examples"]
    drawn = strategies.tuples(*map(strategy, kinds))
    try:
        hypothesis.settings(**settings)(hypothesis.given(drawn)(check))()
    except Exception as error:
        shown = ", ".join(f"{variable} = {to_text(value)}" for variable, value in zip(names, last, strict=False))
        error.__notes__ = [f"smallest failing example: {shown}"] if last else []
        raise


def strategy(kind: Any) -> Any:
    """The strategy for a kind, see `defproperty`. Raises SemaError for what is none."""
    from hypothesis.strategies import SearchStrategy, fixed_dictionaries

    if isinstance(kind, SearchStrategy):
        return kind
    if type(kind) is Keyword and kind.name in SIMPLE:
        return SIMPLE[kind.name]()
    if type(kind) is Map:
        pairs = list(kind.pairs())
        drawn = fixed_dictionaries({index: strategy(inner) for index, (_, inner) in enumerate(pairs)})
        return drawn.map(lambda values: Map.of([(key, values[index]) for index, (key, _) in enumerate(pairs)]))
    if type(kind) in (tuple, List):
        items = list(kind.items if type(kind) is List else kind)
        if items and type(items[0]) is Keyword and items[0].name in COMPOUND:
            return COMPOUND[items[0].name](*items[1:])
    raise SemaError(f"no kind of values: {to_text(kind)}", HINT)


def _numbers() -> Any:
    from hypothesis import strategies as st

    return st.one_of(st.integers(), st.fractions().filter(lambda value: value.denominator != 1), _floats())


def _floats() -> Any:
    from hypothesis import strategies as st

    return st.floats(allow_nan=False, allow_infinity=False)


def _words() -> Any:
    from hypothesis import strategies as st

    return st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)


def _atoms() -> Any:
    from hypothesis import strategies as st

    return st.one_of(st.none(), st.booleans(), st.integers(), _floats(), st.text(), _words().map(keyword))


def _any() -> Any:
    from hypothesis import strategies as st

    return st.recursive(
        _atoms(),
        lambda inner: st.one_of(
            st.lists(inner).map(List),
            st.lists(inner).map(tuple),
            st.dictionaries(_words().map(keyword), inner).map(lambda entries: Map.of(list(entries.items()))),
        ),
        max_leaves=12,
    )


def _simple(name: str, **limits: Any) -> Callable[[], Any]:
    def make() -> Any:
        from hypothesis import strategies

        return getattr(strategies, name)(**limits)

    return make


SIMPLE: dict[str, Callable[[], Any]] = {
    "int": _simple("integers"),
    "nat": _simple("integers", min_value=0),
    "float": _floats,
    "number": _numbers,
    "bool": _simple("booleans"),
    "string": _simple("text"),
    "char": lambda: _simple("characters")().map(char),
    "keyword": lambda: _words().map(keyword),
    "bytes": _simple("binary"),
    "any": _any,
}


def _list(inner: Any) -> Any:
    return _simple("lists", elements=strategy(inner))().map(List)


def _vector(*inner: Any) -> Any:
    from hypothesis import strategies as st

    return st.lists(strategy(inner[0])).map(tuple) if len(inner) == 1 else st.tuples(*map(strategy, inner))


def _map(keys: Any, values: Any) -> Any:
    from hypothesis import strategies as st

    return st.lists(st.tuples(strategy(keys), strategy(values))).map(Map.of)


def _ints(least: int, most: int) -> Any:
    return _simple("integers", min_value=least, max_value=most)()


def _or(*kinds: Any) -> Any:
    from hypothesis import strategies as st

    return st.one_of(*map(strategy, kinds))


def _enum(*values: Any) -> Any:
    return _simple("sampled_from", elements=values)()


COMPOUND: dict[str, Callable[..., Any]] = {
    "list": _list, "vector": _vector, "map": _map, "int": _ints, "or": _or, "enum": _enum,
}  # fmt: skip
