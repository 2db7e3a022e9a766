"""Two trees are compared leaf by leaf: each is walked by a generator of its leaves."""


def walk(tree):
    if isinstance(tree, list):
        yield from walk(tree[0])
        yield from walk(tree[1])
    else:
        yield tree


def build(lo, hi):
    if lo == hi:
        return lo
    mid = (lo + hi) // 2
    return [build(lo, mid), build(mid + 1, hi)]


def count_same(a, b):
    n = 0
    for x, y in zip(a, b, strict=True):
        if x != y:
            return None
        n += 1
    return n


print(f"samefringe: {count_same(walk(build(0, 60000)), walk(build(0, 60000)))}")
