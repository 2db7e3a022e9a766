"""Nothing that models, servers, tools and files say can drive the terminal that shows it."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import workflow_journals as journals
from paths import DATA
from terminal_support import Terminal, sema

from sema_runtime.support.visible import visible

EVIL = "\x1b[2J\x1b]52;c;ZXZpbA==\x07\x9b31m\u202etxt\u2066\r\x08x"
HARMLESS = "é 日本 👩‍👩‍👧 می‌خواهم\ttab"


def shown(folder: Path, *args: str, keys: bytes = b"", **settings: str) -> str:
    """What a command writes to a terminal, of which nothing may drive it; our own colours are switched off."""
    command = ["sh", "-c", 'cd "$0" && exec "$@"', str(folder), sys.executable, "-m", "semac.cli.entry", *args]
    with Terminal(command, 200, NO_COLOR="1", **settings) as terminal:
        if keys:
            terminal.until("sema> ")
            terminal.type(keys)
        terminal.end()
        written = terminal.written.decode()
    return written


def harmless(text: str, quoted: str = "\\x1b[2J") -> None:
    assert quoted in text, text
    for char in ("\x1b", "\x07", "\x9b", "\u202e", "\u2066", "\x08"):
        assert char not in text, repr(text)
    assert "\r" not in text.replace("\r\n", "")


def test_what_is_made_visible() -> None:
    assert visible(EVIL) == r"\x1b[2J\x1b]52;c;ZXZpbA==\x07\x9b31m\u202etxt\u2066\x0d\x08x"
    assert visible(HARMLESS) == HARMLESS
    assert visible("a\nb\u2028\ud800\U000e0041") == "a\nb\\u2028\\ud800\\U000e0041"


def literal(text: str) -> str:
    return '"' + "".join(f"\\u{ord(char):04x}" for char in text) + '"'


@pytest.mark.parametrize("option", ["-p", "-e"])
def test_values(tmp_path: Path, option: str) -> None:
    harmless(shown(tmp_path, option, f"(string->symbol {literal(EVIL)})"))
    harmless(shown(tmp_path, option, f"(error {literal(EVIL)})"))
    harmless(shown(tmp_path, option, f"(list {literal(EVIL)})"))
    harmless(shown(tmp_path, option, f"(throw {{:message {literal(EVIL)} :hint {literal(EVIL)}}})"))


def test_an_evaluation(tmp_path: Path) -> None:
    harmless(shown(tmp_path, "eval", "--expr", f"(string->symbol {literal(EVIL)})"))
    harmless(shown(tmp_path, "eval", "--expr", f"(error {literal(EVIL)})"))


def test_files_and_pipes_get_the_value_as_it_is() -> None:
    assert sema(f"(display {literal(EVIL)})").stdout.rstrip("\n") == EVIL.replace("\r", "\n")  # text mode reads so
    assert "\x1b]52" in sema(f"(string->symbol {literal(EVIL)})").stdout


def test_what_a_program_writes_is_its_own(tmp_path: Path) -> None:
    assert "\x1b[1mbold\x1b[0m" in shown(tmp_path, "-e", '(println "\\u001b[1mbold\\u001b[0m")')


def test_a_file_name_and_a_source_line(tmp_path: Path) -> None:
    name = f"{EVIL.replace('/', '')}.sema"
    harmless(shown(tmp_path, name))
    (tmp_path / name).write_text(f'(define x 1)\n(car 5 ; {EVIL[:4]}\n)(error "{EVIL[:4]}")')
    for args in ([name], ["check", name], ["ast", name], ["compile", "-o", "-", name], ["workflow", "check", name]):
        harmless(shown(tmp_path, *args), "")
    harmless(shown(tmp_path, "workflow", "run", name))


@pytest.mark.parametrize(
    "args",
    [
        ("eval", "--memory", EVIL, "--expr", "1"),
        ("eval", "--sandbox", EVIL, "--expr", "1"),
        ("--sandbox", EVIL, "-e", "1"),
        ("-e", "1", EVIL),
        (f"--{EVIL}",),
        ("workflow", EVIL),
        ("workflow", "run", EVIL),
        ("workflow", "run", "--bogus", EVIL),
        ("workflow", "view", EVIL),
        ("doc", EVIL),
        ("usage", EVIL),
    ],
)
def test_arguments_that_are_refused(tmp_path: Path, args: tuple[str, ...]) -> None:
    """They may come from a script, which took them from a model or a server."""
    harmless(shown(tmp_path, *args), "")


def test_the_repl(tmp_path: Path) -> None:
    keys = f"(string->symbol {literal(EVIL)})\r(error {literal(EVIL)})\r,quit\r".encode()
    text = shown(tmp_path, "-q", keys=keys, TERM="dumb", SEMA_HOME=str(tmp_path))
    answers = text.partition("\n")[2]
    assert "\\x1b[2J" in answers
    assert "\x1b]52" not in answers and "\x9b" not in answers and "\u202e" not in answers


class Server(BaseHTTPRequestHandler):
    """A model whose replies, errors and model names are hostile."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status = 400 if "fail" in self.path else 200
        reply = {
            "id": "1",
            "model": EVIL,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": EVIL}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1},
        }
        data = json.dumps({"error": {"message": EVIL, "type": EVIL}} if status == 400 else reply).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def provider(url: str) -> str:
    return f'(llm/configure :openai {{:api-key "k" :base-url "{url}/v1" :default-model "m"}})\n'


