"""How certificates are checked."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def tls_context() -> Any:
    """What certificates are checked with: an ssl.SSLContext."""
    import httpx

    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
