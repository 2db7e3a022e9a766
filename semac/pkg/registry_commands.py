"""The commands of `sema pkg` that speak with a registry."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from semac.cli.common import SETTINGS
from semac.pkg.errors import PackageError
from semac.pkg.reporting import REGISTRY, Output, project, reported

KEY = "registry.url"


@click.command("sema pkg publish", context_settings=SETTINGS)
@REGISTRY
@click.option("--dry-run", is_flag=True, help="List the files, upload nothing.")
def publish_command(registry: str | None, dry_run: bool) -> int:
    """Upload the package of this project: the files that git would commit, with name and version of sema.toml."""
    from semac.pkg import settings
    from semac.pkg.publishing import facts_of, files_of, tarball

    def run(output: Output) -> dict[str, Any]:
        manifest = project()
        folder = os.path.dirname(manifest.path)
        name, version, metadata = facts_of(manifest)
        if dry_run:
            files = sorted(files_of(folder))
            for file in files:
                output.tell(f"  {file}")
            output.tell(f"{name}@{version} would be published with {len(files)} file(s)")
            return {"name": name, "version": version, "files": files}
        target = settings.registry(registry, needs_token=True)
        data, count = tarball(folder)
        answer = target.publish(name, version, data, metadata)
        output.tell(f"✓ Published {name}@{version} ({count} files, {len(data)} bytes, sha256:{answer.get('checksum')})")
        return {"name": name, "version": version, "checksum": answer.get("checksum"), "bytes": len(data)}

    return reported("publish", run)


@click.command("sema pkg search", context_settings=SETTINGS)
@click.argument("text")
@REGISTRY
def search_command(text: str, registry: str | None) -> int:
    """Search the names and descriptions of a registry."""
    from semac.pkg import settings

    def run(output: Output) -> dict[str, Any]:
        packages = settings.registry(registry).search(text)
        for package in packages:
            about = package.get("description")
            output.tell(f"  {package.get('name')}" + (f" — {about}" if about else ""))
        if not packages:
            output.tell(f"No packages found for '{text}'.")
        return {"packages": packages}

    return reported("search", run)


@click.command("sema pkg info", context_settings=SETTINGS)
@click.argument("name")
@REGISTRY
def info_command(name: str, registry: str | None) -> int:
    """Show a package of a registry: description, owners, versions."""
    from semac.pkg import settings
    from semac.pkg.specs import check_name

    def run(output: Output) -> dict[str, Any]:
        info = settings.registry(registry).info(check_name(name))
        package: Any = info.get("package")
        about = package if isinstance(package, dict) else {}
        output.tell(f"{name}  {about.get('description') or ''}".rstrip())
        if about.get("repository_url"):
            output.tell(f"  repository: {about['repository_url']}")
        if info.get("owners"):
            output.tell(f"  owners: {', '.join(map(str, info['owners']))}")
        for version in info.get("versions") or []:
            output.tell(f"  {version.get('version')}" + (" (yanked)" if version.get("yanked") else ""))
        return info

    return reported("info", run)


@click.command("sema pkg yank", context_settings=SETTINGS)
@click.argument("spec", metavar="NAME@VERSION")
@REGISTRY
def yank_command(spec: str, registry: str | None) -> int:
    """Take a published version out of what the registry offers; projects whose lock names it keep it."""
    from semac.pkg import settings
    from semac.pkg.specs import check_name

    def run(output: Output) -> dict[str, Any]:
        name, _, version = spec.rpartition("@")
        if not name or not version:
            raise PackageError(f"'{spec}' is not of the form NAME@VERSION")
        settings.registry(registry, needs_token=True).yank(check_name(name), version)
        output.tell(f"✓ Yanked {name}@{version}")
        return {"name": name, "version": version}

    return reported("yank", run)


@click.command("sema pkg login", context_settings=SETTINGS)
@click.option("--token", metavar="TOKEN", help="The token; asked for, or read from stdin, without it.")
@REGISTRY
def login_command(token: str | None, registry: str | None) -> int:
    """Store a token of a registry in ~/.sema/credentials.toml, which only you can read."""
    from semac.pkg import settings

    def run(output: Output) -> dict[str, Any]:
        url = settings.registry(settings.url(registry)).url
        secret = token if token is not None else asked_for()
        if not secret or any(character.isspace() or not character.isprintable() for character in secret):
            raise PackageError("a token is a word without spaces")
        settings.store({"token": secret, "url": url})
        output.tell(f"✓ Login saved to {settings.path()}")
        return {"registry": url}

    return reported("login", run)


def asked_for() -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        import getpass

        return getpass.getpass("Token: ").strip()
    return sys.stdin.readline().strip() if sys.stdin is not None else ""


@click.command("sema pkg logout", context_settings=SETTINGS)
def logout_command() -> int:
    """Remove the stored token."""
    from semac.pkg import settings

    def run(output: Output) -> dict[str, Any]:
        table = settings.stored()
        if not table.get("token"):
            output.tell("Not logged in.")
        else:
            settings.store({"url": str(table.get("url") or "")})
            output.tell(f"✓ Logged out of {table.get('url') or settings.DEFAULT}")
        return {}

    return reported("logout", run)


@click.command("sema pkg config", context_settings=SETTINGS)
@click.argument("key", required=False)
@click.argument("value", required=False)
def config_command(key: str | None, value: str | None) -> int:
    """Show the settings, or one of them, or set one: registry.url."""
    from semac.pkg import settings

    def run(output: Output) -> dict[str, Any]:
        table = settings.stored()
        if key not in (None, KEY):
            raise PackageError(f"there is no setting '{key}'; there is {KEY}")
        if value is not None:
            url = settings.registry(value).url
            keeps = {"token": str(table["token"])} if table.get("token") and table.get("url") == url else {}
            settings.store({**keeps, "url": url})
            output.tell(f"✓ {KEY} = {url}")
            if table.get("token") and not keeps:
                output.tell("The token of the other registry was removed; sema pkg login")
            return {KEY: url}
        url = settings.url()
        output.tell(f"{KEY} = {url}" if key is None else url)
        if key is None:
            output.tell(f"token = {'(set)' if table.get('token') else '(not set)'}")
        return {KEY: url, "has_token": bool(table.get("token"))}

    return reported("config", run)


COMMANDS: dict[str, click.Command] = {
    "publish": publish_command,
    "search": search_command,
    "info": info_command,
    "yank": yank_command,
    "login": login_command,
    "logout": logout_command,
    "config": config_command,
}
