"""An evaluator for a small Lisp: lists matched by their heads, environments as dicts with a parent, closures."""

import operator
import sys
from dataclasses import dataclass

sys.setrecursionlimit(10000)


class UnboundName(Exception):
    pass


class Env:
    def __init__(self, bindings, parent=None):
        self.bindings = bindings
        self.parent = parent

    def lookup(self, name):
        env = self
        while env is not None:
            if name in env.bindings:
                return env.bindings[name]
            env = env.parent
        raise UnboundName(name)


@dataclass
class Closure:
    params: list
    body: object
    env: Env

    def __call__(self, *args):
        return evaluate(self.body, Env(dict(zip(self.params, args, strict=True)), self.env))


GLOBALS = Env(
    {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "<": operator.lt,
        "=": operator.eq,
        "car": lambda xs: xs[0],
        "cdr": lambda xs: xs[1:],
        "cons": lambda x, xs: [x, *xs],
        "null?": lambda xs: not xs,
        "list": lambda *xs: list(xs),
    }
)


def evaluate_sequence(forms, env):
    value = None
    for form in forms:
        value = evaluate(form, env)
    return value


def evaluate(form, env):
    match form:
        case ["quote", value]:
            return value
        case ["if", test, then, otherwise]:
            return evaluate(then, env) if evaluate(test, env) else evaluate(otherwise, env)
        case ["lambda", params, body]:
            return Closure(params, body, env)
        case ["define", name, value]:
            GLOBALS.bindings[name] = evaluate(value, env)
            return name
        case ["let", bindings, body]:
            return evaluate(body, Env({name: evaluate(value, env) for name, value in bindings}, env))
        case ["begin", *forms]:
            return evaluate_sequence(forms, env)
        case [f, *args]:
            return evaluate(f, env)(*[evaluate(arg, env) for arg in args])
        case str():
            return env.lookup(form)
        case _:
            return form


def parse(text):
    stack = [[]]
    for token in text.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(int(token) if token.isdigit() else token)
    return stack[0]


PROGRAM = """
(define fib (lambda (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))
(define map1 (lambda (f xs) (if (null? xs) (quote ()) (cons (f (car xs)) (map1 f (cdr xs))))))
(define fold (lambda (f acc xs) (if (null? xs) acc (fold f (f acc (car xs)) (cdr xs)))))
(define upto (lambda (low high) (if (= low high) (quote ()) (cons low (upto (+ low 1) high)))))
(define adder (lambda (n) (lambda (x) (+ x n))))
(define change (lambda (amount coins)
  (if (= amount 0) 1
    (if (null? coins) 0
      (if (< amount 0) 0
        (+ (change amount (cdr coins)) (change (- amount (car coins)) coins)))))))
(list (fib 20)
      (fold + 0 (map1 (adder 10) (upto 0 300)))
      (let ((square (lambda (x) (* x x))) (n 40)) (fold + 0 (map1 square (upto 0 n))))
      (change 100 (quote (50 25 10 5 1))))
"""

result = evaluate_sequence(parse(PROGRAM), GLOBALS)
try:
    problem = evaluate(["fib", "missing"], GLOBALS)
except UnboundName as e:
    problem = e
print(f"lispeval: ({' '.join(map(str, result))}) {problem}")
