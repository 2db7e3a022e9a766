"""Groups of variables that hand one map to each other, and what is known of each group.

A variable gets its map from another one by a move, a jump, an argument or a result. All of a group have one form: each
holds the bare dict of its map (`raw`), or none does.
"""

from __future__ import annotations

from typing import Any

Member = Any  # a Var, or a Function for what it returns


class Group:
    """kind: "Map" or "HashMap"; reason: why it can't be raw; gains: the kinds of changes that its maps see (as `assoc`
    is), of which those in needed make it worth while."""

    __slots__ = ("gains", "kind", "members", "needed", "reason")

    def __init__(self, member: Member, needed: int) -> None:
        self.members: list[Member] = [member]
        self.kind = ""
        self.reason = ""
        self.gains = 0
        self.needed = needed

    @property
    def is_wanted(self) -> bool:
        return self.gains & self.needed == self.needed and bool(self.kind)

    @property
    def is_raw(self) -> bool:
        return not self.reason and self.is_wanted


class Groups:
    """A union of members into groups. general: members that hold maps of the runtime, whatever they are united with."""

    def __init__(self, general: frozenset[Member] = frozenset(), needed: int = 1) -> None:
        self.needed = needed
        self.group_of: dict[Member, Group] = {}
        self.general = general
        self.spoilt: set[Member] = set(general)

    def of(self, member: Member) -> Group:
        group = self.group_of.get(member)
        if group is None:
            group = self.group_of[member] = Group(member, self.needed)
        return group

    def known(self, member: Member) -> Group | None:
        return self.group_of.get(member)

    def unite(self, a: Member, b: Member) -> None:
        first, second = self.of(a), self.of(b)
        if first is second:
            return
        if len(first.members) < len(second.members):
            first, second = second, first
        first.members += second.members
        first.gains |= second.gains
        first.reason = first.reason or second.reason
        if first.kind and second.kind and first.kind != second.kind:
            first.reason = first.reason or "two kinds of maps"
        first.kind = first.kind or second.kind
        for member in second.members:
            self.group_of[member] = first

    def spoil(self, member: Member, reason: str) -> None:
        """The member's map may be seen by others, or isn't fresh."""
        self.spoilt.add(member)
        group = self.of(member)
        group.reason = group.reason or reason

    def makes(self, member: Member, kind: str) -> None:
        """The member gets a fresh map of a kind."""
        group = self.of(member)
        if group.kind and group.kind != kind:
            group.reason = group.reason or "two kinds of maps"
        group.kind = kind

    def replace(self, members: set[Member], new: Groups) -> None:
        """Takes what is known of some members, which are whole groups, from other groups."""
        self.general = new.general
        self.spoilt = (self.spoilt - members) | (new.spoilt & members)
        for member in members:
            group = new.known(member)
            if group is not None:
                self.group_of[member] = group
            else:
                self.group_of.pop(member, None)
