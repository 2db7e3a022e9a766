"""Unified diffs: making, reading, applying them."""

from __future__ import annotations

from typing import Any, NamedTuple

from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import is_int, strings
from sema_runtime.values.atoms import keyword
from sema_runtime.values.digits import whole
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

NO_NEWLINE = "\\ No newline at end of file"
HUNK = r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@"


class Hunk(NamedTuple):
    header: str
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: list[str]

    def as_map(self) -> Map:
        fields = self._asdict() | {"lines": List(self.lines)}
        return Map({keyword(name.replace("_", "-")): value for name, value in fields.items()})


@builtin("diff/unified", type="str, str, int? -> str", pure=True)
def diff_unified(old: Any, new: Any, context: Any = 3) -> str:
    """The differences between two texts as a unified diff with a number of context lines (default 3); "" when they are
    equal.

    (diff/unified "a\\nb\\n" "a\\nc\\n") => "--- old\\n+++ new\\n@@ -1,2 +1,2 @@\\n a\\n-b\\n+c\\n"
    (diff/unified "a" "a") => ""
    """
    from difflib import SequenceMatcher

    from sema_runtime.lib.text.diff_edits import opcodes

    strings(old, new)
    if not is_int(context):
        type_error("int", context)
    if context < 0:
        raise SemaError("diff/unified: context must be >= 0")
    before, after = _lines(old), _lines(new)
    out: list[str] = []
    matcher: Any = SequenceMatcher(None, "", "")
    matcher.opcodes = opcodes(before, after)  # difflib only makes the groups
    for group in matcher.get_grouped_opcodes(context):
        if all(tag == "equal" for tag, *_ in group):
            continue
        old_range = _range(group[0][1], group[-1][2])
        new_range = _range(group[0][3], group[-1][4])
        out.append(f"@@ -{old_range} +{new_range} @@\n")
        for tag, first, last, new_first, new_last in group:
            if tag == "equal":
                out += _marked(" ", before[first:last])
            else:
                out += _marked("-", before[first:last]) + _marked("+", after[new_first:new_last])
    return "".join(["--- old\n+++ new\n", *out]) if out else ""


