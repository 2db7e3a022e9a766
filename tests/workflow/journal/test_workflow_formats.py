"""The frozen parts of a run, byte for byte: events, keys of what is kept, values as JSON, files, limits."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from workflow_support import MODEL, NO_ARGS, Ran, error_of, fields, memos, told
from workflow_support import run as run_program

from sema_runtime.values.atoms import keyword
from sema_runtime.values.lists import List
from sema_runtime.values.printer import to_text
from sema_runtime.workflow.journal import events
from sema_runtime.workflow.journal import writer as journal
from sema_runtime.workflow.journal.content_keys import args_fingerprint, hashed
from sema_runtime.workflow.journal.values import Rendering
from semac.session import Session

MIB = 1 << 20


@pytest.fixture(autouse=True)
def still(llm: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_WORKFLOW_FIXED_TS", "0")


def run(root: Path, text: str, **settings: Any) -> Ran:
    return run_program(root, MODEL + text, **{"run_id": "r", **settings})


# Events. Rows of an event differ in the fields that may be absent.

LINES = [
    (events.RunStarted(0, "0", "w", "r"), '"workflow":"w","run_id":"r"}'),
    (
        events.RunStarted(0, "0", "w", "r", "", '{"a": 1}', ("A", "ä\n")),
        '"workflow":"w","run_id":"r","args_json":"{\\"a\\": 1}","phases":["A","ä\\n"]}',
    ),
    (events.PhaseStarted(0, "0", ""), '"phase":""}'),
    (events.PhaseEnded(0, "0", "A", "success", 7), '"phase":"A","status":"success","dur_ms":7}'),
    (events.AgentStarted(0, "0", "a_1", "a"), '"agent_id":"a_1","agent_name":"a"}'),
    (events.AgentStarted(0, "0", "a_1", "a", "", "p"), '"agent_id":"a_1","agent_name":"a","prompt":"p"}'),
    (
        events.AgentResult(0, "0", "a_1", "ok", "", 5),
        '"agent_id":"a_1","status":"ok","output":"","dur_ms":5}',
    ),
    (
        events.AgentResult(0, "0", "a_1", "failed", "\x00\x1f\x7f\u2028/", 5, "m"),
        '"agent_id":"a_1","status":"failed","output":"\\u0000\\u001f\x7f\u2028/","dur_ms":5,"model":"m"}',
    ),
    (events.AgentToolCall(0, "0", "a_1", "t"), '"agent_id":"a_1","tool_name":"t"}'),
    (events.AgentToolCall(0, "0", "a_1", "t", "gated"), '"agent_id":"a_1","tool_name":"t","args_json":"gated"}'),
    (
        events.Checkpoint(0, "0", 1, "k", "c_0", "d", "v"),
        '"phase_seq":1,"key":"k","content_key":"c_0","value_digest":"d","value":"v"}',
    ),
    (events.Checkpoint(0, "0", None, "k", None, "d"), '"key":"k","value_digest":"d"}'),
    (
        events.Budget(0, "0", "a_1", 1, 3120, 880, 0.0041, 50000),
        '"agent_id":"a_1","phase_seq":1,"input_tokens":3120,"output_tokens":880,"cost_usd":0.0041,"budget_limit":50000}',
    ),
    (events.Budget(0, "0", None, None, 0, 0), '"input_tokens":0,"output_tokens":0}'),
    (events.Budget(0, "0", None, None, 1, 0, 5e-6), '"input_tokens":1,"output_tokens":0,"cost_usd":5e-6}'),
    (events.Budget(0, "0", None, None, 0, 1, None, 0), '"input_tokens":0,"output_tokens":1,"budget_limit":0}'),
    (events.Budget(0, "0", None, None, 0, 0, 5e-5), '"input_tokens":0,"output_tokens":0,"cost_usd":0.00005}'),
    (events.RunEnded(0, "0", "success", None, 1), '"status":"success","dur_ms":1}'),
    (events.RunEnded(0, "0", "failed", "why", 1), '"status":"failed","reason":"why","dur_ms":1}'),
    (
        events.Memory(0, "0", 3, "r_1", "user-42", "support", "append", None, "d", 1),
        '"phase_seq":3,"agent_id":"r_1","memory_id":"user-42","namespace":"support","op":"append","value_digest":"d","count":1}',
    ),
    (
        events.Memory(0, "0", None, None, "x", "default", "remember", "theme", "d", 1),
        '"memory_id":"x","namespace":"default","op":"remember","key":"theme","value_digest":"d","count":1}',
    ),
    (
        events.AuthRequired(0, "0", "s", ("default",), ("a", "b"), "workflow"),
        '"server":"s","scopes":["default"],"tools":["a","b"],"persist":"workflow"}',
    ),
    (events.AuthRequired(0, "0", "s", None, None, "none"), '"server":"s","persist":"none"}'),
    (
        events.AuthGranted(0, "0", "s", ("default",), 1800000000, "consented"),
        '"server":"s","scopes":["default"],"expires_at":1800000000,"source":"consented"}',
    ),
    (events.AuthGranted(0, "0", "s", None, None, "cached"), '"server":"s","source":"cached"}'),
    (events.AuthFailed(0, "0", "s", "no"), '"server":"s","reason":"no"}'),
]  # fmt: skip


@pytest.mark.parametrize(("event", "rest"), LINES, ids=lambda value: getattr(value, "name", None))
def test_events_byte_for_byte(event: Any, rest: str) -> None:
    assert events.line(event) == f'{{"event":"{event.name}","seq":0,"ts":"0",{rest}'


def test_overflows_are_not_numbered() -> None:
    made = [events.JournalOverflow("queue-full", dropped=3), events.JournalOverflow("journal-size-cap", bytes=600)]
    assert [events.line(one) for one in made] == [
        '{"event":"journal.overflow","reason":"queue-full","dropped":3}',
        '{"event":"journal.overflow","reason":"journal-size-cap","bytes":600}',
    ]


# Section 13: values as JSON, digests, what is kept, what is shown


@pytest.mark.parametrize(
    ("value", "text", "kept"),
    [
        ("nil", "null", True),
        ("#t", "true", True),
        ("-5", "-5", True),
        ("1.0", "1.0", True),
        ("-0.0", "-0.0", True),
        ("0.00001", "0.00001", True),
        ("0.000001", "1e-6", True),
        ("1e16", "1e+16", True),
        ("1e15", "1000000000000000.0", True),
        ("math/nan", "null", False),
        ("math/infinity", "null", False),
        ("123456789012345678901234567890", "123456789012345678901234567890", True),
        ('"ä\\n\\"\\u2028"', '"ä\\n\\"\u2028"', True),
        (":a", '"a"', False),
        ("'a", '"a"', False),
        ("(list)", "[]", True),
        ('(list 1 "a" (list nil))', '[1,"a",[null]]', True),
        ("[1 2]", "[1,2]", False),
        ("[]", "[]", False),
        ("{}", "{}", True),
        ("{:b 1 :a {:c (list)}}", '{"a":{"c":[]},"b":1}', True),
        ('{"a" 1}', '{"a":1}', False),
        ("{'b 1}", '{"b":1}', False),
        ("{1 2}", '{"1":2}', False),
        ("{nil 1 #t 2}", None, False),
        ("(hash-map :a 1)", '{"a":1}', True),
        ("(/ 1 3)", '"1/3"', False),
        (r"#\a", '"#\\\\a"', False),
        ("(bytevector 1 255)", '"#u8(1 255)"', False),
        ("(fn (x) x)", '"<native-fn <vm-closure>>"', False),
        ("car", '"<native-fn car>"', False),
    ],
)
def test_values_as_json(value: str, text: str | None, kept: bool) -> None:
    rendering = Rendering(Session().run(value))
    if text is not None:
        assert rendering.digest() == hashlib.md5(text.encode()).hexdigest()
    assert (rendering.kept() is not None) is kept
    if kept:
        assert rendering.kept() == text


@pytest.mark.parametrize(
    ("value", "kept", "oversized"),
    [
        ("x" * (MIB - 2), True, False),  # with its quotes 1 MiB
        ("x" * (MIB - 1), False, True),
        ("ä" * (MIB // 2 - 1), True, False),
        ("ä" * (MIB // 2), False, True),
        ("\x01" * (MIB // 6 + 1), False, False),  # short in print, more than 1 MiB of JSON
    ],
)
def test_how_large_a_value_may_be(value: str, kept: bool, oversized: bool) -> None:
    rendering = Rendering(value)
    assert (rendering.kept() is not None) is kept
    digest = rendering.digest()
    assert digest.startswith("oversized_") is oversized
    if oversized:
        first = rendering.printed.encode()[:MIB].decode("utf-8", "ignore").encode()
        assert digest == "oversized_" + hashlib.md5(first).hexdigest()


@pytest.mark.parametrize(("length", "whole"), [(8190, True), (8191, False)])
def test_how_much_of_a_value_is_shown(length: int, whole: bool) -> None:
    shown = Rendering("x" * length).shown()
    assert shown == f'"{"x" * length}"' if whole else f'"{"x" * 8191}\n… (truncated at 8192 bytes)'


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (["x" * 46, "y" * 47], f'("{"x" * 46}" "{"y" * 47}")'),  # 100 columns
        (["x" * 47, "y" * 47], f'("{"x" * 47}"\n "{"y" * 47}")'),
    ],
)
def test_values_are_laid_out_for_100_columns(value: list[str], shown: str) -> None:
    assert Rendering(List(value)).shown() == shown


def test_no_more_memos_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_WORKFLOW_MEMO_MAX", "2")
    run(tmp_path, '(defworkflow w "" {} (map (fn (n) (checkpoint "k" n)) (range 4)))')
    assert sorted(memos(tmp_path).values()) == ["0\n", "1\n"]


def test_times_are_counted_from_the_start_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of phases too; those of leaves from their own start."""
    monkeypatch.delenv("SEMA_WORKFLOW_FIXED_TS")
    ran = run(
        tmp_path,
        """(defworkflow w "" {} (phase "A") (async/sleep 30) (phase "B")
             (workflow/step "quick" (fn () 1)) (workflow/step "slow" (fn () (async/sleep 20))))""",
    )
    a, b = (one["dur_ms"] for one in ran.of("phase.ended"))
    quick, slow = (one["dur_ms"] for one in ran.of("agent.result"))
    assert 30 <= a <= b - 20 <= ran.events()[-1]["dur_ms"] - 20
    assert quick <= b - a + 1
    assert slow >= 20


