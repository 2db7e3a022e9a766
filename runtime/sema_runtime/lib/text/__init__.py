"""Builtins for strings, characters, bytes, regular expressions."""
