"""What `py/def` and `py/class` forms say of themselves: parameters, types, decorators, members."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

from sema_runtime.values.atoms import Keyword, Symbol
from sema_runtime.values.lists import List
from semac.expand.interfaces import head_of, module_body
from semac.ir.identifiers import mangle
from semac.stubs.annotations import ANYTHING, MARK

METHODS = frozenset(("property", "classmethod", "staticmethod"))  # decorators of which checkers know what they do
TYPES = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))
INDENT = "    "


class PythonForms:
    """The forms of one module. imports: the import statements that the lines written so far need."""

    def __init__(self, forms: List, classes: set[str]) -> None:
        self.imports: set[str] = set()
        self.classes = classes
        self.forms: dict[str, Any] = {}
        self.imported: dict[str, str] = {}  # name → statement that imports it
        for form in module_body([*forms])[0]:
            head = head_of(form)
            if head in ("py/def", "py/class"):
                target = form.items[2] if type(form.items[1]) is tuple and len(form.items) > 2 else form.items[1]
                named = target.items[0] if type(target) is List and target.items else target
                if type(named) is Symbol:
                    self.forms[named.name] = None if named.name in self.forms else form
                    self.classes |= {mangle(named.name)} if head == "py/class" else set()
            elif head in ("py/from", "py/import"):
                self.imported.update(_imports(form))

    def lines(self, name: str, python: str) -> list[str]:
        """The stub of a name that one such form defines; empty for others."""
        form = self.forms.get(name)
        if form is None:
            return [f"{python}: {ANYTHING}"] if name in self.forms else []
        if head_of(form) == "py/def":
            return self.function(form, python)
        return [*self.class_(form, python), ""]

    def function(self, form: List, python: str, indent: str = "", allowed: frozenset[str] = frozenset()) -> list[str]:
        """A function. allowed: decorators whose effect checkers know; with any other nothing is known of it."""
        decorators, (target, *rest) = _decorated(form)
        names = [decorator.name if type(decorator) is Symbol else "" for decorator in decorators]
        if any(name not in allowed for name in names):
            return [f"{indent}{python}: {ANYTHING}"]
        params = self.parameters(target.items[1:])
        returned = ANYTHING
        if len(rest) > 1 and type(rest[0]) is Symbol and rest[0].name == "->":
            returned, rest = self.type(rest[1]), rest[2:]
        doc = rest[0] if len(rest) > 1 and type(rest[0]) is str else None
        heads = [f"{indent}@{MARK}{name}" for name in names]
        return [*heads, *with_doc(f"def {python}({', '.join(params)}) -> {returned}:", doc, indent)]

    def parameters(self, items: list[Any]) -> list[str]:
        """Parameters, with their types; a receiver has none."""
        shown: list[str] = []
        for index, item in enumerate(items):
            if type(item) is Symbol:
                name = item.name
                stars = name[: len(name) - len(name.lstrip("*"))]
                bare = mangle(name.lstrip("*")) if name.lstrip("*") else ""
                if name == "*" and any(param.startswith("*") for param in shown):
                    continue  # what follows `*rest` can only be named
                is_receiver = index == 0 and name in ("self", "cls")
                shown.append(name if is_receiver or not bare else f"{stars}{bare}: {ANYTHING}")
            elif type(item) is List and item.items:
                shown.append(f"{mangle(item.items[0].name)}: {ANYTHING} = ...")
            elif type(item) is tuple and item:
                default = " = ..." if len(item) > 2 else ""
                type_ = self.type(item[1]) if len(item) > 1 else ANYTHING
                shown.append(f"{mangle(item[0].name)}: {type_}{default}")
        return shown

    def type(self, form: Any) -> str:
        """The annotation that a form stands for; Any where that isn't plain."""
        if form is None:
            return "None"
        if type(form) is Symbol:
            return self.named(form.name) or ANYTHING
        if type(form) is List and form.items and not any(type(part) is Keyword for part in form.items):
            head, *args = (self.type(part) for part in form.items)
            if head == "Annotated":
                return args[0] if args else ANYTHING
            if head != ANYTHING and args:
                return f"{head}[{', '.join(args)}]"
        return ANYTHING

    def named(self, name: str) -> str:
        """A name as Python writes it, if it can be used in a stub; "" otherwise."""
        first = name.partition(".")[0]
        if first in self.imported:
            self.imports.add(self.imported[first])
            return name
        python = mangle(name)
        return python if python in self.classes else MARK + name if name in TYPES else ""

    def class_(self, form: List, python: str) -> Iterator[str]:
        """A class with its members; Any where a base or a decorator isn't plain."""
        decorators, (target, *rest) = _decorated(form)
        bases = [part for part in target.items[1:]] if type(target) is List else []
        shown: list[str] = []
        for at, base in enumerate(bases):
            if type(base) is Keyword and at + 1 < len(bases) and type(bases[at + 1]) in (bool, int, str):
                shown.append(f"{mangle(base.name)}={bases[at + 1]!r}")
            elif type(base) is Symbol or type(base) is List:
                shown.append(self.type(base))
        heads = [self.decorator(part) for part in decorators]
        if ANYTHING in shown or not all(heads):
            yield f"{python}: {ANYTHING}"
            return
        yield from (f"@{head}" for head in heads)
        yield f"class {python}{'(' + ', '.join(shown) + ')' if shown else ''}:"
        members = [line for member in rest for line in self.member(member)]
        doc = rest[0] if rest and type(rest[0]) is str else None
        if doc:
            yield from with_doc("", doc)[1:]
        yield from members or ([] if doc else [f"{INDENT}pass"])

    def decorator(self, form: Any) -> str:
        """A decorator as Python writes it: a name, or a call with plain options; "" for another."""
        if type(form) is Symbol:
            return self.named(form.name)
        if type(form) is not List or not form.items or type(form.items[0]) is not Symbol:
            return ""
        name, options = self.named(form.items[0].name), form.items[1:]
        pairs = [*zip(options[::2], options[1::2], strict=False)]
        if (
            not name
            or len(options) % 2
            or not all(type(a) is Keyword and type(b) in (bool, int, str) for a, b in pairs)
        ):
            return ""
        return f"{name}({', '.join(f'{mangle(key.name)}={value!r}' for key, value in pairs)})"

    def member(self, form: Any) -> list[str]:
        """The lines of one member of a class."""
        if type(form) is tuple and len(form) > 1 and type(form[0]) is Symbol:
            return [f"{INDENT}{mangle(form[0].name)}: {self.type(form[1])}{' = ...' if len(form) > 2 else ''}"]
        head = head_of(form)
        if head == "py/def":
            named = _decorated(form)[1][0].items[0]
            return self.function(form, mangle(named.name), INDENT, METHODS)
        if head in ("define", "def") and len(form.items) > 1:
            target = form.items[1].items[0] if type(form.items[1]) is List else form.items[1]
            return [f"{INDENT}{mangle(target.name)}: {ANYTHING}"] if type(target) is Symbol else []
        return []