def test_a_long_prompt_is_cut_in_the_journal_only(tmp_path: Path) -> None:
    ran = run(tmp_path, '(will "a") (defworkflow w "" {} (step (string/repeat "ä" 4001)))')
    assert ran.of("agent.started")[0]["prompt"] == "ä" * 4000 + "\n… (truncated, 4001 chars total)"
    assert ran.prompts() == ["ä" * 4001]
    assert list(memos(tmp_path)) == [fields("agent", "", NO_ARGS, "", "step", "ä" * 4001, "nil") + "_0"]


# Keys


def test_the_number_of_a_leaf_counts_whether_it_is_kept_asked_or_refused(tmp_path: Path) -> None:
    flow = '(will "a" "b" "c") (defworkflow w "" {} (phase "A") (list (step "x") (step "x") (step "x")))'
    base = fields("agent", "", NO_ARGS, "A", "step", "x", "nil")
    run(tmp_path, flow, max_tokens=4)
    assert memos(tmp_path) == {f"{base}_0": '"a"\n'}
    again = run(tmp_path, flow, resume=True)
    assert to_text(again.value) == '{:status :success :value ("a" "a" "b")}'
    assert memos(tmp_path) == {f"{base}_0": '"a"\n', f"{base}_1": '"a"\n', f"{base}_2": '"b"\n'}
    assert [line for line in told(tmp_path, "events.resume-1.jsonl") if line.startswith("agent.started")] == [
        *('agent.started "step_1" "step" "x"', 'agent.started "step_2" "step" "x"')  # what is kept has no number
    ]
    (tmp_path / "r" / "memo" / f"{base}_1.json").unlink()
    third = run(tmp_path, flow.replace('"a"', '"z"'), resume=True, max_tokens=4)
    assert to_text(third.value) == '{:reason "budget exceeded" :status :failed}'
    assert memos(tmp_path)[f"{base}_1"] == '"z"\n'
    assert len(told(tmp_path, "events.resume-2.jsonl")) == 6  # of the leaf that was asked; the third was kept


