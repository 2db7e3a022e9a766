"""Text to forms: lexer, reader, literals, places in source text."""
