"""Determinants by Gaussian elimination, in lists of lists of floats."""


def determinant(m):
    n = len(m)
    det = 1.0
    for column in range(n):
        best = max(range(column, n), key=lambda i: abs(m[i][column]))
        if best != column:
            m[best], m[column] = m[column], m[best]
            det = -det
        top = m[column]
        pivot = top[column]
        if pivot == 0.0:
            return 0.0
        for row in m[column + 1 :]:
            factor = row[column] / pivot
            for j in range(column, n):
                row[j] -= factor * top[j]
        det *= pivot
    return det


def sample(seed, n):
    return [[(i * i * seed + j * j * j * 13 + i * j * 29 + 5) % 101 / 25.0 - 2.0 for j in range(n)] for i in range(n)]


def total(n, rounds):
    return sum(determinant(sample(seed + 3, n)) for seed in range(rounds))


print(f"determinant: {total(8, 4000):.4f} {total(24, 240):.0f}")
