"""The error of a build."""

from __future__ import annotations


class BuildError(Exception):
    """Why a program can't be built, and what to do."""
