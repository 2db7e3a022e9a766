"""`sema doctor`: what it says of an environment, and its calls."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from llm_support import Answer, chat_reply, claude_reply, closed_port, serving
from llm_support import llm as llm
from paths import ROOT

from semac.cli import doctor_facts
from semac.cli.main import main

pytestmark = pytest.mark.usefixtures("llm")
KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def plain(llm: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is set that `sema doctor` shows, and the user's folder is a new one."""
    for name in (*doctor_facts.SETTINGS, "JINA_API_KEY", "VOYAGE_API_KEY", "COHERE_API_KEY", "NOMIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SEMA_HOME", str(tmp_path / "home"))


def doctor(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = main(["doctor", *arguments])
    out, err = capsys.readouterr()
    assert err == "" or status, err
    assert KEY not in out + err
    return status, out + err


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(doctor(capsys, "--json", *arguments)[1])
    return found


def test_nothing_is_configured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out = doctor(capsys)
    assert status == 0
    assert f"Home: {tmp_path}/home (writable)" in out
    assert "Default: ollama, model gemma4 (no key is set: calls go to a server on this machine)" in out
    assert "Default for embeddings: none" in out
    assert "  anthropic   ANTHROPIC_API_KEY   not set\n" in out
    assert out.endswith("No problems found; 'sema doctor --call' tries a call.\n")
    assert not (tmp_path / "home").exists(), "it only looks"


def test_what_is_configured(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "GROQ_API_KEY", "VOYAGE_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("SEMA_CHAT_PROVIDER", "groq")
    monkeypatch.setenv("SEMA_CHAT_MODEL", "my-model")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:secret@proxy:3128/x")
    monkeypatch.setenv("SEMA_USAGE", "off")
    status, out = doctor(capsys)
    assert status == 0
    assert "Default: groq, model my-model\n" in out
    assert "Default for embeddings: voyage, model voyage-3\n" in out
    assert "  openai      OPENAI_API_KEY      set      gpt-5.5\n" in out
    assert "  groq        GROQ_API_KEY        set      my-model (default)\n" in out
    assert "  HTTPS_PROXY  http://***@proxy:3128/x\n" in out
    assert "secret" not in out
    assert "Usage ledger: off (SEMA_USAGE)" in out
    found = report(capsys)
    assert found["default"] == {"name": "groq", "model": "my-model"}
    assert found["settings"]["SEMA_CHAT_PROVIDER"] == "groq"
    assert [one["name"] for one in found["providers"] if one["set"]] == ["openai", "groq"]
    assert found["problems"] == []


PROBLEMS = {
    "a forced provider without a key": (
        {"SEMA_CHAT_PROVIDER": "mistral"},
        "requested provider is not configured: mistral (SEMA_CHAT_PROVIDER asks for it; set MISTRAL_API_KEY)",
    ),
    "blanks": ({"OPENAI_API_KEY": f" {KEY}\n"}, "OPENAI_API_KEY has blanks or line ends around it"),
    "quotes": ({"OPENAI_API_KEY": f'"{KEY}"'}, "OPENAI_API_KEY has quotes around it"),
    "odd characters": ({"GROQ_API_KEY": "gsk_…"}, "GROQ_API_KEY has characters in it that no key has"),
    "another's key": ({"OPENAI_API_KEY": "sk-ant-x"}, "OPENAI_API_KEY holds a key of Anthropic: set ANTHROPIC_API_KEY"),
    "no URL": (
        {"OPENAI_BASE_URL": "localhost:80"},
        "OPENAI_BASE_URL is no URL: it must begin with http:// or https://",
    ),
    "no tape": (
        {"SEMA_LLM_CASSETTE": "/none/t.jsonl", "SEMA_LLM_CASSETTE_MODE": "replay"},
        "SEMA_LLM_CASSETTE names /none/t.jsonl, which isn't there, and nothing is recorded in mode replay",
    ),
    "no mode": (
        {"SEMA_LLM_CASSETTE_MODE": "rewind"},
        "SEMA_LLM_CASSETTE_MODE is rewind, which counts as auto; the others are replay and record",
    ),
    "no certificates": ({"SSL_CERT_FILE": "/none.pem"}, "SSL_CERT_FILE names /none.pem, which isn't there"),
    "a home that is none": (
        {"SEMA_HOME": "/dev/null/x"},
        "/dev/null/x can't be written: no cache, no ledger, no tokens; SEMA_HOME names another",
    ),
}


@pytest.mark.parametrize("what", PROBLEMS)
def test_problems(what: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    environment, problem = PROBLEMS[what]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    status, out = doctor(capsys)
    assert status == 1
    assert out.endswith(f"Problem: {problem}\n")
    assert report(capsys)["problems"] == [problem]


def test_an_extra_that_is_missing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doctor_facts.EXTRAS, "otel", (("no_such_module",), "traces and metrics"))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:secret@collector:4318")
    status, out = doctor(capsys)
    assert status == 1
    [row] = [line.split(maxsplit=2) for line in out.splitlines() if line.startswith("  otel ")]
    assert row == ["otel", "missing", "traces and metrics: pip install 'semac[otel]'"]
    assert "Problem: OTEL_EXPORTER_OTLP_ENDPOINT needs an extra: pip install 'semac[otel]'" in out
    assert "secret" not in out


def test_every_extra_is_known() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {*doctor_facts.EXTRAS} == {name for name in declared if not name.startswith("dev") and name != "bench"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://a:b@host/x", "http://***@host/x"),
        ("a:b@host:3128", "***@host:3128"),
        ("http://host/a@b", "http://host/a@b"),
        ("model@2", "model@2"),
    ],
)
def test_passwords_are_hidden(text: str, shown: str) -> None:
    assert doctor_facts.without_password(text) == shown


# Calls


def test_a_call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(Answer(body=chat_reply("ok"))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        status, out = doctor(capsys, "--call")
    assert status == 0
    last = out.splitlines()[-1]
    assert last.startswith("Call to openai (gpt-5.5): answered in ") and last.endswith(": ok")
    assert ", 3+2 tokens, $0.0000" in last
    [received] = server.received
    assert received.body["model"] == "gpt-5.5" and len(json.dumps(received.body)) < 250


def test_calls_of_all(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with (
        serving(Answer(body=claude_reply({"type": "text", "text": "ok"}))) as one,
        serving(Answer(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}})) as two,
    ):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", one.url)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{two.url}/v1")
        status = main(["doctor", "--call", "all", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert status == 1
    assert [(one["provider"], one["error"] is None) for one in found["calls"]] == [
        ("anthropic", True),
        ("openai", False),
    ]
    assert found["calls"][0]["answer"] == "ok" and found["calls"][0]["cost_usd"] > 0
    assert found["calls"][1]["hint"] == "provider 'openai' refused the key: check OPENAI_API_KEY"
    assert KEY not in json.dumps(found)


def test_a_call_that_fails_is_made_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(Answer(503, {"error": {"message": "busy"}})) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        status, out = doctor(capsys, "--call", "openai")
    assert status == 1 and len(server.received) == 1
    assert "failed after" in out and "API error: 503 - busy" in out


def test_a_call_does_not_wait_for_ever(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        status, out = doctor(capsys, "--call", "--timeout", "0.2")
    assert status == 1 and "failed after" in out and "HTTP error" in out


def test_a_call_bypasses_tapes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SEMA_LLM_CASSETTE", str(tmp_path / "t.jsonl"))
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{closed_port()}")
    status, out = doctor(capsys, "--call")
    assert status == 1 and "could not connect to" in out
    assert not (tmp_path / "t.jsonl").exists()


def test_a_call_of_whom(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor(capsys, "--call", "nobody") == (
        1,
        "Error: unknown provider 'nobody': "
        + ", ".join(one["name"] for one in doctor_facts.facts()["providers"])
        + "\n",
    )
    status, out = doctor(capsys, "--call", "groq")
    assert status == 1 and "Call to groq failed: not configured\n  hint: set GROQ_API_KEY" in out


def test_providers_may_be_left_out(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_NO_LLM", "1")
    status, out = doctor(capsys, "--call")
    assert status == 1 and "Default: none" in out
    assert out.endswith("failed: not configured\n  hint: SEMA_NO_LLM is set, which leaves all providers out\n")


def test_it_loads_little() -> None:
    code = (
        "import sys; from semac.cli.main import main; main(['doctor']); "
        "print([m for m in 'asyncio httpx ssl pydantic opentelemetry.sdk uvicorn'.split() if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ})
    assert done.stdout.splitlines()[-1] == "[]", done.stdout[-300:] + done.stderr
