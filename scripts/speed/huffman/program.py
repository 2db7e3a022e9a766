"""Huffman codes: a sorted list of trees, objects for leaves and branches, a dict from characters to codes."""

from bisect import insort_right
from collections import Counter
from dataclasses import dataclass
from operator import attrgetter


@dataclass(slots=True)
class Leaf:
    symbol: str
    weight: int


@dataclass(slots=True)
class Branch:
    left: "Leaf | Branch"
    right: "Leaf | Branch"
    weight: int


def insert(trees, tree):
    insort_right(trees, tree, key=attrgetter("weight"))


def build(trees):
    while len(trees) > 1:
        a, b, *trees = trees
        insert(trees, Branch(a, b, a.weight + b.weight))
    return trees[0]


def leaves(text):
    trees = []
    for c, n in sorted(Counter(text).items()):
        insert(trees, Leaf(c, n))
    return trees


def codes(tree, prefix=""):
    if isinstance(tree, Leaf):
        return {tree.symbol: prefix}
    return {**codes(tree.left, prefix + "0"), **codes(tree.right, prefix + "1")}


def encode(text, table):
    return "".join(table[c] for c in text)


def decode(bits, tree):
    out = []
    here = tree
    for bit in bits:
        here = here.left if bit == "0" else here.right
        if isinstance(here, Leaf):
            out.append(here.symbol)
            here = tree
    return "".join(out)


PHRASE = "the quick brown fox jumps over the lazy dog; pack my box with five dozen liquor jugs, said she. "
text = PHRASE * 6000
tree = build(leaves(text))
table = codes(tree)
bits = encode(text, table)
same = "#t" if decode(bits, tree) == text else "#f"
print(f"huffman: {len(bits)} {len(table)} {table['e']} {table['z']} {same} {tree.weight}")
