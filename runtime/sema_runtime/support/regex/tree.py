"""The syntax tree of a regular expression, and its text for `re`. Leaves are pieces of `re` patterns."""

from __future__ import annotations

TYPE_CHECKING = False
MOST_OPTIONS = 16  # each optional part doubles the ways through a pattern


class One:
    """One character that the piece matches."""

    __slots__ = ("piece",)

    def __init__(self, piece: str) -> None:
        self.piece = piece


class Place:
    """An assertion: the piece matches an empty text here. It looks at most at the characters on both sides."""

    __slots__ = ("piece",)

    def __init__(self, piece: str) -> None:
        self.piece = piece


class Group:
    """number: of the capture group, 0 for one that only groups."""

    __slots__ = ("inner", "number")

    def __init__(self, inner: Node, number: int) -> None:
        self.inner = inner
        self.number = number


class Repeat:
    """most: None for no limit."""

    __slots__ = ("greedy", "inner", "least", "most")

    def __init__(self, inner: Node, least: int, most: int | None, greedy: bool) -> None:
        self.inner = inner
        self.least = least
        self.most = most
        self.greedy = greedy


class Sequence:
    __slots__ = ("items",)

    def __init__(self, items: list[Node]) -> None:
        self.items = items


class Choice:
    __slots__ = ("branches",)

    def __init__(self, branches: list[Node]) -> None:
        self.branches = branches


if TYPE_CHECKING:
    Node = One | Place | Group | Repeat | Sequence | Choice


def rendered(node: Node) -> str:
    """The pattern for `re`."""
    if isinstance(node, (One, Place)):
        return node.piece
    if isinstance(node, Sequence):
        return "".join(map(rendered, node.items))
    if isinstance(node, Choice):
        return "|".join(map(rendered, node.branches))
    inner = rendered(node.inner)
    if isinstance(node, Group):
        return f"({inner})" if node.number else f"(?:{inner})"
    if isinstance(node.inner, (Place, Repeat)):  # Python repeats neither
        inner = f"(?:{inner})"
    most = "" if node.most is None else node.most
    return f"{inner}{{{node.least},{most}}}{'' if node.greedy else '?'}"


def shortest(node: Node) -> int:
    """The least number of characters that the node matches."""
    if isinstance(node, One):
        return 1
    if isinstance(node, Place):
        return 0
    if isinstance(node, Sequence):
        return sum(map(shortest, node.items))
    if isinstance(node, Choice):
        return min(map(shortest, node.branches))
    return shortest(node.inner) * (node.least if isinstance(node, Repeat) else 1)


def size(node: Node) -> int:
    """The number of leaves with all repetitions written out."""
    if isinstance(node, (One, Place)):
        return 1
    if isinstance(node, Group):
        return size(node.inner)
    if isinstance(node, Repeat):
        return size(node.inner) * max(1, node.least if node.most is None else node.most)
    return sum(map(size, node.items if isinstance(node, Sequence) else node.branches))


def is_empty(node: Node) -> bool:
    """Whether the node matches nothing but the empty text."""
    if isinstance(node, (One, Place)):
        return isinstance(node, Place)
    if isinstance(node, (Group, Repeat)):
        return is_empty(node.inner) or (isinstance(node, Repeat) and node.most == 0)
    return all(map(is_empty, node.items if isinstance(node, Sequence) else node.branches))


def depth(node: Node) -> int:
    """The depth of nested nodes."""
    deepest = 0
    waiting = [(node, 1)]
    while waiting:
        node_inside, level = waiting.pop()
        if isinstance(node_inside, (One, Place)) or (isinstance(node_inside, Sequence) and not node_inside.items):
            continue
        deepest = max(deepest, level)
        if isinstance(node_inside, (Group, Repeat)):
            waiting.append((node_inside.inner, level + 1))
        else:
            inner = node_inside.items if isinstance(node_inside, Sequence) else node_inside.branches
            waiting += [(inner_node, level + 1) for inner_node in inner]
    return deepest


def repeats(node: Node) -> bool:
    """Whether a part of the node is repeated or optional."""
    if isinstance(node, (One, Place)):
        return False
    if isinstance(node, (Group, Repeat)):
        return isinstance(node, Repeat) or repeats(node.inner)
    return any(map(repeats, node.items if isinstance(node, Sequence) else node.branches))


def loops(tree: Node) -> int | None:
    """The number of loops; nested ones, and choices in a loop, count twice. None when `re` is never safe."""
    count = options = 0
    waiting: list[tuple[Node, bool]] = [(tree, False)]
    while waiting:
        node, looping = waiting.pop()
        if isinstance(node, Repeat):
            again = node.most is None or node.most > 1
            if again and not shortest(node.inner):
                return None
            count += (again and not is_fixed(node)) * (2 if looping else 1)
            options += node.most is not None and node.least < node.most
            if options > MOST_OPTIONS:
                return None
            waiting.append((node.inner, looping or again))
        elif isinstance(node, Group):
            waiting.append((node.inner, looping))
        elif isinstance(node, Choice):
            count += 2 * looping
            waiting += [(inner, looping) for inner in node.branches]
        elif isinstance(node, Sequence):
            waiting += [(inner, looping) for inner in node.items]
    return count


def is_fixed(node: Node) -> bool:
    """Whether the node has one way to match, of a fixed length."""
    if isinstance(node, Repeat):
        return node.least == node.most and is_fixed(node.inner)
    if isinstance(node, Group):
        return is_fixed(node.inner)
    if isinstance(node, Sequence):
        return all(map(is_fixed, node.items))
    return isinstance(node, (One, Place))
