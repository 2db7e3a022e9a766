"""Texts in natural language: chunks, sentences, excerpts, white space; documents (a text with metadata)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sema_runtime.catalogue import builtin
from sema_runtime.lib.text.strings import WHITESPACE, split_words
from sema_runtime.support.text_arguments import is_int, strings
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import MISSING, Map

SIZE, OVERLAP, RADIUS, OMISSION = map(keyword, ("size", "overlap", "radius", "omission"))
TEXT, METADATA, CHUNK_INDEX, TOTAL_CHUNKS = map(keyword, ("text", "metadata", "chunk-index", "total-chunks"))
SEPARATORS = ("\n\n", "\n", ". ", " ")
ENTITIES = (
    ("&amp;", "&"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", '"'),
    ("&#39;", "'"),
    ("&apos;", "'"),
    ("&nbsp;", " "),
)


def _option(options: Any, key: Keyword, default: Any) -> Any:
    """The value of an option if it has the default's type, or else the default."""
    value = options.lookup(key, default) if isinstance(options, Map) else default
    return value if type(value) is type(default) else default


@builtin("text/chunk", type="str, any? -> flat str fresh", pure=True)
def text_chunk(text: Any, options: Any = None) -> List:
    """Splits a text into pieces of at most :size characters (default 1000), at paragraphs, lines, sentences or words
    where possible.

    Each piece but the first begins with the last :overlap characters (default 200) of the one before.

    (text/chunk "hello world" {:size 5 :overlap 0}) => ("hello" "world")
    (text/chunk "alpha beta gamma delta" {:size 12 :overlap 4}) => ("alpha beta" "betagamma delta")
    """
    strings(text)
    return List(_chunked(text, options) if text else [])


def _chunked(text: str, options: Any) -> list[str]:
    size = max(1, _option(options, SIZE, 1000))
    overlap = max(0, _option(options, OVERLAP, 200))
    return _chunks(text, size, overlap if overlap < size else 0, SEPARATORS)


def _chunks(text: str, size: int, overlap: int, separators: tuple[str, ...]) -> list[str]:
    if len(text) <= size:
        return [text]
    level = next((index for index, separator in enumerate(separators) if separator in text), None)
    if level is None:
        return [text[start : start + size] for start in range(0, len(text), size - overlap)]
    separator = separators[level]
    chunks: list[str] = []
    current = ""
    for part in text.split(separator):
        joined = f"{current}{separator}{part}" if current else part
        if len(joined.encode()) <= size:  # the reference counts bytes here, characters elsewhere
            current = joined
            continue
        if current:
            chunks.append(current)
        current = part
        if len(part) > size:
            chunks += _chunks(part, size, overlap, separators[level + 1 :])
            current = ""
    if current:
        chunks.append(current)
    if not overlap:
        return chunks
    return chunks[:1] + [before[-overlap:] + after for before, after in pairwise(chunks)]


@builtin("text/chunk-by-separator", type="str, str -> flat str fresh", total=True, pure=True)
def text_chunk_by_separator(text: Any, separator: Any) -> List:
    """Splits a text at a separator, without the empty pieces.

    (text/chunk-by-separator "a--b----c" "--") => ("a" "b" "c")
    """
    strings(text, separator)
    pieces = text.split(separator) if separator else text
    return List([piece for piece in pieces if piece])


@builtin("text/split-sentences", type="str -> flat str fresh", total=True, pure=True)
def text_split_sentences(text: Any) -> List:
    """Splits a text into sentences, which end in `.`, `!` or `?` before white space.

    (text/split-sentences "Yes. No! Version 1.2?") => ("Yes." "No!" "Version 1.2?")
    """
    from re import split

    strings(text)
    pieces = split(rf"(?<=[.!?])[{WHITESPACE}]+", text.strip(WHITESPACE))
    return List([piece for piece in pieces if piece])


@builtin("text/clean-whitespace", type="str -> str", total=True, pure=True)
def text_clean_whitespace(text: Any) -> str:
    """Collapses white space: returns the words of a text, separated by single spaces.

    (text/clean-whitespace " a\\n\\n b  c ") => "a b c"
    """
    strings(text)
    return " ".join(split_words(text))


@builtin("text/word-count", type="str -> nat", total=True, pure=True)
def text_word_count(text: Any) -> int:
    """The number of words of a text, which white space separates.

    (text/word-count "one two  three") => 3
    """
    strings(text)
    return len(split_words(text))


@builtin("text/normalize-newlines", type="str -> str", total=True, pure=True)
def text_normalize_newlines(text: Any) -> str:
    """Replaces CRLF and CR line ends by LF.

    (text/normalize-newlines "a\\r\\nb\\rc") => "a\\nb\\nc"
    """
    strings(text)
    return str(text.replace("\r\n", "\n").replace("\r", "\n"))


