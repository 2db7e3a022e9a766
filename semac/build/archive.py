"""Writes a built program as a zip archive that Python runs."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import zipfile
from importlib.resources import files
from typing import Any

from sema_runtime.support.home import in_home
from semac.build.layers import Layer, digest_of

FACTS = "# facts of the build\n"
NATIVE = (".so", ".pyd", ".dylib", ".dll")
EARLIEST = (1980, 1, 1, 0, 0, 0)  # of a zip archive: the same files make the same bytes


class Zipapp:
    """An archive. layers: "packages" and "program". native: whether a layer holds machine code, and so fits one Python
    and one kind of machine only."""

    def __init__(self, name: str, layers: dict[str, Layer], entry: str, digest: str | None) -> None:
        self.name = name
        self.layers = layers
        self.entry = entry
        self.digest = digest or ""
        self.native = any(place.endswith(NATIVE) for layer in layers.values() for place in layer)

    def written(self, metadata: dict[str, Any], interpreter: str | None, use_cache: bool) -> bytes:
        """The bytes of the archive. interpreter: of its first line, None for the usual one."""
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", self.name).strip(".-") or "program"
        digests = {name: digest_of(layer) for name, layer in self.layers.items()}
        folders = {"packages": f"packages-{digests['packages']}", "program": f"{stem}-{digests['program']}"}
        facts = {
            "NAME": self.name,
            "LAYERS": folders,
            "ENTRY": self.entry,
            "DIGEST": self.digest,
            "PYTHON": sys.implementation.cache_tag if self.native else None,
            "MACHINE": machine() if self.native else None,
        }
        starter = files("semac.build").joinpath("starter.py").read_text(encoding="utf-8")
        text = starter.replace(FACTS, "".join(f"{name} = {value!r}\n" for name, value in facts.items()))
        output = io.BytesIO()
        output.write(f"#!{interpreter or self.interpreter()}\n".encode())
        with zipfile.ZipFile(output, "a") as archive:
            add(archive, "__main__.py", text.encode())
            add(archive, "sema-build.json", json.dumps(metadata, indent=2).encode())
            for name, layer in self.layers.items():
                cached = folders[name] if use_cache and name == "packages" else None
                add(archive, f"{name}.zip", packed(layer, cached))
        return output.getvalue()

    def interpreter(self) -> str:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}" if self.native else "3"
        return f"/usr/bin/env python{version}"


def machine() -> str:
    """The kind of this machine, as the archive compares it."""
    return f"{sys.platform}-{os.uname().machine if hasattr(os, 'uname') else ''}"


def add(archive: zipfile.ZipFile, name: str, data: bytes, kind: int = zipfile.ZIP_STORED) -> None:
    info = zipfile.ZipInfo(name, EARLIEST)
    info.external_attr = 0o644 << 16
    info.compress_type = kind
    archive.writestr(info, data)


def packed(layer: Layer, cached: str | None) -> bytes:
    """A layer as a compressed archive. cached: the name under which it is kept for the next build, or None."""
    from sema_runtime.support.replacing import Replacement

    kept = None if cached is None else in_home("cache", "builds", f"{cached}.zip")
    if kept is not None and os.path.isfile(kept):
        with open(kept, "rb") as file:
            data = file.read()
        if zipfile.is_zipfile(io.BytesIO(data)):
            return data
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        for place in sorted(layer):
            add(archive, place, layer[place], zipfile.ZIP_DEFLATED)
    data = output.getvalue()
    if kept is not None:
        try:
            os.makedirs(os.path.dirname(kept), exist_ok=True)
            with Replacement(kept) as file:
                file.write(data)
        except OSError:  # it is built again the next time
            return data
    return data
