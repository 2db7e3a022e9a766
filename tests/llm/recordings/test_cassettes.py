"""Cassettes: the format and its keys, which tape counts, what can't be read or written, secrets."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from llm_support import Answer, chat_reply, counted, run, serving
from llm_support import llm as llm
from paths import ROOT
from tape_support import entry, key, line, replayed

from sema_runtime.llm import providers
from sema_runtime.llm.messages import Message, Reply, Request, ToolCall, Usage
from sema_runtime.llm.recordings import cassette
from sema_runtime.llm.recordings.cassette import Cassette
from sema_runtime.llm.recordings.cassette_file import line_of, read_line
from sema_runtime.support import secrets
from sema_runtime.support.compact_json import dumps
from sema_runtime.values.errors import IoError, LlmError, SemaError
from sema_runtime.values.printer import to_text

pytestmark = pytest.mark.usefixtures("llm")


# Recording and replaying


def test_a_call_is_recorded_then_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = tmp_path / "deep" / "tape.jsonl"
    program = f'(llm/with-cassette "{tape}" (fn () (list (llm/complete "a") (llm/stream "b" (fn (s) s)))))'
    assert counted(program + "calls") == "2"
    lines = [json.loads(line) for line in tape.read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["complete", "stream"]
    assert lines[0]["key"] == key("a")
    providers.reset()
    monkeypatch.setenv("SEMA_NO_LLM", "1")
    thunk = '(fn () (list (llm/complete "a") (:total-tokens (llm/last-usage))))'
    assert to_text(run(f'(llm/with-cassette "{tape}" {{:mode :replay}} {thunk})')) == '("n=1" 5)'


def test_a_line_is_laid_out_as_the_reference_does() -> None:
    made = entry("a", 'say "hé"\n\x1f', prompt_tokens=36, stop_reason="end_turn")
    made["tool_calls"] = [{"id": "t1", "name": "read", "arguments": {"path": ".", "lines": [1, 2.5]}}]
    assert line_of(made).decode() == (
        f'{{"v":1,"kind":"complete","key":"{key("a")}","content":"say \\"hé\\"\\n\\u001f","role":"assistant",'
        '"model":"m",'
        '"tool_calls":[{"id":"t1","name":"read","arguments":{"lines":[1,2.5],"path":"."}}],"stop_reason":"end_turn",'
        '"prompt_tokens":36,"completion_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,'
        '"chunks":[],"embeddings":[]}\n'
    )
    assert read_line(line_of(made)) == made


def test_numbers_are_written_as_the_reference_does() -> None:
    numbers = [1e-5, 1.5e-5, -1.2345e-5, 1e-6, 1e16, 1.5e-300, 0.0001, 123456789012345680.0, 1e15, -0.0, 7]
    assert dumps(numbers) == (
        "[0.00001,0.000015,-0.000012345,1e-6,1e+16,1.5e-300,0.0001,1.2345678901234568e+17,1000000000000000.0,-0.0,7]"
    )
    assert dumps({"b": None, "a": [True, "\u00e9"]}) == '{"a":[true,"\u00e9"],"b":null}'


def test_two_pictures_are_two_calls(tmp_path: Path) -> None:
    """Also where a tape of the reference, whose keys leave pictures out, is replayed: it has one answer for all."""
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\na")
    (tmp_path / "b.png").write_bytes(b"\x89PNG\r\n\x1a\nb")
    ask = f'(map (fn (name) (:n (llm/extract-from-image {{:n :int}} (str "{tmp_path}/" name)))) ["a.png" "b.png"])'
    answering = """(define n 0)
        (llm/define-provider :f {:complete (fn (r) (set! n (+ n 1)) (str "{\\"n\\":" n "}")) :default-model "m"})"""
    tape = tmp_path / "tape.jsonl"
    recorded = f'(list (llm/with-cassette "{tape}" (fn () {ask})) (llm/with-cache (fn () {ask} {ask})))'
    assert to_text(run(answering + recorded)) == "((1 2) (3 4))"
    replayed = f'(llm/with-cassette "{tape}" {{:mode :replay}} (fn () {ask}))'
    assert to_text(run(replayed)) == "(1 2)"
    entries = [json.loads(line) for line in tape.read_text().splitlines()]
    asked = Request([Message("user", "Extract the data from this image. Answer in JSON.")])
    asked.system = (
        "Extract data from the image. Answer with one JSON object that matches this schema, and nothing else:\n"
        '{\n  "n": <int>\n}'
    )
    tape.write_text(json.dumps({**entries[0], "key": cassette.key_of(asked)}) + "\n")
    assert to_text(run(replayed)) == "(1 1)"


def test_keys_are_the_specified_hashes() -> None:
    request = Request([Message("system", "s"), Message("user", "é")], model="m", temperature=0.5)
    expected = b"m" + struct.pack("<d", 0.5) + "systemsuseré".encode()
    assert cassette.key_of(request) == hashlib.sha256(expected).hexdigest()
    assert cassette.embed_key("m", ["a", "b"]) == hashlib.sha256(b"embedma\0b\0").hexdigest()
    arguments = {"b": 1e-6, "a": "x"}
    hashed = hashlib.sha256(b'mcp-call\0srv\0tool\0{"a":"x","b":1e-6}').hexdigest()
    assert cassette.mcp_key("mcp-call", "srv", "tool", arguments) == f"mcp-{hashed}"


def test_the_first_entry_of_a_key_is_replayed_every_time(tmp_path: Path) -> None:
    tape = tmp_path / "t.jsonl"
    tape.write_text(line("a", "one") + line("b", "other") + line("a", "two"))
    assert [replayed(tape, "a"), replayed(tape, "a"), replayed(tape, "b")] == ["one", "one", "other"]


def test_record_mode_always_calls(tmp_path: Path) -> None:
    tape = tmp_path / "t.jsonl"
    tape.write_text(line("a"))
    program = f'(llm/with-cassette "{tape}" {{:mode "RECORD"}} (fn () (list (llm/complete "a") (llm/complete "a"))))'
    assert counted(program) == '("n=1" "n=1")'
    assert len(tape.read_text().splitlines()) == 3


def test_a_stream_is_replayed_in_its_pieces(tmp_path: Path) -> None:
    tape = tmp_path / "t.jsonl"
    tape.write_text(line("a", "Hello", kind="stream", chunks=["Hel", "lo"]) + line("b", "whole"))
    program = '(define got (list)) (llm/stream "{}" (fn (s) (set! got (append got (list s))))) got'
    run(f'(llm/cassette-load "{tape}" {{:mode :replay}})')
    assert to_text(run(program.format("a"))) == '("Hel" "lo")'
    assert to_text(run(program.format("b"))) == '("whole")'


def test_embeddings_and_mcp_results_are_kept(tmp_path: Path) -> None:
    tape = Cassette(str(tmp_path / "t.jsonl"))
    tape.record_embeddings("e1", "m", [[0.1, 1e-6], [2.0, 3.0]], 7)
    tape.record_mcp("mcp-call", "mcp-1", {"content": [{"type": "text", "text": "hi"}]})
    again = Cassette(str(tmp_path / "t.jsonl"), "replay")
    found = again.find("e1")
    assert found is not None and found["embeddings"] == [[0.1, 1e-6], [2.0, 3.0]] and found["prompt_tokens"] == 7
    found = again.find("mcp-1")
    assert found is not None and found["mcp_result"] == {"content": [{"type": "text", "text": "hi"}]}
    assert list(found)[-2:] == ["embeddings", "mcp_result"]


# Which tape


def test_odd_numbers_of_tokens_can_be_replayed(tmp_path: Path) -> None:
    tape = Cassette(str(tmp_path / "t.jsonl"))
    tape.record("complete", "k", Reply("x", "m", Usage(-5, 1 << 40)), [])
    found = tape.find("k")
    assert found is not None
    assert (found["prompt_tokens"], found["completion_tokens"]) == (0, (1 << 32) - 1)


def test_a_tape_of_a_windows_editor(tmp_path: Path) -> None:
    tape = tmp_path / "t.jsonl"
    tape.write_bytes(b"\xef\xbb\xbf" + line("a").replace("\n", "\r\n").encode())
    assert replayed(tape, "a") == "taped"


def test_the_environment_names_a_tape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = tmp_path / "t.jsonl"
    tape.write_text("not json\n{}\n" + line("a").rstrip())
    monkeypatch.setenv("SEMA_LLM_CASSETTE", str(tape))
    program = '(list (llm/complete "a") (llm/complete "b") calls (llm/cassette-eject) (llm/complete "a"))'
    assert counted(program) == '("taped" "n=1" 1 #t "n=1")'
    assert len(tape.read_text().splitlines()) == 4, "recorded behind a line without newline"


def test_a_bad_tape_of_the_environment_stops_every_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_LLM_CASSETTE", str(tmp_path))
    ask = '(try (llm/complete "a") (catch e (:message e)))'
    assert counted(f"(list {ask} {ask} calls)").count("Is a directory") == 2


def test_load_and_eject(tmp_path: Path) -> None:
    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    one.write_text(line("a", "one"))
    two.write_text(line("a", "two"))
    program = f"""
    (llm/cassette-load "{one}")
    (define inner (llm/with-cassette "{two}" (fn () (let ((x (llm/complete "a"))) (llm/cassette-eject)
      (list x (llm/complete "a") (llm/cassette-save))))))
    (define loaded (llm/with-cassette "{two}" (fn () (llm/cassette-load "{one}") (llm/complete "a"))))
    (list inner loaded (llm/complete "a") (await (async (llm/complete "a"))) (llm/cassette-save)
          (llm/cassette-eject) (llm/cassette-eject) (llm/cassette-save))"""
    assert counted(program) == '(("two" "n=1" #f) "one" "one" "one" #t #t #f #f)'


def test_tasks_inherit_the_tape(tmp_path: Path) -> None:
    tape = tmp_path / "t.jsonl"
    program = f"""(define task (llm/with-cassette "{tape}" (fn () (async (sleep 1) (llm/complete "a")))))
    (list (await task) calls)"""
    assert counted(program) == '("n=1" 1)'
    assert replayed(tape, "a") == "n=1"


def test_the_sandbox_decides(tmp_path: Path) -> None:
    tape, inside = tmp_path / "t.jsonl", tmp_path / "inside"
    inside.mkdir()
    tape.write_text(line("a"))
    program = f'(llm/with-cassette "{tape}" (fn () 1))'

    def sema(*options: str, **env: str) -> str:
        command = [sys.executable, "-m", "semac.cli.entry", *options]
        done = subprocess.run(
            command, env={**os.environ, "HOME": str(tmp_path), **env}, cwd=tmp_path, capture_output=True, text=True
        )
        return done.stdout + done.stderr

    assert "outside allowed directories" in sema("--allowed-paths", str(inside), "-e", program)
    assert "requires 'fs-write'" in sema("--sandbox", "fs-write", "-e", program)
    replay = f'(llm/with-cassette "{tape}" {{:mode :replay}} (fn () (llm/complete "a")))'
    assert sema("--sandbox", "fs-write", "-e", replay) == '"taped"\n'
    ignored = sema("--sandbox", "fs-write", "--no-llm", "-e", '(llm/complete "a")', SEMA_LLM_CASSETTE=str(tape))
    assert "no LLM provider configured" in ignored


# What can't be replayed


def miss(tape: Path, prompt: str = "a") -> LlmError:
    with pytest.raises(LlmError) as caught:
        replayed(tape, prompt)
    return caught.value


def test_a_miss_says_what_to_do(tmp_path: Path) -> None:
    tape = tmp_path / "t.jsonl"
    error = miss(tape)
    assert error.message == (
        f"cassette miss in :replay mode (key {key('a')}) — no recorded interaction for this request;"
        " re-record the tape or use :auto mode"
    )
    assert error.hint == f"there is no file {tape} yet: run once in :auto mode, which records"
    tape.write_text(line("b"))
    assert miss(tape).hint == (
        f"the cassette is {tape} with 1 entry; a key covers model, temperature, system and messages"
    )


DAMAGED = {
    "cut off": line("a")[:-30] + "\n",
    "binary": "\0\0\0\n",
    "no JSON number": line("a").replace('"prompt_tokens":0', '"prompt_tokens":NaN'),
    "no object": '["v",1]\n',
    "too deep": "[" * 200_000 + "\n",
    "half a surrogate": line("a", "X").replace('"X"', '"\\ud800"'),
    "no content": line("a").replace('"content":"taped",', ""),
    "content": line("a").replace('"taped"', "5"),
    "version": line("a").replace('"v":1', '"v":"1"'),
    "tokens": line("a", prompt_tokens=True),
    "negative tokens": line("a", completion_tokens=-1),
    "role": line("a", role=None),
    "calls": line("a").replace('"tool_calls":[]', '"tool_calls":[{"id":"1","name":"x"}]'),
    "chunks": line("a", chunks=[1]),
    "embeddings": line("a", embeddings=[["x"]]),
    "stop reason": line("a", stop_reason=1),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_line_is_skipped_and_named_when_it_is_missed(what: str, tmp_path: Path) -> None:
    tape = tmp_path / "t.jsonl"
    tape.write_text(line("b") + DAMAGED[what])
    hint = str(miss(tape).hint)
    assert "line 2 is damaged and skipped (" in hint
    assert hint.endswith(f"sema cassette verify {tape} lists them")
    tape.write_text(line("b") + DAMAGED[what] + line("a", "good"))
    assert replayed(tape, "a") == "good", "the first entry that can be read counts"


def test_many_damaged_lines_are_counted(tmp_path: Path) -> None:
    tape = tmp_path / "t.jsonl"
    tape.write_text('{"' + "\n{\n" * 7)
    assert "lines 1, 2, 4, 6, 8 and 3 more are damaged" in str(miss(tape).hint)


def test_a_tape_of_a_later_version(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tape = tmp_path / "t.jsonl"
    tape.write_text('{"v":2,"key":"' + key("a") + '","reply":"?"}\n' + line("b"))
    assert "line 1 is of a later version of Sema and skipped: update to replay them" in str(miss(tape).hint)
    assert replayed(tape, "b") == "taped"
    ask = '(llm/complete "a")'
    assert (
        counted(f'(llm/with-cassette "{tape}" (fn () (list (llm/complete "b") {ask} {ask})))')
        == '("taped" "n=1" "n=1")'
    )
    warning = f"Warning: cassette {tape}: it holds entries of a later version, which are not replayed"
    assert capfd.readouterr().err.count(warning) == 1


def test_unknown_fields_are_let_be(tmp_path: Path) -> None:
    tape = tmp_path / "t.jsonl"
    tape.write_text(json.dumps({"note": "by hand", "model": "m", "content": "x", "key": key("a"), "kind": "k", "v": 1}))
    assert replayed(tape, "a") == "x"


@pytest.mark.parametrize("mode", cassette.MODES)
def test_what_is_no_tape_is_not_written_to(mode: str, tmp_path: Path) -> None:
    picture, program, pipe = tmp_path / "a.png", tmp_path / "a.sema", tmp_path / "pipe"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    program.write_text('(println "hi")\n')
    os.mkfifo(pipe)
    for path in (picture, program):
        before = path.read_bytes()
        with pytest.raises(IoError, match="this is no cassette: none of its lines is an entry"):
            Cassette(str(path), mode)
        assert path.read_bytes() == before
    with pytest.raises(IoError, match="Is a directory"):
        Cassette(str(tmp_path), mode)
    with pytest.raises(IoError, match="it is a pipe or a device, not a file"):
        Cassette(str(pipe), mode)
    with pytest.raises(IoError, match="Not a directory"):
        Cassette(str(program / "tape.jsonl"), mode)
    with pytest.raises(IoError, match="NUL byte"):
        Cassette("a\0b", mode)


def test_arguments_are_checked() -> None:
    for program in ("(llm/with-cassette 5 (fn () 1))", "(llm/cassette-load 5)"):
        with pytest.raises(SemaError, match="expected string, got int"):
            run(program)
    with pytest.raises(SemaError, match="expected function, got int"):
        run('(llm/with-cassette "x" 5)')
    with pytest.raises(SemaError, match="expected map, got int"):
        run('(llm/with-cassette "x" 5 (fn () 1))')


# What can't be recorded: the call is paid for, so the program gets its answer


def test_a_tape_that_is_full_gives_a_warning_and_stays_whole(tmp_path: Path) -> None:
    tape = tmp_path / "t.jsonl"
    tape.write_text(line("b"))
    program = f"""
    (define calls 0)
    (llm/define-provider :fake {{:complete (fn (req) (set! calls (+ calls 1)) (string/repeat "x" 5000))}})
    (llm/with-cassette "{tape}" (fn ()
      (list (string-length (llm/complete "a")) (string-length (llm/complete "a")) (llm/complete "b")
            (string-length (llm/complete "c")) calls)))"""
    code = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
from semac.cli.main import main
sys.exit(main(["-e", sys.argv[1]]))
"""
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code, program]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == '(5000 5000 "taped" 5000 2)\n', done.stderr
    assert done.stderr == (
        f"Warning: cassette {tape}: calls can't be recorded: File too large; a later replay will miss them\n"
    )
    assert tape.read_text() == line("b")


