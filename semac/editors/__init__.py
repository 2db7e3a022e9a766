"""Syntax files for editors, and the lexer for Pygments. `python -m semac.editors.build` writes their lists of names."""
