"""Functions that make functions: compose, partial, juxtaposition, predicates, variadic helpers."""

from functools import cache, partial
from operator import add, mul


def compose(*fs):
    def composed(x):
        for f in reversed(fs):
            x = f(x)
        return x

    return composed


def pipe(x, *fs):
    for f in fs:
        x = f(x)
    return x


def juxt(*fs):
    return lambda x: [f(x) for f in fs]


def complement(pred):
    return lambda x: not pred(x)


def all_of(*preds):
    return lambda x: all(p(x) for p in preds)


def average(*xs):
    return sum(xs) // len(xs)


def clamp(low, high):
    return lambda x: min(high, max(low, x))


def iterate(f, n):
    def iterated(x):
        for _ in range(n):
            x = f(x)
        return x

    return iterated


normal = compose(clamp(5, 500), partial(add, 10), partial(mul, 3))
is_interesting = all_of(lambda x: x % 2 == 0, complement(lambda x: x == 0), lambda x: x % 7 > 2)
stats = juxt(max, min, lambda xs: average(*xs))


@cache
def slow_square(x):
    acc = 0
    for _ in range(x):
        acc += x
    return acc


def score(i):
    return pipe(
        i,
        normal,
        iterate(lambda x: (5 * x + 3) % 997, 4),
        lambda x: average(x, i, i + 2),
        slow_square,
    )


scores = [score(i % 400) for i in range(60000)]
chosen = [x for x in range(120000) if is_interesting(x)]
windows = [stats([i, i * 7 % 100, i * 13 % 51, 50]) for i in range(30000)]
last = " ".join(map(str, windows[-1]))
print(f"pipes: {sum(scores)} {len(chosen)} {sum(map(sum, windows))} ({last})")