def test_what_goes_into_a_key(tmp_path: Path) -> None:
    text = """(will "1" "2" "3" "{\\"n\\": 4}" "5" "6") (defworkflow w "" {}
        (step "p") (phase "A") (step "p") (step "p" {:name "other" :model "x"})
        (step "p" {:schema {:n {:type :number}}})
        (step "p" {:agent helper}) (workflow/step {:name "step" :prompt "p"} (fn () 6)))"""
    run(tmp_path, text, args_json=' {"b": 1.0, "a": "ä"} ', code_version="v")

    args = fields("args", '{"a":"ä","b":1.0}')

    def key(phase: str, name: str, schema: str = "nil") -> str:
        return fields("agent", "v", args, phase, name, "p", schema) + "_0"

    assert memos(tmp_path) == {
        key("", "step"): '"1"\n',
        key("A", "step"): '"2"\n',
        key("A", "other"): '"3"\n',
        key("A", "step", "{:n {:type :number}}"): '{"n":4}\n',
        key("A", "helper"): '"5"\n',
        key("A", "step", ""): "6\n",
    }


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("", ""),
        (" \n\t", ""),
        ("{}", "{}"),
        (' {"b" : [1, 2.50, -0, 1E5] , "a":{"d":null,"c":true} }\n', '{"a":{"c":true,"d":null},"b":[1,2.50,-0,1E5]}'),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ('"\\u00e4\\n"', '"ä\\n"'),
        ("{not json", "{not json"),
        (" {not json ", " {not json "),
    ],
)
def test_fingerprints_of_arguments(text: str, normal: str) -> None:
    assert args_fingerprint(text) == hashed("args", normal) == fields("args", normal)


