"""`sema workflow check FILE`: what is wrong with the workflows of a file, found without running it.

The command loads the reader and nothing else: it is meant for editors and for models that write workflows, which call
it again and again.
"""

from __future__ import annotations

import sys

from semac.checks.workflows import ERROR, Diagnostic, check_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = "Usage: sema workflow check FILE [--strict] [--json]"
HELP = f"""{USAGE}

  Report what is wrong with the workflows of a file, without running it.

Options:
  --strict    Warnings count as errors.
  --json      One JSON object instead of lines.
  -h, --help  Show this message.

  Status: 0 clean or warnings only, 1 errors, 2 the file can't be read."""


def main(args: Sequence[str]) -> int:
    """Runs `sema workflow check ARGS`; 0 clean or warnings only, 1 errors, 2 unreadable file or wrong usage."""
    if "-h" in args or "--help" in args:
        print(HELP)
        return 0
    files = [arg for arg in args if arg not in ("--strict", "--json")]
    unknown = next((arg for arg in files if arg.startswith("-")), None)
    if unknown is not None or len(files) != 1:
        problem = f"unknown option '{unknown}'" if unknown else "no file given" if not files else "one file at a time"
        print(f"error: {problem}", USAGE, sep="\n", file=sys.stderr)
        return 2
    text = _source(files[0])
    if text is None:
        return 2
    diagnostics = check_text(text)
    errors = sum(diagnostic.severity == ERROR for diagnostic in diagnostics)
    print(_json(files[0], diagnostics, errors) if "--json" in args else _text(files[0], diagnostics, errors))
    return 1 if errors or ("--strict" in args and diagnostics) else 0


def _source(path: str) -> str | None:
    """The text of a file; None, and a message on stderr, when it can't be read."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return file.read()
    except FileNotFoundError:
        problem = f"file not found: {path}"
    except PermissionError:
        problem = f"permission denied: {path}"
    except UnicodeDecodeError:
        problem = f"reading {path}: stream did not contain valid UTF-8"
    except (OSError, ValueError) as error:
        problem = f"reading {path}: {getattr(error, 'strerror', None) or error}"
    print(f"error: {problem}", file=sys.stderr)
    return None


def _text(file: str, diagnostics: list[Diagnostic], errors: int) -> str:
    if not diagnostics:
        return f"{file}: ok — no issues found"
    return "\n".join(
        [
            *(diagnostic.text(file) for diagnostic in diagnostics),
            f"{file}: {errors} error(s), {len(diagnostics) - errors} warning(s)",
        ]
    )


def _json(file: str, diagnostics: list[Diagnostic], errors: int) -> str:
    import json

    report = {
        "file": file,
        "errors": errors,
        "warnings": len(diagnostics) - errors,
        "diagnostics": [diagnostic.as_json() for diagnostic in diagnostics],
    }
    return json.dumps(report, indent=2, sort_keys=True, ensure_ascii=False)
