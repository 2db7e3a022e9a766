"""Commands for editors and type checkers."""
