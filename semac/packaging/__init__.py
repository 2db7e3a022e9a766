"""Wheels with Sema modules: build hooks of hatchling and setuptools."""
