"""The server: requests of the protocol, each answered by a function of another module."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

from semac import __version__
from semac.lsp import checks, evaluation, hints, hover, navigation, outline
from semac.lsp.documents import Document, path_of
from semac.lsp.python_source import PythonFiles
from semac.lsp.text import UTF16, UTF32
from semac.lsp.wire import INVALID_PARAMS, Connection, Handler, RequestError, serve, watch_parent
from semac.lsp.workspace import Files

INCREMENTAL = 2
PUBLISH = "textDocument/publishDiagnostics"


class Server:
    """A connection to an editor: its files, and the check that each open one waits for."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.files = Files()
        self.python = PythonFiles()
        self.checks: dict[str, checks.Check] = {}
        self.results: Any = None  # the semantic tokens sent last, once there are any
        self.has_snippets = False
        self.has_defaults = False  # whether it takes what is the same in all completions from one place
        self.refreshes_hints = False

    # The life of the connection and of documents

    def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        capabilities = params.get("capabilities") or {}
        encodings = _at(capabilities, "general", "positionEncodings") or []
        self.files.encoding = UTF32 if UTF32 in encodings else UTF16
        options = params.get("initializationOptions")
        wanted = options.get("snippets", True) if isinstance(options, dict) else True
        item = _at(capabilities, "textDocument", "completion", "completionItem") or {}
        self.has_snippets = bool(wanted and item.get("snippetSupport"))
        defaults = _at(capabilities, "textDocument", "completion", "completionList", "itemDefaults") or []
        self.has_defaults = "editRange" in defaults
        self.refreshes_hints = bool(_at(capabilities, "workspace", "inlayHint", "refreshSupport"))
        folders = [folder["uri"] for folder in params.get("workspaceFolders") or ()]
        root = params.get("rootUri")
        for uri in folders or ([root] if root else []):
            self.add_folder(uri)
        if isinstance(params.get("processId"), int):
            watch_parent(params["processId"])
        return {
            "capabilities": {"positionEncoding": self.files.encoding, **CAPABILITIES},
            "serverInfo": {"name": "sema-lsp", "version": __version__},
        }

    def add_folder(self, uri: str) -> None:
        self.files.folders.append(path_of(uri))
        self.python.folders.append(path_of(uri))

    def folders_changed(self, params: Any) -> None:
        for folder in params["event"]["removed"]:
            for folders in (self.files.folders, self.python.folders):
                if path_of(folder["uri"]) in folders:
                    folders.remove(path_of(folder["uri"]))
        for folder in params["event"]["added"]:
            self.add_folder(folder["uri"])

    def opened(self, params: Any) -> None:
        item = params["textDocument"]
        document = Document(item["uri"], item["text"].split("\n"), self.files.encoding)
        self.take(document)
        self.connection.spare.append(lambda: self.read_ahead(document))

    def read_ahead(self, document: Document) -> None:
        """Does what the first requests would wait for."""
        from semac.lsp.completion import language_names

        language_names()
        if self.files.open.get(document.uri) is document:
            _ = document.top

    def changed(self, params: Any) -> None:
        uri = params["textDocument"]["uri"]
        before = self.files.open.get(uri) or Document(uri, [""], self.files.encoding)
        self.take(before.changed(params["contentChanges"]))

    def take(self, document: Document) -> None:
        """Takes note of a new text, and has it checked when typing pauses."""
        self.files.open[document.uri] = document
        if document.uri in self.checks:
            self.checks[document.uri].end()

        def done(check: checks.Check, diagnostics: list[Any], types: dict[str, Any]) -> None:
            self.connection.later(lambda: self.checked(document, check, diagnostics, types))

        self.checks[document.uri] = checks.Check(document, done)

    def checked(self, document: Document, check: checks.Check, diagnostics: list[Any], types: dict[str, Any]) -> None:
        """Shows what a check has found, unless the text has changed meanwhile."""
        if self.checks.get(document.uri) is not check:
            return
        self.connection.notify(PUBLISH, {"uri": document.uri, "diagnostics": diagnostics})
        hints.keep(document, types)
        if self.refreshes_hints and types:
            self.connection.ask("workspace/inlayHint/refresh")

    def closed(self, params: Any) -> None:
        uri = params["textDocument"]["uri"]
        self.files.open.pop(uri, None)
        if self.results is not None:
            self.results.sent.pop(uri, None)
        if uri in self.checks:
            self.checks.pop(uri).end()
        self.connection.notify(PUBLISH, {"uri": uri, "diagnostics": []})

    def end(self) -> None:
        """Stops what runs for the client."""
        for check in self.checks.values():
            check.end()

    # Answers that need more than a document

    def at(self, answer: Callable[..., Any], *more: Any) -> Handler:
        """A request about a place: answer(*more, document, place)."""

        def handler(params: Any) -> Any:
            document = self.files.document(params)
            return answer(*more, document, document.place(params["position"]))

        return handler

    def of(self, answer: Callable[[Document], Any]) -> Handler:
        """A request about a document."""
        return lambda params: answer(self.files.document(params))

    def complete(self, params: Any) -> Any:
        from semac.lsp.completion import completions, with_defaults

        document = self.files.document(params)
        place = document.place(params["position"])
        items = completions(self.files, self.python, document, place, self.has_snippets)
        return with_defaults(items) if self.has_defaults else items

    def resolve(self, item: Any) -> Any:
        if item.get("detail") in ("builtin", "special form"):
            return {**item, "documentation": {"kind": "markdown", "value": hover.documentation(item["label"])}}
        if item.get("detail") == "Python":
            for document in self.files.open.values():
                member = self.python.member(document, item["label"])
                if member is not None:
                    return {**item, "documentation": {"kind": "markdown", "value": member.markdown()}}
        return item

    def hover(self, params: Any) -> Any:
        document = self.files.document(params)
        types = hints.by_node(document)
        return hover.hover(self.files, self.python, document, document.place(params["position"]), types)

    def references(self, params: Any) -> Any:
        document = self.files.document(params)
        with_definition = bool(_at(params, "context", "includeDeclaration"))
        return navigation.references(self.files, document, document.place(params["position"]), with_definition)

    def rename(self, params: Any) -> Any:
        document = self.files.document(params)
        return navigation.renamed(self.files, document, document.place(params["position"]), params["newName"])

    def selection(self, params: Any) -> Any:
        document = self.files.document(params)
        return [outline.selection_range(document, position) for position in params["positions"]]

    def tokens(self, params: Any) -> Any:
        from semac.lsp.highlight import Results, semantic_tokens

        self.results = self.results or Results()
        data = semantic_tokens(self.files, self.files.document(params))
        previous = params.get("previousResultId")
        uri = params["textDocument"]["uri"]
        return self.results.full(uri, data) if previous is None else self.results.delta(uri, previous, data)

    def tokens_range(self, params: Any) -> Any:
        from semac.lsp.highlight import semantic_tokens

        document, chosen = self.files.document(params), params["range"]
        return {"data": semantic_tokens(self.files, document, chosen["start"]["line"] + 1, chosen["end"]["line"] + 1)}

    def execute(self, params: Any) -> Any:
        if params["command"] != evaluation.COMMAND:
            raise RequestError(INVALID_PARAMS, f"unknown command: {params['command']}")
        uri, chosen = params["arguments"][:2]
        document = self.files.document({"textDocument": {"uri": uri}})
        form = evaluation.form_at(document, chosen)
        if form is None:
            raise RequestError(INVALID_PARAMS, "no form stands there any more")
        evaluation.run(document, form, lambda result: self.connection.notify(evaluation.METHOD, result))
        return None


