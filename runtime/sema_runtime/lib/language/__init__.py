"""Builtins of the language itself: control, predicates, output, context."""
