"""Builtins for data formats and databases."""
