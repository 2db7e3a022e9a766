"""Pages on the public Python API, from signatures and docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any, ForwardRef

MODULES = (
    "sema_runtime.ai", "sema_runtime.ai.sync", "sema_runtime.workflow", "sema_runtime.workflow.reading",
    "sema_runtime.workflow.events", "sema_runtime.box", "sema_runtime.interop", "sema_runtime.web",
    "sema_runtime.importer", "semac.importer",
)  # fmt: skip
OURS = ("sema_runtime", "semac")
WIDTH = 100  # columns of a signature on one line
INDEX = """# Python API

What each public name takes and returns, from the docstrings. [Public Python API](../reference/public-api.md) says what
stays stable.

| module | |
|---|---|
"""


def pages() -> dict[str, str]:
    """The text of each page, by its path in the site."""
    modules = {name: import_module(name) for name in MODULES}
    rows = [f"| [`{name}`]({name}.md) | {escaped(first_sentence(module))} |" for name, module in modules.items()]
    texts = {f"api/{name}.md": page(name, module) for name, module in modules.items()}
    return {"api/index.md": INDEX + "\n".join(rows) + "\n"} | texts


def page(name: str, module: ModuleType) -> str:
    entries = [(entry, getattr(module, entry)) for entry in exports(module)]
    rows = [f"| [`{entry}`](#{entry}) | {escaped(first_sentence(what))} |" for entry, what in entries]
    parts = [f"# `{name}`", prose(module), "\n".join(["| name | |", "|---|---|", *rows])]
    for entry, what in entries:
        parts += section(entry, what)
    return "\n\n".join(part for part in parts if part) + "\n"


def exports(module: ModuleType) -> list[str]:
    """The names of `__all__`; without one, the classes and functions of ours that the module has."""
    names = getattr(module, "__all__", None)
    if names is not None:
        return list(names)
    kinds = (inspect.isclass, inspect.isfunction)
    found = ((name, what) for name, what in vars(module).items() if any(kind(what) for kind in kinds))
    return [name for name, what in found if not name.startswith("_") and what.__module__.startswith(OURS)]


def section(name: str, what: Any) -> Iterator[str]:
    """The heading, signature and docstring of a name; of a class also those of its public members."""
    yield f"## `{name}` {{#{name}}}"
    if inspect.isfunction(what):
        yield fenced(signature(name, what))
    if not inspect.isclass(what):
        yield prose(what)
        return
    yield fenced(class_head(name, what))
    yield prose(what)
    for member, static in members(what):
        function = getattr(static, "__func__", static)
        yield f"### `{name}.{member}` {{#{name}.{member}}}"
        if inspect.isfunction(function):
            yield fenced(signature(member, function, is_method=not isinstance(static, staticmethod)))
        yield prose(function)


def members(what: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class and of its bases of ours; inherited ones need a docstring."""
    seen: set[str] = set()
    for base in what.__mro__:
        if not base.__module__.startswith(OURS):
            continue
        for name, static in vars(base).items():
            function = getattr(static, "__func__", static)
            shown = inspect.isfunction(function) or (isinstance(static, property) and static.__doc__)
            if name.startswith("_") or name in seen or not shown or (base is not what and not function.__doc__):
                continue
            seen.add(name)
            yield name, static


def signature(name: str, function: Any, is_method: bool = False, word: str = "def") -> str:
    """The head of a function, on several lines where one is too long."""
    try:
        facts = inspect.signature(function)
    except (TypeError, ValueError):
        return f"{word} {name}(...)"
    parameters = list(facts.parameters.values())[1 if is_method else 0 :]
    shown = list(with_markers(parameters))
    prefix = "async " if word == "def" and inspect.iscoroutinefunction(function) else ""
    result = "" if word == "class" or facts.return_annotation is facts.empty else f" -> {kind(facts.return_annotation)}"
    line = f"{prefix}{word} {name}({', '.join(shown)}){result}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{prefix}{word} {name}(", *(f"    {parameter}," for parameter in shown), f"){result}"])


def with_markers(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """The parameters, and `/` and `*` where those of one kind end."""
    previous = None
    for parameter in parameters:
        if previous is parameter.POSITIONAL_ONLY and parameter.kind is not parameter.POSITIONAL_ONLY:
            yield "/"
        if parameter.kind is parameter.KEYWORD_ONLY and previous not in (
            parameter.KEYWORD_ONLY,
            parameter.VAR_POSITIONAL,
        ):
            yield "*"
        yield parameter_text(parameter)
        previous = parameter.kind
    if previous is inspect.Parameter.POSITIONAL_ONLY:
        yield "/"


def parameter_text(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    annotated = parameter.annotation is not parameter.empty
    text = stars + parameter.name + (f": {kind(parameter.annotation)}" if annotated else "")
    if parameter.default is parameter.empty:
        return text
    default = repr(parameter.default)
    default = "..." if default.startswith("<") else default  # an object that has no literal
    return f"{text} = {default}" if annotated else f"{text}={default}"


def kind(annotation: Any) -> str:
    """An annotation as it stands in the source."""
    if isinstance(annotation, ForwardRef):
        return annotation.__forward_arg__
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def class_head(name: str, what: type) -> str:
    """The class with its fields if it is a dataclass or a tuple of fields, else with what its constructor takes."""
    rows = []
    if dataclasses.is_dataclass(what):
        for field in dataclasses.fields(what):
            default = "" if field.default is dataclasses.MISSING else f" = {field.default!r}"
            rows += [f"    {field.name}: {kind(field.type)}{default}"] if not field.name.startswith("_") else []
    elif issubclass(what, tuple) and hasattr(what, "_fields"):
        rows = [f"    {field}: {kind(what.__annotations__[field])}" for field in what._fields]
    elif issubclass(what, dict):
        rows = [f"    {field}: {kind(annotation)}" for field, annotation in what.__annotations__.items()]
    if rows:
        return "\n".join([f"class {name}:", *rows])
    constructor = what.__init__  # type: ignore[misc]
    if not getattr(constructor, "__module__", "").startswith(OURS):
        return f"class {name}"
    return signature(name, constructor, is_method=True, word="class")


def fenced(code: str) -> str:
    return f"```python\n{code}\n```"


def first_sentence(what: Any) -> str:
    text = " ".join((docstring(what)).split("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`\"])", text, maxsplit=1)[0]


def docstring(what: Any) -> str:
    """The text that belongs to the object itself: none of what classes inherit, of builtins, of dataclasses."""
    has_own = isinstance(what, ModuleType | property | FunctionType)
    text = vars(what).get("__doc__") if inspect.isclass(what) else what.__doc__ if has_own else ""
    if not isinstance(text, str) or (inspect.isclass(what) and text.startswith(f"{what.__name__}(")):
        return ""
    return inspect.cleandoc(text)


def prose(what: Any) -> str:
    """A docstring as Markdown: words are escaped, indented lines are code."""
    lines = docstring(what).split("\n")
    return "\n".join(line if line.startswith("    ") else escaped(line) for line in lines)


def escaped(text: str) -> str:
    """Text in which only code between backticks is markup."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece.startswith("`") else re.sub(r"([*_<\[|])", r"\\\1", piece) for piece in pieces)
