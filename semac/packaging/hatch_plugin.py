"""The build hook of hatchling: `[tool.hatch.build.hooks.semac]` in pyproject.toml puts compiled modules into wheels."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.plugin import hookimpl

from semac.packaging.modules import (
    PackagingError,
    check_dependencies,
    compiled_module,
    compiled_target,
    settings_of,
    stub_target,
)

TABLE = "tool.hatch.build.hooks.semac"
SUFFIX = ".sema"
# A line of a .pth file, which begins with `import`. Such files of editable installs, semac's own, come first.
PREPARE = (
    r"import sys; exec('try:\n from semac.imports.on_demand import prepare\nexcept ImportError: pass\nelse: prepare()')"
)


class SemaBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds `mail.py` and `mail.pyi` for each `mail.sema` of a wheel. In editable installs the import hook compiles."""

    PLUGIN_NAME = "semac"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel or an sdist is written. version: "standard" or "editable"."""
        if self.target_name != "wheel":
            return
        try:
            if version == "editable":
                self._make_importable(build_data)
            else:
                self._compile(build_data)
        except PackagingError as error:
            self.finalize(version, build_data, "")
            self.app.abort(f"semac: {error}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called when the wheel is written."""
        for folder in getattr(self, "_folders", []):
            shutil.rmtree(folder, ignore_errors=True)

    def _files(self) -> dict[str, str]:
        """The files of the wheel: the path in it, and the file."""
        files = self.build_config.builder.recurse_included_files()
        return {file.distribution_path.replace(os.sep, "/"): file.path for file in files}

    def _compile(self, build_data: dict[str, Any]) -> None:
        settings = settings_of(self.config, TABLE)
        files = self._files()
        sources = {
            path: file for path, file in files.items() if path.endswith(SUFFIX) and not settings.is_excluded(path)
        }
        if not sources:
            return
        check_dependencies(self.metadata.core.dependencies)
        folder = tempfile.mkdtemp(prefix="sema-wheel-")
        self._folders = [folder]
        for number, (path, file) in enumerate(sorted(sources.items())):
            target = compiled_target(path, files)
            module = compiled_module(file, settings)
            for place, text in ((target, module.text), (stub_target(target, files), module.stub)):
                if place is not None:
                    made = os.path.join(folder, f"{number}{os.path.splitext(place)[1]}")
                    with open(made, "w", encoding="utf-8") as written:
                        written.write(text)
                    build_data["force_include"][made] = place
            if module.extension is not None:
                self._folders.append(os.path.dirname(module.extension))
                beside = os.path.join(os.path.dirname(target), os.path.basename(module.extension))
                build_data["force_include"][module.extension] = beside
                build_data["pure_python"] = False
                build_data["infer_tag"] = True

    def _make_importable(self, build_data: dict[str, Any]) -> None:
        """Has a `.pth` file prepare imports of Sema files that no `__init__.py` of an editable install prepares."""
        tops = {path: file for path, file in self._files().items() if is_top(path)}
        if not tops:
            return
        folder = tempfile.mkdtemp(prefix="sema-wheel-")
        self._folders = [folder]
        name = f"sema_{self.metadata.core.name.replace('-', '_')}.pth"
        roots = {os.path.realpath(file)[: -len(path)] for path, file in tops.items()}
        with open(os.path.join(folder, name), "w", encoding="utf-8") as written:
            written.write("\n".join([*sorted(roots), PREPARE, ""]))
        build_data["force_include_editable"][os.path.join(folder, name)] = name


def is_top(path: str) -> bool:
    """Whether a file of a wheel is what `import` loads first of it: a module at the top, or a package there."""
    _, _, tail = path.partition("/")
    return path.endswith(SUFFIX) and tail in ("", f"__init__{SUFFIX}")


@hookimpl
def hatch_register_build_hook() -> type[SemaBuildHook]:
    """For hatchling."""
    return SemaBuildHook
