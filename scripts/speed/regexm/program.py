"""A backtracking regex matcher: a parser to tuples, then a matcher that yields the ends of all matches."""


class Parser:
    def __init__(self, text):
        self.text = text
        self.at = 0

    def peek(self):
        return self.text[self.at] if self.at < len(self.text) else ""

    def alternatives(self):
        left = self.sequence()
        if self.peek() == "|":
            self.at += 1
            return ("or", left, self.alternatives())
        return left

    def sequence(self):
        node = ("empty",)
        while self.peek() not in ("", "|", ")"):
            atom = self.repeat()
            node = atom if node == ("empty",) else ("then", node, atom)
        return node

    def repeat(self):
        node = self.atom()
        while True:
            match self.peek():
                case "*":
                    node = ("star", node)
                case "+":
                    node = ("then", node, ("star", node))
                case "?":
                    node = ("or", node, ("empty",))
                case _:
                    return node
            self.at += 1

    def atom(self):
        c = self.peek()
        self.at += 1
        match c:
            case "(":
                node = self.alternatives()
                self.at += 1
                return node
            case ".":
                return ("any",)
            case "d":
                return ("range", "0", "9")
            case "w":
                return ("range", "a", "z")
            case _:
                return ("char", c)


def compile_regex(text):
    return Parser(text).alternatives()


def ends(node, text, i):
    match node:
        case ("empty",):
            yield i
        case ("char", c):
            if i < len(text) and text[i] == c:
                yield i + 1
        case ("any",):
            if i < len(text):
                yield i + 1
        case ("range", low, high):
            if i < len(text) and low <= text[i] <= high:
                yield i + 1
        case ("then", a, b):
            for j in ends(a, text, i):
                yield from ends(b, text, j)
        case ("or", a, b):
            yield from ends(a, text, i)
            yield from ends(b, text, i)
        case ("star", a):
            for j in ends(a, text, i):
                if j > i:
                    yield from ends(node, text, j)
            yield i


def matches(regex, text):
    return any(end == len(text) for end in ends(regex, text, 0))


def search(regex, text):
    for start in range(len(text) + 1):
        for end in ends(regex, text, start):
            return start, end
    return None


def line(i):
    domain = "site" if i % 2 == 0 else ""
    suffix = "org" if i % 3 == 0 else "com"
    return (
        f"row {i} =v; user{i % 9}@{domain}mail.{suffix} 20{i % 100}-0{i % 10}-11 {'ab' * (i % 6)}abb {'x' * (i % 5)}y"
    )


patterns = [compile_regex(text) for text in ("w+d@w+.(com|org|net)", "d+-d+-d+", "(a|b)*abb", "=w*;?", "(x+x+)+y")]
lines = [line(i) for i in range(1000)]
found = [[span for text in lines if (span := search(p, text))] for p in patterns]
totals = [sum(end - start for start, end in spans) for spans in found]
whole = sum(matches(patterns[2], "ba" * n + "bb") for n in range(60))
print(f"regexm: {' '.join(f'{len(spans)}:{n}' for spans, n in zip(found, totals, strict=True))} {whole}")
