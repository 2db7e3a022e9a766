"""`sema lsp`: the language server, over stdin and stdout."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

HELP = """Usage: sema lsp

  Answer an editor over stdin and stdout, in the Language Server Protocol.
  Editors start it themselves; it needs: pip install 'semac[lsp]'

Options:
  -h, --help  Show this message."""


def main(args: Sequence[str]) -> int:
    """Runs `sema lsp` until the editor leaves; returns 1 when pygls is missing, 2 for wrong usage."""
    if list(args) in (["--help"], ["-h"]):
        print(HELP)
        return 0
    if any(arg != "--stdio" for arg in args):  # some clients add it
        print("Error: sema lsp takes no arguments", HELP.partition("\n")[0], sep="\n", file=sys.stderr)
        return 2
    try:
        from semac.lsp.server import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        print("Error: sema lsp needs the package pygls: pip install 'semac[lsp]'", file=sys.stderr)
        return 1
    print("Sema LSP server starting on stdio...", file=sys.stderr, flush=True)
    gc.set_threshold(100_000, 50, 50)  # trees of text are many objects that live as long as their version
    make_server().start_io()
    return 0
