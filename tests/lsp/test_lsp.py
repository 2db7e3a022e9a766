"""`sema lsp` as the client of pygls sees it, over stdin and stdout."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lsp_client import SEMA, WAIT, Editor, in_editor
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException


def test_completion_in_a_half_typed_form(tmp_path: Path) -> None:
    async def body(editor: Editor) -> None:
        editor.open("a.sema", "(define (area width height)\n  (let ((wide 2)) (+ wi")
        assert {"wide", "width"} <= {*await editor.labels("a.sema", 1, 23)}
        editor.open("b.sema", "(string/jo")
        assert await editor.labels("b.sema", 0, 10) == ["string/join"]

    in_editor(tmp_path, body)


def test_findings_come_with_fixes(tmp_path: Path) -> None:
    async def body(editor: Editor) -> None:
        editor.open("a.sema", '(define total 1)\n(println "💡" totl)')
        found = await editor.found.get()
        [problem] = found.diagnostics
        assert problem.message.startswith("Unbound variable: totl")
        assert problem.range == lsp.Range(lsp.Position(1, 14), lsp.Position(1, 18))
        context = lsp.CodeActionContext([problem])
        document = lsp.TextDocumentIdentifier(editor.uri("a.sema"))
        params = lsp.CodeActionParams(document, problem.range, context)
        [fix] = await editor.client.text_document_code_action_async(params)  # type: ignore[misc]
        assert fix.edit.changes[editor.uri("a.sema")][0].new_text == "total"  # type: ignore[union-attr, index]

    in_editor(tmp_path, body)


def test_definition_and_rename_across_files(tmp_path: Path) -> None:
    (tmp_path / "lib.sema").write_text('(define (double x)\n  "Twice x."\n  (* 2 x))\n')
    (tmp_path / "other.sema").write_text('(import "lib.sema")\n(double 3)\n')
    (tmp_path / "unrelated.sema").write_text("(define (double x) x)\n")

    async def body(editor: Editor) -> None:
        editor.open("main.sema", '(import "lib.sema")\n(println f"${(double 4)}" (let ((double 1)) double) \'double)\n')
        found = await editor.definition("main.sema", 1, 16)
        assert found.uri == editor.uri("lib.sema")
        assert found.range.start == lsp.Position(0, 9)
        shown = await editor.client.text_document_hover_async(lsp.HoverParams(**editor.at("main.sema", 1, 16)))
        assert "(double x)" in shown.contents.value and "Twice x." in shown.contents.value  # type: ignore[union-attr]
        changes = await editor.rename("main.sema", 1, 16, "twice")
        places = {uri.rpartition("/")[2]: [edit.range.start for edit in edits] for uri, edits in changes.items()}
        assert places == {
            "lib.sema": [lsp.Position(0, 9)],
            "main.sema": [lsp.Position(1, 14)],
            "other.sema": [lsp.Position(1, 1)],
        }

    in_editor(tmp_path, body)


@pytest.mark.parametrize(
    ("text", "column", "new"),
    [
        ("(println 1)", 3, "show"),
        ("(define a 1) (define b a)", 8, "b"),
        ("(define a 1) (println a)", 8, "println"),
        ("(define a 1)", 8, "two words"),
    ],
)
def test_a_rename_that_would_change_the_program_is_refused(tmp_path: Path, text: str, column: int, new: str) -> None:
    async def body(editor: Editor) -> None:
        editor.open("a.sema", text)
        with pytest.raises(JsonRpcException):
            await editor.rename("a.sema", 0, column, new)

    in_editor(tmp_path, body)


def test_a_let_in_order_sees_the_variable_before_it(tmp_path: Path) -> None:
    async def body(editor: Editor) -> None:
        editor.open("a.sema", "(define (f x) (let* ((x (+ x 1)) (y x)) (* x y)))")
        [edits] = (await editor.rename("a.sema", 0, 11, "start")).values()
        assert sorted(edit.range.start.character for edit in edits) == [11, 27]

    in_editor(tmp_path, body)


def test_formatting_symbols_and_signatures(tmp_path: Path) -> None:
    async def body(editor: Editor) -> None:
        document = lsp.TextDocumentIdentifier(editor.uri("a.sema"))
        editor.open("a.sema", "(define (f a b)   (+ a b))\n(f 1 )")
        params = lsp.DocumentFormattingParams(document, lsp.FormattingOptions(2, True))
        [edit] = await editor.client.text_document_formatting_async(params)  # type: ignore[misc]
        assert edit.new_text == "(define (f a b) (+ a b))\n(f 1)\n"
        symbols = await editor.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
        assert [symbol.name for symbol in symbols or ()] == ["f"]
        helped = await editor.client.text_document_signature_help_async(
            lsp.SignatureHelpParams(**editor.at("a.sema", 1, 5))
        )
        assert helped is not None
        assert (helped.signatures[0].label, helped.active_parameter) == ("(f a b)", 1)

    in_editor(tmp_path, body)


HOSTILE = [
    "(" * 20000,
    ")" * 5000,
    '"' + "x" * 1_000_000,
    "(a " * 1000 + "'",
    '(import "a.sema") (b',
    "(let (",
    "(define",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_the_server_survives(tmp_path: Path, text: str) -> None:
    async def body(editor: Editor) -> None:
        editor.open("a.sema", text)
        await editor.labels("a.sema", 0, 3)
        editor.open("b.sema", "(string/jo")
        assert await editor.labels("b.sema", 0, 10) == ["string/join"]

    in_editor(tmp_path, body)


def test_of_very_many_findings_an_editor_gets_the_first(tmp_path: Path) -> None:
    async def body(editor: Editor) -> None:
        editor.open("a.sema", "#|" * 2000)
        assert len((await editor.found.get()).diagnostics) == 1000

    in_editor(tmp_path, body)


def test_the_server_ends_when_its_client_is_gone() -> None:
    done = subprocess.run([SEMA, "lsp"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT)
    assert (done.returncode, done.stdout) == (0, "")


def framed(*messages: dict[str, object]) -> bytes:
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    return b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)


def unframed(data: bytes) -> list[dict[str, Any]]:
    answers = []
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        size = int(head.partition(b":")[2])
        answers.append(json.loads(rest[:size]))
        data = rest[size:]
    return answers


@pytest.mark.parametrize(("last", "status"), [(["shutdown", "exit"], 0), (["exit"], 1)])
def test_an_editor_that_ends_the_server_while_its_pipe_stays_open(last: list[str], status: int) -> None:
    server = subprocess.Popen([SEMA, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert server.stdin is not None and server.stderr is not None
    with server:
        server.stdin.write(framed({"id": 1, "method": "initialize", "params": {"capabilities": {}}}))
        ends = [{"method": "exit"} if name == "exit" else {"id": 2, "method": name} for name in last]
        server.stdin.write(framed(*ends))
        server.stdin.flush()
        assert server.wait(WAIT) == status
        assert server.stderr.read().splitlines() == [b"Sema LSP server starting on stdio..."]


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (framed({"id": 1, "method": "textDocument/hover", "params": {}}), b"the first request is initialize"),
        (b"Content-Length: 5\r\n\r\n{oops", b"the message is not JSON"),
        (b"Content-Length: 2\r\n\r\n[]", b"no method is named"),
        (framed({"id": 1, "method": "initialize"}, {"id": 2, "method": "a/b"}), b"unknown method: a/b"),
        (
            framed({"id": 1, "method": "initialize"}, {"id": 2, "method": "textDocument/hover"}),
            b"textDocument/hover: KeyError",
        ),
    ],
)
def test_what_is_no_request_gets_an_error(data: bytes, answer: bytes) -> None:
    done = subprocess.run([SEMA, "lsp"], input=data, capture_output=True, timeout=WAIT)
    assert done.returncode == 0
    assert answer in done.stdout


def test_input_without_frames_is_an_error() -> None:
    done = subprocess.run([SEMA, "lsp"], input=b"what is this?\n\nand this", capture_output=True, timeout=WAIT)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"the client's messages can't be read" in done.stderr


def test_what_all_completions_replace_is_said_once_to_clients_that_can_read_it() -> None:
    list_support = {"completionList": {"itemDefaults": ["editRange"]}}
    able = {"textDocument": {"completion": {**list_support, "completionItem": {"snippetSupport": True}}}}
    document = {"uri": "file:///a.sema"}
    place = {"textDocument": document, "position": {"line": 0, "character": 5}}
    data = framed(
        {"id": 1, "method": "initialize", "params": {"capabilities": able}},
        {"method": "textDocument/didOpen", "params": {"textDocument": {**document, "text": "(defi"}}},
        {"id": 2, "method": "textDocument/completion", "params": place},
    )
    done = subprocess.run([SEMA, "lsp"], input=data, capture_output=True, timeout=WAIT)
    [found] = [answer for answer in unframed(done.stdout) if answer.get("id") == 2]
    start, end = {"line": 0, "character": 1}, {"line": 0, "character": 5}
    assert found["result"]["itemDefaults"] == {"editRange": {"start": start, "end": end}}
    by_label = {item["label"]: item for item in found["result"]["items"]}
    assert "textEdit" not in by_label["define"]
    assert by_label["(define …)"]["textEdit"]["range"]["start"]["character"] == 0  # a snippet replaces the bracket too


def test_a_check_runs_no_module_of_the_open_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('ran')")
    monkeypatch.chdir(tmp_path)

    async def body(editor: Editor) -> None:
        editor.open("a.sema", "(println totl)")
        [problem] = (await editor.found.get()).diagnostics
        assert problem.message.startswith("Unbound variable: totl")

    in_editor(tmp_path, body)
