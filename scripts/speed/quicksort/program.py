"""Quick sort and quick select on lists, insertion sort, and a check that the results are in order."""

from itertools import pairwise


def random_list(n, seed):
    out = []
    for _ in range(n):
        out.append(seed % 100000)
        seed = (seed * 48271 + 11) % 2147483647
    return out[::-1]


def quicksort(xs):
    if not xs:
        return []
    pivot, *others = xs
    return [*quicksort([x for x in others if x < pivot]), pivot, *quicksort([x for x in others if x >= pivot])]


def quicksort_by(less, xs):
    if not xs:
        return []
    pivot, *others = xs
    small = []
    large = []
    for x in others:
        if less(x, pivot):
            small.append(x)
        else:
            large.append(x)
    return [*quicksort_by(less, small), pivot, *quicksort_by(less, large)]


def select(k, xs):
    pivot = xs[0]
    small = [x for x in xs if x < pivot]
    equal = [x for x in xs if x == pivot]
    if k < len(small):
        return select(k, small)
    if k < len(small) + len(equal):
        return pivot
    return select(k - len(small) - len(equal), [x for x in xs if x > pivot])


def insertion_sort(xs):
    out = []
    for x in xs:
        i = 0
        while i < len(out) and out[i] < x:
            i += 1
        out.insert(i, x)
    return out


def in_order(xs):
    return all(a <= b for a, b in pairwise(xs))


def shown(flag):
    return "#t" if flag else "#f"


numbers = random_list(50000, 1)
up = quicksort(numbers)
down = quicksort_by(lambda a, b: a > b, numbers)
medians = [select(8000, random_list(16000, seed)) for seed in range(1, 8)]
print(
    f"quicksort: {shown(in_order(up))} {shown(up == down[::-1])} {up[0]} {up[25000]} "
    f"({' '.join(map(str, medians))}) {shown(in_order(insertion_sort(numbers[:400])))}"
)
