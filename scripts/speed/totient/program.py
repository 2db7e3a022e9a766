"""Number theory with loops: greatest common divisors, factors, perfect numbers, modular powers."""


def my_gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def totient(n):
    return sum(1 for i in range(1, n + 1) if my_gcd(i, n) == 1)


def factors(n):
    found = []
    d = 2
    while d * d <= n:
        while n % d == 0:
            found.append(d)
            n //= d
        d += 1
    if n > 1:
        found.append(n)
    return found


def is_prime(n):
    if n < 2:
        return False
    d = 2
    while d * d <= n:
        if n % d == 0:
            return False
        d += 1
    return True


def is_perfect(n):
    total = 1
    d = 2
    while d * d <= n:
        if n % d == 0:
            total += d if d * d == n else d + n // d
        d += 1
    return n > 1 and total == n


def power(base, exponent, modulus):
    result = 1
    while exponent:
        if exponent % 2:
            result = result * base % modulus
        base = base * base % modulus
        exponent //= 2
    return result


totients = sum(totient(n) for n in range(1, 700))
factor_sum = sum(sum(factors(n)) for n in range(2, 20000))
primes = [n for n in range(40000) if is_prime(n)]
perfect = [n for n in range(1, 20000) if is_perfect(n)]
fermat = [p for p in primes if power(3, p - 1, p) == 1]
print(f"totient: {totients} {factor_sum} {len(primes)} ({' '.join(map(str, perfect))}) {len(fermat)}")
