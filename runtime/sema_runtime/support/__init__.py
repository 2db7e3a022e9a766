"""Helpers without a builtin: files, locks, argument checks, redaction, JSON from outside."""
