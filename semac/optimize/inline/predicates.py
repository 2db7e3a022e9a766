"""Questions for the kind of a value: constants where the type says it, else Python's own tests.

Sound because each test asks for the exact classes that the builtin takes. Where values of Python may be (subclasses of
`str`, lists and dicts of Python, numbers of libraries), the test is the one that the builtin makes.
"""

from __future__ import annotations

from semac.anf.nodes import CallBuiltin, Lit, Move, Op, Python
from semac.optimize.inline.table import Place, inlines
from semac.types.lattice import (
    BOOL,
    CHAR,
    FLOAT,
    INT,
    KEYWORD,
    LIST,
    MAP,
    NUMBER,
    OTHER,
    RATIO,
    STR,
    SYMBOL,
    VECTOR,
    atom,
)

# Predicates → (kinds of values for which they hold, kinds of which some others may, how Python asks; "": the builtin).
PREDICATES: dict[str, tuple[int, int, str]] = {
    "string?": (STR, OTHER, "is_str"),
    "char?": (CHAR, 0, "is_char"),
    "symbol?": (SYMBOL, 0, "is_symbol"),
    "keyword?": (KEYWORD, 0, "is_keyword"),
    "vector?": (VECTOR, OTHER, "is_tuple"),
    "list?": (LIST, OTHER, "is_list"),
    "map?": (MAP, OTHER, ""),
    "hash-map?": (MAP, OTHER, ""),
    "number?": (INT | FLOAT | RATIO, OTHER, "is_number"),
    "real?": (INT | FLOAT, NUMBER | OTHER, "is_real"),
    "exact-integer?": (INT, 0, "is_int"),
    "integer?": (INT, FLOAT, ""),
    "float?": (FLOAT, 0, "is_float"),
    "bool?": (BOOL, 0, ""),
    "boolean?": (BOOL, 0, ""),
}


@inlines(*PREDICATES)
def kind_asked(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 1 or place.is_text:
        return None
    holds, may_hold, kind = PREDICATES[op.name]
    type_ = op.args[0].type
    if type_.only(holds):
        return Move(Lit(True, atom(BOOL)))
    if type_.tags and not type_.tags & (holds | may_hold):
        return Move(Lit(False, atom(BOOL)))
    return Python(kind, op.args) if kind else None
