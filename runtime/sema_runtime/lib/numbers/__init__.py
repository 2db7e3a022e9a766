"""Builtins for numbers."""
