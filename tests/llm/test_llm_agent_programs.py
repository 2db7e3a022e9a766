"""Programs with agents: the landing page's over the wires, and the example on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_support import Answer, Received, chat_reply, claude_reply, run, serving
from llm_support import llm as llm
from paths import EXAMPLES, ROOT

pytestmark = pytest.mark.usefixtures("llm")

LANDING_PAGE = """
(deftool read-file "Read a file's contents"
  {:path {:type :string}}
  (lambda (path) (file/read path)))

(deftool run-command "Run a shell command"
  {:command {:type :string}}
  (lambda (command) (:stdout (shell "sh" "-c" command))))

(defagent coder
  {:system "You are a coding assistant."
   :tools [read-file run-command]
   :max-turns 10})

(llm/with-budget {:max-cost-usd 0.50}
  (lambda () (agent/run coder "Find TODOs in src/")))
"""


# The landing page's agent over the wires


def openai_turns(received: Received) -> Answer:
    results = [m["content"] for m in received.body["messages"] if m["role"] == "tool"]
    calls = [("a", "run-command", {"command": "grep -rn TODO src | sort"}), ("b", "read-file", {"path": "src/a.py"})]
    return Answer(200, chat_reply(None, [calls[len(results)]]) if len(results) < 2 else chat_reply("|".join(results)))


def anthropic_turns(received: Received) -> Answer:
    blocks = [b for m in received.body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    results = [block["content"] for block in blocks if block["type"] == "tool_result"]
    calls = [("run-command", {"command": "grep -rn TODO src | sort"}), ("read-file", {"path": "src/a.py"})]
    if len(results) == 2:
        return Answer(200, claude_reply({"type": "text", "text": "|".join(results)}))
    name, arguments = calls[len(results)]
    return Answer(200, claude_reply({"type": "tool_use", "id": f"t{len(results)}", "name": name, "input": arguments}))


@pytest.mark.parametrize(("name", "turns"), [("openai", openai_turns), ("anthropic", anthropic_turns)])
def test_the_landing_page_agent(name: str, turns: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("# TODO: all\n")
    monkeypatch.chdir(tmp_path)
    with serving(turns) as server:
        monkeypatch.setenv(f"{name.upper()}_API_KEY", "k")
        monkeypatch.setenv(f"{name.upper()}_BASE_URL", server.url)
        assert run(LANDING_PAGE) == "src/a.py:1:# TODO: all\n|# TODO: all\n"
    assert len(server.received) == 3


# The example and the command line


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "notes.txt").write_text("one\ntwo\n")
    yield tmp_path


def sema(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    keep = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    command = [sys.executable, "-m", "semac.cli.entry", *args]
    return subprocess.run(
        command,
        cwd=folder,
        env={**keep, "PYTHONPATH": f"{ROOT}:{ROOT}/runtime", **env},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_example_runs_without_key_and_says_so(folder: Path) -> None:
    done = sema(folder, str(EXAMPLES / "coding_agent.sema"))
    assert done.returncode == 0, done.stderr
    assert "No API key is set: a scripted stand-in plays the model." in done.stdout
    assert '-> read-file {:path "./notes.txt"}' in done.stdout
    assert "no model was asked" in done.stdout
    assert "Used 220 tokens" in done.stdout
    assert done.stderr == ""


def test_the_example_with_a_server(folder: Path) -> None:
    def turns(received: Received) -> Answer:
        told = [m for m in received.body["messages"] if m["role"] == "tool"]
        assert received.body["messages"][1]["content"] == "count lines"
        if told:
            return Answer(200, chat_reply("It has " + json.loads(told[0]["content"])["stdout"].strip() + " lines."))
        return Answer(200, chat_reply(None, [("a", "run-command", {"command": "wc -l < notes.txt"})]))

    with serving(turns) as server:
        env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url}
        done = sema(folder, str(EXAMPLES / "coding_agent.sema"), "--", "count", "lines", **env)
    assert done.returncode == 0, done.stderr
    assert "It has 2 lines." in done.stdout
    assert "stand-in" not in done.stdout


def test_a_failed_call_is_shown_with_its_place_and_advice(folder: Path) -> None:
    (folder / "ask.sema").write_text('(define (ask)\n  (llm/complete "hi"))\n(println (ask))\n')
    done = sema(folder, "--no-llm", "ask.sema")
    assert done.returncode != 0
    assert "no LLM provider configured" in done.stderr
    assert "ask.sema:2:3" in done.stderr
    assert "hint: set ANTHROPIC_API_KEY or OPENAI_API_KEY" in done.stderr
    assert "tenacity" not in done.stderr and "httpx" not in done.stderr


def test_nothing_heavy_is_imported_before_a_call(folder: Path) -> None:
    (folder / "quiet.sema").write_text(
        '(deftool t "d" {} (fn () 1)) (defagent a {:tools [t]}) (println (prompt (user "x")))'
    )
    code = (
        "import sys; from semac.cli.running import run_file; run_file('quiet.sema');"
        "print([m for m in ('httpx', 'asyncio', 'tenacity', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={"PYTHONPATH": f"{ROOT}:{ROOT}/runtime"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == ["<prompt 1 messages>", "[]"], done.stderr
