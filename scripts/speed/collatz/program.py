"""Collatz sequences: the longest one, the highest peak, and digital roots of the lengths."""


def collatz_length(n):
    steps = 1
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def peak(n):
    highest = n
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        if n > highest:
            highest = n
    return highest


def digital_root(n):
    while n >= 10:
        digits = 0
        while n:
            n, digit = divmod(n, 10)
            digits += digit
        n = digits
    return n


def longest(limit):
    best = best_length = 0
    for i in range(1, limit):
        length = collatz_length(i)
        if length > best_length:
            best, best_length = i, length
    return best, best_length


start, length = longest(30000)
highest = max(peak(i) for i in range(1, 15000))
roots = sum(digital_root(i * collatz_length(i)) for i in range(1, 10000))
print(f"collatz: {start} {length} {highest} {roots}")
