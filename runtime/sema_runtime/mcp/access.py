"""The token for a server: a stored one, a refreshed one, or one of a new login.

One task or process at a time gets a token for a server and a store; the others then find it there. A store of a
workflow or run copies a login that it lacks from the default store. When such a login is refreshed, both stores get the
new tokens, because a refresh token is valid once.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import NamedTuple

from sema_runtime.mcp.oauth import Login, TokenRefused, refreshed, with_browser, with_device
from sema_runtime.mcp.protocol import Failure
from sema_runtime.mcp.tokens import Credentials, TokenLock, default_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.mcp.tokens import Store


class Stores(NamedTuple):
    """shared: its logins are used if own has none. copies: own then keeps a copy."""

    own: Store
    shared: Store | None = None
    copies: bool = True


class AccessToken(NamedTuple):
    """A token and its source: cached, refreshed or consented."""

    token: str
    source: str


class RefusedTokens(NamedTuple):
    """The tokens that the server has just refused, and the source of the last one, "" without one."""

    tokens: frozenset[str] = frozenset()
    source: str = ""


class Access:
    """How a connection gets its tokens, and the outcome. This is the way of `mcp/connect`; workflows use a subclass.

    eager: send a token at once, before the server asks. over_headers: even if the program gives an Authorization
    header. may_ask: a browser may be opened. needed: a login was needed, and was not allowed or failed.
    """

    eager = False
    over_headers = False

    def __init__(self, may_ask: bool = True) -> None:
        self.may_ask = may_ask
        self.needed = False
        self.source = ""
        self.credentials: Credentials | None = None

    def stores(self) -> Stores:
        """Returns where logins are stored. Raises Failure."""
        return Stores(default_store())

    def will_ask(self) -> None:
        """Called before a browser is opened."""

    def did_not_log_in(self, failure: Failure) -> None:
        """Called when the login in the browser failed."""

    def not_refreshed(self, failure: Failure) -> None:
        """Called when a refresh failed and the server did not refuse the refresh token itself."""
        raise failure

    def not_kept(self, failure: Failure) -> None:
        """Called when a new token can't be stored."""
        raise failure

    def got(self, source: str, credentials: Credentials) -> AccessToken:
        self.source, self.credentials = source, credentials
        return AccessToken(credentials.access_token, source)


async def token_for(login: Login, access: Access, refused: RefusedTokens) -> AccessToken:
    """Returns a token that the server has not refused yet. Raises Failure."""
    stores = await asyncio.to_thread(access.stores)
    search = _TokenSearch(login, access, refused, stores)
    async with TokenLock(stores.own.lock_name(login.server)):
        return await search.stored_token() or await search.new_login()


class _TokenSearch:
    def __init__(self, login: Login, access: Access, refused: RefusedTokens, stores: Stores) -> None:
        self.login, self.access, self.refused, self.stores = login, access, refused, stores
        self.needs_more_scopes = login.challenge.error == "insufficient_scope"
        self.stored: Credentials | None = None  # valid or not

    async def stored_token(self) -> AccessToken | None:
        """Returns a token from the stores, refreshed if necessary; None without one."""
        own, shared, _ = self.stores
        stored = await asyncio.to_thread(own.load, self.login.server)
        self.stored = stored
        if stored is not None and self.is_valid(stored):
            return self.access.got("cached", stored)
        if stored is not None and not stored.copied:
            token = await self.refresh(stored, own)
            if token is not None:
                return token
        if shared is not None:
            async with TokenLock(shared.lock_name(self.login.server)):
                shared_login = await asyncio.to_thread(shared.load, self.login.server)
                if shared_login is not None:
                    self.stored = self.stored or shared_login
                    return await self.shared_token(shared_login, shared)
        if stored is not None and stored.copied:
            return await self.refresh(stored, own)
        return None

    async def shared_token(self, login: Credentials, shared: Store) -> AccessToken | None:
        if self.is_valid(login):
            await self.copy(login)
            return self.access.got("cached", login)
        return await self.refresh(login, shared)

    def is_valid(self, stored: Credentials) -> bool:
        return stored.access_token not in self.refused.tokens and not (stored.expired() or self.needs_more_scopes)

    async def refresh(self, stored: Credentials, store: Store) -> AccessToken | None:
        """Refreshes the store's login, and stores and copies the result; None if it can't be refreshed."""
        if stored.refresh_token is None or self.needs_more_scopes or self.refused.source in ("refreshed", "consented"):
            return None
        try:
            fresh = await refreshed(self.login, stored)
        except TokenRefused:
            return None  # revoked or expired: only a person can log in again
        except Failure as failure:
            self.access.not_refreshed(failure)
            return None
        fresh.copied = stored.copied
        await self.keep(fresh, store)
        if store is self.stores.shared:
            await self.copy(fresh)
        return self.access.got("refreshed", fresh)

    async def new_login(self) -> AccessToken:
        """Returns a token from a login in the browser."""
        if not self.access.may_ask:
            self.access.needed = True
            raise Failure("the server wants a login")
        self.access.will_ask()
        try:
            fresh = await with_browser(self.login, self.stored)
        except Failure as failure:
            self.access.did_not_log_in(failure)
            raise
        await self.keep(fresh, self.stores.own)
        return self.access.got("consented", fresh)

    async def copy(self, credentials: Credentials) -> None:
        """Copies a login of the shared store to the own one."""
        if self.stores.copies:
            await self.keep(replace(credentials, copied=True), self.stores.own)

    async def keep(self, credentials: Credentials, store: Store) -> None:
        try:
            await asyncio.to_thread(store.save, credentials)
        except Failure as failure:
            self.access.not_kept(failure)


async def log_in(login: Login, stores: Stores, device: bool = False) -> Credentials:
    """Logs in, whatever is stored, and saves the login in the own store. Raises Failure."""
    own, shared, _ = stores
    async with TokenLock(own.lock_name(login.server)):
        stored = await asyncio.to_thread(own.load, login.server)
        if stored is None and shared is not None:
            stored = await asyncio.to_thread(shared.load, login.server)
        fresh = await (with_device(login, stored) if device else with_browser(login, stored))
        await asyncio.to_thread(own.save, fresh)
    return fresh
