"""Mutation testing of the compiler's passes: see __main__.py."""
