"""Stubs of functions in compiled modules, and what they unpack (`sema_runtime/packed_code.py`)."""
