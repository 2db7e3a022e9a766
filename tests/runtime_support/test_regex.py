"""Regular expressions in the reference's syntax."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest
from outcomes import outcome

from sema_runtime import capabilities
from sema_runtime.lib.text import regex
from sema_runtime.support.regex import linear as regex_linear
from sema_runtime.support.regex.compiled import Compiled
from sema_runtime.support.regex.linear import Linear

PATTERNS = [
    ('(regex/match #"(a)(b)?(c)?" "a")', '{:end 1 :groups ("a" nil nil) :match "a" :start 0}'),
    ('(regex/match #"" "abc")', '{:end 0 :groups () :match "" :start 0}'),
    ('(regex/match #"é" "caféé")', '{:end 5 :groups () :match "é" :start 3}'),
    ('(regex/match #"(?i)HELLO" "say hello")', '{:end 9 :groups () :match "hello" :start 4}'),
    ('(regex/match #"(?s)a.b" "a\\nb")', '{:end 3 :groups () :match "a\\nb" :start 0}'),
    ('(regex/match #"\\bfoo\\b" "a foo b")', '{:end 5 :groups () :match "foo" :start 2}'),
    ('(regex/match #"\\Afoo" "foo")', '{:end 3 :groups () :match "foo" :start 0}'),
    ('(regex/match #"a{2,3}" "aaaa")', '{:end 3 :groups () :match "aaa" :start 0}'),
    ('(regex/match #"a{2}" "aaaa")', '{:end 2 :groups () :match "aa" :start 0}'),
    ('(regex/match #"<.+?>" "<a><b>")', '{:end 3 :groups () :match "<a>" :start 0}'),
    ('(regex/match #"(?U)<.+>" "<a><b>")', '{:end 3 :groups () :match "<a>" :start 0}'),
    ('(regex/match #"[[:alpha:]]+" "12abc")', '{:end 5 :groups () :match "abc" :start 2}'),
    ('(regex/match #"\\p{L}+" "12éλ日")', '{:end 9 :groups () :match "éλ日" :start 2}'),
    ('(regex/match #"\\p{Greek}+" "abc λμν")', '{:end 10 :groups () :match "λμν" :start 4}'),
    ('(regex/match #"\\P{L}+" "ab12")', '{:end 4 :groups () :match "12" :start 2}'),
    ('(regex/match #"[\\w&&[^aeiou]]+" "aeixyz")', '{:end 6 :groups () :match "xyz" :start 3}'),
    ('(regex/match #"\\t\\n\\r" "\\t\\n\\r")', '{:end 3 :groups () :match "\\t\\n\\r" :start 0}'),
    ('(regex/match #"[]a]" "]")', '{:end 1 :groups () :match "]" :start 0}'),
    ('(regex/match? #"(?!a)b" "b")', "! invalid regex pattern: regex parse error:"),
    ('(regex/match? #"(a)\\1" "aa")', "! invalid regex pattern: regex parse error:"),
    ('(regex/match? #"(?>a)" "a")', "! invalid regex pattern: regex parse error:"),
    ('(regex/match? #")" "a")', "! invalid regex pattern: regex parse error:"),
    ('(regex/match? #"[z-a]" "a")', "! invalid regex pattern: regex parse error:"),
    ('(regex/match? #"+a" "a")', "! invalid regex pattern: regex parse error:"),
    ('(regex/match? #"\\q" "q")', "! invalid regex pattern: regex parse error:"),
    ('(regex/match? #"\\_" "_")', "#t"),
    ('(regex/match? #"(?P<n>a)(?P<n>b)" "ab")', "! invalid regex pattern: regex parse error:"),
    ('(regex/match? "a" 5)', "! expected string, got int"),
    ('(regex/match? "a" "b" "c")', "! regex/match? expects 2 arguments, got 3"),
    ('(regex/match "a")', "! regex/match expects 2 arguments, got 1"),
    ('(regex/find-all #"" "abc")', '("" "" "" "")'),
    ('(regex/find-all #"(\\w)(\\d)" "a1 b2")', '("a1" "b2")'),
    ('(regex/find-all #"\\w+" "héllo wörld")', '("héllo" "wörld")'),
    ('(regex/find-all #"(?m)^.*$" "a\\nb\\n\\nc")', '("a" "b" "" "c")'),
    (
        '(regex/find-all #"[\\w.+-]+@[\\w-]+\\.[\\w.]+" "ann@x.org, bo.b+1@mail.co.uk!")',
        '("ann@x.org" "bo.b+1@mail.co.uk")',
    ),
    ('(regex/find-all "a")', "! regex/find-all expects 2 arguments, got 1"),
    ('(regex/replace #"(\\d+)-(\\w+)" "$2:$1" "item-42-foo")', '"item-foo:42"'),
    ('(regex/replace #"(a)" "${1}b" "a")', '"ab"'),
    ('(regex/replace #"(a)" "$$1" "a")', '"$1"'),
    ('(regex/replace #"(a)" "$x|" "a")', '"|"'),
    ('(regex/replace #"(a)" "$ 1" "a")', '"$ 1"'),
    ('(regex/replace #"(?P<n>\\d+)(?P<w>[a-z]+)" "$w-$n" "12ab")', '"ab-12"'),
    ('(regex/replace #"(?P<n>\\d+)(?P<w>[a-z]+)" "${w}_${n}" "12ab")', '"ab_12"'),
    ('(regex/replace-all #"\\." "\\\\." "a.b")', '"a\\\\.b"'),
    ('(regex/replace-all #"[aeiou]" "" "education")', '"dctn"'),
    ('(regex/replace-all #"é" "e" "éé")', '"ee"'),
    ('(regex/replace-all "(" "b" "x")', "! invalid regex pattern: regex parse error:"),
    ('(regex/split #"" "")', '("" "")'),
    ('(regex/split #"\\b" "hi you")', '("" "hi" " " "you" "")'),
    ('(regex/split #"😀" "a😀b")', '("a" "b")'),
    ('(regex/split "," 5)', "! expected string, got int"),
    ('(regex/match #"(?:(a)|(b))+" "ab")', '{:end 2 :groups ("a" "b") :match "ab" :start 0}'),
    ('(regex/find-all #"(?:^|,)([^,]*)" "a,,b")', '("a" "," ",b")'),
    ('(regex/match #"\\h" " ")', "! invalid regex pattern: regex parse error:"),
    ('(regex/match #"(?i:a)B" "AB")', '{:end 2 :groups () :match "AB" :start 0}'),
    ('(regex/match #"(?i)k" "K")', '{:end 1 :groups () :match "K" :start 0}'),
]


@pytest.mark.parametrize(("source", "expected"), PATTERNS)
def test_patterns(source: str, expected: str) -> None:
    assert outcome(source) == expected


MARKED = [
    ('(regex/match? "a(b" "x")', "    a(b\n     ^\nerror: unclosed group"),
    (
        '(regex/match? "[z-a]" "x")',
        "    [z-a]\n     ^^^\nerror: invalid character class range, the start must be <= the end",
    ),
    (
        '(regex/match? "(?<=a)b" "x")',
        "    (?<=a)b\n    ^^^^\nerror: look-around, including look-ahead and look-behind, is not supported",
    ),
]


@pytest.mark.parametrize(("source", "layout"), MARKED)
def test_errors_point_into_the_pattern(source: str, layout: str) -> None:
    message = outcome(f"(try {source} (catch e (:message e)))")
    assert layout in message.replace("\\n", "\n")


EMPTY_MATCHES = [
    ('(regex/find-all #"|a" "a")', '("" "")'),
    ('(regex/find-all #"a??" "aa")', '("" "" "")'),
    ('(regex/find-all #"(?:a|b??)" "ab")', '("a" "")'),
    ('(regex/find-all #"\\B" "")', '("")'),
    ('(regex/split #"|a" "bab")', '("" "b" "a" "b" "")'),
    ('(regex/find-all #"a?|(?s:.)" "a\\nc\\na")', '("a" "" "" "a")'),
    ('(regex/find-all #"(?:)|b*|a?" "bab")', '("" "" "" "")'),
    ('(regex/replace-all #"a*?" "-" "aab")', '"-a-a-b-"'),
]
EMPTY_ROUNDS = [
    ("(a*)*", "aab", '{:end 2 :groups ("aa") :match "aa" :start 0}'),
    ("(a|b*)*", "abab", '{:end 4 :groups ("b") :match "abab" :start 0}'),
    ("(|a)+", "aab", '{:end 0 :groups ("") :match "" :start 0}'),
    ("(a|)+", "aab", '{:end 2 :groups ("a") :match "aa" :start 0}'),
    ("(a?){3}", "aa", '{:end 2 :groups ("") :match "aa" :start 0}'),
    ("(a?)*?b", "aab", '{:end 3 :groups ("a") :match "aab" :start 0}'),
    ("(a*){2,3}", "aab", '{:end 2 :groups ("") :match "aa" :start 0}'),
    ("(?:(x)|(a??))*", "xa", '{:end 2 :groups ("x" "a") :match "xa" :start 0}'),
    ("x**", "xx", '{:end 2 :groups () :match "xx" :start 0}'),
    ("(?:a*)*$", "aab", '{:end 3 :groups () :match "" :start 3}'),
]


@pytest.mark.parametrize(("source", "expected"), EMPTY_MATCHES)
def test_empty_matches(source: str, expected: str) -> None:
    assert outcome(source) == expected


@pytest.mark.parametrize(("pattern", "text", "expected"), EMPTY_ROUNDS)
def test_groups_after_rounds_that_match_nothing(pattern: str, text: str, expected: str) -> None:
    assert outcome(f'(regex/match #"{pattern}" "{text}")') == expected


@pytest.fixture
def no_backtracking(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every pattern goes to the linear engine."""
    monkeypatch.setattr(Compiled, "is_safe", lambda self, text: False)
    yield


