"""The archive of a package that is published, and facts about it."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import tarfile
from typing import Any

from semac.pkg.errors import PackageError
from semac.pkg.manifest import Manifest
from semac.pkg.specs import check_name
from semac.pkg.versions import is_complete

LEFT_OUT = (".git", ".venv", "__pycache__", "node_modules", ".sema", "dist", "build")
MOST_BYTES = 64 << 20


def facts_of(manifest: Manifest) -> tuple[str, str, str]:
    """(name, version, metadata as JSON) of the package of a project. Raises PackageError."""
    package = manifest.package()
    texts = {}
    for key in ("name", "version"):
        value = package.get(key)
        if not isinstance(value, str) or not value:
            raise PackageError(f"{manifest.path}: [package] has no {key}")
        texts[key] = value
    check_name(texts["name"])
    if "/" in texts["name"]:
        raise PackageError(f"{manifest.path}: a registry takes names without '/', not {texts['name']}")
    if not is_complete(texts["version"]):
        raise PackageError(f"{manifest.path}: the version {texts['version']} is not of the form 1.2.3")
    dependencies = [
        {"name": spec.name, "version_req": spec.wanted or "*"} for spec in manifest.specs if spec.kind == "registry"
    ]
    metadata: dict[str, Any] = {
        "description": str(package.get("description", "")),
        "repository_url": package.get("repository"),
        "sema_version_req": package.get("sema_version_req"),
        "dependencies": dependencies,
    }
    return texts["name"], texts["version"], json.dumps(metadata)


def tarball(folder: str) -> tuple[bytes, int]:
    """(the files of a package as an archive, their number); the same for the same files. Raises PackageError."""
    output = io.BytesIO()
    count = 0
    with gzip.GzipFile(fileobj=output, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for place in sorted(files_of(folder)):
            path = os.path.join(folder, place)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            info = tarfile.TarInfo(place.replace(os.sep, "/"))
            info.size = os.path.getsize(path)
            info.mode = 0o755 if os.access(path, os.X_OK) else 0o644
            with open(path, "rb") as file:
                archive.addfile(info, file)
            count += 1
    if output.tell() > MOST_BYTES:
        raise PackageError(f"the archive of {folder} has more than {MOST_BYTES >> 20} MiB; leave large files out")
    return output.getvalue(), count


def files_of(folder: str) -> list[str]:
    """The files that belong to a package: those that git would commit, or all where it isn't a repository."""
    listed = subprocess.run(
        ["git", "-C", folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, stdin=subprocess.DEVNULL,
    ) if os.path.exists(os.path.join(folder, ".git")) else None  # fmt: skip
    if listed is not None and listed.returncode == 0:
        return [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    found = []
    for current, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        found += [os.path.relpath(os.path.join(current, name), folder) for name in files]
    return found
