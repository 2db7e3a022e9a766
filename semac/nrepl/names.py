"""What editors ask about names: completions, documentation, parameters."""

from __future__ import annotations

from typing import Any

from semac.session import Session

NAMESPACE, BUILTIN = "user", "sema"
MOST_COMPLETIONS = 500


def completions(session: Session, prefix: str) -> list[dict[str, str]]:
    """The names that begin with a prefix, with what they are; those of the program first."""
    from sema_runtime.catalogue_index import INDEX
    from semac.docs.special_forms import FORMS

    own = {name: _kind(session, name) for name in [*session.names, *session.macros] if not name.startswith("*")}
    known = dict.fromkeys(INDEX, "function") | dict.fromkeys(FORMS, "special-form")
    found = [
        {"candidate": name, "type": names[name], "ns": namespace}
        for names, namespace in ((own, NAMESPACE), (known, BUILTIN))
        for name in sorted(names)
        if name.startswith(prefix) and not name.startswith("__") and (names is own or name not in own)
    ]
    return found[:MOST_COMPLETIONS]


def _kind(session: Session, name: str) -> str:
    if name in session.macros:
        return "macro"
    return "function" if callable(session.globals.get(session.shared.global_name(name))) else "var"


def information(session: Session, name: str) -> dict[str, Any] | None:
    """What is known of a name, in the words of nREPL; None for an unknown one."""
    key = session.shared.global_name(name)
    if name in session.names and key in session.globals:
        return _of_value(session, name, session.globals[key])
    if name in session.macros:
        return {"name": name, "ns": NAMESPACE, "macro": "true"}
    from semac.docs.entries import lookup

    entry = lookup(name)
    if entry is None:
        return None
    calls = [signature for signature in entry.signatures if signature.startswith("(")]
    found = {"name": name, "ns": BUILTIN, "doc": entry.text()}
    if calls:
        found["arglists-str"] = "\n".join(_parameters_of_call(call) for call in calls)
    if entry.kind == "special form":
        found["special-form"] = "true"
    return found


def _parameters_of_call(call: str) -> str:
    """`(f x y)` → `[x y]`."""
    return "[" + " ".join(call.strip()[1:-1].split()[1:]) + "]"


def _of_value(session: Session, name: str, value: Any) -> dict[str, Any]:
    from sema_runtime.values.printer import to_text
    from sema_runtime.values.typenames import type_name

    code = getattr(value, "__code__", None)
    if code is None:
        return {"name": name, "ns": NAMESPACE, "doc": f"{type_name(value)}: {to_text(value)[:1000]}"}
    found: dict[str, Any] = {
        "name": name,
        "ns": NAMESPACE,
        "arglists-str": _parameters_of_code(session, code),
    }
    if getattr(value, "__doc__", None):
        found["doc"] = value.__doc__
    if not code.co_filename.startswith("<"):
        found |= {"file": code.co_filename, "line": code.co_firstlineno, "column": 1}
    return found


def _parameters_of_code(session: Session, code: Any) -> str:
    from sema_runtime.values.naming import name_of_code

    shown = session.shared.shown
    names = [name_of_code(name, shown) for name in code.co_varnames[: code.co_argcount]]
    if code.co_flags & 0x04:
        names += ["&", name_of_code(code.co_varnames[code.co_argcount + code.co_kwonlyargcount], shown)]
    return "[" + " ".join(names) + "]"


def parameters(information: dict[str, Any]) -> list[list[str]]:
    """The parameters of each way to call a function, as eldoc shows them."""
    return [line[1:-1].split() for line in information.get("arglists-str", "").split("\n") if line]
