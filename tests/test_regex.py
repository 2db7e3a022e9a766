"""Regular expressions in the reference's syntax."""

from __future__ import annotations

import pytest
from outcomes import outcome

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
