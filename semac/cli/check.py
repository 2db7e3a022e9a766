"""`sema check FILE... [--strict] [--json]`: what is wrong with programs, found without running them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from sema_runtime.values.errors import ReaderError
from semac.checks.program import WARNING, Finding, check_text, unreadable
from semac.cli.running import read_source
from semac.sources import decode

USAGE = "Usage: sema check FILE... [--strict] [--json]"
HELP = f"""{USAGE}

  Report what is wrong with programs, without running them: text that can't be
  read, malformed forms, unbound names, wrong numbers of arguments. Warnings
  name what runs but surely isn't what was meant.

Options:
  --strict    Warnings count as errors.
  --json      A list of objects: file, line, column, code, severity, message, hint.
  -h, --help  Show this message.

  Status: 0 nothing or warnings only, 1 errors, or a file can't be read; 2 wrong usage."""
OPTIONS = ("--json", "--strict")


def main(args: Sequence[str]) -> int:
    """Runs `sema check ARGS`; returns 0 when nothing was found, 1 when something was, 2 for wrong usage."""
    if "--help" in args or "-h" in args:
        print(HELP)
        return 0
    files = [arg for arg in args if arg not in OPTIONS]
    unknown = next((arg for arg in files if arg.startswith("-")), None)
    if unknown is not None or not files:
        print(
            f"Error: unknown option '{unknown}'" if unknown else "Error: no file given",
            USAGE,
            sep="\n",
            file=sys.stderr,
        )
        return 2
    findings: list[Finding] = []
    for file in files:
        source = read_source(file, "file not found: {}")
        if source is None:
            return 1
        try:
            findings += check_text(decode(source, file), file)
        except ReaderError as error:
            findings.append(unreadable(error, file))
    if "--json" in args:
        print(json.dumps([finding.as_json() for finding in findings], ensure_ascii=False, indent=2))
    else:
        for finding in findings:
            print(finding.text())
    return 1 if any("--strict" in args or finding.code != WARNING for finding in findings) else 0
