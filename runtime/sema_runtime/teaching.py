"""What modules of Python learn about Sema's values when they are loaded: decision 69 says why, and has the figures.

`json.encoder`: every encoder of the standard library writes maps, lists, keywords and records, whoever calls it, with
whatever `default`. `pydantic_core`: values of ours are serialized where a model or FastAPI says nothing of their type.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def teach_json(encoder: Any) -> None:
    """Has both makers of encoders ask `values.borders` before the `default` of their caller."""
    encoder._make_iterencode = _taught(encoder._make_iterencode)
    if encoder.c_make_encoder is not None:
        encoder.c_make_encoder = _taught(encoder.c_make_encoder)


def _taught(make: Callable[..., Any]) -> Callable[..., Any]:
    if hasattr(make, "untaught"):
        return make

    def make_encoder(markers: Any, default: Callable[[Any], Any], *settings: Any) -> Any:
        values = sys.modules.get("sema_runtime.values.maps")
        if values is None:  # no value of Sema can exist yet
            return make(markers, default, *settings)
        converters = conversions()

        def default_or_plain(value: Any) -> Any:
            convert = converters.get(type(value))
            if convert is not None:
                return convert(value)
            return fields_of(value) if hasattr(type(value), "sema_fields") else default(value)

        return make(markers, default_or_plain, *settings)

    make_encoder.untaught = make  # type: ignore[attr-defined]
    return make_encoder


def conversions() -> dict[type, Callable[[Any], Any]]:
    """Functions that make one level of a value plain, by its type."""
    if not _conversions:
        from sema_runtime.values.atoms import Char, Keyword, Symbol
        from sema_runtime.values.lists import List
        from sema_runtime.values.maps import HashMap, Map
        from sema_runtime.values.mutable import MutableArray

        named: Any = {Keyword: lambda atom: atom.name, Symbol: lambda atom: atom.name, Char: str}
        _conversions.update(named)
        _conversions.update({Map: dict_of, HashMap: dict_of, List: list_of, MutableArray: lambda array: array.items})
    return _conversions


_conversions: dict[type, Callable[[Any], Any]] = {}


def dict_of(value: Any) -> dict[Any, Any]:
    """The entries of a map, for reading at once: the dict may be the one that a parser made."""
    entries = value.d
    if type(entries) is dict and value._face is None:  # as `face`, without its calls
        try:
            named = {key.python_key: item for key, item in entries.items()}
            if len(named) == len(entries):
                value._face = True
                return named
        except (AttributeError, RuntimeError):  # other keys; another thread takes the dict over
            pass
    raw = getattr(entries, "source", None) if type(entries) is not dict else None
    if type(raw) is dict:
        return raw
    face = value.face()
    return face if face is not None else {str(key): item for key, item in value.items()}


def list_of(value: Any) -> Any:
    items = value.flat or value.items
    return items if type(items) is list or type(items) is tuple else list(items)


def fields_of(record: Any) -> dict[str, Any]:
    return dict(zip(record.sema_fields, record.sema_members(), strict=True))


def teach_pydantic(core: Any) -> None:
    """Gives our classes what pydantic asks values of unknown types for."""
    schemas = core.core_schema
    classes: tuple[Any, ...] = tuple(conversions())
    for kind in classes:
        write = schemas.plain_serializer_function_ser_schema(conversions()[kind], return_schema=schemas.any_schema())
        kind.__pydantic_serializer__ = core.SchemaSerializer(schemas.any_schema(serialization=write))


def teach_fastapi(encoders: Any) -> None:
    """Names `Keyword` and its like among the types that FastAPI knows; maps and lists are dicts and lists to it."""
    encoders.ENCODERS_BY_TYPE.update(conversions())


LESSONS: dict[str, Callable[[Any], None]] = {
    "json.encoder": teach_json,
    "pydantic_core": teach_pydantic,
    "fastapi.encoders": teach_fastapi,
}


def teach(module: Any) -> None:
    """Teaches a module that has just been loaded."""
    LESSONS[module.__name__](module)
