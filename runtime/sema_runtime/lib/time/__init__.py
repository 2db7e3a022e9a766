"""Builtins for dates and times."""
