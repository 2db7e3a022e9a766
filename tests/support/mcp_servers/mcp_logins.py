"""Logins to MCP servers: the authorization server of the official package, one whose answers a test chooses, a browser
that logs in, and a keychain."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from mcp_support import SERVERS, Asked, Told, environment, http_server, peaceful, started

from sema_runtime.mcp.oauth import pkce_challenge

SEMA = [sys.executable, "-m", "semac.cli.entry"]


class Guarded:
    """The official server behind its authorization server. notes: the addresses that the browser was sent to."""

    def __init__(self, url: str, notes: Path) -> None:
        self.root = url
        self.url = f"{url}/mcp"
        self.notes = notes

    def admin(self, what: str) -> list[str]:
        with urllib.request.urlopen(f"{self.root}/admin/{what}") as reply:
            found: list[str] = json.loads(reply.read())
        return found

    def opened(self) -> int:
        return len(self.notes.read_text().splitlines()) if self.notes.exists() else 0


@pytest.fixture(scope="module")
def server_url() -> Iterator[str]:
    pytest.importorskip("mcp")
    with started("with_oauth.py") as (url,):
        yield url


@pytest.fixture
def guarded(server_url: str, tmp_path: Path, browser: Path) -> Guarded:
    found = Guarded(server_url, browser)
    found.admin("revoke")
    found.admin("forget")
    return found


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A browser that logs in; the file holds the addresses that it was sent to."""
    import webbrowser

    notes = tmp_path / "browser.txt"
    monkeypatch.setattr(webbrowser, "_tryorder", None)  # it is looked up once in a process
    monkeypatch.setattr(webbrowser, "_browsers", {})
    monkeypatch.setenv("BROWSER", f"{shlex.join([sys.executable, str(SERVERS / 'browser.py'), str(notes)])} %s &")
    return notes


def store_file() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"]) / "sema" / "mcp-auth.json"


def stored(url: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(store_file().read_text())["servers"][url]
    return found


def sema(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SEMA, *arguments], capture_output=True, text=True, env=environment(**settings), timeout=60)


# An authorization server that does as it is told


class Authority:
    """A server and its authorization server in one. metadata, resource: what is changed in what they say of themselves.

    tokens: the access tokens that count. answers: for the token endpoint, in turn, before it gives tokens.
    """

    def __init__(self) -> None:
        self.root = ""
        self.metadata: dict[str, Any] = {}
        self.resource: dict[str, Any] | None = {}
        self.challenge = ""
        self.refusal = (401, "")
        self.tokens: set[str] = set()
        self.answers: list[Told] = []
        self.given = 0

    def __call__(self, asked: Asked) -> Told:
        path = urlsplit(asked.path).path
        handler = {
            "/mcp": self.serve,
            "/.well-known/oauth-protected-resource/mcp": self.describe_resource,
            "/.well-known/oauth-authorization-server": self.describe,
            "/authorize": self.authorize,
            "/register": lambda asked: Told(201, {"client_id": "registered", "client_secret": "s3cret-s3cret"}),
            "/token": self.token,
            "/device": self.device,
        }.get(path)
        return Told(404, "nothing here") if handler is None else handler(asked)

    def serve(self, asked: Asked) -> Told:
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if token in self.tokens:
            return peaceful(asked)
        status, error = self.refusal if token else (401, "")
        return Told(status, "no", {"www-authenticate": f"Bearer {error}{self.challenge}"})

    def describe_resource(self, _: Asked) -> Told:
        if self.resource is None:
            return Told(404)
        return Told(body={"resource": f"{self.root}/mcp", "authorization_servers": [self.root], **self.resource})

    def describe(self, _: Asked) -> Told:
        known = {
            "issuer": self.root,
            "authorization_endpoint": f"{self.root}/authorize",
            "token_endpoint": f"{self.root}/token",
            "registration_endpoint": f"{self.root}/register",
            "device_authorization_endpoint": f"{self.root}/device",
            "code_challenge_methods_supported": ["S256"],
            **self.metadata,
        }
        return Told(body={name: value for name, value in known.items() if value is not None})

    def authorize(self, asked: Asked) -> Told:
        query = {name: values[0] for name, values in parse_qs(urlsplit(asked.path).query).items()}
        self.challenge_seen = query["code_challenge"]
        self.scope_seen = query.get("scope")
        return Told(302, headers={"location": f"{query['redirect_uri']}?{urlencode(self.redirected(query))}"})

    def redirected(self, query: dict[str, str]) -> dict[str, str]:
        return {"code": "code-1", "state": query["state"]}

    def device(self, asked: Asked) -> Told:
        return Told(body={
            "device_code": "device-1", "user_code": "ABCD-EFGH", "verification_uri": f"{self.root}/go", "interval": 0,
            "verification_uri_complete": f"{self.root}/go?code=ABCD-EFGH",
        })  # fmt: skip

    def token(self, asked: Asked) -> Told:
        form = {name: values[0] for name, values in parse_qs(asked.body).items()}
        self.form, self.authorization = form, asked.headers.get("authorization")
        if self.answers:
            return self.answers.pop(0)
        if form["grant_type"] == "authorization_code" and pkce_challenge(form["code_verifier"]) != self.challenge_seen:
            return Told(400, {"error": "invalid_grant"})
        self.given += 1
        token = f"token-{self.given}-0123456789"
        self.tokens.add(token)
        return Told(body={"access_token": token, "token_type": "Bearer", "expires_in": 3600})


@pytest.fixture
def authority(browser: Path) -> Iterator[Authority]:
    made = Authority()
    with http_server(made) as server:
        made.root = server.url
        yield made


KEYCHAIN = """
import json, os
from keyring.backend import KeyringBackend

class Keychain(KeyringBackend):
    priority = 9
    def entries(self):
        try:
            return json.load(open(os.environ["KEYCHAIN_FILE"]))
        except FileNotFoundError:
            return {}
    def get_password(self, service, name):
        return self.entries().get(f"{service} {name}")
    def set_password(self, service, name, value):
        json.dump({**self.entries(), f"{service} {name}": value}, open(os.environ["KEYCHAIN_FILE"], "w"))
    def delete_password(self, service, name):
        left = self.entries()
        del left[f"{service} {name}"]
        json.dump(left, open(os.environ["KEYCHAIN_FILE"], "w"))
"""


def with_keychain(folder: Path) -> dict[str, str]:
    """The environment of a program that has a keychain, whose entries are in keychain.json. Skips without keyring."""
    pytest.importorskip("keyring")
    (folder / "demo_keychain.py").write_text(KEYCHAIN)
    return {
        "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
        "PYTHON_KEYRING_BACKEND": "demo_keychain.Keychain",
        "KEYCHAIN_FILE": str(folder / "keychain.json"),
        "SEMA_MCP_TOKEN_STORE": "",
    }
