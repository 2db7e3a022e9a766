"""Ciphers over characters: Caesar, Vigenere, and breaking Caesar by letter frequencies."""

from collections import Counter
from itertools import cycle


def shift_char(c, n):
    if "a" <= c <= "z":
        return chr(97 + (ord(c) - 97 + n) % 26)
    if "A" <= c <= "Z":
        return chr(65 + (ord(c) - 65 + n) % 26)
    return c


def caesar(text, n):
    return "".join(shift_char(c, n) for c in text)


def vigenere(text, key, direction):
    shifts = cycle(ord(c) - 97 for c in key)
    return "".join(shift_char(c, direction * next(shifts)) if c.isalpha() else c for c in text)


def score(text):
    counts = Counter(text.lower())
    return sum(counts[c] for c in "etaoinshr")


def crack(text):
    return max(range(26), key=lambda n: score(caesar(text, -n)))


def checksum(text):
    acc = 7
    for c in text:
        acc = (31 * acc + ord(c)) % 1000000007
    return acc


def shown(flag):
    return "#t" if flag else "#f"


PLAIN = "It was the best of times, it was the worst of times; it was the age of wisdom, it was the age of foolishness."
text = (PLAIN + " ") * 380
secret = caesar(text, 11)
hidden = vigenere(text, "lemonade", 1)
print(
    f"caesar: {crack(secret)} {shown(text == caesar(secret, -11))} {checksum(hidden)} "
    f"{shown(text == vigenere(hidden, 'lemonade', -1))} {hidden[:24]}"
)
