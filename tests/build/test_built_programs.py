"""Built programs, run where nothing else is installed."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from wheels import environment, run

FILES = {
    "main.sema": """\
(import "lib/text.sema")
(py/import "helper" :as helper)
(println (shout "hi") (helper.twice 4) (await (async (+ 40 2))))
(println (file/read "data/a.txt") (file/glob "data/*") (map file/exists? '("data/b.txt" "gone" "here.txt")))
(println (eval (read "(+ 1 2)")) (load "extra.sema"))
(define (fails n) (nth '(1 2) n))
(when (> (length (sys/args)) 1)
  (case (nth (sys/args) 1)
    (("exit") (exit 3))
    (("box") (println (:value (box/run "(* 6 7)"))))
    (else (fails 7))))
""",
    "lib/text.sema": '(define (shout text) (string-append (string/upper text) "!"))',
    "helper.py": "def twice(n):\n    return 2 * n\n",
    "data/a.txt": "one",
    "data/b.txt": "two",
}
SHOWN = 'HI! 8 42\none ("data/a.txt" "data/b.txt") (#t #f #t)\n3 from-disk\n'
SEMA = [sys.executable, "-m", "semac.cli.entry"]


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """A program as an archive, and its manifest."""
    folder = write(tmp_path_factory.mktemp("project"), FILES)
    out = tmp_path_factory.mktemp("out")
    command = [*SEMA, "build", "main.sema", "--include", "data", "-o", f"{out}/", "--json"]
    shown = run(*command, cwd=folder, SEMA_HOME=str(out))
    manifest = json.loads(shown.splitlines()[-1])
    for name in FILES:
        (folder / name).unlink()  # the archive needs none of them
    return out / "main", manifest


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    write(tmp_path, {"extra.sema": '(string/join (list "from" "disk") "-")', "here.txt": ""})
    return tmp_path


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with nothing installed."""
    return environment(tmp_path_factory.mktemp("bare") / "venv")


def test_an_archive_runs_on_a_bare_python(built: tuple[Path, object], python: Path, elsewhere: Path) -> None:
    program, home = built[0], str(elsewhere / "home")
    for _ in range(2):  # unpacked, then from the cache
        assert run(python, program, cwd=elsewhere, SEMA_HOME=home) == SHOWN
    cache = sorted(path.name.partition("-")[0] for path in (elsewhere / "home" / "cache" / "built").iterdir())
    assert cache == ["main", "packages"]
    assert run(python, program, "box", cwd=elsewhere, SEMA_HOME=home) == f"{SHOWN}42\n"
    shown = run(python, program, "x", cwd=elsewhere, fails=True, SEMA_HOME=home, NO_COLOR="1")
    assert "Error: index 7 out of bounds (length 2)\n" in shown
    assert "main.sema:6:19\n     |\n   6 | (define (fails n) (nth '(1 2) n))\n" in shown
    import subprocess

    done = subprocess.run([python, program, "exit"], cwd=elsewhere, env={"SEMA_HOME": home}, capture_output=True)
    assert done.returncode == 3


def test_an_archive_runs_where_nothing_can_be_kept(built: tuple[Path, object], python: Path, elsewhere: Path) -> None:
    (elsewhere / "file").write_text("")
    (elsewhere / "tmp").mkdir()
    places = {"SEMA_HOME": str(elsewhere / "file"), "TMPDIR": str(elsewhere / "tmp")}
    assert run(python, built[0], cwd=elsewhere, **places) == SHOWN
    assert list((elsewhere / "tmp").iterdir()) == []


def test_the_manifest_describes_the_archive(built: tuple[Path, dict[str, object]]) -> None:
    program, manifest = built
    data = program.read_bytes()
    assert manifest["source"] == "main.sema"
    assert manifest["bundled_files"] == len(FILES)
    assert manifest["archive_bytes"] == len(data)
    (target,) = manifest["targets"]  # type: ignore[misc]
    assert target["sha256"] == hashlib.sha256(data).hexdigest()
    assert (target["ok"], target["error"], target["path"]) == (True, None, str(program))
    assert os.access(program, os.X_OK)
    assert data.startswith(f"#!{target['runtime']}\n".encode())
    with zipfile.ZipFile(program) as archive:
        facts = json.loads(archive.read("sema-build.json"))
    assert facts["entry-point"] == "main.sema"
    assert {*facts} == {"sema-version", "build-timestamp", "entry-point", "build-root"}


def test_another_python_is_refused_in_words(built: tuple[Path, object], elsewhere: Path) -> None:
    code = "import sys, types; sys.implementation.cache_tag = 'cpython-399'; sys.argv[0] = sys.argv[1]; import runpy"
    run_it = "; sys.path[0] = sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
    shown = run(sys.executable, "-c", code + run_it, built[0], cwd=elsewhere, fails=True, SEMA_HOME=str(elsewhere))
    assert "was built for cpython-3" in shown
    assert "this is cpython-399. Run it with that Python, or build it again with this one\n" in shown


def test_a_program_without_machine_code_is_one_for_every_python(tmp_path: Path) -> None:
    write(tmp_path, {"hello.sema": '(println "hello")', "tool.py": "import hello\nprint('tool')\n"})
    home = str(tmp_path / "home")
    shown = run(*SEMA, "build", "hello.sema", cwd=tmp_path, SEMA_HOME=home)
    assert "(1 source files)" in shown
    assert "Built hello (" in shown
    assert "1 bundled files) for any machine with Python 3.11 or newer in" in shown
    assert (tmp_path / "hello").read_bytes().startswith(b"#!/usr/bin/env python3\n")
    assert run(sys.executable, "hello", cwd=tmp_path, SEMA_HOME=home) == "hello\n"
    run(*SEMA, "build", "tool.py", "--no-cache", cwd=tmp_path, SEMA_HOME=home)
    assert run(sys.executable, "tool", cwd=tmp_path, SEMA_HOME=home) == "hello\ntool\n"


def test_the_main_module_of_a_package_runs_as_by_python_m(tmp_path: Path) -> None:
    files = {
        "shop/__init__.py": "from sema_runtime import importer\nimporter.install()\n",
        "shop/__main__.sema": '(py/from ".core" hi) (py/from "shop.core" (hi :as hey)) (println (hi) (hey) __name__)',
        "shop/core.sema": '(define (hi) (file/read "notes/a.txt"))',
        "notes/a.txt": "one",
    }
    write(tmp_path, files)
    home = str(tmp_path / "home")
    build = (*SEMA, "build", "shop/__main__.sema", "--include", "notes", "-o", "out/")
    run(*build, cwd=tmp_path, SEMA_HOME=home)
    (tmp_path / "notes" / "a.txt").unlink()
    assert run(sys.executable, "out/shop", cwd=tmp_path, SEMA_HOME=home) == "one one __main__\n"


def test_a_program_serves_its_tools(tmp_path: Path) -> None:
    mcp = pytest.importorskip("mcp", reason="the dev-llm extra is not installed")
    from mcp.client.stdio import stdio_client

    tools = '(deftool add "Adds" {:a {:type :int}} (fn (a) (+ a 1))) (deftool other "" {} (fn () 1))'
    write(tmp_path, {"tools.sema": f'{tools} (when (= __name__ "__main__") (error "main"))'})
    home = {"SEMA_HOME": str(tmp_path / "home")}
    run(*SEMA, "build", "tools.sema", cwd=tmp_path, **home)
    shown = run(sys.executable, "tools", "--mcp", cwd=tmp_path, fails=True, **home)
    assert "built without the package mcp" in shown
    packages = Path(mcp.__file__).parents[1]
    (tmp_path / "packages").symlink_to(packages)  # as if built --with mcp, which takes long

    async def tour() -> None:
        command = [str(tmp_path / "tools"), "--mcp", "--exclude", "o*"]
        places = {**home, "PYTHONPATH": str(tmp_path / "packages")}
        server = mcp.StdioServerParameters(command=sys.executable, args=command, env=places)
        async with mcp.Client(stdio_client(server)) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["add"]
            result = await client.call_tool("add", {"a": 1})
            assert result.content[0].text == "2"

    asyncio.run(tour())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.sema"], "Error: file not found: "),
        (["main.sema", "-o", "main.sema"], "which is a part of the program; choose another with -o"),
        (["main.sema", "-o", "data", "--include", "data", "--target", "amiga"], "Error: unknown target 'amiga'"),
        (["broken.sema"], "broken.sema can't be compiled\nError: unterminated list"),
        (["main.sema", "--with", "no-such-thing"], "--with no-such-thing: it is not installed here"),
        ([], "Error: Missing argument 'FILE'."),
    ],
)
def test_what_cannot_be_built_is_said(arguments: list[str], message: str, tmp_path: Path) -> None:
    write(tmp_path, {"main.sema": '(println "kept")', "broken.sema": "(", "data/a": ""})
    shown = run(*SEMA, "build", *arguments, cwd=tmp_path, fails=True, SEMA_HOME=str(tmp_path / "home"))
    assert message in shown
    assert "Traceback" not in shown
    assert (tmp_path / "main.sema").read_text() == '(println "kept")'


@pytest.mark.skipif(find_spec("PyInstaller") is None, reason="needs PyInstaller: pip install 'semac[build]'")
def test_an_executable_runs_without_python(tmp_path: Path) -> None:
    files = {
        "main.sema": '(import "lib/text.sema") (println (shout "hi") (file/read "a.txt") (sys/args)) (nth (list 1) 7)',
        "lib/text.sema": FILES["lib/text.sema"],
        "a.txt": "one",
    }
    write(tmp_path, files)
    run(*SEMA, "build", "main.sema", "--standalone", "--include", "a.txt", "--no-cache", "-o", "out/", cwd=tmp_path)
    for name in files:
        (tmp_path / name).unlink()
    shown = run(tmp_path / "out" / "main", "x", cwd=tmp_path, fails=True, PATH="", NO_COLOR="1")
    assert f'HI! one ("{tmp_path}/out/main" "x")\n' in shown
    assert "Error: index 7 out of bounds (length 1)" in shown
    assert "main.sema:1:80" in shown