def _lines(text: str) -> list[str]:
    """The lines with their line ends."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _marked(mark: str, lines: list[str]) -> list[str]:
    return [mark + line if line.endswith("\n") else f"{mark}{line}\n{NO_NEWLINE}\n" for line in lines]


def _files(patch: Any) -> list[tuple[str | None, str | None, list[Hunk]]]:
    """(old path, new path, hunks) of each file of a patch."""
    from re import match

    strings(patch)
    files: list[tuple[str | None, str | None, list[Hunk]]] = []
    old_path: str | None = None
    left = [0, 0]  # lines of the old and the new text that the current hunk still lacks
    for line in patch.split("\n"):
        if max(left) > 0 and line[:1] in (" ", "-", "+", "\\"):
            files[-1][2][-1].lines.append(line)
            left[0] -= line[:1] in (" ", "-")
            left[1] -= line[:1] in (" ", "+")
        elif line.startswith("\\") and files and files[-1][2]:
            files[-1][2][-1].lines.append(line)
        elif line.startswith("--- "):
            old_path = line[4:]
        elif line.startswith("+++ "):
            files.append((old_path, line[4:], []))
        elif header := match(HUNK, line):
            if not files:
                files.append((None, None, []))
            start, count, new_start, new_count = (whole(text or "1") for text in header.groups())
            files[-1][2].append(Hunk(header[0], start, count, new_start, new_count, []))
            left = [count, new_count]
    return files


def _hunks(patch: Any) -> list[Hunk]:
    return [hunk for _, _, hunks in _files(patch) for hunk in hunks]


@builtin(
    "diff/parse",
    type="str -> map keyword (flat (map keyword (str|nil|flat (map keyword (int|str|flat str))))) fresh",
    pure=True,
)
def diff_parse(patch: Any) -> Map:
    """Parses a patch into a map with :files, each with :old-path, :new-path and :hunks.

    (map :new-path (:files (diff/parse "--- a/x\\n+++ b/x\\n@@ -1 +1 @@\\n-1\\n+2\\n"))) => ("b/x")
    """
    names = (keyword("old-path"), keyword("new-path"), keyword("hunks"))
    files = [
        Map(dict(zip(names, (old, new, List([hunk.as_map() for hunk in hunks])), strict=True)))
        for old, new, hunks in _files(patch)
    ]
    return Map({keyword("files"): List(files)})


@builtin("diff/hunks", type="str -> flat (map keyword (int|str|flat str)) fresh", pure=True)
def diff_hunks(patch: Any) -> List:
    """The hunks of all files of a patch: maps of :header, :lines and the line numbers.

    (map :lines (diff/hunks (diff/unified "a\\n" "b\\n"))) => (("-a" "+b"))
    """
    return List([hunk.as_map() for hunk in _hunks(patch)])


@builtin("diff/stat", type="str -> map keyword int fresh", pure=True)
def diff_stat(patch: Any) -> Map:
    """Counts the lines that a patch adds and removes, and its hunks.

    (diff/stat (diff/unified "a\\nb\\n" "a\\nc\\nd\\n")) => {:added 2 :hunks 1 :removed 1}
    """
    hunks = _hunks(patch)
    marks = [line[:1] for hunk in hunks for line in hunk.lines]
    counts = {"added": marks.count("+"), "removed": marks.count("-"), "hunks": len(hunks)}
    return Map({keyword(name): value for name, value in counts.items()})


@builtin("diff/apply", type="str, str -> str", pure=True)
def diff_apply(content: Any, patch: Any) -> str:
    """Applies a patch (a unified diff) to a text and returns the result. Moved lines are found. Raises an error when
    lines are missing.

    (define patch (diff/unified "a\\nb\\n" "a\\nc\\n"))
    (diff/apply "a\\nb\\n" patch) => "a\\nc\\n"
    (diff/apply "new\\na\\nb\\n" patch) => "new\\na\\nc\\n"
    """
    strings(content, patch)
    return apply_patch("diff/apply", content, _hunks(patch))


def apply_patch(function: str, content: str, hunks: list[Hunk]) -> str:
    """The text with hunks applied in order."""
    lines = _lines(content)
    moved = 0
    for hunk in hunks:
        old, new = _sides(hunk)
        wanted = max(hunk.old_start - (1 if hunk.old_count else 0) + moved, 0)
        at = _place(lines, old, wanted)
        if at is None:
            raise SemaError(f"{function}: hunk does not apply (context mismatch near old line {hunk.old_start})")
        ends_bare = at + len(old) == len(lines) and bool(lines) and not lines[-1].endswith("\n")
        lines[at : at + len(old)] = new
        if ends_bare and lines:  # as in the reference, a text without a last line end stays so
            lines[-1] = lines[-1].removesuffix("\n")
        moved += len(new) - len(old) + at - wanted
    return "".join(lines)


def _sides(hunk: Hunk) -> tuple[list[str], list[str]]:
    """The lines of a hunk before and after."""
    old: list[str] = []
    new: list[str] = []
    last: list[list[str]] = []
    for line in hunk.lines:
        if line.startswith("\\"):
            for side in last:
                side[-1] = side[-1].removesuffix("\n")
            continue
        last = [old, new] if line[0] == " " else [old] if line[0] == "-" else [new]
        for side in last:
            side.append(line[1:] + "\n")
    return old, new


def _place(lines: list[str], old: list[str], wanted: int) -> int | None:
    """Where the old lines of a hunk are: the place nearest to the wanted one. A missing last line end is overlooked."""
    bare = [line.removesuffix("\n") for line in old]
    places = sorted(range(len(lines) - len(old) + 1), key=lambda place: abs(place - wanted))
    for place in places:
        if [line.removesuffix("\n") for line in lines[place : place + len(old)]] == bare:
            return place
    return None


@builtin("patch/apply-file", type="str, str -> int", cap="fs-write")
def patch_apply_file(path: Any, patch: Any) -> int:
    """Applies a patch (a unified diff) to a file and returns the number of its hunks.

    (file/write "a.txt" "a\\nb\\n")
    (patch/apply-file "a.txt" (diff/unified "a\\nb\\n" "a\\nc\\n")) => 1
    (file/read "a.txt") => "a\\nc\\n"
    """
    from sema_runtime.lib.files.files import file_read, file_write

    strings(path, patch)
    hunks = _hunks(patch)
    file_write(path, apply_patch("patch/apply-file", file_read(path), hunks))
    return len(hunks)
