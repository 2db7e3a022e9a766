"""`sema pkg`: packages of a project."""

from __future__ import annotations

import os
from typing import Any

import click

from semac.cli.common import SETTINGS, failed, standalone
from semac.pkg.errors import PackageError
from semac.pkg.registry_commands import COMMANDS as OF_REGISTRIES
from semac.pkg.reporting import REGISTRY, Output, project, reported

HELP = """\
Usage: sema pkg [--json] COMMAND [ARGS]...

  Install Sema packages from git and registries, and Python packages, and
  record them in sema.toml and sema.lock.

  init                 write sema.toml
  add SPEC             install a package and record it
  install [--locked]   install what sema.toml names; exactly what sema.lock
                       says with --locked
  update [NAME]        look for newer versions and refs
  remove NAME          remove a package
  list                 list installed packages

  publish              upload the package of this folder to a registry
  search TEXT          search a registry
  info NAME            show a package of a registry
  yank NAME@VERSION    take a version out of what a registry offers
  login, logout        store a token for a registry, remove it
  config [KEY [VALUE]] show or set registry.url

  SPEC is one of
    name, name@1.2.0                     of a registry
    github.com/owner/name[@ref]          of git; ref is a branch, a tag or a
                                         commit, main without one
    py:name, 'py:name>=2'                of Python's index, with pip

  Sema packages are in ~/.sema/packages: (import "github.com/owner/name").
  A Python package with .sema files is imported by its modules:
  (import "name/module"). 'sema pkg COMMAND --help' describes one.

  Not there: whoami, login with user name and password.
"""


def main(args: list[str]) -> int:
    """Runs `sema pkg ARGS` and returns the exit status."""
    as_json = args[:1] == ["--json"]
    rest = args[1:] if as_json else args
    commands = {**COMMANDS, **OF_REGISTRIES}
    if not rest or rest[0] in ("--help", "-h"):
        print(HELP, end="")
        return 0 if rest else 2
    command = commands.get(rest[0])
    if command is None:
        from difflib import get_close_matches

        near = get_close_matches(rest[0], commands, 1)
        hint = f"did you mean 'sema pkg {near[0]}'?" if near else "sema pkg --help lists the commands"
        return failed(f"sema pkg has no command '{rest[0]}'; {hint}")
    return standalone(command, rest[1:], ["--json"] if as_json else [])


@click.command("sema pkg init", context_settings=SETTINGS)
def init_command() -> int:
    """Write a sema.toml for the current folder."""
    from semac.pkg import manifest

    def run(output: Output) -> dict[str, Any]:
        path = manifest.new()
        output.tell("✓ Created sema.toml")
        return {"path": os.path.abspath(path)}

    return reported("init", run)


@click.command("sema pkg add", context_settings=SETTINGS)
@click.argument("spec")
@REGISTRY
@click.option("--force", is_flag=True, help="Replace a package that was changed since it was installed.")
def add_command(spec: str, registry: str | None, force: bool) -> int:
    """Install a package, and record it in sema.toml and sema.lock of the project.

    \b
    Examples:
      sema pkg add http-helpers@1.2.0
      sema pkg add github.com/owner/name@v1.0
      sema pkg add 'py:httpx>=0.27'
    """
    from semac.pkg import manifest as manifests
    from semac.pkg.lock import path_of
    from semac.pkg.resolve import install, write
    from semac.pkg.specs import parsed

    def run(output: Output) -> dict[str, Any]:
        wanted = parsed(spec)
        manifest = manifests.find()
        if manifest is None:
            install(None, [wanted], registry=registry, force=force, tell=output.tell)
            output.tell("There is no sema.toml here, so it isn't recorded; sema pkg init writes one")
            return {"name": wanted.name, "recorded": False}
        others = [known for known in manifest.specs if (known.kind, known.name) != (wanted.kind, wanted.name)]
        key = f"py:{wanted.name}" if wanted.kind == "python" else wanted.name
        edited = manifest.with_spec(wanted)
        specs = [*others, wanted]
        lock = install(manifest, specs, afresh=key.__eq__, registry=registry, force=force, tell=output.tell)
        if wanted.kind == "registry" and not wanted.wanted:
            wanted = wanted._replace(wanted=lock[key].version)
            edited = manifest.with_spec(wanted)
        write(manifest.path, edited.text)
        output.tell(f'✓ Added {wanted.name} = "{wanted.wanted or "*"}" to sema.toml')
        return {"name": wanted.name, "recorded": True, "lock": path_of(manifest)}

    return reported("add", run)


@click.command("sema pkg install", context_settings=SETTINGS)
@click.option("--locked", is_flag=True, help="Install what sema.lock says, and fail where it disagrees with sema.toml.")
@REGISTRY
@click.option("--force", is_flag=True, help="Replace packages that were changed since they were installed.")
def install_command(locked: bool, registry: str | None, force: bool) -> int:
    """Install the packages that sema.toml names, and what they need."""
    from semac.pkg.resolve import install

    def run(output: Output) -> dict[str, Any]:
        manifest = project()
        if not manifest.specs and not locked:
            output.tell(f"{manifest.path} names no packages")
        lock = install(manifest, manifest.specs, is_locked=locked, registry=registry, force=force, tell=output.tell)
        if lock and not output.lines:
            output.tell(f"✓ {len(lock)} package(s) are installed as sema.lock says")
        return {"packages": {key: entry.shown for key, entry in lock.items()}}

    return reported("install", run)


