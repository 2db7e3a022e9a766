"""Expressions as objects that evaluate, simplify, derive and measure themselves."""

from dataclasses import dataclass


class Expression:
    value = None

    def simplify(self):
        return self


@dataclass
class Num(Expression):
    value: int

    def evaluate(self, env):
        return self.value

    def derive(self, name):
        return Num(0)

    def size(self):
        return 1


@dataclass
class Ref(Expression):
    name: str

    def evaluate(self, env):
        return env.get(self.name, 0)

    def derive(self, name):
        return Num(1 if self.name == name else 0)

    def size(self):
        return 1


@dataclass
class Sum(Expression):
    left: Expression
    right: Expression

    def evaluate(self, env):
        return self.left.evaluate(env) + self.right.evaluate(env)

    def derive(self, name):
        return Sum(self.left.derive(name), self.right.derive(name))

    def simplify(self):
        a, b = self.left.simplify(), self.right.simplify()
        if isinstance(a, Num) and isinstance(b, Num):
            return Num(a.value + b.value)
        if a.value == 0:
            return b
        if b.value == 0:
            return a
        return Sum(a, b)

    def size(self):
        return 1 + self.left.size() + self.right.size()


@dataclass
class Product(Expression):
    left: Expression
    right: Expression

    def evaluate(self, env):
        return self.left.evaluate(env) * self.right.evaluate(env)

    def derive(self, name):
        return Sum(Product(self.left.derive(name), self.right), Product(self.left, self.right.derive(name)))

    def simplify(self):
        a, b = self.left.simplify(), self.right.simplify()
        if a.value == 0 or b.value == 0:
            return Num(0)
        if a.value == 1:
            return b
        if b.value == 1:
            return a
        return Product(a, b)

    def size(self):
        return 1 + self.left.size() + self.right.size()


@dataclass
class Negated(Expression):
    of: Expression

    def evaluate(self, env):
        return -self.of.evaluate(env)

    def derive(self, name):
        return Negated(self.of.derive(name))

    def simplify(self):
        return Negated(self.of.simplify())

    def size(self):
        return 1 + self.of.size()


def build(depth, i):
    if depth == 0:
        return Num(i % 5) if i % 2 == 0 else Ref("x" if i % 3 == 0 else "y")
    match (depth + i) % 3:
        case 0:
            return Sum(build(depth - 1, 2 * i), build(depth - 1, 2 * i + 1))
        case 1:
            return Product(build(depth - 1, 2 * i), build(depth - 1, 2 * i + 1))
        case _:
            return Negated(build(depth - 1, i + 1))


expressions = [build(10, i) for i in range(120)]
simple = [e.simplify() for e in expressions]
derived = [e.derive("x").simplify() for e in simple]
values = [sum(e.evaluate({"x": k, "y": k + 1}) for e in simple) for k in range(40)]
sizes = [sum(e.size() for e in es) for es in (expressions, simple, derived)]
print(f"exprwalk: {' '.join(map(str, sizes))} {sum(values) % 1000003}")
