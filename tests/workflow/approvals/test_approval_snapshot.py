"""A program that may ask for approval runs the files that it had when it started, whatever is written meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from semac.cli.workflow import revision as workflow_revision
from semac.cli.workflow.revision import can_ask, revision

pytest.importorskip("cryptography", reason="the extra `approvals` is not installed")

UNSET = ("SEMA_WORKFLOW_RUN_DIR", "SEMA_WORKFLOW_RUN_ID", "SEMA_WORKFLOW_RESUME")
ENV = {name: value for name, value in os.environ.items() if name not in UNSET} | {"CI": "1"}
ASK = '(approval :go {:reason "r" :subject 1})'
LATER = f"(define (later) {ASK})"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEMA_HOME", str(tmp_path / "home"))


def write(**files: str) -> None:
    """Files named NAME.sema, `__` for a slash."""
    for name, text in files.items():
        path = Path(name.replace("__", "/") + ".sema")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def body_of(main: str, before: str = LATER) -> str:
    """A program whose workflow runs that body; it never comes to its approval."""
    return f'{before}\n(defworkflow w "" {{}} {main})'


def run(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "semac.cli.entry", "workflow", "run", "main.sema", "-q", *args]
    home = os.environ["SEMA_HOME"]
    return subprocess.run(command, capture_output=True, text=True, env=ENV | {"SEMA_HOME": home}, timeout=60)


def value(done: subprocess.CompletedProcess[str], root: str = ".sema/runs") -> object:
    """What the workflow gave."""
    assert done.returncode == 0, done.stderr
    (folder,) = Path(root).iterdir()
    return json.loads((folder / "result.json").read_text())["value"]


OVERWRITTEN = '(file/write "lib.sema" "(define (f) :new)")'


@pytest.mark.parametrize("form", ["import", "load"])
def test_a_file_that_is_changed_later_is_the_one_of_the_start(form: str) -> None:
    write(main=body_of(f'{OVERWRITTEN} ({form} "lib.sema") (f)'), lib="(define (f) :old)")
    assert value(run()) == "old"
    assert "new" in Path("lib.sema").read_text()


@pytest.mark.parametrize("form", ["import", "load"])
def test_without_an_approval_files_are_read_when_they_are_imported(form: str) -> None:
    write(main=body_of(f'{OVERWRITTEN} ({form} "lib.sema") (f)', ""), lib="(define (f) :old)")
    assert value(run()) == "new"


def test_a_file_that_is_gone_later_is_there() -> None:
    write(main=body_of('(file/delete "lib.sema") (import "lib.sema") (f)'), lib="(define (f) :old)")
    assert value(run()) == "old"


def test_macros_and_exports_are_those_of_the_start() -> None:
    changed = r'(file/write "lib.sema" "(module lib (export g) (define (g) :new) (defmacro m () :new))")'
    lib = "(module lib (export f m) (define (f) :old) (defmacro m () :old))"
    write(main=body_of(f"{changed} (list (in-time))", f'(import "part.sema") {LATER}'))
    write(part='(define (in-time) (import "lib.sema") (list (f) (m)))', lib=lib)
    assert value(run()) == [["old", "old"]]


def test_what_an_import_imports_and_a_loaded_file_loads_are_of_the_start() -> None:
    write(main=body_of('(file/write "a/c.sema" "(define z :new)") (load "a/b.sema") (y)'))
    write(a__b='(load "c.sema") (define (y) z)', a__c="(define z :old)")
    assert value(run()) == "old"


def test_the_program_itself_is_one_of_the_files() -> None:
    write(main=body_of('(if (defined-here?) 1 (load "main.sema"))', "(define (defined-here?) #t)" + LATER))
    assert value(run()) == 1


@pytest.mark.parametrize("form", ["import", "load"])
def test_a_path_that_is_computed_is_refused(form: str) -> None:
    write(main=body_of(f'({form} (str "li" "b.sema")) (f)'), lib="(define (f) 1)")
    done = run()
    assert done.returncode == 1
    assert "lib.sema was not a part of the program when it started, so no approval covers it" in done.stderr


def test_what_eval_imports_is_computed_too() -> None:
    write(main=body_of(r'(eval (read "(import \"lib.sema\")")) (f)'), lib="(define (f) 1)")
    assert "lib.sema was not a part of the program when it started" in run().stderr


def test_a_refusal_is_a_condition() -> None:
    write(main=body_of('(try (import (str "li" "b.sema")) (catch e (:type e)))'), lib="(define (f) 1)")
    assert value(run()) == "eval"


def test_a_computed_path_to_a_file_that_is_imported_anyway_is_fine() -> None:
    write(main=body_of('(import (str "li" "b.sema")) (f)', f'(import "lib.sema") {LATER}'), lib="(define (f) 1)")
    assert value(run()) == 1


def test_a_file_that_is_written_by_the_run_is_refused() -> None:
    write(main=body_of('(file/write "made.sema" "(define made 1)") (load "made.sema") made'))
    assert "made.sema was not a part of the program when it started" in run().stderr


def test_a_file_that_is_not_there_is_missing_as_ever() -> None:
    write(main=body_of('(import "none.sema")'))
    done = run()
    assert "No such file" in done.stderr or "not found" in done.stderr
    assert "approval" not in done.stderr


def test_links_are_followed_as_imports_follow_them() -> None:
    write(main=body_of("(list (f) z)", f'(import "lib.sema") (load "other.sema") {LATER}'))
    write(deep__real='(import "inner.sema") (define (f) (g))', deep__inner="(define (g) :inner)")
    write(deep__loaded='(load "near.sema")', near="(define z :near)")
    Path("lib.sema").symlink_to("deep/real.sema")
    Path("other.sema").symlink_to("deep/loaded.sema")
    assert value(run()) == ["inner", "near"]


def test_a_link_that_is_led_elsewhere_is_refused() -> None:
    write(main=body_of('(shell "ln -sf other.sema lib.sema") (import "lib.sema") (f)'), real="(define (f) 1)")
    write(other="(define (f) 2)")
    Path("lib.sema").symlink_to("real.sema")
    assert "was not a part of the program" in run().stderr


def test_compiled_code_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever can write sources can write that, too: what is kept from an earlier run isn't used."""
    from semac.imports import cache
    from semac.pipeline import compile_source

    write(main=body_of("(f)", '(import "lib.sema")'), lib="(define (f) :old)")
    path = os.path.realpath("lib.sema")
    forged = compile_source("(define (f) :new)", path, "module", lists_globals=True).code
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert cache.store(cache.cache_path(path), Path(path).read_bytes(), forged, {})
    assert value(run("--run-dir", "before"), "before") == "new"
    write(main=body_of("(f)", f'(import "lib.sema") {LATER}'))
    assert value(run()) == "old"


