"""The browser's part of a login: it goes to the authorization server, which redirects it to a temporary server on
127.0.0.1 (RFC 8252)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from sema_runtime.mcp.protocol import Failure

LOGIN_SECONDS = 300.0
PATH = "/callback"
MAX_HEAD = 1 << 16
PAGE = (
    '<!doctype html><html><head><meta charset="utf-8"><title>{0}</title></head>'
    '<body style="font-family:sans-serif"><h3>{0}</h3><p>{1}</p></body></html>'
)
DONE = PAGE.format("Logged in", "This window can be closed; the program goes on in the terminal.")
FAILED = PAGE.format("The login failed", "The terminal says why.")

Show = Callable[[str], None]  # writes a line for the person at the terminal


class RedirectServer:
    """An async context: the server that waits for the browser. issuer: who must have redirected it."""

    def __init__(self, state: str, issuer: str, port: int = 0) -> None:
        self.state = state
        self.issuer = issuer
        self.port = port
        self.code: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> RedirectServer:
        try:
            self.server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=MAX_HEAD)
        except OSError as error:
            if self.port:  # the port of an earlier login is in use
                self.port = 0
                return await self.__aenter__()
            raise Failure(f"failed to open a local port for the login: {error.strerror}") from None
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        self.code.cancel()

    @property
    def redirect_uri(self) -> str:
        return f"http://127.0.0.1:{self.port}{PATH}"

    async def wait(self) -> str:
        """Returns the authorization code. Raises Failure."""
        try:
            async with asyncio.timeout(LOGIN_SECONDS):
                return await self.code
        except TimeoutError:
            raise Failure("timed out waiting for the OAuth redirect") from None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request. Browsers also request other things, such as an icon; they get a 404."""
        try:
            async with asyncio.timeout(LOGIN_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            method, target, *_ = head.split(b"\r\n")[0].decode("latin-1").split(" ")
            status, page = "404 Not Found", ""
            parts = urlsplit(target)
            if method == "GET" and parts.path == PATH:
                status, page = "200 OK", self._take(parse_qs(parts.query))
            body = page.encode()
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
                "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n".encode()
                + body
            )
            await writer.drain()
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # not a browser
        finally:
            writer.close()

    def _take(self, query: dict[str, list[str]]) -> str:
        """Takes the parameters of the redirect; returns the page to show."""
        if self.code.done():
            return FAILED
        try:
            code = code_of({name: values[0] for name, values in query.items()}, self.state, self.issuer)
        except Failure as failure:
            self.code.set_exception(failure)
            return FAILED
        self.code.set_result(code)
        return DONE


def code_of(query: dict[str, str], state: str, issuer: str) -> str:
    """Returns the code in the redirect's parameters. Raises Failure for an error, a wrong state or issuer."""
    if query.get("state") != state:
        raise Failure(
            "OAuth state mismatch (possible CSRF); aborting login"
            if "state" in query
            else "redirect is missing the state parameter"
        )
    if query.get("iss", issuer).rstrip("/") != issuer.rstrip("/"):
        raise Failure("the redirect comes from another authorization server; aborting login")
    if "error" in query:
        detail = query.get("error_description")
        raise Failure(f"authorization server returned error `{query['error']}`" + (f": {detail}" if detail else ""))
    if not query.get("code"):
        raise Failure("redirect is missing the authorization code")
    return query["code"]


def send_browser(url: str, server: str, show: Show) -> None:
    """Opens the browser, and says so. Raises Failure without a browser and without a terminal."""
    browser = _browser()
    if browser is None and not sys.stderr.isatty():
        raise Failure(
            "there is no browser here",
            f"log in ahead with `sema mcp login {server} --device`, or store a token with"
            f" `sema mcp login {server} --token -`",
        )
    if browser is None:
        show(f"To authorize {server}, open this address in a browser on this machine:\n  {url}")
        return
    show(f"Opening your browser to authorize {server} ...\nIf none opens, go to:\n  {url}")
    from threading import Thread

    Thread(target=_open_quietly, args=(browser, url), daemon=True).start()


def _browser() -> object | None:
    """Returns what opens pages in a window; None without one (a browser in the terminal would take it over)."""
    import webbrowser

    headless = sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    if headless and not os.environ.get("BROWSER"):
        return None
    try:
        return webbrowser.get()
    except webbrowser.Error:
        return None


def _open_quietly(browser: object, url: str) -> None:
    from contextlib import suppress

    with suppress(Exception):  # the URL is also shown
        browser.open(url)  # type: ignore[attr-defined]
