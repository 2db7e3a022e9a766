"""Which token goes to a server: a kept one, a refreshed one, or one of a new login.

Of all tasks and processes one at a time gets a token for a server and a store; the others then find it there. A store
of a workflow or run takes a login that it lacks from the default store. Such a copy follows that one: where both have
to be refreshed, both get the new tokens, because a refresh token counts once.
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
    """shared: the one whose logins count where own has none, which then keeps a copy, or not."""

    own: Store
    shared: Store | None = None
    copies: bool = True


class AccessToken(NamedTuple):
    """A token, and where it is from: cached, refreshed or consented."""

    token: str
    source: str


class RefusedTokens(NamedTuple):
    """The tokens that the server has refused just now, and where the last one was from, "" when there was none."""

    tokens: frozenset[str] = frozenset()
    source: str = ""


class Access:
    """How a connection gets its tokens, and what came of it: the way of `mcp/connect`; that of workflows is a subclass.

    eager: a token is sent right away, not when the server asks for one. over_headers: even if the program gives an
    Authorization header. may_ask: a browser may be opened. needed: one would have had to be, or was in vain.
    """

    eager = False
    over_headers = False

    def __init__(self, may_ask: bool = True) -> None:
        self.may_ask = may_ask
        self.needed = False
        self.source = ""
        self.credentials: Credentials | None = None

    def stores(self) -> Stores:
        """Where logins are kept. Raises Failure."""
        return Stores(default_store())

    def will_ask(self) -> None:
        """Told before a browser is opened."""

    def did_not_log_in(self, failure: Failure) -> None:
        """Told when that was in vain."""

    def not_refreshed(self, failure: Failure) -> None:
        """Told when a refresh failed for another reason than that the refresh token doesn't count any more."""
        raise failure

    def not_kept(self, failure: Failure) -> None:
        """Told when a new token can't be kept."""
        raise failure

    def got(self, source: str, credentials: Credentials) -> AccessToken:
        self.source, self.credentials = source, credentials
        return AccessToken(credentials.access_token, source)


async def token_for(login: Login, access: Access, refused: RefusedTokens) -> AccessToken:
    """A token that the server has not refused yet. Raises Failure."""
    stores = await asyncio.to_thread(access.stores)
    search = _TokenSearch(login, access, refused, stores)
    async with TokenLock(stores.own.lock_name(login.server)):
        return await search.found() or await search.new_login()


class _TokenSearch:
    def __init__(self, login: Login, access: Access, refused: RefusedTokens, stores: Stores) -> None:
        self.login, self.access, self.refused, self.stores = login, access, refused, stores
        self.wants_more = login.challenge.error == "insufficient_scope"
        self.known: Credentials | None = None  # what is kept, although it doesn't count

    async def found(self) -> AccessToken | None:
        """A token out of the stores, refreshed if need be."""
        own, shared, _ = self.stores
        known = await asyncio.to_thread(own.load, self.login.server)
        self.known = known
        if known is not None and self.counts(known):
            return self.access.got("cached", known)
        if known is not None and not known.copied:
            got = await self.refresh(known, own)
            if got is not None:
                return got
        if shared is not None:
            async with TokenLock(shared.lock_name(self.login.server)):
                there = await asyncio.to_thread(shared.load, self.login.server)
                if there is not None:
                    self.known = self.known or there
                    return await self.shared_token(there, shared)
        if known is not None and known.copied:
            return await self.refresh(known, own)
        return None

    async def shared_token(self, there: Credentials, shared: Store) -> AccessToken | None:
        if self.counts(there):
            await self.copy(there)
            return self.access.got("cached", there)
        return await self.refresh(there, shared)

    def counts(self, known: Credentials) -> bool:
        return known.access_token not in self.refused.tokens and not (known.expired() or self.wants_more)

    async def refresh(self, known: Credentials, store: Store) -> AccessToken | None:
        """New tokens for what the store has, kept there, and copied from there."""
        if known.refresh_token is None or self.wants_more or self.refused.source in ("refreshed", "consented"):
            return None
        try:
            fresh = await refreshed(self.login, known)
        except TokenRefused:
            return None  # withdrawn or too old: only a person can log in again
        except Failure as failure:
            self.access.not_refreshed(failure)
            return None
        fresh.copied = known.copied
        await self.keep(fresh, store)
        if store is self.stores.shared:
            await self.copy(fresh)
        return self.access.got("refreshed", fresh)

    async def new_login(self) -> AccessToken:
        """A token of a login in the browser."""
        if not self.access.may_ask:
            self.access.needed = True
            raise Failure("the server wants a login")
        self.access.will_ask()
        try:
            fresh = await with_browser(self.login, self.known)
        except Failure as failure:
            self.access.did_not_log_in(failure)
            raise
        await self.keep(fresh, self.stores.own)
        return self.access.got("consented", fresh)

    async def copy(self, credentials: Credentials) -> None:
        """Keeps a login of the shared store in our own one."""
        if self.stores.copies:
            await self.keep(replace(credentials, copied=True), self.stores.own)

    async def keep(self, credentials: Credentials, store: Store) -> None:
        try:
            await asyncio.to_thread(store.save, credentials)
        except Failure as failure:
            self.access.not_kept(failure)


async def log_in(login: Login, stores: Stores, device: bool = False) -> Credentials:
    """Logs in, whatever is kept, and keeps that in the own store. Raises Failure."""
    own, shared, _ = stores
    async with TokenLock(own.lock_name(login.server)):
        known = await asyncio.to_thread(own.load, login.server)
        if known is None and shared is not None:
            known = await asyncio.to_thread(shared.load, login.server)
        fresh = await (with_device(login, known) if device else with_browser(login, known))
        await asyncio.to_thread(own.save, fresh)
    return fresh