@pytest.mark.usefixtures("no_backtracking")
@pytest.mark.parametrize(("source", "expected"), PATTERNS + EMPTY_MATCHES)
def test_the_linear_engine_gives_the_same_answers(source: str, expected: str) -> None:
    assert outcome(source) == expected


def test_both_engines_agree_on_random_patterns() -> None:
    source = random.Random(7)
    atoms = [
        "a",
        "b",
        "[ab]",
        "[^a]",
        ".",
        r"\b",
        "^",
        "$",
        "(?m:^)",
        "(a|bc)",
        "(?:b|(a)c)",
        "(b)",
        "é",
        r"\w",
        "(?i:B)",
    ]
    for _ in range(400):
        parts = [source.choice(atoms) + source.choice(("", "", "", "*", "+?", "?", "{2}", "{1,2}")) for _ in range(4)]
        pattern = "|".join(["".join(parts[:3]), parts[3]][: source.randrange(1, 3)])
        text = "".join(source.choice("aaabbc é\n") for _ in range(8))
        compiled = Compiled(pattern, text.isascii())
        found, expected = (
            Linear(compiled.tree, compiled.groups, compiled.flags).search(text),
            compiled.regex.search(text),
        )
        assert (found is None) == (expected is None), (pattern, text)
        if found is not None and expected is not None:
            assert (found.start(), found.end()) == expected.span(), (pattern, text)
            assert found.groups() == expected.groups(), (pattern, text)


