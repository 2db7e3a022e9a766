"""What `(sys/args)` knows of the command line beyond `sys.argv`, which is as Python programs expect it."""

has_dashes = False
"""Whether the program's arguments stood behind `--`, which `(sys/args)` shows as the reference does."""
