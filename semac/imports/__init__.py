"""Imports of Sema files: finder, cache of compiled code, archives, interfaces of modules."""
