"""Ownership: which maps nobody else can see, so that their dicts are changed in place."""
