"""Errors as people see them: rendered errors and warnings, tracebacks, the debugger."""
