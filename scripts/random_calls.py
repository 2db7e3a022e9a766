"""Random calls of builtins, for comparing them with the reference.

    python scripts/random_calls.py SEED COUNT [NAME ...] > calls.jsonl              {"id","src"} a line
    python scripts/random_calls.py --wrong SEED COUNT [NAME ...] > calls.jsonl      wrong types, as values, in traces

Most arguments have the type that the builtin wants, some don't; many are edge cases (-0.0, NaN, empty, huge, nested,
beyond ASCII), and sometimes the number of arguments is wrong. With --wrong mostly one argument is of a wrong type, and
the builtin is called directly, as a value, through apply, map and foldl, or with the error caught and shown whole. The
builtins are those of signatures/call_arguments.txt and those that `../shared/reference` says the oracle has.
The oracle's `--fill` adds the reference's answers to such a file, and the conformance tool compares them with ours.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "signatures"))

from call_arguments import (
    ANY_TYPE,
    CHARS,
    COMPLEX,
    CSV,
    DATES,
    EXACT,
    FAR,
    FLOATS,
    INTS,
    JSON,
    KEYS,
    ONES,
    PATCH,
    PATTERNS,
    SKIPPED,
    SKIPPED_FAMILIES,
    STAMPS,
    TESTS,
    TEXTS,
    TOML,
    TWOS,
    WANTED,
)

from sema_runtime.catalogue_index import INDEX

REFERENCE = Path(__file__).parents[2] / "shared" / "reference"


class Calls:
    """Makes calls; `makers` has a function for each letter of WANTED that returns the text of an argument."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.zero = "0.0"
        self.makers = {
            "s": lambda: self.pick(TEXTS), "c": lambda: self.pick(CHARS), "i": self.integer, "n": self.number,
            "k": lambda: self.pick(KEYS), "a": lambda: self.anything(2), "f": lambda: self.pick(ONES),
            "g": lambda: self.pick(TWOS), "p": lambda: self.pick(TESTS), "x": lambda: self.pick(PATTERNS),
            "t": lambda: self.pick(STAMPS), "e": lambda: self.pick(DATES), "j": lambda: json.dumps(self.pick(JSON)),
            "y": lambda: json.dumps(self.pick(CSV), ensure_ascii=False), "o": lambda: json.dumps(self.pick(TOML)),
            "u": lambda: self.pick([PATCH, PATCH, '"not a patch"', '""']),
            "r": lambda: self.pick(["2", "8", "10", "16"]),
            "m": lambda: self.map(2), "h": lambda: f"(hashmap/new {self.pairs(1)})", "b": self.bytes,
            "l": lambda: self.items(lambda: self.anything(1)), "S": lambda: self.items(self.makers["s"]),
            "I": lambda: self.items(self.integer), "N": lambda: self.items(self.number),
            "C": lambda: self.items(self.makers["c"]), "K": lambda: self.items(self.makers["k"]),
            "M": lambda: self.items(lambda: self.map(1)), "L": lambda: self.items(lambda: self.makers["l"]()),
            "A": lambda: self.items(lambda: f"(list {self.pick(KEYS)} {self.anything(1)})"),
            "v": self.mutable, "w": lambda: f"(mutable-cell/new {self.anything(1)})",
            "d": lambda: f"(f64-array {self.some(self.number)})", "z": lambda: f"(i64-array {self.some(self.integer)})",
            "q": self.stream, "D": lambda: f"(document/create {self.pick(TEXTS)} {self.map(1)})",
        }  # fmt: skip

    def pick(self, choices: list[str]) -> str:
        return self.random.choice(choices)

    def call(self, name: str, wanted: str) -> str:
        """A program: one call of a builtin."""
        self.zero = self.pick(["0.0", "0.0", "-0.0"])  # one zero a program: the reference confuses the two
        arguments = [self.of(letter) for letter in self.letters(wanted)]
        if name.endswith("!") and arguments:  # what changes is shown, too
            text = f"(let ((x {arguments[0]})) (list ({' '.join([name, 'x', *arguments[1:]])}) x))"
        else:
            text = f"({' '.join([name, *arguments])})"
        return text.replace("ZERO", self.zero)

    def letters(self, wanted: str) -> list[str]:
        """The kinds of the arguments of one call; now and then one is missing or too many."""
        letters: list[str] = []
        optional = False
        for letter in wanted:
            if letter == "?":
                optional = True
            elif letter == "*":
                letters += letters[-1:] * self.random.randrange(4)
            elif not optional or self.random.random() < 0.6:
                letters.append(letter)
        chance = self.random.random()
        if chance < 0.03:
            letters = letters[:-1]
        elif chance < 0.05:
            letters.append("a")
        return letters

    def wrong_call(self, name: str, wanted: str) -> str:
        """A program: a call of a builtin with mostly one or two wrong arguments, in one of the WAYS."""
        arguments = [self.makers[letter]().replace("ZERO", "0.0") for letter in self.letters(wanted)]
        for chance in (0.85, 0.25):
            if arguments and self.random.random() < chance:
                arguments[self.random.randrange(len(arguments))] = self.pick(ANY_TYPE)
        return self.random.choice(WAYS)(name, arguments)

    def of(self, letter: str) -> str:
        """An argument: mostly of the type that is wanted."""
        chance = self.random.random()
        if chance < 0.07:
            return self.anything(1)
        if chance < 0.09:
            return self.pick(["nil", "'()", "[]", "{}", '""', "0"])
        return self.makers[letter]()

    def integer(self) -> str:
        return self.pick(FAR if self.random.random() < 0.03 else INTS)

    def number(self) -> str:
        chance = self.random.random()
        return (
            self.integer()
            if chance < 0.5
            else self.pick(FLOATS if chance < 0.85 else EXACT if chance < 0.97 else COMPLEX)
        )

    def some(self, maker: Callable[[], str]) -> str:
        return " ".join(maker() for _ in range(self.random.choice([0, 1, 2, 3, 3, 5])))

    def items(self, maker: Callable[[], str]) -> str:
        """A list or vector; now and then a long one or one of equal values."""
        chance = self.random.random()
        if chance < 0.3:
            return f"[{self.some(maker)}]"
        if chance < 0.36:
            return self.pick(
                ["(range 12)", "'(1 1 2 2 1)", "'(3 1 2)", '(list "b" "a" "b")', "(list 1 (list 2 (list 3)))"]
            )
        return f"(list {self.some(maker)})".replace(" )", ")")

    def pairs(self, depth: int) -> str:
        keys = self.random.sample(KEYS, self.random.choice([0, 1, 2, 2, 3]))
        return " ".join(f"{key} {self.anything(depth - 1)}" for key in keys)

    def map(self, depth: int) -> str:
        if self.random.random() < 0.15:
            return f"(hashmap/new {self.pairs(depth)})".replace(" )", ")")
        return f"{{{self.pairs(depth)}}}".replace("'s", "s")

    def bytes(self) -> str:
        return self.pick(
            ["#u8()", "#u8(1 2 3)", "#u8(104 105)", "#u8(255 254)", "#u8(195 169)", "#u8(49 50)", "#u8(0)"]
        )

    def mutable(self) -> str:
        pushes = "".join(f" (mutable-array/push! v {self.anything(1)})" for _ in range(self.random.randrange(4)))
        return f"(let ((v (mutable-array/new))){pushes} v)"

    def stream(self) -> str:
        return self.pick(
            ["(stream/byte-buffer)", f"(stream/from-string {self.pick(TEXTS)})", f"(stream/from-bytes {self.bytes()})"]
        )

    def anything(self, depth: int) -> str:
        """A value of any type; depth: levels of collections."""
        chance = self.random.random()
        if chance < 0.35 or depth <= 0:
            return self.pick(["nil", "#t", "#f", *KEYS, "2.5", "ZERO", "1/2", "-1", '"é"', "'()", "[]", "100"])
        if chance < 0.45:
            return self.number()
        if chance < 0.55:
            return self.pick(TEXTS)
        if chance < 0.6:
            return self.pick([*ONES[:3], "car", "+", *CHARS])
        if chance < 0.65:
            return self.bytes()
        if chance < 0.75:
            return self.map(depth - 1)
        return self.items(lambda: self.anything(depth - 1))


