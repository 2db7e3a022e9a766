"""Builtins for the process, other programs, git, devices."""
