"""`sema lsp`: the language server, over stdin and stdout."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

HELP = """Usage: sema lsp

  Answer an editor over stdin and stdout, in the Language Server Protocol.
  Editors start it themselves.

Options:
  -h, --help  Show this message."""


def main(args: Sequence[str]) -> int:
    """Runs `sema lsp` until the editor leaves; returns 2 for wrong usage, 1 for an exit without shutdown."""
    if list(args) in (["--help"], ["-h"]):
        print(HELP)
        return 0
    if any(arg != "--stdio" for arg in args):  # some clients add it
        print("Error: sema lsp takes no arguments", HELP.partition("\n")[0], sep="\n", file=sys.stderr)
        return 2
    from semac.lsp.server import main as serve

    print("Sema LSP server starting on stdio...", file=sys.stderr, flush=True)
    gc.set_threshold(100_000, 50, 50)  # trees of text are many objects that live as long as their version
    return serve()
