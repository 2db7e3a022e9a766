"""An editor for tests of `sema lsp`: the client of pygls over stdin and stdout, with one folder open."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.client import BaseLanguageClient

WAIT = 60
SEMA = str(Path(sys.executable).with_name("sema"))
HINTS = lsp.InlayHintWorkspaceClientCapabilities(refresh_support=True)
ITEM = lsp.ClientCompletionItemOptions(snippet_support=True)
CAPABILITIES = lsp.ClientCapabilities(
    workspace=lsp.WorkspaceClientCapabilities(inlay_hint=HINTS),
    text_document=lsp.TextDocumentClientCapabilities(completion=lsp.CompletionClientCapabilities(completion_item=ITEM)),
)

Body = Callable[["Editor"], Awaitable[None]]


class Editor:
    """A client with one folder open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = BaseLanguageClient("test", "1")
        self.found: asyncio.Queue[Any] = asyncio.Queue()
        self.results: asyncio.Queue[Any] = asyncio.Queue()
        self.refreshed = asyncio.Event()
        self.started: lsp.InitializeResult | None = None

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: lsp.PublishDiagnosticsParams) -> None:
            self.found.put_nowait(params)

        @self.client.feature("sema/evalResult")
        def evaluated(params: Any) -> None:
            self.results.put_nowait(params)

        @self.client.feature(lsp.WORKSPACE_INLAY_HINT_REFRESH)
        def refresh(_: Any) -> None:
            self.refreshed.set()

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def document(self, name: str) -> lsp.TextDocumentIdentifier:
        return lsp.TextDocumentIdentifier(self.uri(name))

    def at(self, name: str, line: int, character: int) -> dict[str, Any]:
        return {"text_document": self.document(name), "position": lsp.Position(line, character)}

    def open(self, name: str, text: str) -> None:
        item = lsp.TextDocumentItem(self.uri(name), "sema", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def type(self, name: str, text: str, line: int, character: int, end: int) -> None:
        """Replaces a part of a line."""
        place = lsp.Range(lsp.Position(line, character), lsp.Position(line, end))
        change = lsp.TextDocumentContentChangePartial(text=text, range=place)
        identifier = lsp.VersionedTextDocumentIdentifier(2, self.uri(name))
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [change]))

    async def items(self, name: str, line: int, character: int) -> list[lsp.CompletionItem]:
        found = await self.client.text_document_completion_async(lsp.CompletionParams(**self.at(name, line, character)))
        return [*found]  # type: ignore[misc]

    async def labels(self, name: str, line: int, character: int) -> list[str]:
        """The names that completion offers; those of snippets, which are whole forms, left out."""
        items = await self.items(name, line, character)
        return [item.label for item in items if item.kind is not lsp.CompletionItemKind.Snippet]

    async def definition(self, name: str, line: int, character: int) -> Any:
        return await self.client.text_document_definition_async(lsp.DefinitionParams(**self.at(name, line, character)))

    async def hover(self, name: str, line: int, character: int) -> str:
        found = await self.client.text_document_hover_async(lsp.HoverParams(**self.at(name, line, character)))
        return found.contents.value if found else ""  # type: ignore[union-attr]

    async def rename(self, name: str, line: int, character: int, new: str) -> Any:
        params = lsp.RenameParams(new_name=new, **self.at(name, line, character))
        return (await self.client.text_document_rename_async(params)).changes  # type: ignore[union-attr]


def in_editor(folder: Path, body: Body) -> None:
    """Runs body with an editor whose server has started, and ends the server as editors do."""

    async def run() -> None:
        editor = Editor(folder)
        await editor.client.start_io(SEMA, "lsp")
        editor.started = await editor.client.initialize_async(
            lsp.InitializeParams(CAPABILITIES, root_uri=folder.as_uri())
        )
        editor.client.initialized(lsp.InitializedParams())
        await body(editor)
        await editor.client.shutdown_async(None)
        editor.client.exit(None)
        await editor.client.stop()

    asyncio.run(asyncio.wait_for(run(), WAIT))
