"""`sema doc`: names, search, apropos."""

from __future__ import annotations

import pytest

from sema_runtime.catalogue_index import INDEX
from sema_runtime.constants import CONSTANTS
from semac.analyze.analyzer import STREAMS, WORKFLOW_ARGS
from semac.docs import lookup as doc
from semac.docs.entries import all_entries, lookup
from semac.docs.special_forms import FORMS, VALUES


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    status = doc.main([*args, "--no-pager"])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_builtin(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "string/join")
    assert status == 0
    assert out.startswith("string/join : builtin\n\n    (string/join ")
    assert """(string/join '("a" "b") "-")  ; => "a-b\"""" in out


def test_alias_names_the_main_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "show", "str")
    assert out.startswith("str → string-append : builtin\n")


def test_special_form_and_macro(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "let")[1].startswith("let : special form\n")
    assert "(with-retry options thunk)" in run(capsys, "with-retry")[1]


def test_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "no-such") == (1, "", "Error: documentation not found: no-such\n")


@pytest.mark.parametrize(
    ("name", "related"),
    [
        ("group-by", "Sema has no 'group-by'; write (list/group-by f xs)"),
        ("list/unqiue", "list/unique, list, list?"),
        ("conj", "Sema uses 'cons' to prepend and 'append' to add to the end"),
    ],
)
def test_an_unknown_name_leads_to_others(capsys: pytest.CaptureFixture[str], name: str, related: str) -> None:
    assert run(capsys, name)[2] == f"Error: documentation not found: {name}\n  related: {related}\n"


def test_guide(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "guide")[1].startswith("# Sema on one page\n")
    assert "sema doc guide" in run(capsys, "--help")[1]


@pytest.mark.parametrize("args", [[], ["a", "b"], ["search", "x", "-n"]])
def test_wrong_usage(capsys: pytest.CaptureFixture[str], args: list[str]) -> None:
    status, out, err = run(capsys, *args)
    assert (status, out) == (2, "") and "Usage: sema doc" in err


def test_search_rows(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "search", "split", "string", "-n", "2")[1].splitlines()
    assert lines[0].split()[:2] in (["string/split", "[strings]"], ["string-split", "[strings]"])
    assert lines[-1] == "  (2 matches)"
    assert run(capsys, "search", "zzzz")[1] == '(no documentation matches for "zzzz")\n'


