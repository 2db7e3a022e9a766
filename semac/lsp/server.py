"""The server: requests of the protocol, each answered by a function of another module."""

from __future__ import annotations

import asyncio
import os

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from semac import __version__
from semac.lsp import diagnosis, features
from semac.lsp.documents import Document
from semac.lsp.workspace import Files
from semac.syntax.lexer import SYMBOL, TOKEN


class SemaServer(LanguageServer):
    """A connection to an editor: its files, and the check that each open one waits for."""

    def __init__(self) -> None:
        super().__init__("sema-lsp", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
        self.files = Files()
        self.checks: dict[str, asyncio.Task[None]] = {}

    def document(self, uri: str) -> Document:
        """The text of a URI as it is now."""
        source = self.workspace.get_text_document(uri).source
        known = self.files.open.get(uri)
        if known is None or known.text != source:
            known = Document(uri, source, self.files.codec)
            if uri in self.workspace.text_documents:
                self.files.open[uri] = known
        return known

    def changed(self, uri: str) -> None:
        """Takes note of a new text, and checks it when typing pauses."""
        self.document(uri)
        if uri in self.checks:
            self.checks[uri].cancel()
        self.checks[uri] = asyncio.get_running_loop().create_task(self._check(uri))

    async def _check(self, uri: str) -> None:
        await asyncio.sleep(diagnosis.PAUSE)
        found = await diagnosis.findings(self.document(uri))
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found))

    def closed(self, uri: str) -> None:
        self.files.open.pop(uri, None)
        if uri in self.checks:
            self.checks.pop(uri).cancel()
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def make_server() -> SemaServer:
    """A server with all its requests."""
    server = SemaServer()
    _life(server)
    _reading(server)
    _navigation(server)
    _changes(server)
    return server


def _life(server: SemaServer) -> None:
    @server.feature(lsp.INITIALIZED)
    def initialized(_: lsp.InitializedParams) -> None:
        server.files.codec = server.workspace.position_codec
        for uri in server.workspace.folders or filter(None, [server.workspace.root_uri]):
            server.files.add_folder(uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)


def _reading(server: SemaServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(["("], resolve_provider=True))
    def complete(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        return features.completions(server.files, server.document(params.text_document.uri), params.position)

    @server.feature(lsp.COMPLETION_ITEM_RESOLVE)
    def resolve(item: lsp.CompletionItem) -> lsp.CompletionItem:
        if item.detail in ("builtin", "special form"):
            item.documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, features.documentation(item.label))
        return item

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        return features.hover(server.files, server.document(params.text_document.uri), params.position)

    @server.feature(lsp.TEXT_DOCUMENT_SIGNATURE_HELP, lsp.SignatureHelpOptions(trigger_characters=["(", " "]))
    def signatures(params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
        return features.signature_help(server.files, server.document(params.text_document.uri), params.position)

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        return features.document_symbols(server.document(params.text_document.uri))

    @server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
    def folding(params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
        return [*features.folding_ranges(server.document(params.text_document.uri))]

    @server.feature(lsp.TEXT_DOCUMENT_SELECTION_RANGE)
    def selection(params: lsp.SelectionRangeParams) -> list[lsp.SelectionRange]:
        document = server.document(params.text_document.uri)
        return [features.selection_range(document, position) for position in params.positions]


def _navigation(server: SemaServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        document = server.document(params.text_document.uri)
        node = document.symbol_at(params.position)
        found = server.files.definition(document, node) if node else None
        return found[0].location(found[1].node) if found else None

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        document = server.document(params.text_document.uri)
        node = document.symbol_at(params.position)
        found = server.files.definition(document, node) if node else None
        uses = server.files.uses(*found) if found else []
        kept = uses if params.context.include_declaration else uses[1:]
        return [owner.location(use) for owner, use in kept]

    @server.feature(lsp.WORKSPACE_SYMBOL)
    def workspace_symbols(params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
        wanted = params.query.lower()
        return [
            lsp.WorkspaceSymbol(document.location(binding.node), name, features.symbol_kind(binding))
            for document in server.files.all()
            for name, binding in document.names.top.names.items()
            if wanted in name.lower()
        ]


def _changes(server: SemaServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_RENAME)
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        document = server.document(params.text_document.uri)
        return renamed(server.files, document, params.position, params.new_name)

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        return formatted(server.document(params.text_document.uri))

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix]))
    def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return diagnosis.fixes(params.text_document.uri, [*params.context.diagnostics])


def renamed(files: Files, document: Document, position: lsp.Position, name: str) -> lsp.WorkspaceEdit:
    """The edits that give a definition another name. Raises JsonRpcInvalidParams where that would change a program."""
    word = TOKEN.fullmatch(name)
    if word is None or word.lastindex != SYMBOL:
        raise JsonRpcInvalidParams(f"'{name}' is not a name")
    node = document.symbol_at(position)
    found = files.definition(document, node) if node else None
    if found is None:
        raise JsonRpcInvalidParams("only names that Sema files of the workspace define can be renamed")
    edits: dict[str, list[lsp.TextEdit]] = {}
    for owner, use in files.uses(*found):
        taken = {*(other.name for other in owner.names.free), *(n for s in owner.names.scopes for n in s.names)}
        if name in taken:
            raise JsonRpcInvalidParams(f"'{name}' has a meaning in {owner.path} already")
        edits.setdefault(owner.uri, []).append(lsp.TextEdit(owner.range(use.span), name))
    return lsp.WorkspaceEdit(edits)


def formatted(document: Document) -> list[lsp.TextEdit]:
    """The edit that lays a text out; none for one that can't be read, or is laid out already."""
    from semac.format.document import format_text
    from semac.format.settings import SettingsError, find_settings
    from semac.format.tokens import FormatError

    try:
        text = format_text(document.text, find_settings(os.path.dirname(document.path)).style)
    except (FormatError, SettingsError):  # half-typed text stays as it is
        return []
    if text == document.text:
        return []
    return [lsp.TextEdit(document.range(document.root.span), text)]
