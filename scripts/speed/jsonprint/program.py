"""A JSON printer by hand: escapes, one line and indented, over dicts, lists and tuples."""

ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


class CannotPrint(Exception):
    def __init__(self, kind):
        super().__init__(kind)
        self.kind = kind


def quoted(text):
    return '"' + "".join(ESCAPES.get(c, c) for c in text) + '"'


def compact(value):
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(k)}:{compact(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(compact, value)) + "]"
    raise CannotPrint(type(value).__name__)


def indented(value, depth):
    inner = "  " * (depth + 1)
    outer = "  " * depth
    if isinstance(value, dict) and value:
        lines = [f"{inner}{quoted(k)}: {indented(v, depth + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{outer}}}"
    if isinstance(value, (list, tuple)) and value:
        lines = [f"{inner}{indented(v, depth + 1)}" for v in value]
        return "[\n" + ",\n".join(lines) + f"\n{outer}]"
    return compact(value)


def document(i):
    return {
        "id": i,
        "nested": {"empty": [], "flag": i % 2 == 0, "missing": None, "points": [(1, 2.5), (i, i * i)]},
        "path": "C:\\temp\tfiles\n",
        "tags": ["new", "used", i],
        "title": f'A "quoted" title {i}',
    }


documents = [document(i) for i in range(4500)]
lines = [compact(d) for d in documents]
pages = [indented(d, 0) for d in documents]
try:
    failure = compact({"f": len})
except CannotPrint:
    failure = "unprintable"
print(f"jsonprint: {sum(map(len, lines))} {sum(map(len, pages))} {lines[3]} {failure}")
