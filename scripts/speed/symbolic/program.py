"""Symbolic algebra with classes: derivatives, simplification, evaluation, sizes."""

from dataclasses import dataclass


class Expr:
    __slots__ = ()

    def simplified(self):
        return self

    def size(self):
        return 1


@dataclass(slots=True)
class Const(Expr):
    value: int

    def derivative(self, x):
        return Const(0)

    def value_in(self, env):
        return self.value


@dataclass(slots=True)
class Var(Expr):
    name: str

    def derivative(self, x):
        return Const(1 if self.name == x else 0)

    def value_in(self, env):
        return env[self.name]


def is_const(e, n):
    return isinstance(e, Const) and e.value == n


@dataclass(slots=True)
class Add(Expr):
    a: Expr
    b: Expr

    def derivative(self, x):
        return Add(self.a.derivative(x), self.b.derivative(x))

    def simplified(self):
        a = self.a.simplified()
        b = self.b.simplified()
        if is_const(a, 0):
            return b
        if is_const(b, 0):
            return a
        if isinstance(a, Const) and isinstance(b, Const):
            return Const(a.value + b.value)
        return Add(a, b)

    def value_in(self, env):
        return self.a.value_in(env) + self.b.value_in(env)

    def size(self):
        return 1 + self.a.size() + self.b.size()


@dataclass(slots=True)
class Mul(Expr):
    a: Expr
    b: Expr

    def derivative(self, x):
        return Add(Mul(self.a.derivative(x), self.b), Mul(self.a, self.b.derivative(x)))

    def simplified(self):
        a = self.a.simplified()
        b = self.b.simplified()
        if is_const(a, 0) or is_const(b, 0):
            return Const(0)
        if is_const(a, 1):
            return b
        if is_const(b, 1):
            return a
        if isinstance(a, Const) and isinstance(b, Const):
            return Const(a.value * b.value)
        return Mul(a, b)

    def value_in(self, env):
        return self.a.value_in(env) * self.b.value_in(env)

    def size(self):
        return 1 + self.a.size() + self.b.size()


@dataclass(slots=True)
class Pow(Expr):
    a: Expr
    n: int

    def derivative(self, x):
        return Mul(Mul(Const(self.n), Pow(self.a, self.n - 1)), self.a.derivative(x))

    def simplified(self):
        if self.n == 0:
            return Const(1)
        if self.n == 1:
            return self.a.simplified()
        return Pow(self.a.simplified(), self.n)

    def value_in(self, env):
        return self.a.value_in(env) ** self.n

    def size(self):
        return 1 + self.a.size()


X = Var("x")
Y = Var("y")


def polynomial(i):
    return Add(
        Mul(Const(i), Pow(Add(X, Const(i % 3)), 4)),
        Add(Mul(Pow(X, 2), Mul(Y, Const(i % 5))), Pow(Add(Y, Mul(X, Const(2))), 3)),
    )


def work(i):
    first = polynomial(i).derivative("x").simplified()
    second = first.derivative("x").simplified()
    env = {"x": i % 7 - 3, "y": i % 4}
    return second.size(), first.value_in(env) + second.value_in(env)


results = [work(i) for i in range(3500)]
print(f"symbolic: {sum(size for size, _ in results)} {sum(value for _, value in results)}")
