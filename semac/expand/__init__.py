"""Macros: the expander, quasiquote, syntax-rules, the prelude, and where macro bodies run."""
