"""`sema doc`: documentation of one name, full-text search, search by name, the guide."""

from __future__ import annotations

import math
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from sema_runtime.catalogue_index import INDEX
from sema_runtime.conditions.hints import foreign
from semac.docs.entries import FOLDER, Entry, all_entries, lookup
from semac.docs.examples import split_examples
from semac.docs.special_forms import FORMS, VALUES

USAGE = "Usage: sema doc [--pager | --no-pager] SYMBOL | show SYMBOL | search QUERY... [-n N] | apropos PATTERN"
HELP = f"""{USAGE}
       sema doc guide

  Show or search the documentation of functions, special forms and macros.

  SYMBOL         One entry: arguments, description, examples.
  search QUERY   The entries that match some words best; -n N of them.
  apropos PART   The names that contain a text.
  guide          The language on one page, for people and coding agents.

  --pager and --no-pager: with or without `less`. Status: 0, 1 not found, 2 wrong usage."""
GUIDE = "guide"
WEIGHTS = (("name", 4), ("params", 1), ("summary", 2), ("body", 1))  # how often a word of each part counts
VOWEL = re.compile("[aeiouy]")
DEFAULT_ROWS, MOST_ROWS, MOST_NAMES = 5, 25, 50
NAME_WIDTH = 28
WORD = re.compile(r"[a-z0-9]+")
FILLERS = frozenset(
    WORD.findall(
        "a an and are as at be by do for from get has have how i if in into is it its my no not of on one or so "
        "that the their them then there this to was what when which with without you"
    )
)


def main(args: Sequence[str]) -> int:
    """Runs `sema doc ARGS`; returns the exit status: 0, 1 (not found), 2 (wrong usage)."""
    words = [arg for arg in args if arg not in ("--pager", "--no-pager")]
    if words[:1] in (["--help"], ["-h"]):
        print(HELP)
        return 0
    try:
        command, limit, words = _parsed(words)
    except ValueError as error:
        print(f"Error: {error}\n{USAGE}", file=sys.stderr)
        return 2
    if command == "search":
        text = search(" ".join(words), limit)
    elif command == "apropos":
        text = apropos(words[0])
    elif words[0] == GUIDE:
        text = guide()
    else:
        entry = lookup(words[0])
        if entry is None:
            print(f"Error: documentation not found: {words[0]}", file=sys.stderr)
            advice = foreign(words[0]) or ", ".join(related(words[0]))
            if advice:
                print(f"  related: {advice}", file=sys.stderr)
            return 1
        text = entry.text()
    show_text(text, "--pager" if "--pager" in args else "--no-pager" if "--no-pager" in args else "")
    return 0


def _parsed(words: list[str]) -> tuple[str, int, list[str]]:
    """(command, rows, arguments). Raises ValueError for wrong usage."""
    if not words:
        raise ValueError("a name is required")
    command = words[0] if words[0] in ("show", "search", "apropos") and len(words) > 1 else "show"
    rest = words[1:] if words[0] == command and len(words) > 1 else words
    limit = DEFAULT_ROWS
    if command == "search":
        if "-n" in rest:
            at = rest.index("-n")
            if at + 1 >= len(rest) or not rest[at + 1].isdecimal():
                raise ValueError("-n requires a number")
            limit = int(rest[at + 1]) or DEFAULT_ROWS
            rest = rest[:at] + rest[at + 2 :]
    elif len(rest) > 1:
        raise ValueError(f"unexpected argument '{rest[1]}'")
    if not rest:
        raise ValueError("a query is required")
    return command, min(limit, MOST_ROWS), rest


def guide() -> str:
    """The language on one page."""
    with open(os.path.join(FOLDER, "guide.md"), encoding="utf-8") as file:
        return file.read().rstrip("\n")


def related(name: str) -> list[str]:
    """Up to three documented names for one that isn't: the one that is spelled almost so, those that share words."""
    from difflib import get_close_matches

    words = _stem_set(name)
    near = get_close_matches(name, documented_names(), 1, 0.85)
    sharing = [entry.name for entry in ranked(" ".join(words)) if words & _stem_set(entry.name)]
    return list(dict.fromkeys([*near, *sharing]))[:3]


def search(query: str, limit: int = DEFAULT_ROWS) -> str:
    """The rows of the best matches for some words, and their number."""
    rows = ranked(query)[:limit]
    if not rows:
        return f'(no documentation matches for "{query}")'
    width = min(NAME_WIDTH, max(len(entry.name) for entry in rows))
    lines = [f"  {entry.name:<{width}}  [{entry.module}]  {entry.summary}".rstrip() for entry in rows]
    return "\n".join([*lines, f"  ({len(rows)} match{'' if len(rows) == 1 else 'es'})"])


