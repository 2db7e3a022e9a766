"""Event sourcing: events are applied to accounts by functions registered for their type."""

from dataclasses import dataclass, replace
from functools import singledispatch


@dataclass(frozen=True)
class Account:
    id: int
    owner: str
    balance: int = 0
    status: str = "open"
    version: int = 1


@dataclass
class Event:
    id: int


@dataclass
class Opened(Event):
    owner: str


@dataclass
class Deposited(Event):
    amount: int


@dataclass
class Withdrawn(Event):
    amount: int


@dataclass
class Audited(Event):
    pass


@dataclass
class Closed(Event):
    pass


class OverdrawnError(Exception):
    pass


@singledispatch
def apply_event(event, account):
    raise TypeError(f"unknown event {type(event).__name__}")


@apply_event.register
def _(event: Opened, account):
    return Account(event.id, event.owner)


@apply_event.register
def _(event: Deposited, account):
    return replace(account, balance=account.balance + event.amount, version=account.version + 1)


@apply_event.register
def _(event: Withdrawn, account):
    if event.amount > account.balance:
        raise OverdrawnError(account.id)
    return replace(account, balance=account.balance - event.amount, version=account.version + 1)


@apply_event.register
def _(event: Closed, account):
    return replace(account, status="closed", version=account.version + 1)


@singledispatch
def describe(event):
    return "?"


@describe.register
def _(event: Opened):
    return f"opened for {event.owner}"


@describe.register
def _(event: Deposited):
    return f"+{event.amount}"


@describe.register
def _(event: Withdrawn):
    return f"-{event.amount}"


def event_at(i):
    id = i % 100
    if i < 100:
        return Opened(id, f"owner-{id}")
    if i % 997 == 0:
        return Audited(id)
    if (i + i // 100) % 2 == 1:
        return Deposited(id, i * 13 % 200)
    return Withdrawn(id, i * 7 % 150)


def replay(events):
    accounts = {}
    refused = unknown = 0
    for event in events:
        try:
            accounts[event.id] = apply_event(event, accounts.get(event.id))
        except OverdrawnError:
            refused += 1
        except TypeError:
            unknown += 1
    return accounts, refused, unknown


events = [event_at(i) for i in range(60000)]
accounts, refused, unknown = replay(events)
balance = sum(a.balance for a in accounts.values())
closed = [apply_event(Closed(a.id), a) for a in accounts.values()]
statement = sum(len(describe(e)) for e in events)
print(f"ledger: {balance} {refused} {unknown} {statement} {sum(a.version for a in closed)}")
