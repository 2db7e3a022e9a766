"""How long `sema lsp` takes: the first completion after the start, and what follows a keystroke in a long file.

    python scripts/bench_lsp.py [--lines 2000] [--rounds 40]

The client is that of pygls, with the abilities of current editors; it collects no garbage meanwhile. A keystroke is a
change at a place in the middle of the file and the request that follows it; times are those of the client, from sending
the change to the answer read, in milliseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from lsprotocol import types as lsp
from pygls.lsp.client import BaseLanguageClient

ROOT = Path(__file__).resolve().parent.parent
URI = "file:///bench/program.sema"
SEMA = str(Path(sys.executable).with_name("sema"))
DOCUMENT = lsp.TextDocumentIdentifier(URI)


def main() -> None:
    """Prints the median and the worst time of each request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    gc.disable()
    print(f"{options.lines} lines, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    starts = [asyncio.run(first_completion(options.lines)) for _ in range(5)]
    for name, index in (("start to first completion, empty file", 0), ("the same, with the long file open", 1)):
        show(name, [start[index] for start in starts])
    for name, times in asyncio.run(keystrokes(options.lines, options.rounds)).items():
        show(f"keystroke, then {name}", times)


Times = list[tuple[float, float]]  # of the client, and CPU of the server


def show(name: str, times: Times) -> None:
    waited, spent = ([time[at] for time in times] for at in (0, 1))
    cpu = f"CPU median {statistics.median(spent):5.0f} ms"
    print(f"{name:<40} median {statistics.median(waited):6.1f} ms   worst {max(waited):6.1f} ms   {cpu}")


def cpu_of(client: BaseLanguageClient) -> float:
    """Milliseconds of CPU time that the server has taken so far, those of its checks left out."""
    try:
        facts = Path(f"/proc/{client._server.pid}/stat").read_text().rpartition(")")[2].split()  # type: ignore[union-attr]
    except OSError:
        return 0.0
    return sum(map(int, facts[11:13])) * 1000 / os.sysconf("SC_CLK_TCK")


def program(lines: int) -> str:
    """A text of some lines: the examples of the repository, again and again."""
    sources = [path.read_text() for path in sorted((ROOT / "examples").rglob("*.sema"))]
    text: list[str] = []
    while len(text) < lines:
        for source in sources:
            text += source.split("\n")
    return "\n".join(text[:lines])


async def started() -> BaseLanguageClient:
    client = BaseLanguageClient("bench", "1")
    client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda _: None)
    await client.start_io(SEMA, "lsp")
    defaults = lsp.CompletionListCapabilities(["editRange"])
    completion = lsp.CompletionClientCapabilities(completion_list=defaults)
    able = lsp.ClientCapabilities(text_document=lsp.TextDocumentClientCapabilities(completion=completion))
    await client.initialize_async(lsp.InitializeParams(able, root_uri="file:///bench"))
    client.initialized(lsp.InitializedParams())
    return client


def opened(client: BaseLanguageClient, text: str) -> None:
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(URI, "sema", 1, text)))


async def ended(client: BaseLanguageClient) -> None:
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()


async def first_completion(lines: int) -> tuple[tuple[float, float], ...]:
    """Milliseconds from starting the process to the first answer: with an empty file, with a long one."""
    times = []
    for text in ("(str", "(str\n" + program(lines)):
        begun = time.perf_counter()
        client = await started()
        opened(client, text)
        await client.text_document_completion_async(lsp.CompletionParams(DOCUMENT, lsp.Position(0, 4)))
        times.append(((time.perf_counter() - begun) * 1000, cpu_of(client)))
        await ended(client)
    return tuple(times)


async def keystrokes(lines: int, rounds: int) -> dict[str, Times]:
    """Times by the name of the request that follows a keystroke."""
    text = program(lines)
    client = await started()
    opened(client, text)
    rows = text.split("\n")
    line = next(at for at in range(len(rows) // 2, len(rows)) if rows[at].startswith("(define ("))
    place = lsp.Position(line, 8)
    asked: dict[str, Callable[[], Awaitable[object]]] = {
        "completion": lambda: client.text_document_completion_async(lsp.CompletionParams(DOCUMENT, place)),
        "semantic tokens": lambda: client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(DOCUMENT)),
        "symbols": lambda: client.text_document_document_symbol_async(lsp.DocumentSymbolParams(DOCUMENT)),
        "signature help": lambda: client.text_document_signature_help_async(lsp.SignatureHelpParams(DOCUMENT, place)),
        "folding": lambda: client.text_document_folding_range_async(lsp.FoldingRangeParams(DOCUMENT)),
    }
    await asked["completion"]()  # the first answer is measured by itself
    times: dict[str, Times] = {}
    version = 1
    for typed in ("(", "x", '"', ""):  # a bracket or string that nothing closes; a letter; nothing more
        for name, ask in asked.items():
            for _ in range(rounds // 4):
                version += 1
                at = lsp.Range(place, lsp.Position(line, 8 + (version > 2)))
                change = lsp.TextDocumentContentChangePartial(text=typed or "y", range=at)
                begun, spent = time.perf_counter(), cpu_of(client)
                identifier = lsp.VersionedTextDocumentIdentifier(version, URI)
                client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [change]))
                await ask()
                times.setdefault(name, []).append(((time.perf_counter() - begun) * 1000, cpu_of(client) - spent))
    await ended(client)
    return times


if __name__ == "__main__":
    main()
