"""The error of `sema pkg`."""

from __future__ import annotations


class PackageError(Exception):
    """What went wrong, where, and what to do."""
