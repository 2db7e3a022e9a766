"""`python -m semac.cli ARGS` is `sema ARGS` of that interpreter."""

import sys

from semac.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
