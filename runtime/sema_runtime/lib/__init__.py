"""Builtins by topic. Each function is declared with `@builtin` (see catalogue.py) beside its code."""
