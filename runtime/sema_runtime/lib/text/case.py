"""Case of strings: upper and lower, naming styles (snake, camel, ...), Unicode normal forms."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.lib.text.strings import split_words
from sema_runtime.support.text_arguments import named_strings, strings
from sema_runtime.values.atoms import Keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@builtin("string/upper", "string-upcase", "upper", "upper-case", type="str -> str", pure=True, total=True)
def string_upper(text: Any) -> str:
    """Converts a string to upper case (uppercase). The result may be longer.

    (string/upper "Straße") => "STRASSE"
    """
    if isinstance(text, str):
        return text.upper()
    named_strings("string/upper", text)


@builtin("string/lower", "string-downcase", "lower", "lower-case", type="str -> str", pure=True, total=True)
def string_lower(text: Any) -> str:
    """Converts a string to lower case (lowercase).

    (string/lower "ÀB") => "àb"
    """
    if isinstance(text, str):
        return text.lower()
    named_strings("string/lower", text)


@builtin("string/capitalize", "capitalize", type="str -> str", pure=True, total=True)
def string_capitalize(text: Any) -> str:
    """Converts the first character of a string to upper case and the others to lower case.

    (string/capitalize "hELLO world") => "Hello world"
    """
    if not isinstance(text, str):
        strings(text)
    return text.capitalize() if text.isascii() else _capitalized(text)


def _capitalized(text: str) -> str:
    # letter by letter: a capital sigma at the end doesn't become a final one
    rest = text[1:].lower() if text.isascii() else "".join([character.lower() for character in text[1:]])
    return text[:1].upper() + rest


@builtin("string/title-case", type="str -> str", pure=True, total=True)
def string_title_case(text: Any) -> str:
    """Capitalizes the words of a string, which white space separates, and joins them with single spaces.

    (string/title-case "hello  wORLD") => "Hello World"
    """
    strings(text)
    return " ".join(map(_capitalized, split_words(text)))


@builtin("string/foldcase", type="str -> str", pure=True, total=True)
def string_foldcase(text: Any) -> str:
    """The case-folded form of a string, for comparison ignoring case.

    (string/foldcase "Straße") => "strasse"
    """
    strings(text)
    folded: str = text.casefold()
    return folded


@builtin("string-ci=?", type="str, str -> bool", pure=True, total=True)
def is_string_ci_eq(first: Any, second: Any) -> bool:
    """Whether two strings are equal ignoring case.

    (string-ci=? "Straße" "STRASSE") => #t
    """
    strings(first, second)
    return bool(first.casefold() == second.casefold())


@builtin("string/normalize", type="str, str|keyword -> str", pure=True)
def string_normalize(text: Any, form: Any) -> str:
    """Converts a string to a Unicode normal form: :nfc, :nfd, :nfkc or :nfkd.

    (string/length (string/normalize "é" :nfd)) => 2
    (string/normalize "ﬁ" :nfkc) => "fi"
    """
    from unicodedata import normalize

    strings(text)
    if not isinstance(form, (str, Keyword)):
        type_error("string or keyword", form)
    name = form.name if isinstance(form, Keyword) else form
    upper: Any = name.upper()
    if upper not in ("NFC", "NFD", "NFKC", "NFKD"):
        raise SemaError(f'string/normalize: unknown form "{name}"')
    return normalize(upper, text)


def words_of(text: str) -> list[str]:
    """The words of an identifier or a phrase: separated by `_ - .` and space, or by a change of case."""
    words = []
    for piece in text.replace("_", " ").replace("-", " ").replace(".", " ").split(" "):
        if piece.islower():  # no character of it is upper case
            words.append(piece)
            continue
        start = 0
        for position in range(1, len(piece)):
            if piece[position].isupper():
                after = piece[position + 1 : position + 2]
                if not piece[position - 1].isupper() or after.islower():
                    words.append(piece[start:position])
                    start = position
        if piece:
            words.append(piece[start:])
    return words


def _lower_words(text: Any) -> list[str]:
    strings(text)
    return [word.lower() for word in words_of(text)]


def _initial_upper(word: str) -> str:
    return word[:1].upper() + word[1:].lower()  # other than in `_capitalized`, a sigma at the end becomes a final one


@builtin("string/words", type="str -> flat str fresh", pure=True, total=True)
def string_words(text: Any) -> List:
    """Splits an identifier or phrase into words: at white space, `_`, `-`, `.` and where lower case turns to upper
    case.

    (string/words "parseHTTP_header") => ("parse" "HTTP" "header")
    """
    strings(text)
    return List(words_of(text))


@builtin("string/snake-case", type="str -> str", pure=True, total=True)
def string_snake_case(text: Any) -> str:
    """The words of an identifier or phrase in lower case, joined by `_`: snake_case.

    (string/snake-case "parseJSON2Text") => "parse_json2_text"
    """
    return "_".join(_lower_words(text))


@builtin("string/kebab-case", type="str -> str", pure=True, total=True)
def string_kebab_case(text: Any) -> str:
    """The words of an identifier or phrase in lower case, joined by `-`: kebab-case.

    (string/kebab-case "userFirstName") => "user-first-name"
    """
    return "-".join(_lower_words(text))


@builtin("string/pascal-case", type="str -> str", pure=True, total=True)
def string_pascal_case(text: Any) -> str:
    """The words of an identifier or phrase capitalized and joined: PascalCase.

    (string/pascal-case "user_first-name") => "UserFirstName"
    """
    strings(text)
    return "".join(map(_initial_upper, words_of(text)))


@builtin("string/camel-case", type="str -> str", pure=True, total=True)
def string_camel_case(text: Any) -> str:
    """The words of an identifier or phrase joined, all but the first one capitalized: camelCase.

    (string/camel-case "user first_name") => "userFirstName"
    """
    strings(text)
    words = words_of(text)
    return "".join([*(word.lower() for word in words[:1]), *map(_initial_upper, words[1:])])


@builtin("string/headline", type="str -> str", pure=True, total=True)
def string_headline(text: Any) -> str:
    """The words of an identifier or phrase capitalized and joined by spaces.

    (string/headline "user_name") => "User Name"
    """
    strings(text)
    return " ".join(map(_initial_upper, words_of(text)))
