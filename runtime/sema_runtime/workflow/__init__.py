"""Workflows: runs that are written down as they go, so that what was finished is never done again."""
