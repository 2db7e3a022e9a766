"""Which registry is used, and the user's token: `~/.sema/credentials.toml`, which only its owner may read."""

from __future__ import annotations

import json
import os
import tomllib
from typing import Any

from sema_runtime.support.home import in_home
from semac.pkg.errors import PackageError
from semac.pkg.registry import Registry

DEFAULT = "https://pkg.sema-lang.com"
VARIABLE = "SEMA_REGISTRY_URL"


def path() -> str:
    return in_home("credentials.toml")


def stored() -> dict[str, Any]:
    """The table `[registry]` of the file. Raises PackageError for one that can't be read."""
    try:
        with open(path(), "rb") as file:
            table = tomllib.load(file).get("registry", {})
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise PackageError(f"cannot read {path()}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PackageError(f"{path()} is not TOML: {error}; sema pkg login writes it anew") from None
    return table if isinstance(table, dict) else {}


def url(flag: str | None = None) -> str:
    """The registry: that of the option, of the environment, of the file, else the usual one."""
    own = stored().get("url")
    return flag or os.environ.get(VARIABLE) or (own if isinstance(own, str) else "") or DEFAULT


def registry(flag: str | None = None, needs_token: bool = False) -> Registry:
    """The registry to ask. The token goes to the registry that it was given for, alone. Raises PackageError."""
    table = stored()
    chosen = url(flag)
    token = table.get("token")
    is_own = isinstance(token, str) and chosen.rstrip("/") == str(table.get("url") or DEFAULT).rstrip("/")
    if needs_token and not is_own:
        raise PackageError(f"not logged in to {chosen}; sema pkg login --registry {chosen}")
    return Registry(chosen, str(token) if is_own else "")


def store(values: dict[str, str]) -> None:
    """Writes the file. Raises PackageError."""
    from sema_runtime.support.private_files import make_folders
    from sema_runtime.support.replacing import Replacement

    lines = ["[registry]", *(f"{key} = {json.dumps(value)}" for key, value in values.items() if value), ""]
    try:
        make_folders(os.path.dirname(path()))
        with Replacement(path(), 0o600) as file:
            file.write("\n".join(lines).encode())
    except OSError as error:
        raise PackageError(f"cannot write {path()}: {error.strerror}") from None