def test_a_reply_and_the_body_of_an_error(tmp_path: Path, model: str) -> None:
    harmless(shown(tmp_path, "-p", f'(begin {provider(model)} (llm/complete "x"))'), "52;c")
    harmless(shown(tmp_path, "-p", f'(begin {provider(model + "/fail")} (llm/complete "x"))'), "52;c")
    harmless(shown(tmp_path, "-e", f'(begin {provider(model)} (llm/stream "x") nil)'), "")


def test_a_workflow(tmp_path: Path, model: str) -> None:
    """Progress, and every command that shows the run."""
    (tmp_path / "w.sema").write_text(
        provider(model)
        + f"""(defworkflow w "" {{}} (phase {literal(EVIL)}) (checkpoint {literal(EVIL)} {literal(EVIL)})
        (step {literal(EVIL)} {{:name {literal(EVIL)}}}) (step "x" {{:name "plain"}})
        (workflow/step "bad" (fn () (error {literal(EVIL)}))))"""
    )
    text = shown(tmp_path, "workflow", "run", "w.sema", TERM="dumb")
    assert "\\x1b[2J" in text
    for harm in ("\x1b[2J", "\x1b]52", "\x9b", "\u202e", "\x07", "\x08"):
        assert harm not in text
    (run,) = (path.parent.name for path in (tmp_path / ".sema/runs").glob("*/events.jsonl"))
    for args in (
        ["show"],
        ["show", "--all", run],
        ["show", "--events"],
        ["show", "--agent", "plain_1"],
        ["diff", run, run],
    ):
        harmless(shown(tmp_path, "workflow", *args), "" if args[0] == "diff" else "\\x1b")
    harmless(shown(tmp_path, "workflow", "list"), "failed")


def test_runs_whose_journals_and_names_are_hostile(tmp_path: Path) -> None:
    root = tmp_path / ".sema" / "runs"
    name = "a\x1b[2Jb\u202e"
    for run in (name, "other"):
        part = journals.Segment(EVIL, EVIL, phases=[EVIL], args_json=EVIL)
        part.open_phase(EVIL)
        part.finish(part.start(EVIL, EVIL + run), 5, EVIL + run, model=EVIL, ok=False)
        part.checkpoint(EVIL, EVIL + run)
        part.end(EVIL, EVIL)
        (journals.written(root, run, part, result=EVIL) / "nested.jsonl").write_text(
            json.dumps({"key": "k", "segment": 0, "run_id": EVIL, "workflow": EVIL})
        )
    for args in (
        ["list"],
        ["show", "other"],
        ["show", "other", "--events"],
        ["show", name],
        ["diff", "other", "other"],
    ):
        harmless(shown(tmp_path, "workflow", *args), "\\x1b")
    harmless(shown(tmp_path, "workflow", "diff", "other", "latest", "--full"), "")
    for args in (["show", "other", "--json"], ["list", "--json"], ["diff", "other", "other", "--json"]):
        text = shown(tmp_path, "workflow", *args)
        harmless(text, "\\u001b[2J")
        assert any(EVIL in found for found in _texts(json.loads(text)))


