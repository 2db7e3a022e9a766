"""Content types by file name extension, the same on every machine and Python."""

from __future__ import annotations

import os
from functools import cache
from mimetypes import MimeTypes

# Types that Python's own table lacks or changes in some versions.
TYPES = {
    ".avif": "image/avif", ".csv": "text/csv", ".gz": "application/gzip", ".ico": "image/x-icon",
    ".js": "application/javascript", ".map": "application/json", ".md": "text/markdown",
    ".mjs": "application/javascript", ".otf": "font/otf", ".rs": "text/x-rust", ".sema": "text/plain",
    ".toml": "text/x-toml", ".ttf": "font/ttf", ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json", ".webp": "image/webp", ".woff": "font/woff", ".woff2": "font/woff2",
    ".yaml": "text/x-yaml", ".yml": "text/x-yaml",
}  # fmt: skip


@cache
def _standard_types() -> dict[str, str]:
    return MimeTypes(filenames=()).types_map[True]


def content_type_of(path: str) -> str:
    """Returns the content type for a file name; application/octet-stream for an unknown extension."""
    ending = os.path.splitext(path)[1].lower()
    return TYPES.get(ending) or _standard_types().get(ending) or "application/octet-stream"
