"""Layout of source text: lossless tokens, a tree of brackets, and lines. `format_text` is the entry.

The layout itself is the runtime's (`sema_runtime.form_layout`), because `format/form` works without the compiler.
"""
