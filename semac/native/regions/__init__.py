"""Statements that compute with floats, in plain C."""
