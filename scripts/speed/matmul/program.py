"""Products and powers of matrices that are lists of lists."""


def multiply(a, b):
    columns = list(zip(*b, strict=True))
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in a]


def transpose(m):
    return [list(column) for column in zip(*m, strict=True)]


def identity_matrix(n):
    return [[1 if i == j else 0 for j in range(n)] for i in range(n)]


def reduce_mod(m, p):
    return [[x % p for x in row] for row in m]


def power(m, n, p):
    if n == 0:
        return identity_matrix(len(m))
    if n % 2 == 0:
        half = power(m, n // 2, p)
        return reduce_mod(multiply(half, half), p)
    return reduce_mod(multiply(m, power(m, n - 1, p)), p)


def trace(m):
    return sum(m[i][i] for i in range(len(m)))


a = [[(i * 7 + j * 3 + 1) % 11 for j in range(150)] for i in range(150)]
b = [[(i + 1) * (j + 2) % 13 - 6 for j in range(150)] for i in range(150)]
product = multiply(a, transpose(b))
fibonacci = power([[1, 1], [1, 0]], 100000, 1000000007)
counts = power([[1 if abs(i - j) == 1 else 0 for j in range(12)] for i in range(12)], 1000, 1000000007)
print(f"matmul: {trace(product)} {product[3][140]} {fibonacci[0][1]} {trace(counts)}")
