"""Word statistics of a generated text: splitting, cleaning, counting, ranking, bigrams."""

from collections import Counter, defaultdict
from itertools import pairwise

SENTENCE = (
    "The river runs, slowly past an old mill; nobody knows why. A miller's daughter "
    "sings of the sea (softly) and Nobody listens, but the stones do!"
)
VOCABULARY = SENTENCE.split()


def make_text(n):
    words = []
    seed = 17
    for _ in range(n):
        words.append(VOCABULARY[seed // 4096 % len(VOCABULARY)])
        seed = (seed * 1103515245 + 12345) % 2147483648
    return " ".join(reversed(words))


def clean(word):
    return "".join(c for c in word.lower() if c.isalpha() or c == "'")


def words_of(text):
    return [word for word in map(clean, text.split(" ")) if word]


def top(n, counts):
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:n]


def by_length(words):
    groups = defaultdict(set)
    for word in words:
        groups[len(word)].add(word)
    return {length: len(group) for length, group in groups.items()}


def report(entries):
    return " ".join(f"{word}={n}" for word, n in entries)


words = words_of(make_text(160000))
lengths = by_length(words)
bigrams = Counter(f"{a} {b}" for a, b in pairwise(words))
print(f"wordfreq: {report(top(4, Counter(words)))} | {report(top(2, bigrams))} | {lengths[3]} {lengths[8]}")
