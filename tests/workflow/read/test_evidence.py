"""`sema workflow export`: the evidence of a run, its manifest, and what people read of it."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest
from llm_support import llm as llm
from llm_support import run
from workflow_schema import SCHEMA

from sema_runtime.workflow import approvals
from semac.cli.workflow.command import main

pytestmark = pytest.mark.usefixtures("llm")

PROGRAM = """
(llm/define-provider :fake {:default-model "m" :complete (fn (req) {:content "fine"})})
(defpolicy careful {:models {:allow ["fake/*"]} :input {:detect [:email] :actions {:email :redact}}})
(defworkflow review "Reviews | texts" {:policy careful}
  (phase "Read")
  (checkpoint :note (step "look at a@b.io" {:name "reader"}))
  (policy/without "checked by hand" (step "look again"))
  {:status :success})
"""


@pytest.fixture(autouse=True)
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, llm: None) -> None:
    """A run `r` in the folder `runs`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEMA_WORKFLOW_RUN_DIR", "runs")
    monkeypatch.setenv("SEMA_WORKFLOW_RUN_ID", "r")
    monkeypatch.delenv("SEMA_WORKFLOW_RESUME", raising=False)
    run(PROGRAM)


def test_everything_is_in_the_bundle() -> None:
    assert main(["export", "r"]) == 0
    found = json.loads(Path("runs/r/evidence/evidence.json").read_text())
    lines = [json.loads(line) for line in Path("runs/r/events.jsonl").read_text().splitlines()]
    assert found["events"] == lines
    assert (found["schema_version"], found["run_id"], found["status"]) == (1, "r", "success")
    assert found["metadata"]["workflow"] == "review"
    assert found["result"] == {"status": "success"}
    assert found["event_counts"]["policy.redacted"] == 1
    assert found["event_counts"]["policy.bypassed"] == 2
    assert found["approvals"] == []


def test_events_are_those_of_the_schema() -> None:
    """With those of an approval that was denied."""
    jsonschema = pytest.importorskip("jsonschema")
    lines = Path("runs/r/events.jsonl").read_text().splitlines()
    os.environ["SEMA_WORKFLOW_RUN_ID"] = "denied"  # the fixture takes it back
    before = approvals.settings.set(approvals.Settings("deny"))
    run('(defworkflow w "" {} (approval :a {:reason "r" :subject 1}))')
    approvals.settings.reset(before)
    lines += Path("runs/denied/events.jsonl").read_text().splitlines()
    for line in lines:
        jsonschema.validate(json.loads(line), SCHEMA)


def test_the_manifest_holds_the_digests() -> None:
    assert main(["export", "r", "--out-dir", "out"]) == 0
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert [entry["path"] for entry in manifest["files"]] == ["evidence.json", "evidence.md"]
    for entry in manifest["files"]:
        data = Path("out", entry["path"]).read_bytes()
        assert (entry["bytes"], entry["sha256"]) == (len(data), sha256(data).hexdigest())


def test_the_page_tells_of_policies_and_not_of_texts() -> None:
    main(["export", "r"])
    page = Path("runs/r/evidence/evidence.md").read_text()
    assert "# Evidence of run r" in page
    assert "Reviews \\| texts" in page
    assert "checked by hand" in page and "input.detect.email" in page
    assert "look at" not in page and "a@b.io" not in page


def test_later_segments_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_WORKFLOW_RESUME", "1")
    run(PROGRAM)
    main(["export", "r"])
    found = json.loads(Path("runs/r/evidence/evidence.json").read_text())
    assert [event["event"] for event in found["events"]].count("run.started") == 2
    assert found["event_counts"]["agent.started"] == 2  # nothing was done again


def test_what_can_t_be_exported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "none"]) == 2
    assert "no run 'none'" in capsys.readouterr().err
    Path("file").write_text("")
    assert main(["export", "r", "--out-dir", "file/below"]) == 1
    assert "error: " in capsys.readouterr().err
