"""Several versions of the site in one folder: VERSION/, latest/, versions.json for the theme's menu, a first page."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

LATEST = "latest"
FIRST_PAGE = """<!doctype html>
<meta charset="utf-8">
<title>Sema</title>
<meta http-equiv="refresh" content="0; url={0}/index.html">
<link rel="canonical" href="{0}/index.html">
<p><a href="{0}/index.html">Sema</a></p>
"""


def publish(site: Path, folder: Path, version: str) -> None:
    """Copies a built site to folder/version, and to folder/latest when no newer version is there."""
    versions = known(folder)
    versions = sorted({*versions, version}, key=order, reverse=True)
    replace(site, folder / version)
    newest = versions[0]
    if version == newest:
        replace(site, folder / LATEST)
    entries = [{"version": name, "title": name, "aliases": [LATEST] if name == newest else []} for name in versions]
    (folder / "versions.json").write_text(json.dumps(entries, indent=2) + "\n")
    (folder / "index.html").write_text(FIRST_PAGE.format(LATEST))


def known(folder: Path) -> list[str]:
    """The versions that are in a folder already."""
    path = folder / "versions.json"
    if not path.exists():
        return []
    return [entry["version"] for entry in json.loads(path.read_text()) if (folder / entry["version"]).is_dir()]


def replace(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def order(version: str) -> tuple[int, list[int]]:
    """Numbers by value, names such as `dev` before all of them."""
    numbers = [int(part) for part in re.findall(r"\d+", version)]
    return (1 if numbers else 0, numbers)