HOSTILE = [
    "(a+)+$",
    "(a|aa)+$",
    "(a|a)*b",
    "(.*)*x",
    "(a?){40}a{40}$",
    r"(\w+\s?)+:",
    "a*a*a*a*a*b",
    "(?:a{1,9}){1,9}!",
]


@pytest.mark.parametrize("pattern", HOSTILE)
def test_patterns_that_double_the_work_with_each_character(pattern: str) -> None:
    """`re` alone would be at it for ages."""
    text = "a" * 3000
    assert not regex.regex_is_match(pattern, text + "-")


def test_two_loops_that_share_a_long_run() -> None:
    trim = r"^(.*?)\s*(\S*)\s*$"
    compiled = Compiled(trim, True)
    assert compiled.is_safe("a  b")
    assert not compiled.is_safe("a" * 5000)
    assert regex.regex_match(trim, "x" * 5000 + " y \n") is not None


ORDINARY = [
    r"\d+",
    r"(\d+)-(\w+)",
    r"[\w.+-]+@[\w-]+\.[\w.]+",
    r'"(?:[^"\\]|\\.)*"',
    r"(?m)^\s*#.*$",
    r"https?://[^\s/]+(?:/[^\s]*)?",
    r"((?:ab)+c)+d",
    r"(?i)error|warn(ing)?",
    r"^\s+|\s+$",
]


@pytest.mark.parametrize("pattern", ORDINARY)
def test_ordinary_patterns_stay_with_re(pattern: str) -> None:
    assert Compiled(pattern, True).is_safe("user7@mail.example.com GET /path?x=1  200\n" * 500)


def test_texts_of_several_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_linear, "WINDOW", 16)
    compiled = Compiled(r"\b(\w+?)(\d*)\b", True)
    for length in range(30, 50):
        text = ("ab12 x-y7 " * 5)[:length]
        found = Linear(compiled.tree, compiled.groups, compiled.flags).matches(text)
        assert [match.groups() for match in found] == [match.groups() for match in compiled.regex.finditer(text)]


def test_the_sets_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_linear, "MOST_SETS", 50)
    source = random.Random(3)
    text = "".join(source.choice("ab") for _ in range(3000))
    compiled = Compiled("a(?:a|b){12}b(a|b)*", True)
    machine = Linear(compiled.tree, compiled.groups, compiled.flags)
    found, expected = machine.search(text), re.search("a(?:a|b){12}b(a|b)*", text)
    assert found is not None and expected is not None and found.start() == expected.start()
    assert len(machine.sets) <= 50


def test_untrusted_programs_get_the_linear_engine_for_long_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Compiled(r"\w+@", True)
    assert compiled.is_safe("a" * 100_000)
    monkeypatch.setattr(capabilities, "denied", {"network"})
    assert compiled.is_safe("a" * 100)
    assert regex.regex_is_match(r"\w+@", "a" * 100_000) is False


LIMITS = [
    ('(regex/match? (str (string/repeat "(" 250) (string/repeat ")" 250)) "a")', "#t"),
    ('(regex/match? (str (string/repeat "(" 251) (string/repeat ")" 251)) "")', "! invalid regex pattern:"),
    ('(regex/match? (string/repeat "(" 100000) "a")', "! invalid regex pattern: regex parse error:"),
    ('(regex/match? (string/repeat "[" 100000) "a")', "! invalid regex pattern: regex parse error:"),
    ('(regex/match? (str "a" (string/repeat "*" 100000)) "a")', "! invalid regex pattern: regex parse error:"),
    ('(regex/match? (str "a{" (string/repeat "9" 5000) "}") "a")', "! invalid regex pattern: regex parse error:"),
    (
        '(regex/match? "(a{1000}){1000}" "a")',
        "! invalid regex pattern: Compiled regex exceeds size limit of 10485760 bytes.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), LIMITS)
def test_limits(source: str, expected: str) -> None:
    assert outcome(source).startswith(expected)
