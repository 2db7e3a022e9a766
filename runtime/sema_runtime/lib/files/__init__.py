"""Builtins for files, paths, streams, archives."""
