"""The built site, or parts of it; a local server for its files."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from paths import ROOT


def built(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs the builder of the site, without the check of the environment that scripts/build_site begins with."""
    command = [sys.executable, str(ROOT / "scripts" / "website"), "--out", str(folder), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address at which the files of a folder are served."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