# what somebody types who doesn't know the name, and the names of which one must be among the first three
SEARCHES = [
    ("split a string", "string/split"),
    ("join strings with a separator", "string/join"),
    ("read a file line by line", "file/for-each-line file/read-lines file/fold-lines"),
    ("read a file", "file/read"),
    ("write a file", "file/write"),
    ("append to a file", "file/append"),
    ("list files in a directory", "file/list file/glob"),
    ("delete a file", "file/delete"),
    ("check if file exists", "file/exists?"),
    ("group list by key", "list/group-by"),
    ("retry", "retry with-retry"),
    ("retry a function that fails", "retry with-retry"),
    ("current time", "time/now time-ms"),
    ("format a date", "time/format"),
    ("parse a date", "time/parse"),
    ("parse json", "json/decode"),
    ("convert to json", "json/encode"),
    ("remove duplicates", "list/unique"),
    ("random number", "math/random math/random-int"),
    ("random element of a list", "list/pick"),
    ("shuffle a list", "list/shuffle"),
    ("sort a list", "sort"),
    ("sort by key", "sort-by"),
    ("reverse a list", "reverse"),
    ("sum of a list", "list/sum"),
    ("average", "list/avg"),
    ("length of a string", "string-length string/length length"),
    ("replace text in a string", "string/replace"),
    ("trim whitespace", "string/trim"),
    ("uppercase", "string/upper"),
    ("convert string to number", "string->number"),
    ("convert number to string", "number->string"),
    ("regex match", "regex/match regex/match?"),
    ("run a shell command", "shell"),
    ("environment variable", "env sys/set-env sys/env-all"),
    ("command line arguments", "sys/args"),
    ("sleep", "sleep async/sleep"),
    ("run tasks concurrently", "async/map async/spawn-all parallel async async/spawn"),
    ("timeout", "async/timeout async/with-timeout"),
    ("catch an error", "try"),
    ("throw error", "throw error"),
    ("nested map lookup", "get-in"),
    ("update nested map", "update-in assoc-in"),
    ("merge maps", "merge"),
    ("remove key from map", "dissoc"),
    ("keys of a map", "keys"),
    ("count occurrences", "frequencies"),
    ("flatten nested list", "flatten-deep flatten"),
    ("substring", "substring"),
    ("pad string with zeros", "string/pad-left"),
    ("round to two decimals", "math/round-to math/format-fixed"),
    ("print without newline", "display print"),
    ("read user input", "read-line read-stdin io/read-line"),
    ("parse csv", "csv/parse csv/parse-maps"),
    ("sha256 hash", "hash/sha256"),
    ("base64 encode", "base64/encode"),
    ("generate uuid", "uuid/v4"),
    ("first element", "first car list/find"),
    ("last element of a list", "last"),
    ("index of element", "list/index-of"),
    ("loop over numbers", "for-range dotimes do range"),
    ("define a function", "define fn defn defun lambda"),
    ("pattern matching", "match"),
    ("import python module", "py/import py/module"),
    ("ask the model", "llm/complete llm/chat llm/send conversation/say"),
    ("define a tool for an agent", "deftool defagent"),
    ("http request", "http/request http/get http/post"),
    ("start a web server", "http/serve http/router"),
    ("query a sqlite database", "db/query db/query-one db/open"),
    ("unzip archive", "zip/extract"),
    ("download url", "http/get http/request"),
    ("websocket", "ws/connect ws/listen ws/send ws/recv"),
    ("lowercase a string", "string/lower"),
    ("check string contains substring", "string/contains?"),
    ("string starts with prefix", "string/starts-with?"),
    ("filter a list", "filter list/reject"),
    ("map over list with index", "map-indexed enumerate"),
    ("zip two lists", "zip map/zip"),
    ("chunk list", "list/chunk"),
    ("square root", "sqrt"),
    ("absolute value", "abs"),
    ("is a number even", "even?"),
    ("largest number in list", "list/max max"),
    ("create directory", "file/mkdir"),
    ("current directory", "sys/cwd"),
    ("home directory", "sys/home-dir"),
    ("file extension", "path/ext path/extension"),
    ("join paths", "path/join"),
]


@pytest.mark.parametrize(("query", "wanted"), SEARCHES)
def test_search_finds(query: str, wanted: str) -> None:
    found = [name for entry in doc.ranked(query)[:3] for name in (entry.name, *entry.aliases)]
    assert set(wanted.split()) & set(found), found


def test_apropos_puts_prefixes_first(capsys: pytest.CaptureFixture[str]) -> None:
    names = [line.split()[0] for line in run(capsys, "apropos", "STRING/s")[1].splitlines()]
    prefixed = [name for name in names if name.startswith("string/s")]
    assert len(prefixed) > 2 and names[: len(prefixed)] == sorted(prefixed)


def test_apropos_suggests_a_similar_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "apropos", "strnig/joni")[1].startswith("  string/join  ")
    assert run(capsys, "apropos", "qqqqqq")[1] == '(no matches for "qqqqqq")\n'


def test_every_builtin_has_an_entry() -> None:
    assert {name for name in INDEX if not name.startswith("__")} <= set(all_entries())


def test_every_name_of_a_value_has_an_entry() -> None:
    assert {*CONSTANTS, *STREAMS, WORKFLOW_ARGS, "inf", "nan"} == set(VALUES)
    assert lookup("pi") is not None and "pi" in doc.documented_names()


def test_every_special_form_is_documented_with_its_shape() -> None:
    for name in FORMS:
        entry = lookup(name)
        assert entry is not None and entry.signatures and entry.summary, name
