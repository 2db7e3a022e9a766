"""Calls of functions over items, and loops that count or walk a list, become `for` loops and comprehensions."""
