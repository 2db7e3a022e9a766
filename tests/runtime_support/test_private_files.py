"""Files with prompts, replies and values are for their owner alone, whatever the umask says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from terminal_support import environment

PROGRAM = """
(llm/define-provider :echo {:default-model "e" :complete (fn (request)
  {:content "secret" :usage {:prompt-tokens 1 :completion-tokens 1} :cost-usd 0.01})})
(llm/set-pricing "e" 1.0 1.0)
(define (inner) (defworkflow inner "" {} (step "inside")))
(defworkflow outer "" {} (phase "A") (checkpoint :c "value")
  (llm/with-cassette "tapes/deep/one.jsonl" {:mode :record} (fn () (step "secret?"))) (inner))
"""


def sema(folder: Path, *args: str, umask: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "semac.cli.entry", *args],
        cwd=folder,
        env=environment(
            SEMA_HOME=str(folder / "home" / "sema"),
            SEMA_OTEL_FILE="spans.jsonl",
            SEMA_USAGE="on",
            SEMA_MCP_TOKEN_STORE="file",
            XDG_CONFIG_HOME=str(folder / "config"),
        ),
        preexec_fn=lambda: os.umask(umask) and None,
        capture_output=True,
        text=True,
        timeout=60,
    )


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in folder.rglob("*")}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_what_a_workflow_leaves_is_for_its_owner(tmp_path: Path, umask: int) -> None:
    (tmp_path / "w.sema").write_text(PROGRAM)
    done = sema(tmp_path, "workflow", "run", "w.sema", umask=umask)
    assert done.returncode == 0, done.stderr
    run = next(line.split()[2].rstrip(",") for line in done.stderr.splitlines() if line.startswith("outer: run "))
    for args in (["list"], ["export", run], ["run", "w.sema", "--resume", run], ["run", "w.sema", "--fork", run]):
        done = sema(tmp_path, "workflow", *args, umask=umask)
        assert done.returncode == 0, done.stderr
    found = {name: mode for name, mode in modes(tmp_path).items() if name != "w.sema" and "__pycache__" not in name}
    names = {Path(name).name for name in found}
    assert {"events.jsonl", "memo.jsonl", "nested.jsonl", "result.json", "metadata.json", "origin.json"} <= names
    assert {"index.db", "one.jsonl", "usage", "evidence.json", "events.resume-1.jsonl"} <= names
    wrong = {
        name: oct(mode) for name, mode in found.items() if mode != (0o700 if (tmp_path / name).is_dir() else 0o600)
    }
    assert wrong == {}


def test_logins_are_for_their_owner(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="the extra `scoped-logins` is not installed")
    for whose in ([], ["--workflow", "w"]):
        done = sema(tmp_path, "mcp", "login", "http://127.0.0.1:9/mcp", "--token", "t", *whose, umask=0)
        assert done.returncode == 0, done.stderr
    found = modes(tmp_path)
    assert ".sema/auth/.gitignore" in found and "config/sema/mcp-auth.json" in found
    assert {name for name, mode in found.items() if mode & 0o077} == set()


def test_files_that_are_there_keep_their_modes(tmp_path: Path) -> None:
    (tmp_path / "w.sema").write_text(PROGRAM)
    sema(tmp_path, "workflow", "run", "w.sema", umask=0o022)
    sema(tmp_path, "workflow", "list", umask=0o022)
    for path in (tmp_path / ".sema").rglob("*"):
        path.chmod(0o750 if path.is_dir() else 0o640)
    before = modes(tmp_path / ".sema")
    run = next(path.parent.name for path in (tmp_path / ".sema").rglob("nested.jsonl"))
    done = sema(tmp_path, "workflow", "run", "w.sema", "--resume", run, umask=0o022)
    assert done.returncode == 0, done.stderr
    sema(tmp_path, "workflow", "list", umask=0o022)
    after = modes(tmp_path / ".sema")
    assert {name: after[name] for name in before if name in after} == before
