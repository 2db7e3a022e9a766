"""Builtins for tasks and channels."""
