"""Newton's method, Simpson's rule and polynomials: functions that take and return functions of a float."""

from math import pi, sin


def derivative(f):
    h = 0.00001
    return lambda x: (f(x + h) - f(x - h)) / (2.0 * h)


def newton(f, guess):
    df = derivative(f)
    x = guess
    for _ in range(51):
        previous = x
        x = previous - f(previous) / df(previous)
        if abs(x - previous) < 1e-9:
            break
    return x


def cube_root(a):
    return newton(lambda x: x * x * x - a, a / 3.0)


def polynomial(*coefficients):
    def value(x):
        acc = 0.0
        for c in coefficients:
            acc = acc * x + c
        return acc

    return value


def simpson(f, a, b, n):
    h = (b - a) / n
    total = f(a) + f(b)
    for k in range(1, n):
        total += (4.0 if k % 2 else 2.0) * f(a + k * h)
    return h * total / 3.0


roots = sum(cube_root(float(i)) for i in range(1, 15001))
waves = simpson(lambda x: sin(x) * sin(x), 0.0, pi, 360000)
cubic = simpson(polynomial(2.0, -3.0, 0.5, 7.0), -1.0, 3.0, 360000)
print(f"calculus: {roots:.5f} {waves:.6f} {cubic:.6f}")
