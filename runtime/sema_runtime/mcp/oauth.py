"""OAuth 2.1 for MCP servers: logins with a browser or a second device, and refreshed tokens. (access.py decides when,
and stores them.)

A login needs a place (discovery.py) and a client (set by the program, registered before, or registered now by RFC
7591); then an authorization code with PKCE S256, or a device code (RFC 8628). `resource` names the server in each
request (RFC 8707).
"""

from __future__ import annotations

import asyncio
import json
import time
from base64 import b64encode, urlsafe_b64encode
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from sema_runtime import capabilities
from sema_runtime.mcp.discovery import MAX_BYTES, TIMEOUT_MS, Challenge, Place, discover, reach_of
from sema_runtime.mcp.oauth_redirect import RedirectServer, Show, send_browser
from sema_runtime.mcp.protocol import Failure, decoded
from sema_runtime.mcp.tokens import Credentials
from sema_runtime.net.failures import Failure as NoReply
from sema_runtime.net.http import Reply, Request, fetch

CLIENT_NAME = "Sema MCP client"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
DEVICE_REDIRECT = "http://127.0.0.1/callback"  # required by registrations, unused
ANY_PORT = 0
NO_CLIENT = "server requires a pre-registered client (no dynamic registration endpoint)"
CLIENT_HINT = 'pass :auth {:client-id "..."}, or --client-id to `sema mcp login`'


class TokenRefused(Failure):
    """The token endpoint refused. code: its error code, "" without one."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Login(NamedTuple):
    """The settings of a login. show: writes a line for the person who logs in."""

    server: str
    show: Show
    client_id: str | None = None
    scopes: tuple[str, ...] = ()
    challenge: Challenge = Challenge()


async def refreshed(login: Login, known: Credentials) -> Credentials:
    """Returns new tokens for a refresh token. Raises TokenRefused when it is no longer valid."""
    place = await discover(login.server, login.challenge)
    client = {"client_id": login.client_id} if login.client_id else known.client
    if client is None:
        raise TokenRefused("", "no client registration is stored")
    assert known.refresh_token is not None
    form = {"grant_type": "refresh_token", "refresh_token": known.refresh_token}
    answer = await _token(place, client, form)
    credentials = _credentials(login.server, answer, client)
    credentials.refresh_token = credentials.refresh_token or known.refresh_token
    credentials.scope = credentials.scope or known.scope
    return credentials


# With a browser


async def with_browser(login: Login, known: Credentials | None) -> Credentials:
    """Logs in with the browser of this machine."""
    capabilities.require("mcp/connect (open browser)", "process")
    place = await discover(login.server, login.challenge)
    authorize = place.endpoint("authorization")
    if authorize is None:
        raise Failure(f"no authorization endpoint at {place.issuer}")
    earlier = known.client if known is not None else None
    state, verifier = token_urlsafe(24), token_urlsafe(48)
    async with RedirectServer(state, place.issuer, _earlier_port(earlier)) as redirects:
        scope = " ".join(_scopes(login, place, known))
        client = await _client(login, place, earlier, redirects.redirect_uri, scope)
        query = {
            "response_type": "code",
            "client_id": client["client_id"],
            "redirect_uri": redirects.redirect_uri,
            "code_challenge": pkce_challenge(verifier),
            "code_challenge_method": "S256",
            "state": state,
            "resource": place.resource,
        }
        if scope:
            query["scope"] = scope
        send_browser(f"{authorize}{'&' if '?' in authorize else '?'}{urlencode(query)}", login.server, login.show)
        code = await redirects.wait()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirects.redirect_uri,
            "code_verifier": verifier,
        }
        return _credentials(login.server, await _token(place, client, form), client, scope)


def pkce_challenge(verifier: str) -> str:
    """Returns the challenge of a PKCE verifier (RFC 7636, S256)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _earlier_port(client: dict[str, str] | None) -> int:
    """Returns the port of an earlier registration: many servers compare the whole redirect URI."""
    uri = client.get("redirect_uri", "") if client else ""
    return urlsplit(uri).port or ANY_PORT


def _scopes(login: Login, place: Place, known: Credentials | None) -> list[str]:
    """Returns the scopes to request: the demanded plus earlier ones, else the program's, else all supported."""
    if login.challenge.scope:
        before = known.scope or "" if known is not None and login.challenge.error == "insufficient_scope" else ""
        return list(dict.fromkeys([*before.split(), *login.challenge.scope.split()]))
    return list(login.scopes) or place.scopes


# With another device


async def with_device(login: Login, known: Credentials | None) -> Credentials:
    """Logs in with any device: a person opens a URL and enters a code, while the token endpoint is polled."""
    place = await discover(login.server, login.challenge)
    endpoint = place.endpoint("device_authorization")
    if endpoint is None:
        raise Failure("authorization server does not advertise a device authorization endpoint")
    scope = " ".join(_scopes(login, place, known))
    client = await _client(login, place, known.client if known is not None else None, DEVICE_REDIRECT, scope)
    form = {"client_id": client["client_id"], "resource": place.resource}
    if scope:
        form["scope"] = scope
    answer = _json(await _posted(endpoint, form, client), "device authorization failed")
    device, code, address = (answer.get(name) for name in ("device_code", "user_code", "verification_uri"))
    if not (isinstance(device, str) and isinstance(code, str) and isinstance(address, str)):
        raise Failure("device authorization response lacks device_code, user_code or verification_uri")
    login.show(f"To authorize {login.server}, go to\n  {address}\nand enter the code {code}")
    if isinstance(answer.get("verification_uri_complete"), str):
        login.show(f"or go to\n  {answer['verification_uri_complete']}")
    wait, ends = _number(answer.get("interval"), 5), time.monotonic() + _number(answer.get("expires_in"), 900)
    while True:
        await asyncio.sleep(wait)
        try:
            tokens = await _token(place, client, {"grant_type": DEVICE_GRANT, "device_code": device})
        except TokenRefused as refusal:
            if refusal.code not in ("authorization_pending", "slow_down"):
                raise
            wait += 5 if refusal.code == "slow_down" else 0
        else:
            return _credentials(login.server, tokens, client, scope)
        if time.monotonic() >= ends:
            raise Failure("device authorization expired before it was approved")


