"""A trie of nodes with dicts keyed by characters: insertion, lookup, words with a prefix, longest match."""


class Node:
    __slots__ = ("children", "end")

    def __init__(self):
        self.end = False
        self.children = {}


class Trie:
    def __init__(self):
        self.root = Node()

    def add(self, word):
        node = self.root
        for c in word:
            if c not in node.children:
                node.children[c] = Node()
            node = node.children[c]
        node.end = True

    def find(self, prefix):
        node = self.root
        for c in prefix:
            node = node.children.get(c)
            if node is None:
                return None
        return node

    def __contains__(self, word):
        node = self.find(word)
        return node is not None and node.end

    def complete(self, prefix):
        node = self.find(prefix)
        return [] if node is None else list(words_below(node, prefix))

    def longest_match(self, text):
        node = self.root
        best = 0
        for depth, c in enumerate(text, 1):
            node = node.children.get(c)
            if node is None:
                break
            if node.end:
                best = depth
        return best


def words_below(node, prefix):
    if node.end:
        yield prefix
    for c, child in sorted(node.children.items()):
        yield from words_below(child, prefix + c)


def size(node):
    return 1 + sum(size(child) for child in node.children.values())


SYLLABLES = ["ka", "to", "mi", "ra", "ne", "shi", "lo"]


def syllable(i):
    return SYLLABLES[i % 7]


def word(i):
    return syllable(i) + syllable(i // 7) + (syllable(i // 49) if i % 2 == 0 else "")


trie = Trie()
for i in range(65000):
    trie.add(word(i))
hits = sum(word(i) + ("x" if i % 3 == 0 else "") in trie for i in range(140000))
matches = sum(trie.longest_match(word(i * 11) + word(i)) for i in range(65000))
print(f"trie: {size(trie.root)} {hits} {len(trie.complete('ka'))} {trie.complete('mish')[-1]} {matches}")
