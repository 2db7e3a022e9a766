"""The language server, `sema lsp`: what editors ask about the text in front of them, finished or half typed."""
