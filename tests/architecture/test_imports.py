"""Who may import whom, what a program loads when it starts, and that the table of builtins is complete."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from paths import ROOT, SCRIPTS

from semac.pipeline import compile_source

RUNTIME = ROOT / "runtime"
OURS = {"semac", "sema_runtime"}

# Third-party packages that a file imports when it is imported itself. None of these files is needed to run a program.
THIRD_PARTY = {
    "semac/cli/box/commands.py": {"click"},
    "semac/cli/box/options.py": {"click"},
    "semac/cli/box/repl.py": {"click"},
    "semac/cli/box/stream.py": {"click"},
    "semac/pkg/command.py": {"click"},
    "semac/pkg/reporting.py": {"click"},
    "semac/pkg/registry_commands.py": {"click"},
    "semac/project/command.py": {"click"},
    "semac/build/command.py": {"click"},
    "semac/packaging/hatch_plugin.py": {"hatchling"},
    "semac/cli/box_server.py": {"click"},
    "runtime/sema_runtime/box/serve/http.py": {"mcp", "starlette"},
    "runtime/sema_runtime/box/serve/box_server.py": {"mcp"},
    "runtime/sema_runtime/box/serve/mcp_server.py": {"anyio", "mcp"},
    "runtime/sema_runtime/box/serve/output_schema.py": {"jsonschema"},
    "semac/cli/box_agents/suite.py": {"click"},
    "semac/cli/box_agents/trace.py": {"click"},
    "semac/cli/cassette.py": {"click"},
    "semac/cli/completions/candidates.py": {"click"},
    "semac/cli/completions/command.py": {"click"},
    "semac/cli/main.py": {"click"},
    "semac/cli/ast.py": {"click"},
    "semac/cli/common.py": {"click"},
    "semac/cli/eval/command.py": {"click"},
    "semac/cli/run.py": {"click"},
    "semac/cli/fmt.py": {"click"},
    "semac/cli/editors/nrepl.py": {"click"},
    "semac/cli/editors/stubs.py": {"click"},
    "semac/editors/pygments_lexer.py": {"pygments"},
    "semac/cli/compile.py": {"click"},
    "semac/coverage_plugin.py": {"coverage"},
    "semac/cli/doctor.py": {"click"},
    "semac/cli/mcp.py": {"click"},
    "semac/mcp_server/children.py": {"anyio"},
    "semac/mcp_server/command.py": {"click"},
    "semac/mcp_server/notebooks.py": {"anyio"},
    "semac/mcp_server/pages.py": {"mcp"},
    "semac/mcp_server/prompts.py": {"mcp"},
    "semac/mcp_server/tools.py": {"anyio"},
    "runtime/sema_runtime/mcp_server/program.py": {"anyio"},
    "runtime/sema_runtime/mcp_server/server.py": {"anyio", "mcp"},
    "runtime/sema_runtime/mcp_server/transports.py": {"anyio"},
    "runtime/sema_runtime/mcp_server/worker.py": {"greenlet"},
    "semac/cli/workflow/approvals.py": {"click"},
    "semac/cli/workflow/command.py": {"click"},
    "semac/cli/workflow/list.py": {"click"},
    "semac/cli/workflow/diff.py": {"click"},
    "semac/cli/workflow/export.py": {"click"},
    "semac/cli/workflow/run.py": {"click"},
    "semac/cli/workflow/show.py": {"click"},
    "semac/cli/workflow/view.py": {"click"},
    "runtime/sema_runtime/telemetry/bridge.py": {"opentelemetry"},
    "runtime/sema_runtime/telemetry/otlp_json.py": {"requests"},
    "semac/cli/usage.py": {"click"},
    "semac/cli/repl/keys.py": {"prompt_toolkit"},
    "semac/cli/repl/prompt.py": {"prompt_toolkit"},
    "semac/cli/repl/tips.py": {"prompt_toolkit"},
    "semac/cli/repl/tree.py": {"prompt_toolkit"},
    "semac/jupyter/kernel.py": {"ipykernel"},
    "semac/jupyter/magic.py": {"IPython"},
    "semac/testing/plugin.py": {"pytest"},
    "semac/testing/reports.py": {"_pytest"},
    "runtime/sema_runtime/net/client.py": {"httpx"},
    "runtime/sema_runtime/net/redirects.py": {"httpx"},
    "runtime/sema_runtime/net/http1.py": {"h11"},
    "runtime/sema_runtime/lib/python/definitions.py": {"greenlet"},
    "runtime/sema_runtime/tasks/bridge.py": {"greenlet"},
    "runtime/sema_runtime/tasks/hosted.py": {"greenlet"},
    "runtime/sema_runtime/tasks/loops.py": {"greenlet"},
    "runtime/sema_runtime/tasks/scheduler.py": {"greenlet"},
    "runtime/sema_runtime/tasks/steppers.py": {"greenlet"},
    "runtime/sema_runtime/tasks/turns.py": {"greenlet"},
    "runtime/sema_runtime/tasks/waiting.py": {"greenlet"},
    "runtime/sema_runtime/web/protocol.py": {"uvicorn"},
    "runtime/sema_runtime/web/server.py": {"uvicorn"},
}
EFFECTFUL = {
    "lib",
    "llm",
    "tasks",
    "telemetry",
    "web",
    "compiler_bridge",
}  # of the runtime, which the compiler doesn't load
DOOR = "runtime/sema_runtime/compiler_bridge.py"  # the only way from the runtime to the compiler
OUTPUT_CAPTURE = {
    "semac/cli/eval/worker.py",
    "semac/box/worker.py",
    "semac/box/guards.py",
    "semac/box/tasks.py",
    "semac/mcp_server/setup.py",
    "semac/mcp_server/workflow_files.py",
    "semac/mcp_server/workflows.py",
}  # they collect what programs print, stand in front of builtins, or serve tools
HEAVY = ["asyncio", "httpx", "pydantic", "click", "tenacity", "typing", "dataclasses", "inspect", "re", "hy", "semac"]
TOOLS = {  # of people: a program that runs needs none of them
    *("pygls", "lsprotocol", "prompt_toolkit", "pygments", "IPython", "ipykernel", "jupyter_client", "zmq", "nbformat"),
    *("mcp", "anyio", "starlette", "hypothesis", "pytest", "coverage", "hatchling", "setuptools", "shiv"),
    *("PyInstaller", "debugpy", "build", "packaging", "jinja2", "jsonschema", "pip"),
}
DEPENDENCIES = {  # of single builtins: loaded when one of those is called
    *("asyncio", "bz2", "csv", "decimal", "fractions", "gzip", "hashlib", "http", "logging", "lzma", "multiprocessing"),
    *("numpy", "opentelemetry", "requests"),
    *("random", "select", "shutil", "socket", "sqlite3", "ssl", "subprocess", "tarfile", "tempfile", "tomllib", "xml"),
    *("zipfile", "zoneinfo", "click", "httpx", "markdown_it", "pydantic", "pypdf", "selectolax", "serial", "tenacity"),
    *("uvicorn", "watchfiles", "websockets"),
}

Emit = Callable[[str, str], Path]  # writes a module of a name, compiled from a source; its folder


class Import(NamedTuple):
    file: str
    module: str
    at_start: bool  # whether it happens when the file is imported

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]


def imports_of(path: Path) -> Iterator[Import]:
    file = path.relative_to(ROOT).as_posix()
    later: set[ast.AST] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        deferred = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        types_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if node in later or deferred or types_only:
            later.update(ast.iter_child_nodes(node))
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (Import(file, name, node not in later) for name in names)


IMPORTS = [
    found for folder in ("semac", "runtime") for path in (ROOT / folder).rglob("*.py") for found in imports_of(path)
]


def test_third_party_packages_are_imported_where_they_are_used() -> None:
    found: dict[str, set[str]] = {}
    for one in IMPORTS:
        if one.at_start and one.top not in sys.stdlib_module_names and one.top not in OURS:
            found.setdefault(one.file, set()).add(one.top)
    assert found == THIRD_PARTY


def test_the_runtime_knows_the_compiler_in_one_place() -> None:
    assert not [one for one in IMPORTS if one.file.startswith("runtime/") and one.top == "semac"]
    named = [path for path in (ROOT / "runtime").rglob("*.py") if '"semac.' in path.read_text()]
    assert [path.relative_to(ROOT).as_posix() for path in named] == [DOOR]


def test_the_compiler_loads_no_effectful_part_of_the_runtime() -> None:
    found = {
        one.file
        for one in IMPORTS
        if one.file.startswith("semac/") and one.at_start and one.top == "sema_runtime"
        if EFFECTFUL & {*one.module.split(".")[1:2]}
    }
    assert found <= OUTPUT_CAPTURE


def test_no_family_of_builtins_loads_what_another_depends_on() -> None:
    code = """
