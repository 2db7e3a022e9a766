"""Syntax files: fresh, and read by the engines of Pygments, Vim and VS Code."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from corpus import SAMPLE, cases_of
from paths import EXAMPLES, ROOT
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Error, Keyword, Literal, Name, Number, String, Text

from semac.syntax.lexer import lex

EDITORS = ROOT / "semac" / "editors"
MODULES = ROOT / "node_modules"
PROGRAM = """#!/usr/bin/env sema
; a remark
(define (twice x) (* 2 x))
(println f"a ${(str :key)} b" "text" #\\a 1/2 -1.5e3 #t nil #"d+" {:k 'sym})
"""


def test_the_lists_of_names_are_fresh() -> None:
    command = [sys.executable, "-m", "semac.editors.build", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, ""), "run python -m semac.editors.build"


# Pygments


def test_pygments_finds_the_lexer() -> None:
    assert get_lexer_by_name("sema").name == get_lexer_for_filename("x.sema").name == "Sema"


def test_pygments_tells_kinds_apart() -> None:
    kinds = {text: kind for kind, text in get_lexer_by_name("sema").get_tokens(PROGRAM)}
    expected = {
        "#!/usr/bin/env sema": Comment.Hashbang,
        "; a remark": Comment.Single,
        "define": Keyword.Declaration,
        "twice": Name.Function,
        "println": Name.Builtin,
        ":key": String.Symbol,
        "${": String.Interpol,
        "text": Literal.String,
        "#\\a": String.Char,
        "1/2": Number,
        "-1.5e3": Number.Float,
        "#t": Keyword.Constant,
        "nil": Keyword.Constant,
        "sym": Name.Variable,
    }
    assert {text: kinds[text] for text in expected} == expected


def test_pygments_knows_all_of_the_language() -> None:
    """Nothing that the reader accepts is an error, and its lexer and ours see the same strings and comments."""
    texts = [case["src"] for case in cases_of(SAMPLE) if not case.get("error")]
    texts += [path.read_text() for path in EXAMPLES.rglob("*.sema")]
    lexer = get_lexer_by_name("sema", stripnl=False, ensurenl=False)
    for text in texts:
        tokens = list(lexer.get_tokens(text))
        assert "".join(piece for _, piece in tokens) == text.replace("\r\n", "\n").replace("\r", "\n")
        assert [piece for kind, piece in tokens if kind in (Error, Text)] == [], text
        comments: list[object] = []
        lex(text, comments=comments)  # type: ignore[arg-type]
        assert [piece for kind, piece in tokens if kind is Comment.Single] == [one.text for one in comments], text


# Vim


VIM = """
set nocompatible
set rtp^={folder}
filetype plugin on
syntax on
edit {file}
let out = [&filetype, &lisp, v:errmsg]
for word in {words}
  call cursor(1, 1)
  let place = searchpos('\\V' . word, 'cW')
  call add(out, word . ' ' . synIDattr(synID(place[0], place[1], 1), 'name'))
endfor
call writefile(out, '{out}')
qa!
"""


def has_vim() -> bool:
    vim = shutil.which("vim")
    return vim is not None and "+syntax" in subprocess.run([vim, "--version"], capture_output=True, text=True).stdout


@pytest.mark.skipif(not has_vim(), reason="needs vim with +syntax")
def test_vim_highlights(tmp_path: Path) -> None:
    expected = {
        "/usr/bin": "semaShebang",
        "remark": "semaComment",
        "define": "semaForm",
        "twice": "semaDefinition",
        "println": "semaBuiltin",
        "str": "semaBuiltin",
        ":key": "semaKeyword",
        "${": "semaDelimiter",
        "text": "semaString",
        "1/2": "semaNumber",
        "#t": "semaBoolean",
        "nil": "semaBoolean",
        "d+": "semaRegex",
        "sym": "",
    }
    program, script, out = (tmp_path / name for name in ("x.sema", "script.vim", "out"))
    program.write_text(PROGRAM)
    script.write_text(VIM.format(folder=EDITORS / "vim", file=program, words=json.dumps([*expected]), out=out))
    subprocess.run(["vim", "-es", "-u", "NONE", "-S", str(script)], timeout=60, stdin=subprocess.DEVNULL)
    filetype, lisp, problem, *found = out.read_text().splitlines()
    assert (filetype, lisp, problem) == ("sema", "1", "")
    assert dict(line.split(" ") for line in found) == expected


# VS Code


def test_the_grammar_is_json_with_all_its_parts() -> None:
    grammar = json.loads((EDITORS / "sema.tmLanguage.json").read_text())
    assert grammar["scopeName"] == "source.sema"
    assert json.loads((EDITORS / "language-configuration.json").read_text())["comments"] == {"lineComment": ";"}


@pytest.mark.skipif(not (MODULES / "vscode-textmate").exists(), reason="needs npm install vscode-{textmate,oniguruma}")
def test_the_engine_of_vs_code_reads_the_grammar() -> None:
    script = Path(__file__).parent / "tokenize.js"
    command = ["node", str(script), str(EDITORS / "sema.tmLanguage.json"), str(MODULES)]
    done = subprocess.run(command, input=PROGRAM, capture_output=True, text=True, timeout=60)
    scopes = {text: scope for scope, _, text in (line.partition("\t") for line in done.stdout.splitlines())}
    expected = {
        "#!/usr/bin/env sema": "comment.line.shebang.sema",
        "; a remark": "comment.line.semicolon.sema",
        "define": "keyword.control.sema",
        "twice": "entity.name.function.sema",
        "println": "support.function.sema",
        "str": "support.function.sema",
        ":key": "constant.other.keyword.sema",
        "text": "string.quoted.double.sema",
        "#\\a": "constant.character.sema",
        "1/2": "constant.numeric.sema",
        "-1.5e3": "constant.numeric.sema",
        "#t": "constant.language.sema",
        "nil": "constant.language.sema",
        "sym": "variable.other.sema",
    }
    assert {text: scopes.get(text) for text in expected} == expected, done.stderr


# Emacs


def test_the_brackets_of_the_emacs_mode_balance() -> None:
    text = (EDITORS / "emacs" / "sema-mode.el").read_text()
    bare = re.sub(r'\?\\?[][(){}|#@]|"(?:[^"\\]|\\.)*"|;.*', "", text)
    depth = 0
    for bracket in re.findall(r"[()]", bare):
        depth += 1 if bracket == "(" else -1
        assert depth >= 0
    assert depth == 0


# The extension for VS Code


def test_the_extension_has_what_its_manifest_names() -> None:
    manifest = json.loads((EDITORS / "vscode" / "package.json").read_text())
    source = (EDITORS / "vscode" / "src" / "extension.ts").read_text()
    commands = {entry["command"].removeprefix("sema.") for entry in manifest["contributes"]["commands"]}
    assert commands == {*re.findall(r'command\("(\w+)"', source)}
    contributed = manifest["contributes"]
    files = [contributed["languages"][0]["configuration"], contributed["grammars"][0]["path"]]
    files += [snippets["path"] for snippets in contributed["snippets"]]
    assert all((EDITORS / name).exists() for name in files)


def test_snippets_are_forms_that_balance() -> None:
    for name, snippet in json.loads((EDITORS / "snippets.json").read_text()).items():
        text = re.sub(r"\$\{\d+:([^}]*)\}|\$\d+", r"\1", "\n".join(snippet["body"]))
        errors: list[object] = []
        tokens = lex(text, errors=errors)  # type: ignore[arg-type]
        assert (errors, text.count("(")) == ([], text.count(")")), name
        assert text.startswith("(" + snippet["prefix"].partition("-loop")[0]), name
        assert len(tokens) > 3


@pytest.mark.skipif(not (ROOT / "build" / "vscode" / "node_modules").exists(), reason="needs scripts/build_vsix")
def test_the_extension_passes_the_type_checker() -> None:
    target = ROOT / "build" / "vscode"
    shutil.copytree(EDITORS / "vscode" / "src", target / "src", dirs_exist_ok=True)
    done = subprocess.run(["npx", "tsc", "--project", "."], cwd=target, capture_output=True, text=True, timeout=300)
    assert done.stdout == ""
