"""The build hook of setuptools: a table `[tool.semac]` in pyproject.toml has wheels hold compiled modules.

setuptools calls `finalize` wherever semac is installed; without that table nothing changes.
"""

from __future__ import annotations

import os
import shutil
import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setuptools import Distribution

    from semac.packaging.modules import Settings

TABLE = "tool.semac"
SUFFIX = ".sema"


def finalize(distribution: Distribution) -> None:
    """Has the command `build_py` compile Sema modules, where the project asks for it."""
    try:
        with open("pyproject.toml", "rb") as file:
            project = tomllib.load(file)
    except (OSError, ValueError):  # setuptools itself reports what can't be read
        return
    table = project.get("tool", {}).get("semac")
    if table is None:
        return
    from setuptools.command.build_py import build_py

    from semac.packaging.modules import PackagingError, settings_of

    try:
        settings = settings_of(table, TABLE)
    except PackagingError as error:
        raise _failure(error) from None
    base = distribution.cmdclass.get("build_py", build_py)
    distribution.cmdclass["build_py"] = command(base, settings)
    if settings.native:
        distribution.has_ext_modules = lambda: True  # type: ignore[method-assign]
    if settings.modules and not distribution.packages and not distribution.py_modules:
        distribution.packages = []  # nothing is to be discovered


def command(base: Any, settings: Settings) -> Any:
    """The command `build_py` of setuptools, which copies Sema sources and writes their modules besides."""

    class BuildPy(base):  # type: ignore[misc]
        def run(self) -> None:
            super().run()
            if getattr(self, "editable_mode", False):
                return
            from semac.packaging.modules import PackagingError

            try:
                self._compile()
            except PackagingError as error:
                raise _failure(error) from None

        def get_source_files(self) -> list[str]:
            """For sdists."""
            return [*super().get_source_files(), *self._sources().values()]

        def get_outputs(self, include_bytecode: int = 1) -> list[str]:
            from sema_runtime.compiled_modules import compiled_path

            paths = [path for target in self._sources() for path in self._paths_of(target, compiled_path)]
            return [*super().get_outputs(include_bytecode), *(os.path.join(self.build_lib, path) for path in paths)]

        def _paths_of(self, target: str, compiled_path: Any) -> list[str]:
            module = compiled_path(target)
            return [target] if settings.is_excluded(target) else [target, module, f"{module}i"]

        def _sources(self) -> dict[str, str]:
            """The Sema files of the packages: the path in the wheel, and the file."""
            sources = {}
            for package in self.packages or ():
                folder = self.get_package_dir(package)
                for name in sorted(os.listdir(folder or ".")):
                    if name.endswith(SUFFIX):
                        sources["/".join([*package.split("."), name])] = os.path.join(folder, name)
            for module in settings.modules:
                file = os.path.join(self.get_package_dir(""), f"{module.removesuffix(SUFFIX)}{SUFFIX}")
                sources[os.path.basename(file)] = file
            return sources

        def _compile(self) -> None:
            from semac.packaging.modules import check_dependencies, compiled_module, compiled_target, stub_target

            sources = self._sources()
            others = {os.path.relpath(path, self.build_lib).replace(os.sep, "/") for path in super().get_outputs(0)}
            if sources:
                check_dependencies(self.distribution.install_requires)
            for target, file in sources.items():
                written = os.path.join(self.build_lib, target)
                os.makedirs(os.path.dirname(written), exist_ok=True)
                self.copy_file(file, written, preserve_mode=False)
                if settings.is_excluded(target):
                    continue
                path = compiled_target(target, others)
                module = compiled_module(file, settings)
                for place, text in ((path, module.text), (stub_target(path, others), module.stub)):
                    if place is not None:
                        with open(os.path.join(self.build_lib, place), "w", encoding="utf-8") as output:
                            output.write(text)
                if module.extension is not None:
                    shutil.copy(module.extension, os.path.dirname(written))
                    shutil.rmtree(os.path.dirname(module.extension), ignore_errors=True)

    return BuildPy


def _failure(error: Exception) -> Exception:
    """The error as setuptools shows it, without a traceback."""
    from setuptools.errors import SetupError

    failure: Exception = SetupError(f"semac: {error}")
    return failure
