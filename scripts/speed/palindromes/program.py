"""Palindromes: of numbers, of words, of sentences; the longest in a text; anagram groups."""

from collections import defaultdict


def is_palindrome(text):
    return text == text[::-1]


def letters(text):
    return "".join(c for c in text.lower() if c.isalpha())


def is_sentence(text):
    return is_palindrome(letters(text))


def expand(text, left, right):
    while left >= 0 and right < len(text) and text[left] == text[right]:
        left -= 1
        right += 1
    return left + 1, right


def longest_palindrome(text):
    best = (0, 0)
    for center in range(len(text)):
        for span in (expand(text, center, center), expand(text, center, center + 1)):
            if span[1] - span[0] > best[1] - best[0]:
                best = span
    return text[best[0] : best[1]]


def steps_to_palindrome(n):
    steps = 0
    while steps < 30 and not is_palindrome(str(n)):
        n += int(str(n)[::-1])
        steps += 1
    return steps


def signature(word):
    return "".join(sorted(word))


def dna(n):
    out = []
    seed = 5
    for _ in range(n):
        out.append("gattaca"[seed // 65536 % 7])
        seed = (seed * 69069 + 1) % 4294967296
    return "".join(reversed(out))


SENTENCES = ["A man, a plan, a canal: Panama!", "Was it a car or a cat I saw?", "Not a palindrome.", "Madam, I'm Adam"]
WORDS = ["listen", "silent", "enlist", "google", "elgoog", "abc", "cab", "tinsel", "bca", "inlets"]
numbers = [n for n in range(300000) if is_palindrome(str(n))]
steps = sum(steps_to_palindrome(n) for n in range(1, 60000))
groups = defaultdict(list)
for word in WORDS * 2000:
    groups[signature(word)].append(word)
sizes = " ".join(str(n) for n in sorted(map(len, groups.values())))
print(
    f"palindromes: {len(numbers)} {steps} {sum(map(is_sentence, SENTENCES))} {longest_palindrome(dna(60000))} ({sizes})"
)
