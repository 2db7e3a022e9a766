"""What holds for all tests."""

from __future__ import annotations

import signal

# Background jobs of a shell ignore Ctrl-C, and hand that on to the programs that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
