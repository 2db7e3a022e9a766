"""What editors ask of `sema lsp` beyond names: types, calls, links, runs, Python's sources, layout of parts."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lsp_client import Editor, in_editor
from lsprotocol import types as lsp

PROGRAM = """(define (area width height)
  (let ((product (* width height))) (string-append "m" (str product))))
(define (both a) (list (area a 1) (area 1 a)))
(define limit (string-length "abc"))
"""


def test_types_that_the_compiler_infers_are_hints(tmp_path: Path) -> None:
    async def body(editor: Editor) -> None:
        editor.open("a.sema", PROGRAM)
        await editor.refreshed.wait()
        everything = lsp.Range(lsp.Position(0, 0), lsp.Position(9, 0))
        params = lsp.InlayHintParams(editor.document("a.sema"), everything)
        found = await editor.client.text_document_inlay_hint_async(params)
        hints = {(hint.position.line, hint.position.character): hint.label for hint in found or ()}
        assert hints == {(0, 27): "→ str", (2, 16): "→ list[str]", (3, 13): ": int"}
        editor.type("a.sema", "; typed\n", 0, 0, 0)  # the rest is as it was: its types are known still
        found = await editor.client.text_document_inlay_hint_async(params)
        assert [(hint.position.line, hint.label) for hint in found or ()][-1] == (4, ": int")
        assert "Type: `int`" in await editor.hover("a.sema", 4, 10)

    in_editor(tmp_path, body)


def test_calls_from_and_to_a_function(tmp_path: Path) -> None:
    (tmp_path / "lib.sema").write_text("(define (double x) (* 2 x))\n")

    async def body(editor: Editor) -> None:
        editor.open("a.sema", '(import "lib.sema")\n(define (four x) (double (double x)))\n(four 1)\n')
        params = lsp.CallHierarchyPrepareParams(**editor.at("a.sema", 1, 19))
        [item] = await editor.client.text_document_prepare_call_hierarchy_async(params) or ()
        assert (item.name, item.uri) == ("double", editor.uri("lib.sema"))
        incoming = await editor.client.call_hierarchy_incoming_calls_async(lsp.CallHierarchyIncomingCallsParams(item))
        [call] = incoming or ()
        assert (call.from_.name, [place.start.character for place in call.from_ranges]) == ("four", [18, 26])
        outgoing = await editor.client.call_hierarchy_outgoing_calls_async(
            lsp.CallHierarchyOutgoingCallsParams(call.from_)
        )
        assert [call.to.name for call in outgoing or ()] == ["double"]

    in_editor(tmp_path, body)


def test_the_lens_runs_everything_up_to_a_form(tmp_path: Path) -> None:
    async def body(editor: Editor) -> None:
        editor.open("a.sema", '(define (f x) (* 2 x))\n(f 21)\n(print "no")\n')
        lenses = await editor.client.text_document_code_lens_async(lsp.CodeLensParams(editor.document("a.sema")))
        assert [(lens.range.start.line, lens.command.title) for lens in lenses or ()] == [(1, "▶ Run"), (2, "▶ Run")]  # type: ignore[union-attr]
        command = lenses[0].command  # type: ignore[index]
        assert command is not None
        await editor.client.workspace_execute_command_async(
            lsp.ExecuteCommandParams(command.command, command.arguments)
        )
        result = await editor.results.get()
        assert (result.value, result.ok, result.stdout, result.kind) == ("42", True, "", "run")
        assert result.range.start.line == 1

    in_editor(tmp_path, body)


def test_words_have_meanings(tmp_path: Path) -> None:
    async def tokens(editor: Editor) -> list[tuple[int, int, str]]:
        found = await editor.client.text_document_semantic_tokens_full_async(
            lsp.SemanticTokensParams(editor.document("a.sema"))
        )
        result = editor.started
        assert result is not None
        provider = result.capabilities.semantic_tokens_provider.legend.token_types  # type: ignore[union-attr]
        line = column = 0
        places = []
        data = found.data  # type: ignore[union-attr]
        for at in range(0, len(data), 5):
            line, column = line + data[at], data[at + 1] + (0 if data[at] else column)
            places.append((line, column, provider[data[at + 3]]))
        return places

    async def body(editor: Editor) -> None:
        editor.open("a.sema", '; 💡\n(define (f x) (str "💡" x :k 1 nil))\n')
        assert await tokens(editor) == [
            (0, 0, "comment"), (1, 1, "keyword"), (1, 9, "function"), (1, 11, "parameter"), (1, 15, "function"),
            (1, 19, "string"), (1, 24, "parameter"), (1, 26, "property"), (1, 29, "number"), (1, 31, "keyword"),
        ]  # fmt: skip
        editor.type("a.sema", "y", 1, 11, 12)
        assert (1, 24, "parameter") not in await tokens(editor)

    in_editor(tmp_path, body)


def test_definitions_in_python_and_links(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text('def price(item, rate=1):\n    """What it costs."""\n')
    (tmp_path / "lib.sema").write_text("(define a 1)\n")

    async def body(editor: Editor) -> None:
        text = '(py/import "shop")\n(py/from "json" dumps)\n(import "lib.sema")\n(shop.price (dumps a) (shop.'
        editor.open("a.sema", text)
        found = await editor.definition("a.sema", 3, 4)
        assert (found.uri, found.range.start) == (editor.uri("shop.py"), lsp.Position(0, 4))
        assert "What it costs." in await editor.hover("a.sema", 3, 8)
        found = await editor.definition("a.sema", 3, 15)
        assert found.uri.endswith("/json/__init__.py")
        assert await editor.labels("a.sema", 3, 28) == ["shop.price"]
        links = await editor.client.text_document_document_link_async(lsp.DocumentLinkParams(editor.document("a.sema")))
        assert [(link.range.start, link.target) for link in links or ()] == [
            (lsp.Position(2, 9), editor.uri("lib.sema"))
        ]
        declared = await editor.client.text_document_declaration_async(
            lsp.DeclarationParams(**editor.at("a.sema", 3, 19))
        )
        assert declared.uri == editor.uri("lib.sema")  # type: ignore[union-attr]
        symbols = await editor.client.workspace_symbol_async(lsp.WorkspaceSymbolParams(""))
        assert [symbol.name for symbol in symbols or ()][-1] == "a"

    in_editor(tmp_path, body)


def test_packages_are_found(tmp_path: Path, monkeypatch: object) -> None:
    home = tmp_path / "home"
    package = home / "packages" / "host" / "tools"
    package.mkdir(parents=True)
    (package / "package.sema").write_text("(define (tool x) x)\n")
    monkeypatch.setenv("SEMA_HOME", str(home))  # type: ignore[attr-defined]

    async def body(editor: Editor) -> None:
        editor.open("a.sema", '(import "host/tools")\n(tool 1)\n')
        found = await editor.definition("a.sema", 1, 2)
        assert found.uri == (package / "package.sema").as_uri()

    in_editor(tmp_path, body)


def test_snippets_replace_the_bracket_too(tmp_path: Path) -> None:
    async def body(editor: Editor) -> None:
        editor.open("a.sema", "(deft)")
        items = await editor.items("a.sema", 0, 5)
        [test] = [item for item in items if item.filter_text == "(deftest"]
        edit = test.text_edit
        assert edit is not None and edit.new_text.startswith("(deftest ${1:name}")
        assert edit.range == lsp.Range(lsp.Position(0, 0), lsp.Position(0, 6))  # type: ignore[union-attr]
        [form] = [item for item in items if item.label == "deftool"]
        resolved = await editor.client.completion_item_resolve_async(form)
        assert "deftool" in resolved.documentation.value  # type: ignore[union-attr]

    in_editor(tmp_path, body)


def test_a_range_is_laid_out_by_whole_forms(tmp_path: Path) -> None:
    async def body(editor: Editor) -> None:
        editor.open("a.sema", "(a   1)\n(b\n   2)\n(c   3)\n")
        chosen = lsp.Range(lsp.Position(2, 0), lsp.Position(2, 1))
        params = lsp.DocumentRangeFormattingParams(
            text_document=editor.document("a.sema"), range=chosen, options=lsp.FormattingOptions(2, True)
        )
        [edit] = await editor.client.text_document_range_formatting_async(params) or ()
        assert (edit.range.start.line, edit.range.end.line, edit.new_text) == (1, 2, "(b 2)")

    in_editor(tmp_path, body)


def test_a_second_start_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async def body(editor: Editor) -> None:
        params = lsp.InitializeParams(lsp.ClientCapabilities(), root_uri=tmp_path.as_uri())
        answer = await asyncio.gather(editor.client.initialize_async(params), return_exceptions=True)
        assert "initialized before" in str(answer[0])
        editor.open("a.sema", "(string/jo")
        assert await editor.labels("a.sema", 0, 10) == ["string/join"]

    in_editor(tmp_path, body)


def test_files_that_import_each_other(tmp_path: Path) -> None:
    (tmp_path / "b.sema").write_text('(import "a.sema")\n(define (g) (f))\n')

    async def body(editor: Editor) -> None:
        editor.open("a.sema", '(import "b.sema")\n(define (f) (g))\n')
        found = await editor.definition("a.sema", 1, 13)
        assert found.uri == editor.uri("b.sema")
        changes = await editor.rename("a.sema", 1, 9, "ff")
        assert len(changes) == 2
        assert (await editor.found.get()).diagnostics == ()

    in_editor(tmp_path, body)
