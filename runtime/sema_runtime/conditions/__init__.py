"""Errors as programs and users see them: condition maps, translation of Python exceptions, traces, hints."""
