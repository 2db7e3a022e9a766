"""Limits of waiting."""

from __future__ import annotations

LONGEST_WAIT = 1.0
"""Seconds to wait at once: a Ctrl-C that comes in the moment before a wait begins is noticed after it."""
