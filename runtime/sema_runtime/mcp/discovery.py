"""Where to log in for an MCP server: from its 401 to its resource metadata (RFC 9728) to the metadata of an
authorization server (RFC 8414 or OpenID Connect Discovery)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from sema_runtime.mcp.http import origin
from sema_runtime.mcp.protocol import Failure, decoded
from sema_runtime.net.addresses import LOOPBACK as LOOPBACK_ONLY
from sema_runtime.net.failures import Failure as NoReply
from sema_runtime.net.http import Request, fetch

TIMEOUT_MS = 30_000.0
MAX_BYTES = 1 << 20
LOOPBACK = ("127.0.0.1", "::1", "localhost")
PARAMETER = re.compile(r'([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))')


class Challenge(NamedTuple):
    """The contents of a WWW-Authenticate header. scope: required by the refused request."""

    resource_metadata: str | None = None
    scope: str | None = None
    error: str | None = None


class Place(NamedTuple):
    """Where to log in. resource: what tokens are bound to (RFC 8707). scopes: those that the server supports.

    metadata: of the authorization server. issuer: its name.
    """

    resource: str
    scopes: list[str]
    issuer: str
    metadata: dict[str, Any]

    def endpoint(self, name: str) -> str | None:
        """Returns the URL of an endpoint, None without one."""
        value = self.metadata.get(f"{name}_endpoint")
        return value if isinstance(value, str) else None


def challenge_of(header: str | None) -> Challenge:
    """Parses a WWW-Authenticate header; its parts may come in any order, quoted or not."""
    parameters: dict[str, str] = {}
    for name, quoted, bare in PARAMETER.findall(header or ""):
        parameters.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or bare)
    return Challenge(parameters.get("resource_metadata"), parameters.get("scope"), parameters.get("error"))


async def discover(server: str, challenge: Challenge) -> Place:
    """Returns where to log in for a server. Raises Failure."""
    resource = await _first(_resource_places(server, challenge), server)
    if resource is None:  # a server of the revision 2025-03-26: its own host is the authorization server
        issuer = _root(server)
        metadata = await _first(metadata_places(issuer), server)
        if metadata is None:
            raise Failure(f"failed to discover protected resource metadata for {server}")
        _require_pkce(metadata, issuer)
        return Place(server, _texts(metadata.get("scopes_supported")), issuer, _checked(metadata, server))
    named = resource.get("resource")
    if not isinstance(named, str) or origin(named) != origin(server):
        raise Failure(
            f"protected resource metadata `resource` ({named}) does not match the server being connected to ({server});"
            " refusing to authorize"
        )
    issuers = _texts(resource.get("authorization_servers"))
    if not issuers:
        raise Failure("protected resource metadata lists no authorization servers")
    skipped = []
    for issuer in issuers:
        try:
            metadata = await _usable(issuer, server)
        except Failure as failure:
            skipped.append(f"{issuer}: {failure.message}")
            continue
        return Place(named, _texts(resource.get("scopes_supported")), issuer, metadata)
    raise Failure(f"no usable authorization server among {len(issuers)} advertised: {'; '.join(skipped)}")


async def _usable(issuer: str, server: str) -> dict[str, Any]:
    """Returns the metadata of an authorization server. Raises Failure when it can't be used."""
    metadata = await _first(metadata_places(issuer), server)
    if metadata is None:
        raise Failure("failed to discover authorization server metadata")
    if str(metadata.get("issuer")).rstrip("/") != issuer.rstrip("/"):
        raise Failure(f"metadata issuer ({metadata.get('issuer')}) does not match")
    _require_pkce(metadata, issuer)
    return _checked(metadata, server)


def _require_pkce(metadata: dict[str, Any], issuer: str) -> None:
    if "S256" not in _texts(metadata.get("code_challenge_methods_supported")):
        raise Failure(f"no PKCE S256 support at {issuer}")


def _checked(metadata: dict[str, Any], server: str) -> dict[str, Any]:
    for name in ("authorization", "token", "registration", "device_authorization"):
        url = metadata.get(f"{name}_endpoint")
        if url is not None:
            check_url(url, server)
    return metadata


def check_url(url: Any, server: str) -> None:
    """Raises Failure for a URL that must not get codes and tokens: an unencrypted one of a foreign host."""
    scheme, host, _ = origin(url) if isinstance(url, str) else ("", "", None)
    if not host or not (scheme == "https" or (scheme == "http" and host in (*LOOPBACK, urlsplit(server).hostname))):
        raise Failure(f"an address for the login is not https: {url}")


def reach_of(url: str) -> str:
    """Returns where a URL accepted by `check_url` may lead: an unencrypted local one only to this machine."""
    scheme, host, _ = origin(url)
    return LOOPBACK_ONLY if scheme == "http" and host in LOOPBACK else ""


# Well-known places


def _resource_places(server: str, challenge: Challenge) -> list[str]:
    announced = [challenge.resource_metadata] if challenge.resource_metadata else []
    return [*announced, *_well_known(server, "oauth-protected-resource")]


def metadata_places(issuer: str) -> list[str]:
    """Returns the URLs where the metadata of an authorization server may be."""
    places = _well_known(issuer, "oauth-authorization-server")[:1] + _well_known(issuer, "openid-configuration")[:1]
    if urlsplit(issuer).path.rstrip("/"):
        places.append(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    return places


def _well_known(url: str, name: str) -> list[str]:
    root, path = _root(url), urlsplit(url).path.rstrip("/")
    return [f"{root}/.well-known/{name}{end}" for end in dict.fromkeys((path, ""))]


def _root(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


async def _first(places: list[str], server: str) -> dict[str, Any] | None:
    """Returns the first JSON object at these URLs; None when none has one."""
    for place in places:
        check_url(place, server)
        accept = (("Accept", "application/json"),)
        request = Request("GET", place, accept, timeout_ms=TIMEOUT_MS, max_bytes=MAX_BYTES, reach=reach_of(place))
        try:
            reply = await fetch(request)
        except NoReply:
            continue
        objects = decoded(reply.body) if reply.status == 200 else []
        if len(objects) == 1:
            return objects[0]
    return None


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
