"""What commands of `sema pkg` say: lines for people, or one object of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from semac.cli.common import failed
from semac.pkg.errors import PackageError

REGISTRY = click.option("--registry", metavar="URL", help="Registry to ask. [SEMA_REGISTRY_URL, config registry.url]")


class Output:
    """What a command says: lines for people, or one object of JSON."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.lines: list[str] = []

    def tell(self, line: str) -> None:
        self.lines.append(line)
        if not self.as_json:
            print(line, flush=True)


def reported(name: str, action: Callable[[Output], dict[str, Any]]) -> int:
    """Runs an action and reports its result or its error; the exit status."""
    output = Output("--json" in (click.get_current_context().obj or ()))
    try:
        result = action(output)
    except PackageError as error:
        if output.as_json:
            print(json.dumps({"ok": False, "command": name, "error": str(error)}))
            return 1
        return failed(str(error))
    if output.as_json:
        print(json.dumps({"ok": True, "command": name, **result, "messages": output.lines}, ensure_ascii=False))
    return 0


def project() -> Any:
    """The manifest of the project. Raises PackageError where there is none."""
    from semac.pkg import manifest as manifests

    manifest = manifests.find()
    if manifest is None:
        raise PackageError("there is no sema.toml in this folder or above it; sema pkg init writes one")
    return manifest
