"""Permutations, combinations, subsets and products of lists; queens by filtering permutations."""

from collections import Counter


def insert_everywhere(x, xs):
    return [[*xs[:i], x, *xs[i:]] for i in range(len(xs) + 1)]


def permutations(xs):
    if not xs:
        return [[]]
    return [q for p in permutations(xs[1:]) for q in insert_everywhere(xs[0], p)]


def combinations(xs, k):
    if k == 0:
        return [[]]
    if not xs:
        return []
    return [[xs[0], *c] for c in combinations(xs[1:], k - 1)] + combinations(xs[1:], k)


def subsets(xs):
    if not xs:
        return [[]]
    without = subsets(xs[1:])
    return without + [[xs[0], *s] for s in without]


def product(*lists):
    tails = [[]]
    for xs in reversed(lists):
        tails = [[x, *t] for x in xs for t in tails]
    return tails


def attacks(queen, others):
    return any(abs(queen - other) == distance for distance, other in enumerate(others, 1))


def is_safe(columns):
    return not any(attacks(queen, columns[i + 1 :]) for i, queen in enumerate(columns))


def shown(xs):
    return f"({' '.join(map(str, xs))})"


queens = [p for p in permutations(list(range(8))) if is_safe(p)]
lottery = [c for c in combinations(list(range(1, 20)), 7) if sum(c) == 50]
balanced = [s for s in subsets(list(range(1, 17))) if sum(s) == 30]
dice = Counter(map(sum, product(range(1, 7), range(1, 7), range(1, 7), range(1, 7))))
print(f"combos: {len(queens)} {shown(queens[-1])} {len(lottery)} {shown(lottery[0])} {len(balanced)} {dice[14]}")
