"""How a malformed special form is written: the hint below an error of analysis that has none of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.lists import List
from sema_runtime.values.printer import to_text

CLAUSES = "each clause stands in parentheses, the last may be else: (cond ((> n 0) :more) (else :none))"
KEYS = "the keys of a clause stand in a list: (case n ((1 2) :few) (else :many))"
LOOP = "write (do ((i 0 (+ i 1))) ((= i 3) result) body ...)"
TRY = "write (try body ... (catch e (:message e))); there is one catch, with one name, and no finally"
RECORD = "write (define-record-type point (make-point x y) point? (x point-x) (y point-y))"
PATTERNS = "patterns stand in (fn ([a b]) ...) and (let (([a b] xs)) ...), not in the parameters of define and defn"
LONGEST = 60  # characters of a part of the program that a hint shows

# Head of a form → (part of the message, hint).
HINTS = {
    "cond": [("cond: expected a list", CLAUSES)],
    "case": [("case: expected a list", KEYS)],
    "do": [("do: ", LOOP), ("do expects", LOOP)],
    "try": [("try: ", TRY), ("try expects", TRY)],
    "define-record-type": [("define-record-type: ", RECORD)],
    "if": [("if expects", "write (if test then else); several forms in a branch are (begin ...)")],
    "if-let": [("if-let expects", "if-let has both branches: (if-let (x value) then else); when-let has one")],
    "throw": [("throw expects", "write (throw value), for example (throw {:code 1})")],
    "set!": [
        ("set!: expected a symbol", "only variables are set: (set! name value); a map with a change is (assoc m :k v)"),
        ("set! expects", "write (set! name value)"),
    ],
    "import": [("import: expected a symbol", 'write (import "file.sema" name ...); of Python: (py/import "math")')],
    "lambda": [("lambda: expected a symbol", "parameters are names, [a b] or {:keys [a b]}; the rest is (a . more)")],
    "module": [("module: ", "write (module name (export f g) (define (f) ...) ...)")],
    "defmulti": [("defmulti expects", "write (defmulti area (fn (shape) (:kind shape)))")],
    "defmethod": [("defmethod expects", "write (defmethod area :circle (fn (shape) ...))")],
}
HINTS["fn"] = HINTS["lambda"]
BINDERS = ("let", "let*", "letrec", "let-values", "let*-values")
DEFINERS = ("defn", "defun")


def form_hint(form: List, message: str) -> str | None:
    """What to write instead of a form that the analyzer refused with this message; None where nothing is known."""
    items = form.items
    if not items or type(items[0]) is not Symbol:
        return None
    head = items[0].name
    if head in BINDERS and message.startswith((f"{head}: ", "named let: ")):
        return _binding_hint(head, items)
    if head in DEFINERS and message.startswith("defun"):
        return _defn_hint(head, items)
    if head in ("define", "def") and message.startswith("define"):
        return _define_hint(head, items)
    if head in ("fn", "lambda") and message == "expected list or vector, got symbol":
        return f"all arguments as a list: ({head} (. {_shown(items[1])}) ...)"
    if head == "defmacro" and message == "defmacro: params must be a list" and len(items) > 2:
        return f"write (defmacro {_shown(items[1])} ({_names(items[2])}) ...)"
    return next((hint for part, hint in HINTS.get(head, ()) if message.startswith(part)), None)


def mistaken_part(form: List, message: str) -> Any:
    """The place of the part that isn't as the hint says: the first binding, the parameters; else that of the form."""
    items = form.items
    parts: Sequence[Any] = getattr(form.span, "children", ())
    head = items[0].name if items and type(items[0]) is Symbol else ""
    if head in DEFINERS and message.startswith("defun: expected a list") and len(parts) > 2:
        return parts[2]
    at = 2 if len(items) > 2 and type(items[1]) is Symbol else 1
    if head in BINDERS and message.endswith("expected a list") and len(parts) > at:
        bindings = items[at]
        if type(bindings) is not List:
            return parts[at]
        below = getattr(bindings.span, "children", ()) or ()
        wrong = (place for binding, place in zip(bindings, below, strict=False) if type(binding) is not List)
        return next(wrong, parts[at])
    return form.span


def _binding_hint(head: str, items: Any) -> str:
    """`(let [x 1 y 2] ...)` as `(let ((x 1) (y 2)) ...)`."""
    named = len(items) > 2 and type(items[1]) is Symbol
    bindings = items[2 if named else 1] if len(items) > 1 else None
    start = f"{head} {items[1].name}" if named else head
    parts: list[Any] = list(bindings or ()) if type(bindings) in (List, tuple) else []
    if parts and all(type(part) in (List, tuple) and len(part) == 2 for part in parts):
        written = " ".join(f"({to_text(name)} {to_text(value)})" for name, value in parts)
    elif parts and len(parts) % 2 == 0 and all(type(part) is not List for part in parts[::2]):
        pairs = zip(parts[::2], parts[1::2], strict=True)
        written = " ".join(f"({to_text(name)} {to_text(value)})" for name, value in pairs)
    else:
        written = ""
    if not written or len(written) > LONGEST:
        written = "(x 1) (y 2)"
    return f"each binding stands in parentheses, and all of them in another pair: ({start} ({written}) ...)"


def _defn_hint(head: str, items: Any) -> str:
    name = _shown(items[1]) if len(items) > 1 else "f"
    params = items[2] if len(items) > 2 else None
    if type(params) is str and len(items) > 3:
        return f"{head} takes its docstring behind the parameters: ({head} {name} ({_names(items[3])}) text body ...)"
    if type(params) is List and len(params) and len(items) > 3 and all(_is_arity(part) for part in items[2:]):
        return f"{head} takes one list of parameters: ({head} {name} (x . more) ...)"
    if type(params) is List and any(type(part) is not Symbol for part in params):
        return PATTERNS
    return f"{head} takes its parameters in parentheses: ({head} {name} ({_names(params)}) body ...)"


def _is_arity(form: Any) -> bool:
    """Whether a form is `([x y] body ...)` or `((x y) body ...)`, one of several parameter lists."""
    return type(form) is List and len(form) > 1 and type(form.items[0]) in (List, tuple)


def _define_hint(head: str, items: Any) -> str | None:
    if len(items) < 2:
        return f"write ({head} name value) or ({head} (name x) body ...)"
    target, rest = items[1], items[2:]
    if type(target) is Symbol and len(rest) > 1:
        if type(rest[0]) is str:
            return f"{head} takes no docstring: ({head} {target.name} value)"
        return f"a function is written ({head} ({target.name} {_names(rest[0])}) body ...)"
    if type(target) is Symbol:
        return f"write ({head} {target.name} value)"
    if type(target) is List and any(type(part) is not Symbol for part in target):
        return PATTERNS
    return None


def _names(params: Any) -> str:
    """The parameters of a list or vector as they stand between parentheses."""
    if type(params) not in (List, tuple) or any(type(part) is not Symbol for part in params):
        return "x y"
    from semac.analyze.suspects import MARKS

    return " ".join("." if part.name in MARKS else part.name for part in params)


def _shown(form: Any) -> str:
    text = to_text(form)
    return text if len(text) <= LONGEST else "..."