def test_shipped_packages_are_a_part_of_the_language() -> None:
    write(main=body_of('(import (str "sema/" "patterns")) 1'))
    assert value(run()) == 1


def test_packages_are_followed() -> None:
    package = Path("home/packages/tool")
    package.mkdir(parents=True)
    (package / "package.sema").write_text('(import "inner.sema") (define (f) (g))')
    (package / "inner.sema").write_text("(define (g) :old)")
    write(main=body_of("(f)", f'(import "tool") {LATER}'))
    before = revision("main.sema", Path("main.sema").read_bytes())
    assert value(run()) == "old"
    (package / "inner.sema").write_text("(define (g) :new)")
    assert revision("main.sema", Path("main.sema").read_bytes()) != before


# Python


def test_python_modules_beside_the_program_are_those_of_the_start() -> None:
    Path("helper.py").write_text("import other\ndef f(): return 'old' + other.X")
    Path("other.py").write_text("X = '1'")
    changed = '(file/write "helper.py" "x") (file/write "other.py" "x")'
    write(main=body_of(f'{changed} (py/import "helper") (helper.f)'))
    assert value(run()) == "old1"


def test_python_modules_that_take_the_place_of_others_are_refused() -> None:
    Path("helper.py").write_text("def f(): return 'old'")
    shadow = '(file/mkdir "helper") (file/write "helper/__init__.py" "def f(): return 1")'
    write(main=body_of(f'{shadow} (py/import "helper") (helper.f)'))
    assert "the module helper is another one than when the program started" in run().stderr