@click.command("sema pkg update", context_settings=SETTINGS)
@click.argument("name", required=False)
@REGISTRY
@click.option("--force", is_flag=True, help="Replace packages that were changed since they were installed.")
def update_command(name: str | None, registry: str | None, force: bool) -> int:
    """Look for newer commits of refs and newer versions that sema.toml allows, for one package or for all."""
    from semac.pkg import lock as locks
    from semac.pkg.resolve import install

    def run(output: Output) -> dict[str, Any]:
        manifest = project()
        before = locks.read(locks.path_of(manifest)) or {}
        keys = {f"py:{spec.name}" if spec.kind == "python" else spec.name for spec in manifest.specs}
        if name is not None and name not in keys | {*before}:
            raise PackageError(
                f"'{name}' is not in {manifest.path}; there are {', '.join(sorted(keys)) or 'no packages'}"
            )
        afresh = name.__eq__ if name is not None else lambda key: True
        after = install(manifest, manifest.specs, afresh=afresh, registry=registry, force=force, tell=lambda line: None)
        changed = {key: entry for key, entry in after.items() if before.get(key) != entry}
        for key, entry in changed.items():
            old = before.get(key)
            came = f"{old.shown} {old.commit[:12]}".strip() + " → " if old is not None else ""
            output.tell(f"✓ Updated {key}: {came}{entry.shown} {entry.commit[:12]}".rstrip())
        if not changed:
            output.tell("Everything is up to date")
        return {"updated": {key: entry.shown for key, entry in changed.items()}}

    return reported("update", run)


@click.command("sema pkg remove", context_settings=SETTINGS)
@click.argument("name")
@click.option("--force", is_flag=True, help="Remove a package that was changed since it was installed.")
def remove_command(name: str, force: bool) -> int:
    """Remove a package, and its lines in sema.toml and sema.lock. A Python package stays in its environment."""
    from semac.pkg import lock as locks
    from semac.pkg import manifest as manifests
    from semac.pkg import store
    from semac.pkg.resolve import needed, write

    def run(output: Output) -> dict[str, Any]:
        manifest = manifests.find()
        specs = manifest.specs if manifest is not None else []
        python = next(
            (spec for spec in specs if spec.kind == "python" and name in (spec.name, f"py:{spec.name}")), None
        )
        full = name
        if python is None:
            package = store.find(name)
            if not force:
                store.check_unchanged(package)
            store.remove(package)
            full = package.name
        output.tell(f"✓ Removed {full}" + (" from sema.toml; pip uninstall removes it from Python" if python else ""))
        spec = python or next((spec for spec in specs if spec.name == full), None)
        if manifest is not None and spec is not None:
            write(manifest.path, manifest.without(spec).text)
        path = locks.path_of(manifest) if manifest is not None else ""
        lock = locks.read(path) if path else None
        if lock is not None:
            kept = needed([other for other in specs if other != spec])
            write(path, locks.text_of({key: entry for key, entry in lock.items() if key in kept}))
        return {"name": full}

    return reported("remove", run)


@click.command("sema pkg list", context_settings=SETTINGS)
def list_command() -> int:
    """List the packages in ~/.sema/packages and the project's Python packages, with their versions and origins."""
    from semac.pkg import python_index, store

    def run(output: Output) -> dict[str, Any]:
        packages = store.every()
        python = python_packages()
        for package in packages:
            origin = package.locked
            if origin is None:
                output.tell(f"  {package.name} [not installed by sema pkg]")
            elif origin.source == "git":
                output.tell(f"  {package.name} ({origin.ref} {origin.commit[:12]}) [git]")
            else:
                output.tell(f"  {package.name} ({origin.version}) [{origin.registry}]")
        versions = {name: python_index.version(name) for name in python}
        for name, version in versions.items():
            output.tell(f"  {name} ({version}) [Python]" if version else f"  {name} [Python, not installed here]")
        if not packages and not python:
            output.tell("No packages installed.")
        listed = [{"path": package.path, **package.meta, "name": package.name} for package in packages]
        listed += [{"name": name, "source": "python", "version": version} for name, version in versions.items()]
        return {"packages": listed}

    return reported("list", run)


def python_packages() -> list[str]:
    """The distributions of Python's index that the project and its Sema packages name. Raises PackageError."""
    from semac.pkg import manifest as manifests
    from semac.pkg.resolve import needed

    manifest = manifests.find()
    keys = needed(manifest.specs) if manifest is not None else set[str]()
    return sorted(key.removeprefix("py:") for key in keys if key.startswith("py:"))


COMMANDS: dict[str, click.Command] = {
    "init": init_command,
    "add": add_command,
    "install": install_command,
    "update": update_command,
    "remove": remove_command,
    "list": list_command,
}
