"""Builtins for the terminal."""