# Ways of calling: (name, argument texts) → program


def directly(name: str, arguments: list[str]) -> str:
    return f"({' '.join([name, *arguments])})"


def as_value(name: str, arguments: list[str]) -> str:
    return f"(let ((g {name})) {directly('g', arguments)})"


def through_apply(name: str, arguments: list[str]) -> str:
    return f"(apply {name} {directly('list', arguments)})"


def through_map(name: str, arguments: list[str]) -> str:
    return directly("map", [name, *(f"(list {argument})" for argument in arguments)])


def through_foldl(name: str, arguments: list[str]) -> str:
    if len(arguments) != 2:
        return f"((fn (f) {directly('f', arguments)}) {name})"
    return f"(foldl {name} {arguments[0]} (list {arguments[1]}))"


def caught(way: Callable[[str, list[str]], str]) -> Callable[[str, list[str]], str]:
    return lambda name, arguments: f"(try {way(name, arguments)} (catch e e))"


def in_function(name: str, arguments: list[str]) -> str:
    if not arguments:
        return directly(name, arguments)
    body = directly(name, ["x", *arguments[1:]])
    return f"(define (h x)\n  (list 1 (str {body})))\n(try (h {arguments[0]}) (catch e e))"


def in_lambda(name: str, arguments: list[str]) -> str:
    if not arguments:
        return directly(name, arguments)
    return f"(try (map (fn (x) {directly(name, [*arguments[:-1], 'x'])}) (list {arguments[-1]})) (catch e e))"


def many_rounds(name: str, arguments: list[str]) -> str:
    """An empty list in place of the last argument: what is checked before the first round?"""
    return directly(name, [*arguments[:-1], "'()"])


WAYS = (
    directly, directly, as_value, through_apply, through_map, through_foldl, many_rounds, in_function, in_lambda,
    caught(directly), caught(through_map), caught(through_apply),
)  # fmt: skip


def catalogue() -> dict[str, str]:
    """Name → the arguments it wants: "a" for each of a builtin that only the reference's lists know."""
    rows = {name: wanted for names, wanted in WANTED.items() for name in names.split()}
    for file in sorted(REFERENCE.glob("builtins-*.tsv")):
        for line in file.read_text().splitlines():
            name, *columns = line.split("\t")
            entry = INDEX.get(name)
            if columns[-1] != "yes" or entry is None or name in SKIPPED or name.startswith(SKIPPED_FAMILIES):
                continue
            low, high = entry[2], entry[3]
            more = "a*" if high < 0 else "?" + "a" * (high - low) if high > low else ""
            rows.setdefault(name, "a" * low + more)
    return rows


def main() -> None:
    arguments = sys.argv[1:]
    wrong = arguments[0] == "--wrong"
    seed, count, *only = arguments[wrong:]
    calls = Calls(int(seed))
    rows = [(name, wanted) for name, wanted in catalogue().items() if not only or name in only]
    for number in range(int(count)):
        name, wanted = rows[number % len(rows)] if only or wrong else calls.random.choice(rows)
        source = calls.wrong_call(name, wanted) if wrong else calls.call(name, wanted)
        print(json.dumps({"id": f"call/{number}", "src": source}, ensure_ascii=False))


if __name__ == "__main__":
    main()
