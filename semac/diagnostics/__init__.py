"""What is wrong with a program: checks, warnings, rendered errors, tracebacks."""
