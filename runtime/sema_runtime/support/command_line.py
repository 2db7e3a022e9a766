"""What `(sys/args)` needs to know of the command line besides `sys.argv`."""

has_dashes = False
"""Whether the program's arguments stood behind `--`, which `(sys/args)` shows as the reference does."""
