"""The build backend of semac: hatchling, with dependencies that suit what is built.

| built | the runtime |
|---|---|
| editable install | the checkout's `runtime/` folder, which the install puts on the path |
| wheel from a checkout: `pip install .` | the checkout's `runtime/`, named by its path |
| wheel from an sdist: `python -m build` | the distribution `sema-runtime` of the same version |
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
EDITABLE = "SEMA_EDITABLE_BUILD"  # in the environment, because hatchling loads this file as a hook once more


def build_editable(*arguments: Any, **options: Any) -> str:
    """Builds the wheel of an editable install; its name."""
    os.environ[EDITABLE] = "yes"
    return build.build_editable(*arguments, **options)


def _prepared(*arguments: Any, **options: Any) -> str:
    """Writes the metadata of an editable install; the name of their folder."""
    os.environ[EDITABLE] = "yes"
    return build.prepare_metadata_for_build_editable(*arguments, **options)


if hasattr(build, "prepare_metadata_for_build_editable"):  # hatchling has none for pip, which builds the wheel instead
    prepare_metadata_for_build_editable = _prepared


class Dependencies(MetadataHookInterface):
    """Adds the dependencies to the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        runtime = Path(self.root) / "runtime"
        project = runtime / "pyproject.toml"
        if not project.exists():
            needed = [f"sema-runtime=={metadata['version']}"]
        elif os.environ.get(EDITABLE):
            needed = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
        else:
            needed = [f"sema-runtime @ {runtime.as_uri()}"]
        metadata["dependencies"] = [*OWN, *needed]


def get_metadata_hook() -> type[MetadataHookInterface]:
    """For hatchling."""
    return Dependencies