def _texts(value: Any) -> Iterator[str]:
    """All the texts in JSON data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from _texts(part)


def test_doctor_usage_mcp_and_cassettes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "usage").mkdir(parents=True)
    line = {"at": 1.8e9, "script": EVIL, "operation": "chat", "provider": EVIL, "model": EVIL, "prompt_tokens": 1,
            "completion_tokens": 1, "cache_read_tokens": 0, "cache_creation_tokens": 0, "cost_usd": 0.1, "attempts": 1,
            "estimated": False, "cached": False, "replayed": False, "ms": 1, "error": None}  # fmt: skip
    (home / "usage" / "2027-01.jsonl").write_text(json.dumps(line) + "\n")
    settings = {"SEMA_HOME": str(home), "SEMA_USAGE": "on"}
    harmless(shown(tmp_path, "usage", "--by", "model", "--since", "2020-01-01", **settings))
    harmless(shown(tmp_path, "doctor", SEMA_HOME=str(home), SEMA_CHAT_MODEL=EVIL, SEMA_CHAT_PROVIDER="openai"), "")
    harmless(shown(tmp_path, "mcp", "login", f"https://{EVIL}", **settings), "")
    harmless(shown(tmp_path, "cassette", "show", EVIL, "1", **settings))
    harmless(shown(tmp_path, "doc", EVIL))


SERVER = DATA / "mcp" / "escapes.py"
CONNECT = f'(define s (mcp/connect {{:command "{sys.executable}" :args ["{SERVER}"]}}))'


@pytest.mark.parametrize(
    ("program", "quoted"),
    [
        ("(mcp/tools s)", "\\x1b[2J"),
        ('(mcp/call s "say" {})', "\\x1b[2J"),
        ('(mcp/call s "fail" {})', "\\x1b[2J"),
        ('(mcp/call s "refuse" {})', "\\x1b[2J"),
        ('(mcp/call s "die" {})', "\\x1b[2J"),  # the end of its error output
        ('(spy "reply" (mcp/call s "say" {}))', "\\x1b[2J"),
        ('(py/import "sys") (sys.exit (mcp/call s "say" {}))', "\\x1b[2J"),
        (
            """(py/import "threading") (define said (mcp/call s "say" {}))
            (let ((t (threading.Thread :target (fn () (error said))))) (.start t) (.join t))""",
            "\\x1b[2J",
        ),
    ],
)
def test_what_a_server_of_tools_says(tmp_path: Path, program: str, quoted: str) -> None:
    harmless(shown(tmp_path, "-e", f"(begin {CONNECT} {program})"), quoted)


def test_a_report_in_json_stays_json(tmp_path: Path) -> None:
    text = shown(tmp_path, "eval", "--json", "--expr", f'(begin {CONNECT} (mcp/call s "say" {{}}))')
    harmless(text, "\\u001b[2J")
    assert "say \x1b[2J" in json.loads(text)["value"] and "\\u202e" in text


def test_an_approval_and_a_workflow_with_tools(tmp_path: Path) -> None:
    (tmp_path / "w.sema").write_text(
        f"""{CONNECT} (define asked #f)
        (llm/define-provider :fake {{:default-model "m" :complete (fn (request)
          (if asked {{:content (mcp/call s "say" {{}})}}
            (begin (set! asked #t)
              {{:content ""
                :tool-calls (map (fn (name) {{:id name :name name :arguments {{}}}}) '("say" "fail" "refuse"))}})))}})
        (defworkflow w "" {{}}
          (phase (mcp/call s "say" {{}}))
          (step "go" {{:name "agent" :tools (mcp/tools->sema s)}})
          (checkpoint :said (mcp/call s "say" {{}}))
          (parallel (list (fn () (mcp/call s "refuse" {{}}))))
          (approval :deploy {{:reason (mcp/call s "say" {{}}) :subject 1 :preview (mcp/call s "say" {{}})}}))"""
    )
    pytest.importorskip("cryptography", reason="the extra `approvals` is not installed")
    command = [sys.executable, "-m", "semac.cli.entry", "workflow", "run", "w.sema"]
    with Terminal(
        ["sh", "-c", 'cd "$0" && exec "$@"', str(tmp_path), *command],
        200,
        NO_COLOR="1",
        TERM="dumb",
        CI="",
        HOME=str(tmp_path),
        SEMA_HOME=str(tmp_path),
    ) as terminal:
        terminal.until("anything else: later")
        terminal.type(b"y\r")
        terminal.end()
    harmless(terminal.written.decode(), "Approval needed: say \\x1b[2J")
    for args in (["show"], ["show", "--events"], ["show", "--agent", "agent_1"], ["approvals", "latest"], ["list"]):
        harmless(shown(tmp_path, "workflow", *args), "")
