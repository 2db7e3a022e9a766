"""What keeps a workflow from being run."""

from __future__ import annotations


class Refused(Exception):
    """Said to the user, who can mend it."""