def _number(value: Any, default: float) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else default


# Requests


async def _client(
    login: Login, place: Place, earlier: dict[str, str] | None, redirect_uri: str, scope: str
) -> dict[str, str]:
    """Returns the client to log in as. An earlier registration is valid for its redirect URI and scopes."""
    if login.client_id:
        return {"client_id": login.client_id}
    endpoint = place.endpoint("registration")
    if earlier is not None and (endpoint is None or _covers(earlier, redirect_uri, scope)):
        return earlier
    if endpoint is None:
        raise Failure(NO_CLIENT, CLIENT_HINT)
    grants = [DEVICE_GRANT] if redirect_uri == DEVICE_REDIRECT else []
    registration: dict[str, Any] = {
        "client_name": CLIENT_NAME,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token", *grants],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    if scope:
        registration["scope"] = scope
    reply = await _sent(endpoint, json.dumps(registration).encode(), [("Content-Type", "application/json")])
    answer = _json(reply, "dynamic client registration failed")
    if not isinstance(answer.get("client_id"), str):
        raise Failure("dynamic client registration gave no client_id")
    client = {"client_id": answer["client_id"], "redirect_uri": redirect_uri, "scope": scope}
    for name, field in (("client_secret", "client_secret"), ("auth_method", "token_endpoint_auth_method")):
        if isinstance(answer.get(field), str):
            client[name] = answer[field]
    return client


def _covers(client: dict[str, str], redirect_uri: str, scope: str) -> bool:
    registered = set(client.get("scope", "").split())
    return client.get("redirect_uri") == redirect_uri and registered.issuperset(scope.split())


async def _token(place: Place, client: dict[str, str], form: dict[str, str]) -> dict[str, Any]:
    """Returns the answer of the token endpoint. Raises TokenRefused."""
    endpoint = place.endpoint("token")
    if endpoint is None:
        raise Failure(f"no token endpoint at {place.issuer}")
    full = {**form, "client_id": client["client_id"], "resource": place.resource}
    reply = await _posted(endpoint, full, client)
    answer = _object(reply)
    if 200 <= reply.status < 300 and isinstance(answer.get("access_token"), str):
        return answer
    code, detail = answer.get("error"), answer.get("error_description")
    if isinstance(code, str):
        raise TokenRefused(code, f"{code}: {detail}" if isinstance(detail, str) else code)
    raise Failure(f"token endpoint HTTP {reply.status}: unrecognized body ({len(reply.body)} bytes)")


async def _posted(url: str, form: dict[str, str], client: dict[str, str]) -> Reply:
    """Posts a form as that client. Its secret goes into the header, or into the form if it is registered so."""
    headers = [("Content-Type", "application/x-www-form-urlencoded")]
    secret = client.get("client_secret")
    if secret is not None and client.get("auth_method") == "client_secret_post":
        form = {**form, "client_secret": secret}
    elif secret is not None and client.get("auth_method") != "none":
        pair = f"{quote(client['client_id'], safe='')}:{quote(secret, safe='')}"
        headers.append(("Authorization", f"Basic {b64encode(pair.encode()).decode()}"))
    return await _sent(url, urlencode(form).encode(), headers)


async def _sent(url: str, body: bytes, headers: list[tuple[str, str]]) -> Reply:
    request = Request(
        "POST",
        url,
        (("Accept", "application/json"), *headers),
        body,
        TIMEOUT_MS,
        redirects=0,
        max_bytes=MAX_BYTES,
        reach=reach_of(url),
    )
    try:
        return await fetch(request)
    except NoReply as failure:
        raise Failure(f"request to {urlsplit(url).netloc} failed: {failure.reason}") from None


def _json(reply: Reply, what: str) -> dict[str, Any]:
    answer = _object(reply)
    if 200 <= reply.status < 300 and answer:
        return answer
    named = [answer[name] for name in ("error", "error_description") if isinstance(answer.get(name), str)]
    raise Failure(f"{what}: {': '.join([f'HTTP {reply.status}', *named])}")


def _object(reply: Reply) -> dict[str, Any]:
    objects = decoded(reply.body)
    return objects[0] if len(objects) == 1 else {}


def _credentials(server: str, answer: dict[str, Any], client: dict[str, str], scope: str = "") -> Credentials:
    lasts = answer.get("expires_in")
    refresh, granted = answer.get("refresh_token"), answer.get("scope")
    return Credentials(
        server,
        answer["access_token"],
        refresh if isinstance(refresh, str) else None,
        int(time.time() + lasts) if isinstance(lasts, int | float) else None,
        granted if isinstance(granted, str) else scope or None,
        client,
    )
