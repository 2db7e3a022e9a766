"""Generators of sorted numbers, merged by a tree of generators; duplicates dropped; the head taken."""

from itertools import islice


def multiples(k, limit):
    n = k
    while n < limit:
        yield n
        n += k


def merge(a, b):
    x, y = next(a, None), next(b, None)
    while x is not None and y is not None:
        if x <= y:
            yield x
            x = next(a, None)
        else:
            yield y
            y = next(b, None)
    if x is not None:
        yield x
        yield from a
    if y is not None:
        yield y
        yield from b


def unique(items):
    last = None
    for x in items:
        if x != last:
            yield x
            last = x


def merge_all(streams):
    if len(streams) == 1:
        return streams[0]
    half = len(streams) // 2
    return merge(merge_all(streams[:half]), merge_all(streams[half:]))


merged = unique(merge_all([multiples(k, 1000000) for k in (7, 11, 13, 17, 19, 23, 29, 31)]))
items = list(islice(merged, 250000))
print(f"mergestreams: {len(items)} {items[-1]} {sum(items)}")
