"""The user's Sema folder: packages, caches, tokens, the history of the REPL."""

from __future__ import annotations

import os
import sys


def sema_home() -> str:
    """SEMA_HOME, else `.sema` in the user's home directory, or in the current one when the user has none."""
    configured = os.environ.get("SEMA_HOME")
    if configured:
        return configured
    user = os.environ.get("HOME") or os.environ.get("USERPROFILE") or os.path.expanduser("~")
    return os.path.join("." if user == "~" else user, ".sema")


def settings_directory() -> str:
    """The user's directory for settings of programs."""
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support")
    return os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")


def in_home(*parts: str) -> str:
    """A path below `sema_home()`."""
    return os.path.join(sema_home(), *parts)