@builtin("text/strip-html", type="str -> str", total=True, pure=True)
def text_strip_html(text: Any) -> str:
    """Removes the tags of an HTML text and decodes the most common entities.

    (text/strip-html "<p>a &amp; <b>b</b></p>") => "a & b"
    """
    from re import sub

    strings(text)
    plain = sub(r"<[^>]*(?:>|\Z)|>", "", text)
    for entity, meaning in ENTITIES:
        plain = plain.replace(entity, meaning)
    return plain


@builtin("text/truncate", type="str, int, any? -> str", pure=True)
def text_truncate(text: Any, length: Any, suffix: Any = "...") -> str:
    """Cuts a text to a number of characters, the suffix (default "...") included; a negative length cuts nothing.

    (text/truncate "hello world" 8) => "hello..."
    (text/truncate "hello world" 6 "…") => "hello…"
    """
    strings(text)
    if not is_int(length):
        type_error("integer", length)
    if not isinstance(suffix, str):
        suffix = "..."
    if length < 0 or len(text) <= length:
        return str(text)
    return f"{text[: max(0, length - len(suffix))]}{suffix}"


@builtin("text/trim-indent", type="str -> str", total=True, pure=True)
def text_trim_indent(text: Any) -> str:
    """Removes the indentation that all lines of a text share; blank lines are ignored.

    (text/trim-indent "  a\\n    b\\n\\n  c") => "a\\n  b\\n\\nc"
    """
    strings(text)
    lines = text.split("\n")
    filled = [line for line in lines if line.strip(WHITESPACE)]
    if not filled:
        return "\n".join(lines)
    indent = min(len(line) - len(line.lstrip(WHITESPACE)) for line in filled)
    return "\n".join([line[indent:] if line.strip(WHITESPACE) else line[indent:].strip(" \t") for line in lines])


@builtin("text/excerpt", type="str, str, any? -> str|nil", total=True, pure=True)
def text_excerpt(text: Any, query: Any, options: Any = None) -> str | None:
    """The text around the first occurrence of query, ignoring case: :radius characters (default 100) on both sides.

    :omission (default "...") marks omitted text. Returns nil when there is no occurrence.

    (text/excerpt "the quick brown fox" "Brown" {:radius 4}) => "...ick brown fox"
    (text/excerpt "the quick brown fox" "cat") => nil
    """
    strings(text, query)
    radius = max(0, _option(options, RADIUS, 100))
    omission = _option(options, OMISSION, "...")
    at = text.lower().find(query.lower())
    if at < 0:
        return None
    start, end = max(0, at - radius), at + len(query) + radius
    return f"{omission if start else ''}{text[start:end]}{omission if end < len(text) else ''}"


# Documents


def _document(value: Any, key: Keyword) -> Any:
    if type(value) is not Map:
        type_error("map (document)", value)
    part = value.lookup(key, MISSING)
    if part is MISSING:
        raise SemaError(f"not a document: missing :{key.name}")
    return part


@builtin("document/create", type="str, keep map -> map keyword (str|map) fresh", pure=True)
def document_create(text: Any, metadata: Any) -> Map:
    """A document: a map of :text and :metadata.

    (document/create "text" {:source "a.txt"}) => {:metadata {:source "a.txt"} :text "text"}
    """
    strings(text)
    if type(metadata) is not Map:
        type_error("map", metadata)
    return Map({METADATA: metadata, TEXT: text})


@builtin("document/text", type="map any a -> a", pure=True)
def document_text(document: Any) -> Any:
    """The text of a document.

    (document/text (document/create "text" {})) => "text"
    """
    return _document(document, TEXT)


@builtin("document/metadata", type="map any a -> a", pure=True)
def document_metadata(document: Any) -> Any:
    """The metadata of a document.

    (document/metadata (document/create "text" {:source "a.txt"})) => {:source "a.txt"}
    """
    return _document(document, METADATA)


@builtin("document/chunk", type="keep map, any? -> flat (map keyword any) fresh", pure=True)
def document_chunk(document: Any, options: Any = None) -> List:
    """Splits a document into chunks, which are documents; their metadata also has :chunk-index and :total-chunks. The
    options are those of text/chunk.

    (map document/text (document/chunk (document/create "ab cd" {:id 1}) {:size 2 :overlap 0})) => ("ab" "cd")
    (map document/metadata (document/chunk (document/create "ab" {:id 1}))) => ({:chunk-index 0 :id 1 :total-chunks 1})
    """
    text = _document(document, TEXT)
    metadata = document.lookup(METADATA)
    if not isinstance(metadata, Map):
        metadata = Map()
    chunks = _chunked(text, options)
    total = len(chunks)
    return List(
        [
            Map({METADATA: metadata.assoc(CHUNK_INDEX, index).assoc(TOTAL_CHUNKS, total), TEXT: chunk})
            for index, chunk in enumerate(chunks)
        ]
    )
