"""Builtins for lists, vectors, maps, records."""
