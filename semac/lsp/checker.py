"""`python -m semac.lsp.checker FILE`: findings and inferred types for the text on stdin, as JSON.

A process of its own, because checking runs macros: the editor's process survives endless ones and never runs them, and
the sandbox keeps them from files, processes and the network.
"""

from __future__ import annotations

import json
import os
import sys

from sema_runtime import capabilities, sandbox
from semac.checks.program import WARNING, check_text

MOST = 1000  # findings that an editor gets: nobody reads more, and each costs it memory


def main() -> None:
    """Reads UTF-8 text from stdin and writes {findings, types}; what macros print goes to stderr."""
    if hasattr(os, "nice"):
        os.nice(10)  # answers to keystrokes come first
    answers, sys.stdout = sys.stdout, sys.stderr
    sandbox.enter(capabilities.parse_mode("strict"))
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    findings = check_text(text, sys.argv[1])[:MOST]
    types = {}
    if all(finding.code == WARNING for finding in findings):
        from semac.stubs.inferred import inferred_types

        types = inferred_types(text, sys.argv[1])
    json.dump({"findings": [finding.as_json() for finding in findings], "types": types}, answers)


if __name__ == "__main__":
    main()
