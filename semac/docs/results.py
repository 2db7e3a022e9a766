"""What a builtin returns, in the words of its documentation."""

from __future__ import annotations

from sema_runtime.catalogue_index import INDEX
from semac.types.signatures import Function, Name, TypeExpr, Union, Variable, signatures_of

WORDS = {"str": "string", "fn": "function", "seq": "list|vector", "flat": "list", "dict": "map|hashmap"}
NUMBERS = ("int", "float", "rational")
UNSAID = ("any", "never", "other")  # `other`: arithmetic also takes objects of Python


def returned(name: str) -> str:
    """The type of the result: `int|nil`, `list[string]`; "" where the declaration doesn't say.

    returned("frequencies") => "map"
    """
    results = [part for signature in signatures_of(name) for part in _parts(signature.result)]
    if any(isinstance(part, Variable) or part == Name("any") for part in results):
        return ""
    if not results:  # no signature
        declared = INDEX[name][4]
        return "" if declared == "any" else declared
    words = list(dict.fromkeys(filter(None, map(_word, results))))
    if "number" in words or set(NUMBERS) <= set(words):
        words = ["number", *(word for word in words if word not in ("number", *NUMBERS))]
    return "|".join(words)


def _parts(expr: TypeExpr) -> tuple[TypeExpr, ...]:
    return expr.parts if isinstance(expr, Union) else (expr,)


def _word(part: TypeExpr) -> str:
    if isinstance(part, Function):
        return "function"
    if not isinstance(part, Name) or part.name in UNSAID:
        return ""
    word = WORDS.get(part.name, part.name)
    inner = _word(part.args[0]) if part.name in ("list", "flat", "vector") else ""
    return f"{word}[{inner}]" if inner and not {"|", "["} & set(inner) else word
