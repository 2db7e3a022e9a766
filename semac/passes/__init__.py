"""Passes over IR: tail calls, mutual recursion, type inference, ownership."""
