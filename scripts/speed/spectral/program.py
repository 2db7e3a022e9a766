"""Spectral norm of an infinite matrix by the power method."""

from math import sqrt


def entry(i, j):
    return 1.0 / ((i + j) * (i + j + 1) // 2 + i + 1)


def times_a(v):
    return [sum(entry(i, j) * x for j, x in enumerate(v)) for i in range(len(v))]


def times_transposed(v):
    return [sum(entry(j, i) * x for j, x in enumerate(v)) for i in range(len(v))]


def step(v):
    return times_transposed(times_a(v))


def dot(u, v):
    return sum(a * b for a, b in zip(u, v, strict=True))


def spectral_norm(n, rounds):
    u = [1.0] * n
    for _ in range(rounds):
        v = step(u)
        u = step(v)
    return sqrt(dot(u, v) / dot(v, v))


print(f"spectral: {spectral_norm(200, 10):.9f}")