def _decorated(form: List) -> tuple[list[Any], list[Any]]:
    """(decorators, the rest) of a form."""
    _, first, *rest = form.items
    return ([*first], rest) if type(first) is tuple and rest else ([], [first, *rest])


def _imports(form: List) -> Iterator[tuple[str, str]]:
    """(name, statement that binds it) for the names that a form imports from Python."""
    _, module, *parts = form.items
    if type(module) is not str or module.startswith("."):
        return
    if head_of(form) == "py/import":
        if len(parts) == 2 and type(parts[1]) is Symbol:
            yield parts[1].name, f"import {module} as {parts[1].name}"
        else:
            yield module.partition(".")[0], f"import {module}"
        return
    for part in parts:
        if type(part) is Symbol:
            yield part.name, f"from {module} import {part.name}"
        elif type(part) is List and len(part.items) == 3 and type(part.items[0]) is Symbol:
            yield part.items[2].name, f"from {module} import {part.items[0].name} as {part.items[2].name}"


def with_doc(head: str, doc: str | None, indent: str = "") -> list[str]:
    """A definition without a body, but with its documentation."""
    if not doc:
        return [f"{indent}{head} ..."]
    inner = indent + INDENT
    text = doc.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    text += " " if text.endswith('"') else ""
    lines = f'"""{text}"""'.split("\n")
    return [f"{indent}{head}", inner + lines[0], *(inner + line.strip() if line.strip() else "" for line in lines[1:])]
