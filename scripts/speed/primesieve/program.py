"""Generators that feed each other: a prime sieve with a filter for each prime, and a chain of stages."""

from itertools import count


def without_multiples(prime, numbers):
    for n in numbers:
        if n % prime:
            yield n


def first_primes(n):
    numbers = count(2)
    found = []
    for _ in range(n):
        prime = next(numbers)
        found.append(prime)
        numbers = without_multiples(prime, numbers)
    return found


def stage(f, items):
    for x in items:
        yield f(x)


def chain(items, *fs):
    for f in fs:
        items = stage(f, items)
    return list(items)


primes = first_primes(900)
results = chain(range(800000), lambda x: x * 3, lambda x: x % 101, lambda x: x + 1)
print(f"primesieve: {primes[-1]} {sum(primes)} {len(results)} {sum(results)}")
