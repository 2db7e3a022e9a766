"""Builtins for Python objects."""
