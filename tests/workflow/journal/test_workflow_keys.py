"""The frozen parts of a run: keys, digests, the golden journal, printed values."""

from __future__ import annotations

from pathlib import Path

import pytest

from sema_runtime.values.lists import List
from sema_runtime.workflow.journal import content_keys
from sema_runtime.workflow.journal.events import Budget, Checkpoint, JournalOverflow, RunStarted, line
from sema_runtime.workflow.journal.values import Rendering, prompt_shown
from sema_runtime.workflow.run import keys, scope
from semac.session import Session

GOLDEN = """\
{"event":"run.started","seq":0,"ts":"0","workflow":"hello-wf","run_id":"wf_test_0001","args_json":"{\\"name\\":\\"x\\"}"}
{"event":"phase.started","seq":1,"ts":"0","phase":"Inventory"}
{"event":"checkpoint","seq":2,"ts":"0","phase_seq":1,"key":"files","content_key":"fe89971d7f8c7aa1_0",\
"value_digest":"dc071858552dae9a60200b0a36a13dd3","value":"(\\"a.php\\" \\"b.php\\" \\"c.php\\")"}
{"event":"phase.ended","seq":3,"ts":"0","phase":"Inventory","status":"success","dur_ms":0}
"""


def read(text: str) -> object:
    return Session().run(text)


@pytest.mark.parametrize(("text", "expected"), [("", "47ccf193ee1822d8"), ("{}", "29fe83a6b8d4a4f5")])
def test_fingerprints_of_arguments(text: str, expected: str) -> None:
    assert content_keys.args_fingerprint(text) == expected


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a":1,"b":[2]}', ' { "b" : [ 2 ],\n"a":1 } ', True),
        (" \n", "", True),
        ("1.0", "1", False),
        ("1.0", "1.00", False),
        ("not json", "not  json", False),
        ('"\\u00e9"', '"é"', True),
        ("[NaN]", "[ NaN]", False),
    ],
)
def test_the_same_arguments_written_in_another_way(one: str, other: str, same: bool) -> None:
    assert (content_keys.args_fingerprint(one) == content_keys.args_fingerprint(other)) is same


def test_fields_are_hashed_with_their_lengths() -> None:
    assert content_keys.hashed("a", "bc") != content_keys.hashed("ab", "c")
    assert content_keys.hashed("\ud800") == content_keys.hashed("?")


def test_code_version() -> None:
    assert content_keys.code_version(b"(+ 1 2)") == "2344354e7accb048"


def test_keys_of_the_golden_run() -> None:
    made = keys.Keys("59e74f0063788b10", content_keys.args_fingerprint('{"name":"x"}'))
    assert made.checkpoint("Inventory", "files") == "fe89971d7f8c7aa1_0"
    assert made.checkpoint("Audit", "findings") == "02319dc4c60be26d_0"


def test_ordinals_count_equal_leaves_only() -> None:
    made = keys.Keys("", "")
    first, second, other = (made.step("", "a", prompt, "nil") for prompt in ("p", "p", "q"))
    assert first.endswith("_0")
    assert second == first[:-1] + "1"
    assert other.endswith("_0")
    assert made.step("", "a", "p", "nil", "sha256:policy").endswith("_0")


def test_the_golden_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_WORKFLOW_FIXED_TS", "0")
    settings = scope.Settings(
        root=str(tmp_path), run_id="wf_test_0001", args_json='{"name":"x"}', code_version="59e74f0063788b10"
    )
    token = scope.settings.set(settings)
    try:
        read("""
        (defworkflow hello-wf "Two phases" {:args {:name :string}}
          (phase "Inventory")
          (checkpoint :files (list "a.php" "b.php" "c.php"))
          (phase "Audit")
          (checkpoint :findings (length (checkpoint :files)))
          {:status :success})""")
    finally:
        scope.settings.reset(token)
    run = tmp_path / "wf_test_0001"
    lines = (run / "events.jsonl").read_text()
    assert lines.startswith(GOLDEN)
    assert '"content_key":"02319dc4c60be26d_0","value_digest":"eccbc87e4b5ce2fe28308fd9f2a7baf3"' in lines
    assert (run / "memo" / "fe89971d7f8c7aa1_0.json").read_text() == '["a.php","b.php","c.php"]\n'
    assert (run / "metadata.json").read_text() == (
        '{\n  "code_version": "59e74f0063788b10",\n  "doc": "Two phases",\n  "meta": {\n    "args": {\n'
        '      "name": "string"\n    }\n  },\n  "run_id": "wf_test_0001",\n  "workflow": "hello-wf"\n}\n'
    )
    assert (run / "result.json").read_text() == '{\n  "status": "success"\n}\n'


def test_fields_that_may_be_absent() -> None:
    assert line(RunStarted(0, "t", "w", "id")) == (
        '{"event":"run.started","seq":0,"ts":"t","workflow":"w","run_id":"id"}'
    )
    assert line(Checkpoint(1, "t", None, "ä\n", None, "d")) == (
        '{"event":"checkpoint","seq":1,"ts":"t","key":"ä\\n","value_digest":"d"}'
    )
    assert line(Budget(1, "t", None, None, 0, 2, 0.0)).endswith(
        '"ts":"t","input_tokens":0,"output_tokens":2,"cost_usd":0.0}'
    )
    assert line(JournalOverflow("queue-full", dropped=3)) == (
        '{"event":"journal.overflow","reason":"queue-full","dropped":3}'
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('"text"', '"text"'),
        ("nil", "null"),
        ("(list 1 2.5 #t)", "[1,2.5,true]"),
        ('{:b "x" :a (list)}', '{"a":[],"b":"x"}'),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        (":keyword", None),
        ("'symbol", None),
        ("[1 2]", None),
        ('{"string" 1}', None),
        ("(fn (x) x)", None),
        ("(/ 1 3)", None),
        ('(string/repeat "x" 1048577)', None),
        ('(string/repeat "x" 1000000)', '"' + "x" * 1000000 + '"'),
    ],
)
def test_what_is_kept_gives_the_same_value_again(text: str, kept: str | None) -> None:
    assert Rendering(read(text)).kept() == kept


def test_digests() -> None:
    assert Rendering(List(["a.php", "b.php", "c.php"])).digest() == "dc071858552dae9a60200b0a36a13dd3"
    assert Rendering(read("{:b 1 :a 2}")).digest() == Rendering(read("{:a 2 :b 1}")).digest()
    assert Rendering("x" * 1048576).digest().startswith("oversized_")


def test_large_values_are_shown_in_part() -> None:
    shown = Rendering("ä" * 5000).shown()
    head, _, note = shown.rpartition("\n")
    assert note == "… (truncated at 8192 bytes)"
    assert len(head.encode()) == 8191  # no half character
    assert Rendering(read("(map (fn (n) {:number n}) (range 12))")).shown().count("\n") > 5


def test_long_prompts_are_cut() -> None:
    assert prompt_shown("p" * 4000) == "p" * 4000
    assert prompt_shown("p" * 4001) == "p" * 4000 + "\n… (truncated, 4001 chars total)"


def test_values_that_cannot_be_printed_or_kept_stop_nothing() -> None:
    deep = read("(foldl (fn (inner n) (list inner)) nil (range 100000))")
    rendering = Rendering(deep)
    assert rendering.kept() is None
    assert rendering.digest()
    assert rendering.shown()
