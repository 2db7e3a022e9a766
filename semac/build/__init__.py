"""`sema build`: a program and all that it needs in one file."""