def ranked(query: str) -> list[Entry]:
    """All entries that hold a word of the query, by BM25 over names, parameters, summary and body, best first.

    Entries that lack some of the words come later, those whose whole name is in the query earlier. Other names of an
    entry lead to it, but have no row of their own.
    """
    documents = _documents()
    average = sum(words.total() for _, words in documents) / len(documents)
    asked = _stem_set(query)
    terms = dict.fromkeys(_stems(query, FILLERS) or _stems(query))
    rarity = {term: _rarity(sum(term in words for _, words in documents), len(documents)) for term in terms}
    scores = []
    for entry, words in documents:
        size = 1.2 * (0.25 + 0.75 * words.total() / average)
        matching = [term for term in terms if words[term]]
        score = sum(rarity[term] * words[term] * 2.2 / (words[term] + size) for term in matching) * len(matching)
        names = (entry.name, *entry.aliases)
        if any(words_of_name and words_of_name <= asked for words_of_name in map(_stem_set, names)):
            score *= 1.5
        if query.strip() in names:
            score += 1000
        if score:
            scores.append((-score, entry.name, entry))
    return [entry for *_, entry in sorted(scores, key=lambda row: row[:2])]


def _rarity(having: int, total: int) -> float:
    return math.log(1 + (total - having + 0.5) / (having + 0.5))


@lru_cache(1)
def _documents() -> list[tuple[Entry, Counter[str]]]:
    """All entries, aliases left out, with the words that a search looks for."""
    return [(entry, _words(entry)) for entry in all_entries().values() if not entry.alias_of]


def _words(entry: Entry) -> Counter[str]:
    parts = {
        "name": " ".join((entry.name, *entry.aliases)),
        "params": " ".join(signature.partition(" ")[2] for signature in entry.signatures),
        "summary": entry.summary,
        "body": split_examples(entry.body)[0],
    }
    words: Counter[str] = Counter()
    for part, weight in WEIGHTS:
        stems = _stems(parts[part])
        for stem in dict.fromkeys(stems) if part == "name" else stems:
            words[stem] += weight
    return words


def _stems(text: str, without: frozenset[str] = frozenset()) -> list[str]:
    return [_stem(word) for word in WORD.findall(text.lower()) if word not in without]


def _stem_set(text: str) -> set[str]:
    return set(_stems(text))


@lru_cache(None)
def _stem(word: str) -> str:
    """What the forms of an English word have in common: file for files, pars for parse, parses, parsed and parsing."""
    for ending, instead in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        start = word.removesuffix(ending)
        if start != word and len(start) > 2 and VOWEL.search(start) and not word.endswith("ss"):
            doubled = ending in ("ing", "ed") and start[-1] == start[-2] and start[-1] not in "lsz"
            word = (start[:-1] if doubled else start) + instead
            break
    return word.removesuffix("e") if len(word) > 3 else word


def apropos(pattern: str) -> str:
    """Names that start with the pattern, then those that contain it; a similar name when there are few."""
    names = matching_names(pattern)
    if len(names) < 3:
        names += [name for name in [similar(pattern)] if name and name not in names]
    if not names:
        return f'(no matches for "{pattern}")'
    lines = []
    for name in names[:MOST_NAMES]:
        entry = lookup(name)
        lines.append(f"  {name}  {entry.summary if entry else ''}".rstrip())
    return "\n".join(lines)


def matching_names(pattern: str) -> list[str]:
    """Documented names for a pattern without regard to case: those it begins, then those it occurs in, each sorted."""
    wanted = pattern.lower()
    names = sorted(documented_names())
    first = [name for name in names if name.lower().startswith(wanted)]
    return first + [name for name in names if wanted in name.lower() and not name.lower().startswith(wanted)]


def documented_names() -> set[str]:
    """Every name that `sema doc` knows, found without reading the sources of the runtime."""
    from semac.docs.entries import prelude_entries

    return {name for name in (*INDEX, *FORMS, *VALUES, *prelude_entries()) if not name.startswith("__")}


def similar(name: str) -> str | None:
    """The documented name that is spelled most like name, if any is close."""
    from difflib import get_close_matches

    matches = get_close_matches(name, sorted(documented_names()), 1)
    return matches[0] if matches else None


def show_text(text: str, pager: str = "") -> None:
    """Prints the text, through `less` when asked to or when it is taller than the terminal."""
    import shutil

    tall = sys.stdout.isatty() and text.count("\n") + 1 >= shutil.get_terminal_size().lines
    if pager != "--no-pager" and (pager or tall) and shutil.which("less"):
        import subprocess

        subprocess.run(
            ["less", "-RFX"], input=text + "\n", text=True, env={**os.environ, "LESSCHARSET": "utf-8"}, check=False
        )
        return
    print(text)
