"""The build backend of semac: hatchling, with dependencies that suit what is built.

| built | the runtime |
|---|---|
| editable install | the checkout's `runtime/` folder, which the install puts on the path |
| wheel from a checkout: `pip install .` | the checkout's `runtime/`, named by its path |
| sdist and wheels from it: `python -m build` | the distribution `sema-runtime` of the same version |
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from hatchling import build
from hatchling.build import *  # noqa: F403 - the hooks of PEP 517 that need nothing of ours
from hatchling.metadata.plugin.interface import MetadataHookInterface

OWN = ["click>=8.1"]
BUILT = "SEMA_BUILT"  # what is built; in the environment, because hatchling loads this file as a hook once more


def build_sdist(*arguments: Any, **options: Any) -> str:
    """Builds an sdist, from whose metadata hatchling takes the dependencies of the wheel; its name."""
    os.environ[BUILT] = "sdist"
    return build.build_sdist(*arguments, **options)


def build_editable(*arguments: Any, **options: Any) -> str:
    """Builds the wheel of an editable install; its name."""
    os.environ[BUILT] = "editable"
    return build.build_editable(*arguments, **options)


def _prepared(*arguments: Any, **options: Any) -> str:
    """Writes the metadata of an editable install; the name of their folder."""
    os.environ[BUILT] = "editable"
    return build.prepare_metadata_for_build_editable(*arguments, **options)


if hasattr(build, "prepare_metadata_for_build_editable"):  # hatchling has none for pip, which builds the wheel instead
    prepare_metadata_for_build_editable = _prepared


class Dependencies(MetadataHookInterface):
    """Adds the dependencies to the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        runtime = Path(self.root) / "runtime"
        project = runtime / "pyproject.toml"
        if os.environ.get(BUILT) == "sdist" or not project.exists():
            needed = [f"sema-runtime=={metadata['version']}"]
        elif os.environ.get(BUILT) == "editable":
            needed = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
        else:
            needed = [f"sema-runtime @ {runtime.as_uri()}"]
        metadata["dependencies"] = [*OWN, *needed]


def get_metadata_hook() -> type[MetadataHookInterface]:
    """For hatchling."""
    return Dependencies