def test_python_packages_beside_the_program_count() -> None:
    Path("pack/sub").mkdir(parents=True)
    for name, text in (
        ("pack/__init__.py", "from . import a"),
        ("pack/a.py", "from .sub.b import Y"),
        ("pack/sub/__init__.py", ""),
        ("pack/sub/b.py", "Y = 1"),
    ):
        Path(name).write_text(text)
    write(main='(py/from "pack.a" Y)')
    program = workflow_revision.Program("main.sema", Path("main.sema").read_bytes())
    assert {os.path.relpath(path) for path in program.contents} == {
        "main.sema",
        "pack/__init__.py",
        "pack/a.py",
        "pack/sub/__init__.py",
        "pack/sub/b.py",
    }


# What belongs to a program


def test_who_can_ask() -> None:
    write(main='(import "a.sema")', a='(define x (load "b.sema"))', b="1")
    assert not can_ask("main.sema", Path("main.sema").read_bytes())
    write(b=ASK)
    assert can_ask("main.sema", Path("main.sema").read_bytes())
    assert can_ask("any.sema", ASK.encode())
    assert not can_ask("any.sema", b'(import "any.sema") (import "none.sema") (import "a\0b")')


def test_an_approval_in_a_file_that_the_program_does_not_show_is_refused() -> None:
    write(main='(import (str "ask" ".sema"))\n(defworkflow w "" {} (go))', ask=f"(define (go) {ASK})")
    done = run()
    assert done.returncode == 1
    assert "the program doesn't show which file this is in" in done.stderr
    assert not list(Path(".sema/runs").glob("*/approvals"))


def test_literal_names_count_wherever_they_stand() -> None:
    write(main='(define x {:a (fn () [(load "a.sema")])}) (module m (export f) (import "b.sema"))', a="1", b="2")
    program = workflow_revision.Program("main.sema", Path("main.sema").read_bytes())
    assert {Path(path).name for path in program.contents} == {"main.sema", "a.sema", "b.sema"}


def test_circles_and_broken_files() -> None:
    write(main='(import "a.sema")', a='(import "main.sema") (import "b.sema")', b="(")
    first = revision("main.sema", b'(import "a.sema")')
    write(b="(1")
    assert revision("main.sema", b'(import "a.sema")') != first


def test_the_place_of_a_program_does_not_count() -> None:
    for folder in ("one", "two/deeper"):
        Path(folder).mkdir(parents=True)
        Path(folder, "main.sema").write_text('(import "lib.sema")')
        Path(folder, "lib.sema").write_text("1")
    revisions = {revision(f"{one}/main.sema", b'(import "lib.sema")') for one in ("one", "two/deeper")}
    assert len(revisions) == 1


def test_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    write(main=ASK + ' (import "a.sema")', a="1 ; " + "x" * 200)
    monkeypatch.setattr(workflow_revision, "MOST_BYTES", 100)
    with pytest.raises(Exception, match="too much to be approved"):
        revision("main.sema", Path("main.sema").read_bytes())
    monkeypatch.setattr(workflow_revision, "MOST_BYTES", 1000)
    monkeypatch.setattr(workflow_revision, "MOST_FILES", 1)
    with pytest.raises(Exception, match="has more than 1 files"):
        revision("main.sema", Path("main.sema").read_bytes())


def test_a_file_that_can_t_be_read() -> None:
    write(main=body_of("1", LATER + '(import "/proc/self/mem")'))
    assert run().stderr == "error: /proc/self/mem: Input/output error\n"


# An approval


def test_an_import_that_was_changed_needs_another_approval() -> None:
    from sema_runtime.workflow.approvals import files, keys

    keys.generate("k", "k.pub")
    write(main=f'(import "lib.sema")\n(defworkflow w "" {{}} {ASK} (f))', lib="(define (f) 1)")
    assert run("--approval-public-key-file", "k.pub").returncode == 3
    (folder,) = Path(".sema/runs").iterdir()
    (approval_id,) = files.ids(str(folder))
    approve = ["workflow", "approve", folder.name, approval_id, "--signing-key-file", "k"]
    subprocess.run([sys.executable, "-m", "semac.cli.entry", *approve], check=True, env=ENV, capture_output=True)
    again = ("--approval-public-key-file", "k.pub", "--resume", folder.name)
    write(lib="(define (f) 2)")
    assert run(*again).returncode == 3
    assert len(files.ids(str(folder))) == 2
    write(lib="(define (f) 1)")
    assert run(*again).returncode == 0
