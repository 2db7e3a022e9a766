"""A scanner that is a generator of tokens, and a parser of expressions that takes them one by one."""


def scan(text):
    i, n = 0, len(text)
    while i < n:
        c = text[i]
        if c == " ":
            i += 1
        elif "0" <= c <= "9":
            value = 0
            while i < n and "0" <= text[i] <= "9":
                value = value * 10 + ord(text[i]) - 48
                i += 1
            yield value
        else:
            yield c
            i += 1


class Parser:
    def __init__(self, text):
        self.tokens = scan(text)
        self.advance()

    def advance(self):
        self.token = next(self.tokens, None)

    def factor(self):
        token = self.token
        self.advance()
        if isinstance(token, int):
            return token
        if token == "(":
            value = self.expression()
            self.advance()
            return value
        if token == "-":
            return -self.factor()
        raise ValueError("unexpected token")

    def term(self):
        value = self.factor()
        while self.token == "*":
            self.advance()
            value = value * self.factor() % 1000003
        return value

    def expression(self):
        value = self.term()
        while self.token in ("+", "-"):
            op = self.token
            self.advance()
            right = self.term()
            value = value + right if op == "+" else value - right
        return value


def formula(i):
    return f"({i} + {3 * i}) * {i % 17} - -({i + 7} - 12 * (3 + {i % 5})) * 2"


values = [Parser(formula(i)).expression() for i in range(4000)]
print(f"tokens: {sum(values)} {values[-1]}")