import importlib, pathlib, sys
import sema_runtime.lib as lib
root = pathlib.Path(lib.__file__).parent
for path in root.rglob("[a-z]*.py"):
    importlib.import_module(".".join(["sema_runtime.lib", *path.relative_to(root).with_suffix("").parts]))
print(*{name.partition(".")[0] for name in sys.modules})
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(RUNTIME)}, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "sema_runtime" in loaded, done.stderr
    assert not loaded & DEPENDENCIES


# Emitted modules


def run_alone(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """A Python process that finds the standard library, the runtime and the folder, nothing else."""
    env = {"PYTHONPATH": os.pathsep.join([str(RUNTIME), str(folder)]), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-S", "-c", code]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60)


@pytest.fixture
def emit(tmp_path: Path) -> Emit:
    def write(name: str, source: str) -> Path:
        (tmp_path / f"{name}.py").write_text(compile_source(source, f"{name}.sema").python_text())
        return tmp_path

    return write


def test_a_hello_world_module_loads_next_to_nothing(emit: Emit) -> None:
    folder = emit("hello", '(println "hello" (+ 1 2))')
    done = run_alone(folder, "import sys; before = set(sys.modules); import hello; print(*set(sys.modules) - before)")
    assert done.stderr == ""
    printed, loaded = done.stdout.splitlines()
    assert printed == "hello 3"
    assert not {*HEAVY} & {name.partition(".")[0] for name in loaded.split()}
    assert len(loaded.split()) < 20, loaded


@pytest.mark.parametrize(
    "arguments", [("hello.sema",), ("-e", '(println "hello")'), ("eval", "--expr", "1"), ("--version",)]
)
def test_the_command_loads_no_tool_of_people(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "hello.sema").write_text('(println "hello")')
    code = """
import atexit, os, sys
def tell():
    with open("loaded", "a") as file:
        print(*{name.partition(".")[0] for name in sys.modules}, file=file)
atexit.register(tell)
sys.argv[0] = "sema"
from semac.cli.entry import main
sys.exit(main())
"""
    for _ in range(2):  # compiled, then from the cache
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
    loaded = (tmp_path / "loaded").read_text().split()
    assert "semac" in loaded
    assert not TOOLS & {*loaded}


def test_a_compiled_program_runs_without_the_compiler(emit: Emit) -> None:
    source = """
    (define-record-type point (make-point x y) point? (x point-x))
    (define (sizes words) (foldl (fn (m w) (assoc m w (string-length w))) {} words))
    (println (sizes ["a" "bcd"]) (point-x (make-point 3 4)) (try (car 5) (catch e (:message e))))
    (println (match [1 {:k "v"}] ([n {:k s}] (str n s))) (sort '(3 1 2)) (json/encode {:a [1 2.5 nil]}))
    """
    done = run_alone(emit("program", source), "import program")
    assert done.stderr == ""
    assert done.stdout == ('{"a" 1 "bcd" 3} 3 expected list or vector, got int\n1v (1 2 3) {"a":[1,2.5,null]}\n')


def test_eval_without_the_compiler_says_what_is_missing(emit: Emit) -> None:
    folder = emit("evaluates", "(println (try (eval '(+ 1 2)) (catch e (:message e))))")
    done = run_alone(folder, "import evaluates")
    assert (
        done.stdout == "this program was compiled to run without the compiler; install the package semac to use eval\n"
    )


# The table of builtins


def build_catalogue(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "scripts" / "build_catalogue.py"), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_table_of_builtins_is_fresh() -> None:
    assert build_catalogue(ROOT, "--check").returncode == 0, "run python scripts/build_catalogue.py"


def test_a_malformed_signature_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPTS / "build_catalogue.py", tmp_path / "scripts")
    lib = tmp_path / "runtime" / "sema_runtime" / "lib"
    lib.mkdir(parents=True)
    (lib / "one.py").write_text('\n@builtin("a", type="int, string -> int")\ndef f(x, y):\n    return x\n')
    refused = build_catalogue(tmp_path)
    assert refused.returncode == 1
    assert refused.stderr == (
        "runtime/sema_runtime/lib/one.py:2: a: unknown type 'string' at column 6 of 'int, string -> int'\n"
    )


def test_a_name_is_declared_once(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPTS / "build_catalogue.py", tmp_path / "scripts")
    lib = tmp_path / "runtime" / "sema_runtime" / "lib"
    lib.mkdir(parents=True)
    declare = '@builtin("{}", "{}")\ndef f(x):\n    return x\n'
    (lib / "one.py").write_text(declare.format("a", "b"))
    (lib / "two.py").write_text(declare.format("c", "d"))
    assert build_catalogue(tmp_path).stdout == "4 builtins\n"
    assert build_catalogue(tmp_path, "--check").returncode == 0
    (lib / "two.py").write_text(declare.format("c", "b"))
    assert build_catalogue(tmp_path, "--check").returncode == 1
    assert build_catalogue(tmp_path).stderr == "b is declared twice: lib.one and lib.two\n"
