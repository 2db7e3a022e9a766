"""The tokenizer of BERT: splits words from punctuation, then each word into the longest known pieces."""

from __future__ import annotations

from unicodedata import category, normalize

LONGEST_WORD = 100  # characters; a longer one is unknown as a whole
IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)  # each character is a word
NOT_PUNCTUATION = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


class Tokenizer:
    """vocabulary: the pieces in the order of their numbers. lower: lower case without accents."""

    def __init__(self, vocabulary: list[str], lower: bool = True) -> None:
        self.numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self.lower = lower
        self.first, self.last, self.unknown = (self.numbers[name] for name in ("[CLS]", "[SEP]", "[UNK]"))

    def encode(self, text: str, longest: int) -> list[int]:
        """Returns the numbers of a text's pieces between its start and end marks, at most longest of them."""
        tokens = [self.first]
        for word in self._words(text):
            tokens += self._pieces(word)
            if len(tokens) >= longest:
                break
        return [*tokens[: longest - 1], self.last]

    def _words(self, text: str) -> list[str]:
        if self.lower:
            text = "".join(character for character in normalize("NFD", text.lower()) if category(character) != "Mn")
        return "".join(map(_spaced, text)).split()

    def _pieces(self, word: str) -> list[int]:
        """Returns the longest known pieces from the left; all but the first begin with ##."""
        if len(word) > LONGEST_WORD:
            return [self.unknown]
        pieces, start = [], 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self.numbers.get(mark + word[start:end])
                if number is not None:
                    break
            else:
                return [self.unknown]
            pieces.append(number)
            start = end
        return pieces


def _spaced(character: str) -> str:
    """Returns a character with spaces where words end."""
    if character in NOT_PUNCTUATION:
        return character
    if character.isspace():
        return " "
    kind = category(character)
    if kind[0] == "C" or character == "\ufffd":
        return ""
    if kind[0] == "P" or "!" <= character <= "~":
        return f" {character} "
    point = ord(character)
    return f" {character} " if any(low <= point <= high for low, high in IDEOGRAPHS) else character
