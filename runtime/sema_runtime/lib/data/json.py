"""JSON (support/json.py): `json/decode`, `json/encode`, `json/encode-pretty`."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.support.json import decode, encode, encode_pretty
from sema_runtime.support.text_arguments import argument_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@builtin("json/decode", type="str -> map keyword any|flat any|str|int|float|bool|nil fresh", pure=True)
def json_decode(text: Any) -> Any:
    """Parses a JSON text. Objects become maps with keyword keys, arrays lists, null and floats out of range nil.

    An integer may have 20000 digits; a longer one raises an error, since its conversion would take long.

    (json/decode "{\\"a\\": [1, 2.5, null]}") => {:a (1 2.5 nil)}
    (json/decode "[1, 2") ! json/decode: parse error at line 1 column 5: EOF while parsing a list at line 1 column 5
    """
    if not isinstance(text, str):
        argument_error("json/decode", 1, "string", text, "json/decode: argument 1 must be a JSON-encoded string")
    return decode(text)


@builtin("json/encode", type="any -> str", pure=True)
def json_encode(value: Any) -> str:
    """Converts a value to JSON on one line. Keys are sorted by their text, rationals become strings.

    (json/encode {:name "Ada" :tags '(1 2)}) => "{\\"name\\":\\"Ada\\",\\"tags\\":[1,2]}"
    (json/encode #\\a) ! json/encode: Eval error: cannot encode char as JSON
    """
    return encode(value)


@builtin("json/encode-pretty", type="any -> str", pure=True)
def json_encode_pretty(value: Any) -> str:
    """Converts a value to JSON on several lines, indented by two spaces.

    (println (json/encode-pretty {:a [1 2]})) prints {\\n  "a": [\\n    1,\\n    2\\n  ]\\n}
    """
    return encode_pretty(value)
