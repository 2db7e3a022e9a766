"""AVL trees of frozen objects: insertion with rotations, deletion, ranges."""

from typing import NamedTuple


class Avl(NamedTuple):
    key: int
    value: int
    height: int
    left: "Avl | None"
    right: "Avl | None"


def height(t):
    return 0 if t is None else t.height


def node(key, value, left, right):
    return Avl(key, value, 1 + max(height(left), height(right)), left, right)


def with_children(t, left, right):
    return node(t.key, t.value, left, right)


def rotate_right(t):
    left = t.left
    return with_children(left, left.left, with_children(t, left.right, t.right))


def rotate_left(t):
    right = t.right
    return with_children(right, with_children(t, t.left, right.left), right.right)


def lean(t):
    return height(t.left) - height(t.right)


def rebalance(t):
    leaning = lean(t)
    if leaning > 1:
        if lean(t.left) < 0:
            t = with_children(t, rotate_left(t.left), t.right)
        return rotate_right(t)
    if leaning < -1:
        if lean(t.right) > 0:
            t = with_children(t, t.left, rotate_right(t.right))
        return rotate_left(t)
    return t


def insert(t, key, value):
    if t is None:
        return node(key, value, None, None)
    if key == t.key:
        return node(key, value, t.left, t.right)
    if key < t.key:
        return rebalance(with_children(t, insert(t.left, key, value), t.right))
    return rebalance(with_children(t, t.left, insert(t.right, key, value)))


def smallest(t):
    while t.left is not None:
        t = t.left
    return t


def delete(t, key):
    if t is None:
        return None
    if key < t.key:
        return rebalance(with_children(t, delete(t.left, key), t.right))
    if key > t.key:
        return rebalance(with_children(t, t.left, delete(t.right, key)))
    if t.left is None:
        return t.right
    if t.right is None:
        return t.left
    following = smallest(t.right)
    return rebalance(node(following.key, following.value, t.left, delete(t.right, following.key)))


def range_sum(t, low, high):
    if t is None:
        return 0
    total = t.value if low <= t.key <= high else 0
    if t.key > low:
        total += range_sum(t.left, low, high)
    if t.key < high:
        total += range_sum(t.right, low, high)
    return total


full = None
for i in range(9500):
    full = insert(full, i * 2711 % 10007, i)
thinned = full
for i in range(4000):
    thinned = delete(thinned, i * 17 % 10007)
total = sum(range_sum(thinned, i * 20, 300 + i * 20) for i in range(200))
print(f"avl: {height(full)} {height(thinned)} {smallest(thinned).key} {total}")
