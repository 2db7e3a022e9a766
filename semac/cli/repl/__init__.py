"""`sema repl`: the interactive prompt."""