CAPABILITIES: dict[str, Any] = {
    "textDocumentSync": {"openClose": True, "change": INCREMENTAL},
    "completionProvider": {"triggerCharacters": ["(", " ", "."], "resolveProvider": True},
    "hoverProvider": True,
    "signatureHelpProvider": {"triggerCharacters": ["(", " "]},
    "definitionProvider": True,
    "declarationProvider": True,
    "referencesProvider": True,
    "documentHighlightProvider": True,
    "documentSymbolProvider": True,
    "workspaceSymbolProvider": True,
    "codeActionProvider": {"codeActionKinds": ["quickfix"]},
    "codeLensProvider": {},
    "documentLinkProvider": {},
    "documentFormattingProvider": True,
    "documentRangeFormattingProvider": True,
    "renameProvider": {"prepareProvider": True},
    "foldingRangeProvider": True,
    "selectionRangeProvider": True,
    "callHierarchyProvider": True,
    "inlayHintProvider": True,
    "executeCommandProvider": {"commands": [evaluation.COMMAND]},
    "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
}


def requests(server: Server) -> dict[str, Handler]:
    """What answers each request."""
    files, python, at, of = server.files, server.python, server.at, server.of
    return {
        "initialize": server.initialize,
        "textDocument/completion": server.complete,
        "completionItem/resolve": server.resolve,
        "textDocument/hover": server.hover,
        "textDocument/signatureHelp": at(hover.signature_help, files, python),
        "textDocument/definition": at(navigation.definition, files, python),
        "textDocument/declaration": at(navigation.definition, files, python),
        "textDocument/references": server.references,
        "textDocument/documentHighlight": at(navigation.highlights),
        "textDocument/documentSymbol": of(outline.document_symbols),
        "workspace/symbol": lambda params: navigation.workspace_symbols(files, params["query"]),
        "textDocument/codeAction": _fixes,
        "textDocument/codeLens": of(evaluation.lenses),
        "textDocument/documentLink": of(lambda document: outline.links(document, python)),
        "textDocument/formatting": of(outline.formatted),
        "textDocument/rangeFormatting": lambda params: outline.formatted_range(files.document(params), params["range"]),
        "textDocument/prepareRename": at(navigation.rename_range, files),
        "textDocument/rename": server.rename,
        "textDocument/foldingRange": of(outline.folding_ranges),
        "textDocument/selectionRange": server.selection,
        "textDocument/semanticTokens/full": server.tokens,
        "textDocument/semanticTokens/full/delta": server.tokens,
        "textDocument/semanticTokens/range": server.tokens_range,
        "textDocument/prepareCallHierarchy": at(navigation.prepare_calls, files),
        "callHierarchy/incomingCalls": lambda params: navigation.incoming(files, params["item"]),
        "callHierarchy/outgoingCalls": lambda params: navigation.outgoing(files, params["item"]),
        "textDocument/inlayHint": lambda params: hints.inlay_hints(files.document(params), params["range"]),
        "workspace/executeCommand": server.execute,
    }


def notes(server: Server) -> dict[str, Handler]:
    """What takes each notification."""
    return {
        "textDocument/didOpen": server.opened,
        "textDocument/didChange": server.changed,
        "textDocument/didClose": server.closed,
        "workspace/didChangeWorkspaceFolders": server.folders_changed,
    }


def _fixes(params: Any) -> Any:
    return checks.fixes(params["textDocument"]["uri"], params["context"]["diagnostics"])


def _at(value: Any, *names: str) -> Any:
    """What stands in maps in maps under names, None where something is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def main() -> int:
    """Serves an editor over stdin and stdout; returns the exit status."""
    from semac.lsp.highlight import LEGEND

    CAPABILITIES["semanticTokensProvider"] = {"legend": LEGEND, "full": {"delta": True}, "range": True}
    # a reader of its own: the thread that waits there may still do so when Python closes its own one at the end
    source, target = io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False)), sys.stdout.buffer
    sys.stdout = sys.stderr  # the protocol's own: nothing else may be written there
    server = Server(Connection(source, target))
    try:
        return serve(server.connection, requests(server), notes(server))
    finally:
        server.end()