def test_a_tape_that_becomes_a_directory(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "tapes"
    program = f"""(llm/with-cassette "{folder}/t.jsonl" (fn ()
      (file/write "{folder}" "in the way") (try (llm/complete "a") (catch e (:message e)))))"""
    assert "Not a directory" in counted(program)


def test_record_mode_says_at_once_that_it_can_not_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(IoError, match="Permission denied"):
        Cassette(str(tmp_path / "deep" / "t.jsonl"), "record")


# Secrets

SECRET = "sk-test-0123456789abcdef"


def test_keys_are_never_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    tape = tmp_path / "t.jsonl"
    recorder = Cassette(str(tape))
    calls = [ToolCall("1", "curl", {"header": f"Bearer {SECRET}", SECRET: [SECRET]})]
    reply = Reply(f"use {SECRET} now", "m", Usage(1, 1), calls)
    recorder.record("stream", "k1", reply, ["use ", SECRET[:5], SECRET[5:12], SECRET[12:] + " now"])
    recorder.record_mcp("mcp-call", "mcp-k", {"content": [{"text": SECRET}]})
    assert SECRET not in tape.read_text()
    found = Cassette(str(tape), "replay").find("k1")
    assert found is not None
    assert found["content"] == "use [redacted] now" == "".join(found["chunks"])
    assert len(found["chunks"]) == 4
    assert found["tool_calls"][0]["arguments"] == {"header": "Bearer [redacted]", "[redacted]": ["[redacted]"]}


def test_configured_keys_count_and_short_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    run(f'(llm/configure :openai {{:api-key "{SECRET}"}}) (llm/configure :groq {{:api-key "none"}})')
    monkeypatch.setenv("X_API_KEY", "test")
    assert SECRET in secrets.known()
    assert not {"none", "test"} & {*secrets.known()}


def test_a_run_with_a_secret_in_it_replays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = tmp_path / "t.jsonl"
    agent = """
    (deftool look "" {:name {:type :string}} (fn (name) (str "seen " name)))
    (defagent a {:tools [look]})
    (agent/run a "What is the key?")"""
    answers = [
        Answer(body=chat_reply(None, [("c1", "look", {"name": SECRET})])),
        Answer(body=chat_reply(f"It is {SECRET}.")),
    ]
    with serving(*answers) as server:
        configure = f'(llm/configure :openai {{:api-key "{SECRET}" :base-url "{server.url}"}})'
        recorded = run(f'{configure} (llm/with-cassette "{tape}" (fn () {agent}))')
    assert recorded == f"It is {SECRET}."
    assert SECRET not in tape.read_text()
    providers.reset()
    monkeypatch.setenv("SEMA_NO_LLM", "1")
    assert run(f'(llm/with-cassette "{tape}" {{:mode :replay}} (fn () {agent}))') == "It is [redacted]."
