"""`python -m semac.lsp.checker FILE`: the findings of `sema check` for the text on stdin, as JSON.

A process of its own, because checking runs macros: the editor's process survives endless ones and never runs them, and
the sandbox keeps them from files, processes and the network.
"""

from __future__ import annotations

import json
import sys

from sema_runtime import capabilities, sandbox
from semac.checks.program import check_text


def main() -> None:
    """Reads UTF-8 text from stdin and writes a JSON list of findings; what macros print goes to stderr."""
    answers, sys.stdout = sys.stdout, sys.stderr
    sandbox.enter(capabilities.parse_mode("strict"))
    findings = check_text(sys.stdin.buffer.read().decode("utf-8", "replace"), sys.argv[1])
    json.dump([finding.as_json() for finding in findings], answers)


if __name__ == "__main__":
    main()
