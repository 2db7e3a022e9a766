"""Emission: the intermediate representation → Python."""
