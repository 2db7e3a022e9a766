"""A calculator: characters to tokens, tokens to a tree of tuples, the tree evaluated and printed by matching."""


class Unexpected(Exception):
    def __init__(self, token):
        super().__init__(token)
        self.token = token


class Unbound(Exception):
    pass


def tokenize(text):
    tokens = []
    i = 0
    while i < len(text):
        c = text[i]
        end = i + 1
        if c.isdigit():
            while end < len(text) and text[end].isdigit():
                end += 1
            tokens.append(("num", int(text[i:end])))
        elif c.isalpha():
            while end < len(text) and text[end].isalpha():
                end += 1
            tokens.append(("name", text[i:end]))
        elif not c.isspace():
            tokens.append(("op", c))
        i = end
    return tokens


class Parser:
    def __init__(self, tokens):
        self.tokens = tokens
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def factor(self):
        token = self.peek()
        self.at += 1
        match token:
            case ("num", n):
                return ("num", n)
            case ("name", name):
                return ("var", name)
            case ("op", "-"):
                return ("neg", self.factor())
            case ("op", "("):
                tree = self.sum()
                self.at += 1
                return tree
            case _:
                raise Unexpected(token)

    def chain(self, operand, operators):
        tree = operand()
        while (token := self.peek()) and token[0] == "op" and token[1] in operators:
            self.at += 1
            tree = ("binary", token[1], tree, operand())
        return tree

    def product(self):
        return self.chain(self.factor, "*%")

    def sum(self):
        return self.chain(self.product, "+-")


def parse(text):
    return Parser(tokenize(text)).sum()


def evaluate(tree, env):
    match tree:
        case ("num", n):
            return n
        case ("var", name):
            try:
                return env[name]
            except KeyError:
                raise Unbound(name) from None
        case ("neg", a):
            return -evaluate(a, env)
        case ("binary", "+", a, b):
            return evaluate(a, env) + evaluate(b, env)
        case ("binary", "-", a, b):
            return evaluate(a, env) - evaluate(b, env)
        case ("binary", "*", a, b):
            return evaluate(a, env) * evaluate(b, env)
        case ("binary", "%", a, b):
            return evaluate(a, env) % evaluate(b, env)


def show(tree):
    match tree:
        case ("num", n):
            return str(n)
        case ("var", name):
            return name
        case ("neg", a):
            return f"-{show(a)}"
        case ("binary", op, a, b):
            return f"({show(a)} {op} {show(b)})"


def line(i):
    return f"{i} * (x + {i % 7}) - -y % {3 + i % 5} + ({3 * i} - (z * {i % 11}) % 97) * 2"


def unexpected(text):
    try:
        return parse(text)
    except Unexpected as e:
        return e.token


trees = [parse(line(i)) for i in range(5000)]
total = 0
for k in range(1, 9):
    env = {"x": k, "y": 2 * k, "z": k + 7}
    for tree in trees:
        total = (total + evaluate(tree, env)) % 1000003
bad = [unexpected(text) for text in ("1 + * 2", "(2) * +")]
found = "#t" if bad[0] == ("op", "*") else "#f"
print(f"calc: {total} {show(trees[41])} {found} {sum(len(show(t)) for t in trees)}")
