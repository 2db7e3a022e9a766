"""`python -m semac`."""

import sys

from semac.cli.launch import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
