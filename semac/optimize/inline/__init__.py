"""Calls of small builtins become operations of Python, where types permit it or behind a guard that asks."""