# The directory and the environment


def test_what_is_in_the_directory_while_the_body_runs_and_after_it(tmp_path: Path) -> None:
    there = f"""(map (fn (name) (file/exists? (str "{tmp_path}/r/" name)))
                  '("events.jsonl" "metadata.json" "memo" "result.json"))"""
    ran = run(
        tmp_path,
        f'(defworkflow w "What it does" {{:n [1 :a 2.5] :policy nil}} (list {there} (checkpoint :a 1) {there}))',
    )
    assert to_text(ran.value.lookup(keyword("value"))) == "((#t #t #f #f) 1 (#t #t #t #f))"
    assert (tmp_path / "r" / "metadata.json").read_text() == (
        '{\n  "code_version": "",\n  "doc": "What it does",\n  "meta": {\n    "n": [\n      1,\n      "a",\n      2.5\n'
        '    ],\n    "policy": null\n  },\n  "run_id": "r",\n  "workflow": "w"\n}\n'
    )
    assert (tmp_path / "r" / "result.json").read_text().startswith('{\n  "status": "success",\n  "value": [\n    [\n')


def test_a_directory_may_be_there_before_its_run(tmp_path: Path) -> None:
    (tmp_path / "r" / "auth").mkdir(parents=True)
    assert to_text(run(tmp_path, '(defworkflow w "" {} 1)').value) == "{:status :success :value 1}"


def test_a_resumption_writes_the_metadata_anew_and_takes_the_first_free_segment(tmp_path: Path) -> None:
    run(tmp_path, '(defworkflow w "one" {} 1)')
    (tmp_path / "r" / "events.resume-1.jsonl").write_text("")
    run(tmp_path, '(defworkflow w "two" {} 1)', resume=True)
    assert told(tmp_path, "events.resume-2.jsonl") == ['run.ended "success" 0']
    assert '"doc": "two"' in (tmp_path / "r" / "metadata.json").read_text()


@pytest.mark.parametrize("taken", [7, 8])
def test_new_ids_that_are_taken(taken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight of them are tried."""
    ids = iter([*["r"] * taken, "free"])
    monkeypatch.setattr(journal, "new_id", lambda: next(ids))
    run(tmp_path, '(defworkflow w "" {} 1)')
    text = '(defworkflow w "" {} 2)'
    if taken == 8:
        assert error_of(tmp_path, text) == "workflow/run: no free run id found"
    else:
        assert to_text(run(tmp_path, text, run_id=None).value) == "{:status :success :value 2}"
        assert told(tmp_path, run_id="free")


def test_an_empty_id() -> None:
    with pytest.raises(ValueError, match=r'^workflow run id "" is not a safe directory name: must not be empty$'):
        journal.safe_id("")


def test_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"DIR": str(tmp_path), "ID": "given"}.items():
        monkeypatch.setenv(f"SEMA_WORKFLOW_RUN_{name}", value)
    for name, value in {"ARGS_JSON": ' {"a":1}', "CODE_VERSION": "v", "RESUME": "yes", "FIXED_TS": ""}.items():
        monkeypatch.setenv(f"SEMA_WORKFLOW_{name}", value)  # only RESUME=1 resumes
    Session(closed=False).run('(defworkflow w "" {} (checkpoint :k 1))')
    assert (tmp_path / "given" / "events.jsonl").read_text().splitlines()[0] == (
        '{"event":"run.started","seq":0,"ts":"","workflow":"w","run_id":"given","args_json":" {\\"a\\":1}"}'
    )
    key = fields("checkpoint", "v", fields("args", '{"a":1}'), "", "k")
    assert (tmp_path / "given" / "memo" / f"{key}_0.json").read_text() == "1\n"
    monkeypatch.setenv("SEMA_WORKFLOW_RUN_ID", "")
    Session(closed=False).run('(defworkflow w "" {} 1)')
    assert sum(one.name.startswith("wf_") for one in tmp_path.iterdir()) == 1
