"""Writes the lists of names into the syntax files of editors, and the TextMate grammar as a whole.

python -m semac.editors.build [--check]     --check: exit 1 when a file on disk is stale
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from sema_runtime.catalogue_index import INDEX
from semac.docs.special_forms import FORMS

FOLDER = Path(__file__).resolve().parent
WORD = r"A-Za-z0-9_+\-*/!?<>=&%^~.#\x{80}-\x{10ffff}"  # what names consist of, for Oniguruma
START, END = rf"(?<![{WORD}:])", rf"(?![{WORD}])"
REAL = r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
FORM_NAMES = sorted(FORMS)
BUILTINS = sorted(name for name in INDEX if not name.startswith("__") and name not in FORMS)


def main(args: list[str]) -> int:
    """Writes the files, or says which are stale."""
    texts = {
        "sema.tmLanguage.json": json.dumps(grammar(), indent=2) + "\n",
        "vim/syntax/sema.vim": with_lists("vim/syntax/sema.vim", vim_lists()),
        "emacs/sema-mode.el": with_lists("emacs/sema-mode.el", emacs_lists()),
    }
    stale = [
        name for name, text in texts.items() if not (FOLDER / name).exists() or (FOLDER / name).read_text() != text
    ]
    if "--check" in args:
        print(*stale, sep="\n")
        return 1 if stale else 0
    for name in stale:
        (FOLDER / name).write_text(texts[name])
    return 0


def with_lists(name: str, lists: str) -> str:
    """The text of a file with what stands between its two marks replaced."""
    text = (FOLDER / name).read_text()
    return re.sub(r"(?sm)( begin of the names\n).*?(^\S+ end of the names)", lambda m: f"{m[1]}{lists}\n{m[2]}", text)


def vim_lists() -> str:
    rows = [f"syn keyword semaForm {name}" for name in FORM_NAMES]
    return "\n".join([*rows, *(f"syn keyword semaBuiltin {name}" for name in BUILTINS if "|" not in name)])


def emacs_lists() -> str:
    def constant(name: str, names: list[str]) -> str:
        quoted = " ".join(json.dumps(one) for one in names)
        return f"(defconst {name}\n  '({quoted}))"

    return constant("sema-mode-forms", FORM_NAMES) + "\n" + constant("sema-mode-builtins", BUILTINS)


def any_of(names: list[str]) -> str:
    return "(?:" + "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)) + ")"


def grammar() -> dict[str, Any]:
    """The TextMate grammar."""
    defines = any_of([name for name in FORM_NAMES if name.startswith("def")])
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "Sema",
        "scopeName": "source.sema",
        "fileTypes": ["sema"],
        "firstLineMatch": "^#!.*\\bsema\\b",
        "patterns": [{"include": "#forms"}],
        "repository": {"forms": {"patterns": [*literals(), *names(defines), *brackets()]}},
    }


def literals() -> list[dict[str, Any]]:
    escape = {"name": "constant.character.escape.sema", "match": r"\\."}
    inner = {
        "name": "meta.interpolation.sema",
        "begin": r"\$\{",
        "end": r"\}",
        "beginCaptures": {"0": {"name": "punctuation.section.interpolation.begin.sema"}},
        "endCaptures": {"0": {"name": "punctuation.section.interpolation.end.sema"}},
        "patterns": [{"include": "#forms"}],
    }
    return [
        {"name": "comment.line.shebang.sema", "match": r"\A#!.*"},
        {"name": "comment.line.semicolon.sema", "match": ";.*"},
        quoted("string.interpolated.sema", rf'{START}f"', [escape, inner]),
        quoted("string.regexp.sema", '#"', [{"match": r"\\."}]),
        quoted("string.quoted.double.sema", '"', [escape]),
        {"name": "constant.character.sema", "match": rf"#\\(?:(?:space|newline|tab|return|nul){END}|.)"},
        {"name": "constant.language.sema", "match": rf"#[tf]|{START}(?:true|false|nil){END}"},
        {"name": "constant.numeric.sema", "match": rf"(?:#[xXbBoOdDeEiI])+[+-]?[0-9a-fA-F]+(?:[./][0-9a-fA-F]+)?{END}"},
        {"name": "constant.numeric.sema", "match": rf"{START}(?:-?{REAL})?[+-](?:\d+/\d+|{REAL})?i{END}"},
        {"name": "constant.numeric.sema", "match": rf"{START}-?(?:\d+/\d+|{REAL}i?)"},
        {"name": "constant.other.keyword.sema", "match": rf":[{WORD}]+"},
    ]


def quoted(name: str, begin: str, patterns: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "begin": begin, "end": '"', "patterns": patterns}


def names(defines: str) -> list[dict[str, Any]]:
    return [
        {
            "match": rf"(?<=\()({defines})\s+\(?([{WORD}]+)",
            "captures": {"1": {"name": "keyword.control.sema"}, "2": {"name": "entity.name.function.sema"}},
        },
        {"name": "keyword.control.sema", "match": START + any_of(FORM_NAMES) + END},
        {"name": "support.function.sema", "match": START + any_of(BUILTINS) + END},
        {"name": "variable.other.sema", "match": rf"[{WORD}]+"},
    ]


def brackets() -> list[dict[str, Any]]:
    return [
        {"name": "keyword.operator.sema", "match": ",@|['`,@]"},
        {"name": "meta.brace.sema", "begin": r"\{", "end": r"\}", "patterns": [{"include": "#forms"}]},
        {"name": "punctuation.section.sema", "match": r"[()\[\]]"},
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
