"""`sema mcp` as a process, with the official client."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the dev-llm extra is not installed")
from mcp import Client
from mcp_server_support import SERVE, TOOLS, WORKFLOW, call, session


def test_tools_of_a_program_and_of_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "tools.sema").write_text(TOOLS)

    async def tour(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        own = [name for name in tools if name in ("add", "send_", "_hidden", "private", "unexposed")]
        assert own == ["add", "send_"] and {"eval", "run_file", "docs_search", "notebook/eval_all"} <= tools.keys()
        assert tools["add"].input_schema == {
            "type": "object",
            "properties": {"a": {"type": "number", "description": "first"}, "b": {"type": "integer"}},
            "required": ["a"],
        }
        assert tools["send_"].input_schema["properties"] == {
            "to": {"type": "string", "enum": ["ann", "bob"]},
            "words": {"type": "array", "items": {"type": "string"}},
        }
        assert await call(client, "add", a=1.5) == "2.5"
        assert await call(client, "add", a=1, b=2.0) == "3"
        refused = "ERROR Invalid arguments for tool 'add': "
        assert await call(client, "add") == refused + "missing required parameter 'a'"
        assert await call(client, "add", a="1") == refused + "parameter 'a' expected number, got JSON string"
        assert await call(client, "add", a=1, b=1.5) == refused + "parameter 'b' expected integer, got JSON number"
        assert await call(client, "send!", to="ann", words=["x"]) == "ERROR Tool 'send!' is not allowed or excluded."
        assert await call(client, "send_", to="ann", words=["x"]) == '{"to":"ann","words":["x"]}'
        assert "expected one of ann, bob" in await call(client, "send_", to="eve", words=[])
        assert (await call(client, "boom")).startswith("ERROR \nError: no way\n  --> tools.sema:12")

        assert await call(client, "eval", code='(println "hi") (define x (+ shared 1)) x') == "hi\n\nResult: 2"
        assert await call(client, "eval", code="(define (f) x) nil") == ""
        assert "hint: Did you mean 'shared'?" in await call(client, "eval", code="(shard)")
        assert await call(client, "eval") == "ERROR Missing required parameter: code"
        assert await call(client, "eval", code=1) == "ERROR Parameter code must be string, got 1"
        (tmp_path / "args.sema").write_text('(define y 5) (println (sys/args)) (import "other.sema") (str x)')
        (tmp_path / "other.sema").write_text("(define z 1)")
        assert (await call(client, "run_file", file_path="args.sema", arguments=["a"])).endswith('Result: "2"')
        assert await call(client, "eval", code="(list y z)") == "\nResult: (5 1)"
        assert (await call(client, "run_file", file_path="no.sema")).startswith("ERROR Failed to read no.sema")

        assert await call(client, "compile", source_path="tools.sema") == "Compiled successfully to tools.py"
        (tmp_path / "wrong.sema").write_text("(let ((x)) x")
        assert (await call(client, "compile", source_path="wrong.sema")).startswith("ERROR Compile error: ")
        assert "def " in await call(client, "disasm", file_path="tools.sema")
        assert await call(client, "fmt", code="(f  1)") == "(f 1)\n"
        assert await call(client, "fmt", code="(f") == "ERROR Format error: unclosed delimiter\n  at <code>:1:1"
        assert await call(client, "fmt", file_path="other.sema") == "Formatted other.sema."
        assert await call(client, "docs", symbol="f") == "  f : lambda ()"
        assert (await call(client, "docs", symbol="add")).startswith("Tool: add\nDescription: Adds\nParameters: {:a ")
        assert (await call(client, "docs", symbol="string/split")).startswith("string/split : builtin")
        assert "hint: string/split" in await call(client, "docs", symbol="string/spilt")
        found = json.loads(await call(client, "docs_search", query="parse json", limit=2))
        assert len(found) == 2 and found[0]["name"] == "json/decode" and "(json/decode" in found[0]["signature"]
        assert "Files: tools.sema" in await call(client, "info")

    session(tmp_path, tour, "tools.sema")


def test_programs_that_exit_crash_or_hang(tmp_path: Path) -> None:
    (tmp_path / "tools.sema").write_text(TOOLS)
    outside = '(py/import "os") (py/import "signal") (py/import "time") (py/import "threading")'

    async def tour(client: Client) -> None:
        progress: list[str] = []

        async def note(done: float, total: float | None, message: str | None) -> None:
            progress.append(str(message))

        result: Any = await client.call_tool("count", {"n": 8}, progress_callback=note)
        assert result.content[0].text.endswith("step 7\n") and progress[0] == "step 0" and len(progress) > 1
        assert await call(client, "eval", code="(define x 1) (println 2) (exit 0)") == "2\n"
        assert await call(client, "eval", code="(exit 3)") == "ERROR \nError: the program called (exit 3)"
        late = await call(client, "eval", code="(async/spawn (fn () (exit 4))) (sleep 20) x")
        assert late == "\nResult: 1"
        text = await call(client, "eval", code=f'{outside} (println "a") (os.system "echo \'{{}}\'") (println "b") 1')
        assert text == "a\n{}\nb\n\nResult: 1"
        silent = (
            f'{outside} (println "a") (os.dup2 (os.open os.devnull 1) 2) (os.system "echo c >&2") (println "é\\0") 1'
        )
        assert await call(client, "eval", code=silent) == "a\né\0\n\nResult: 1"
        long = await call(client, "eval", code='(println (string/repeat "é" 5000)) (os.system "echo x") 1')
        assert long == "é" * 5000 + "\nx\n\nResult: 1"
        over = "exceeded time budget of 0.3 s"
        assert over in await call(client, "eval", code="(let loop () (loop))", timeout_ms=300)
        assert over in await call(client, "forever", timeout_ms=300)
        assert over in await call(client, "wait", timeout_ms=300)
        assert over in await call(client, "eval", code="(time.sleep 60)", timeout_ms=300)
        waiting = [asyncio.create_task(call(client, "count", n=4)) for _ in range(3)]
        assert await call(client, "add", a=1) == "2" and not any(task.done() for task in waiting)
        assert await asyncio.gather(*waiting) == ["step 0\nstep 1\nstep 2\nstep 3\n"] * 3
        assert await call(client, "eval", code="x") == "\nResult: 1"
        stubborn = "(signal.signal signal.SIGINT signal.SIG-IGN) (let loop () (loop))"
        assert "its process had to be ended" in await call(client, "eval", code=stubborn, timeout_ms=300)
        assert "Unbound variable: x" in await call(client, "eval", code="x")
        for end, words in (("(os._exit 7)", "exit status 7"), ("(os.kill (os.getpid) 11)", "SIGSEGV")):
            assert words in await call(client, "eval", code=f"{outside} {end}")
            assert await call(client, "add", a=1) == "2"
        assert await call(client, "eval", code='(deftool fresh "" {} (fn () 9)) nil') == ""
        assert await call(client, "fresh") == "9"

    session(tmp_path, tour, "tools.sema")


def test_a_workflow_is_a_tool_and_is_resumed(tmp_path: Path) -> None:
    (tmp_path / "greet.sema").write_text(WORKFLOW)

    async def tour(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        schema = tools["greet"].input_schema
        assert schema["required"] == ["names"] and schema["properties"]["names"]["items"] == {"type": "string"}
        assert "Greets people" in str(tools["greet"].description)
        progress: list[str] = []

        async def note(done: float, total: float | None, message: str | None) -> None:
            progress.append(str(message))

        result: Any = await client.call_tool("greet", {"names": ["a"]}, progress_callback=note)
        assert result.content[0].text.startswith(
            'starting\n\nResult: {"status": "success", "value": ["hello a"]}\nRun: '
        )
        assert progress[-1].startswith("greet: success")
        assert "expected array" in await call(client, "greet", names="a")
        text = await call(client, "greet", names=["a", "b"], slow=True, timeout_ms=4000)
        assert text.startswith("ERROR starting") and "resume_run = wf_" in text
        run = text.rpartition("resume_run = ")[2]
        (tmp_path / "go").write_text("")
        again = await call(client, "greet", names=["a", "b"], slow=True, resume_run=run)
        assert '["hello a", "hello b"]' in again and again.endswith(f"Run: {run}")
        assert (tmp_path / "log").read_text() == "aab"
        listed = [str(page.uri) for page in (await client.list_resources()).resources]
        assert f"sema://runs/{run}" in listed
        shown: Any = (await client.read_resource(f"sema://runs/{run}")).contents[0]
        assert json.loads(shown.text)["status"] == "success"
        journal: Any = (await client.read_resource(f"sema://runs/{run}/journal")).contents[0]
        assert json.loads(journal.text.split("\n")[0])["event"] == "run.started"

    session(tmp_path, tour, "greet.sema")


def test_notebooks(tmp_path: Path) -> None:
    async def tour(client: Client) -> None:
        assert (
            await call(client, "notebook/new", path="n.sema-nb", title="T") == "Created new empty notebook at n.sema-nb"
        )
        assert "overwrite=true" in await call(client, "notebook/new", path="n.sema-nb")
        first, second = [
            json.loads(await call(client, "notebook/add_cell", path="n.sema-nb", type="code", source=source))["cell_id"]
            for source in ("(define x 2) (println 1) x", "(* x 10)")
        ]
        text = await call(client, "notebook/add_cell", path="n.sema-nb", type="markdown", source="# M", after_id=first)
        markdown = json.loads(text)["cell_id"]
        assert json.loads(await call(client, "notebook/eval_cell", path="n.sema-nb", id=first)) == {
            "stdout": "1\n",
            "display": "2",
        }
        assert "Markdown" in await call(client, "notebook/eval_cell", path="n.sema-nb", id=markdown)
        answers = json.loads(await call(client, "notebook/eval_all", path="n.sema-nb"))
        assert [answer["display"] for answer in answers] == ["2", "20"]
        await call(client, "notebook/update_cell", path="n.sema-nb", id=first, source="(define x 3) nope")
        book = json.loads(await call(client, "notebook/read", path="n.sema-nb"))
        assert [cell["id"] for cell in book["cells"]] == [first, markdown, second]
        assert book["cells"][0]["outputs"] == [] and book["cells"][2]["stale"] is True
        assert (await call(client, "notebook/eval_cell", path="n.sema-nb", id=first)).startswith("ERROR {")
        assert json.loads(await call(client, "notebook/eval_cell", path="n.sema-nb", id=second))["display"] == "30"
        assert "**Out [3]:**" in await call(client, "notebook/export", path="n.sema-nb", format="markdown")
        exported = await call(client, "notebook/export", path="n.sema-nb", format="source", output_path="out.sema")
        assert exported.endswith("out.sema") and (tmp_path / "out.sema").read_text().endswith("(* x 10)")
        await call(client, "notebook/delete_cell", path="n.sema-nb", id=markdown)
        assert "Cell not found: zzz" in await call(client, "notebook/delete_cell", path="n.sema-nb", id="zzz")
        assert "Unbound variable: x" in await call(client, "eval", code="x")  # an environment of its own
        newer = json.dumps({"version": 2, "cells": []})
        (tmp_path / "newer.sema-nb").write_text(newer)
        assert "version 2" in await call(client, "notebook/eval_all", path="newer.sema-nb")
        assert (tmp_path / "newer.sema-nb").read_text() == newer

    session(tmp_path, tour)


def test_resources_and_prompts(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("print('x')\n")

    async def tour(client: Client) -> None:
        text: Any = (await client.read_resource("sema://guide")).contents[0]
        assert text.text.startswith("# Sema on one page")
        text = (await client.read_resource("sema://docs/string/split")).contents[0]
        assert text.text.startswith("string/split : builtin") and text.mime_type == "text/markdown"
        text = (await client.read_resource("sema://docs/module/json")).contents[0]
        assert "## json/decode : builtin" in text.text
        for wrong in ("sema://docs/nope", "sema://runs/..%2f..", "sema://other", "sema://docs/module/nope"):
            with pytest.raises(Exception, match="there is no"):
                await client.read_resource(wrong)
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert {"write-sema", "review-sema", "port-python"} <= set(names)
        prompt: Any = await client.get_prompt("port-python", {"file": "old.py"})
        assert "```python\nprint('x')\n```" in prompt.messages[1].content.text
        assert prompt.messages[0].content.resource.text.startswith("# Sema on one page")
        with pytest.raises(Exception, match="give a file or code"):
            await client.get_prompt("review-sema", {})
        with pytest.raises(Exception, match="task is missing"):
            await client.get_prompt("write-sema", {})

    session(tmp_path, tour, "--exclude", "notebook/*")


def test_what_is_served_and_what_the_sandbox_denies(tmp_path: Path) -> None:
    (tmp_path / "tools.sema").write_text(TOOLS)

    async def tour(client: Client) -> None:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["run_file", "eval", "compile", "fmt", "add"]
        assert await call(client, "docs", symbol="map") == "ERROR Tool 'docs' is not allowed or excluded."
        denied = "Permission denied: {} requires '{}' capability"
        assert denied.format("file/write", "fs-write") in await call(client, "eval", code='(file/write "x" "y")')
        assert "Permission denied" in await call(client, "eval", code='(py/import "os")')
        assert denied.format("compile", "fs-write") in await call(client, "compile", source_path="tools.sema")
        assert denied.format("fmt", "fs-write") in await call(client, "fmt", file_path="tools.sema")
        assert await call(client, "fmt", code="(f  1)") == "(f 1)\n"
        assert await call(client, "add", a=1) == "2"

    include = "run_file,eval,compile,add,boom,fm*"
    session(tmp_path, tour, "tools.sema", "--include", include, "--exclude", "boom", "--sandbox", "strict")


@pytest.mark.parametrize(
    ("source", "arguments", "words"),
    [
        ("(error \"at load\")", [], "Error: loading tools.sema: at load"),
        ("(let loop () (loop))", ["--timeout-ms", "500"], "it takes too long"),
        ("1", ["nope.sema"], "Error: file not found: nope.sema"),
        ("1", ["--sandbox", "nope"], "unknown capability: nope"),
        ("1", ["--http", "0.0.0.0:0"], "serving on 0.0.0.0 needs a token"),
    ],
)  # fmt: skip
def test_a_server_that_does_not_start(tmp_path: Path, source: str, arguments: list[str], words: str) -> None:
    (tmp_path / "tools.sema").write_text(source)
    command = [*SERVE, "tools.sema", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path, stdin=subprocess.DEVNULL)
    assert ran.returncode == 1 and words in ran.stderr and ran.stdout == ""
