"""IR to Python `ast`, and `ast` to text."""
