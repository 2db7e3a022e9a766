"""Importing .sema files, seen from Python processes: finding, caching, failing, sharing."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from paths import ROOT

INSTALL = "import semac.importer; semac.importer.install()\n"
COUNT_COMPILATIONS = (
    "import semac.pipeline as driver\n"
    "compiled, real = [], driver.compile_source\n"
    "def counting(text, filename='<input>', mode='module', **more):\n"
    "    compiled.append(filename)\n"
    "    return real(text, filename, mode, **more)\n"
    "driver.compile_source = counting\n"
)


def environment() -> dict[str, str]:
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "runtime")])
    return env


def python(folder: Path, code: str, *options: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs Python code in folder with the import hook installed."""
    done = subprocess.run(
        [sys.executable, *options, "-c", INSTALL + code], cwd=folder, env=environment(), capture_output=True, text=True
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done


def output(folder: Path, code: str, *options: str) -> str:
    return python(folder, code, *options).stdout.strip()


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def compilations(folder: Path, code: str) -> str:
    """What code prints, and the base names of the files that had to be compiled for it."""
    tail = "\nimport os; print(*[os.path.basename(name) for name in compiled if name.endswith('.sema')])"
    return output(folder, COUNT_COMPILATIONS + code + tail)


# Finding


def test_module_with_python_names_and_metadata(tmp_path: Path) -> None:
    write(tmp_path / "my_module.sema", "(define (total-over xs limit)\n  1)\n")
    code = (
        "import my_module, inspect\n"
        "print(my_module.total_over([], 2), inspect.signature(my_module.total_over), my_module.__name__)\n"
        "print(my_module.total_over.__code__.co_filename == my_module.__file__ == my_module.__spec__.origin)\n"
        "print(inspect.getsourcefile(my_module.total_over), inspect.getsourcelines(my_module)[1])"
    )
    assert output(tmp_path, code).splitlines() == [
        "1 (xs, limit) my_module",
        "True",
        f"{tmp_path}/my_module.sema 0",
    ]


def test_help_shows_the_docstring(tmp_path: Path) -> None:
    write(tmp_path / "tools.sema", '(define (twice x)\n  "Gives x again, two times."\n  (list x x))\n')
    shown = output(tmp_path, "from tools import twice\nhelp(twice)")
    assert "twice(x)" in shown
    assert "Gives x again, two times." in shown


def test_packages_modules_inside_and_relative_python_imports(tmp_path: Path) -> None:
    write(tmp_path / "pkg/__init__.sema", "(define version 3)")
    write(tmp_path / "pkg/inner.sema", "(define value 7)")
    write(tmp_path / "pkg/user.py", "from .inner import value\nfrom . import version")
    write(tmp_path / "plain/part.sema", "(define value 8)")
    code = (
        "import pkg.user, plain.part, importlib.resources as r\n"
        "print(pkg.user.value, pkg.user.version, plain.part.value, pkg.__path__[0].endswith('/pkg'))\n"
        "print(r.files('pkg').joinpath('inner.sema').read_text())"
    )
    assert output(tmp_path, code).splitlines() == ["7 3 8 True", "(define value 7)"]


def test_python_file_beside_wins_with_one_warning(tmp_path: Path) -> None:
    write(tmp_path / "both.sema", "(define origin 1)")
    write(tmp_path / "both.py", "origin = 2")
    done = python(tmp_path, "import both; print(both.origin)")
    assert done.stdout.strip() == "2"
    assert done.stderr.count("both.sema is ignored") == 1
    assert f"{tmp_path}/both.py is used" in done.stderr


def test_order_of_the_path_decides(tmp_path: Path) -> None:
    write(tmp_path / "first/thing.sema", "(define origin 1)")
    write(tmp_path / "second/thing.py", "origin = 2")
    code = "import sys; sys.path[:0] = {}\nimport thing; print(thing.origin)"
    assert output(tmp_path, code.format(["first", "second"])) == "1"
    assert output(tmp_path, code.format(["second", "first"])) == "2"


def test_missing_names_and_modules_are_import_errors(tmp_path: Path) -> None:
    path = write(tmp_path / "some.sema", "(define a 1)")
    done = python(tmp_path, "from some import b", check=False)
    assert done.stderr.strip().endswith(f"ImportError: cannot import name 'b' from 'some' ({path})")
    done = python(tmp_path, "import nothing_here", check=False)
    assert done.stderr.strip().endswith("ModuleNotFoundError: No module named 'nothing_here'")


def test_zip_archives(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "lib.zip", "w") as archive:
        archive.writestr("flat.sema", "(define (f x)\n  (missing-function x))")
        archive.writestr("pkg/__init__.sema", "(define here 1)")
        archive.writestr("pkg/sub.sema", "(define there 2)")
    code = "import sys; sys.path.insert(0, 'lib.zip')\nimport flat, pkg.sub\nprint(pkg.here, pkg.sub.there)\nflat.f(1)"
    done = python(tmp_path, code, check=False)
    assert done.stdout.strip() == "1 2"
    assert 'lib.zip/flat.sema", line 2, in f' in done.stderr
    assert "    (missing-function x)" in done.stderr


def test_sema_side_of_an_import_is_the_same_module(tmp_path: Path) -> None:
    write(tmp_path / "shared.sema", '(println "runs")\n(define value 1)')
    code = (
        "from semac.imports.finder import import_file\n"
        "a = import_file('shared.sema'); b = import_file('./shared.sema')\n"
        "import shared\n"
        "print(a is b, a is shared, shared.value)"
    )
    assert output(tmp_path, code).splitlines() == ["runs", "True True 1"]
    code = "import shared\nfrom semac.imports.finder import import_file\nprint(import_file('shared.sema') is shared)"
    assert output(tmp_path, code).splitlines() == ["runs", "True"]


def test_python_in_an_earlier_archive_wins(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "lib.zip", "w") as archive:
        archive.writestr("thing.py", "origin = 2")
    write(tmp_path / "second/thing.sema", "(define origin 1)")
    code = "import sys; sys.path[:0] = {}\nimport thing; print(thing.origin)"
    assert output(tmp_path, code.format(["lib.zip", "second"])) == "2"
    assert output(tmp_path, code.format(["no-such-folder", "second", "lib.zip"])) == "1"


def test_files_that_come_while_the_program_runs_are_found_at_once(tmp_path: Path) -> None:
    code = (
        "import importlib, os, sys\n"
        "for i in range(30):\n"
        "    with open(f'late_{i}.sema', 'w') as file:\n        file.write(f'(define value {i})')\n"
        "    assert importlib.import_module(f'late_{i}').value == i\n"
        "os.mkdir('pkg')\n"
        "open('pkg/__init__.sema', 'w').close()\n"
        "import pkg\n"
        "os.remove('late_3.sema')\n"
        "del sys.modules['late_3']\n"
        "try:\n    import late_3\n"
        "except ImportError as error:\n    print(error)\n"
    )
    assert output(tmp_path, code) == "No module named 'late_3'"


def test_links_lead_to_the_same_module(tmp_path: Path) -> None:
    real = write(tmp_path / "real/thing.sema", '(println "runs")\n(define (f) (missing-thing))')
    (tmp_path / "alias.sema").symlink_to(real)
    (tmp_path / "folder").symlink_to(real.parent)
    code = (
        "import sys; sys.path.append('folder')\n"
        "import alias, thing\n"
        "print(alias is thing, thing.f.__code__.co_filename)\n"
    )
    assert output(tmp_path, code).splitlines() == ["runs", f"True {real}"]


# Failing


def test_a_failed_import_leaves_nothing_behind(tmp_path: Path) -> None:
    write(tmp_path / "bad.sema", "(define a 1)\n(no-such-function a)")
    code = (
        "import sys\n"
        "try:\n    import bad\n"
        "except NameError as error:\n    print('bad' in sys.modules)\n"
        "open('bad.sema', 'w').write('(define a 1)')\n"
        "import bad; print(bad.a)"
    )
    assert output(tmp_path, code).splitlines() == ["False", "1"]


def test_broken_source_is_a_syntax_error_at_its_place(tmp_path: Path) -> None:
    path = write(tmp_path / "broken.sema", "(define a 1)\n  (foo (bar)")
    done = python(tmp_path, "import broken", check=False)
    assert f'File "{path}", line 2' in done.stderr
    assert "    (foo (bar)\n    ^" in done.stderr
    assert "unterminated list (hint: add a closing `)`)" in done.stderr
    assert "importlib" not in done.stderr
    assert "semac/" not in done.stderr
    write(tmp_path / "latin.sema", "").write_bytes(b'(define a\n "\xe9")')
    assert "is not UTF-8 text" in python(tmp_path, "import latin", check=False).stderr


def test_cycles_name_the_circle(tmp_path: Path) -> None:
    code = "from semac.imports.finder import import_file\nfrom sema_runtime.values.errors import SemaError\n"
    write(tmp_path / "helper.py", code + "def load(path, importer):\n    return import_file(path, importer)\n")
    for name, other in (("a", "b"), ("b", "a")):
        text = f'(py/import "helper")\n(helper.load "{tmp_path}/{other}.sema" "{tmp_path}/{name}.sema")'
        write(tmp_path / f"{name}.sema", text)
    script = (
        "from helper import *\ntry:\n    import_file('a.sema')\nexcept SemaError as error:\n    print(error.message)"
    )
    a, b = tmp_path / "a.sema", tmp_path / "b.sema"
    assert output(tmp_path, script) == f"cyclic import detected: {a} -> {b} -> {a}"


# The cache


def test_second_start_compiles_nothing(tmp_path: Path) -> None:
    write(tmp_path / "kept.sema", "(define value 1)")
    assert compilations(tmp_path, "import kept; print(kept.value)").split() == ["1", "kept.sema"]
    assert compilations(tmp_path, "import kept; print(kept.value)").split() == ["1"]
    (cached,) = (tmp_path / "__pycache__").iterdir()
    assert cached.name == f"kept.semac-1.{sys.implementation.cache_tag}.pyc"


def test_a_changed_source_is_compiled_again_whatever_its_time(tmp_path: Path) -> None:
    path = write(tmp_path / "kept.sema", "(define value 1)")
    before = path.stat()
    output(tmp_path, "import kept")
    write(path, "(define value 2)")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert output(tmp_path, "import kept; print(kept.value)") == "2"


def test_an_unchanged_source_is_not_read_and_one_with_another_time_not_compiled(tmp_path: Path) -> None:
    path = write(tmp_path / "kept.sema", "(define value 1)")
    assert compilations(tmp_path, "import kept").split() == ["kept.sema"]
    code = (
        "import semac.imports.cache as cache\n"
        "real = cache.file_hash\n"
        "cache.file_hash = lambda path: print('read') or real(path)\n"
        "import kept"
    )
    assert compilations(tmp_path, code).split() == []
    os.utime(path, ns=(0, 1_000_000_000))
    assert compilations(tmp_path, code).split() == ["read"]


def test_a_source_written_in_the_same_tick_of_the_clock_is_compiled_again(tmp_path: Path) -> None:
    code = (
        "import importlib, sys\n"
        "for i in range(10, 40):\n"
        "    with open('kept.sema', 'w') as file:\n        file.write(f'(define value {i})')\n"
        "    sys.modules.pop('kept', None)\n"
        "    assert importlib.import_module('kept').value == i\n"
    )
    output(tmp_path, code)


def test_changed_macros_are_used(tmp_path: Path) -> None:
    macros = write(tmp_path / "macros.sema", "(defmacro answer () 1)")
    write(tmp_path / "user.sema", '(import "macros.sema")\n(define value (answer))')
    code = "import user; print(user.value)"
    assert output(tmp_path, code) == "1"
    write(macros, "(defmacro answer () 2)")
    assert output(tmp_path, code) == "2"


def test_a_function_that_becomes_a_macro_is_expanded(tmp_path: Path) -> None:
    helper = write(tmp_path / "helper.sema", "(define (pick a) 1)")
    write(tmp_path / "user.sema", '(import "helper.sema")\n(define value (pick 5))')
    code = "import user; print(user.value)"
    assert output(tmp_path, code) == "1"
    write(helper, "(defmacro pick (a) 2)")
    assert output(tmp_path, code) == "2"


def test_macros_of_a_file_that_comes_later_are_used(tmp_path: Path) -> None:
    write(tmp_path / "user.sema", '(import "macros.sema")\n(define value (answer))')
    code = "import user; print(user.value)"
    assert "import macros.sema: No such file" in python(tmp_path, code, check=False).stderr
    write(tmp_path / "macros.sema", "(defmacro answer () 1)")
    assert output(tmp_path, code) == "1"


def test_damaged_cache_files_are_ignored(tmp_path: Path) -> None:
    write(tmp_path / "kept.sema", "(define value 1)")
    output(tmp_path, "import kept")
    (cached,) = (tmp_path / "__pycache__").iterdir()
    whole = cached.read_bytes()
    for damaged in (b"", whole[:40], whole[:-9] + b"123456789", whole.replace(b"value", b"volue")):
        cached.write_bytes(damaged)
        assert output(tmp_path, "import kept; print(kept.value)") == "1"


def test_a_large_cache_file_that_lacks_a_sector_is_ignored(tmp_path: Path) -> None:
    write(tmp_path / "kept.sema", "".join(f'(define (f{i} x) (list "text {i}" x))\n' for i in range(300)))
    output(tmp_path, "import kept")
    (cached,) = (tmp_path / "__pycache__").iterdir()
    whole = cached.read_bytes()
    assert len(whole) > 1 << 15
    cached.write_bytes(whole[:16384] + bytes(512) + whole[16896:])
    assert compilations(tmp_path, "import kept") == "kept.sema"


def test_a_moved_folder_shows_its_new_place(tmp_path: Path) -> None:
    write(tmp_path / "old/kept.sema", "(define (f) (missing-thing))")
    output(tmp_path / "old", "import kept")
    (tmp_path / "old").rename(tmp_path / "new")
    done = python(tmp_path / "new", "import kept; kept.f()", check=False)
    assert f'File "{tmp_path}/new/kept.sema", line 1' in done.stderr


def test_another_compiler_does_not_trust_the_file(tmp_path: Path) -> None:
    write(tmp_path / "kept.sema", "(define value 1)")
    output(tmp_path, "import kept")
    code = "import semac.imports.cache as cache; cache.compiler_hash = lambda: b'other'\nimport kept"
    assert compilations(tmp_path, code) == "kept.sema"


def test_what_compiles_is_part_of_the_stamp_of_the_compiler(tmp_path: Path) -> None:
    write(tmp_path / "forms.sema", "(defmacro m (x) `(list ,x))\n(define (f e) (match e ([a b] (m a)) ({:k v} v)))")
    code = (
        "import sys\n"
        "from semac.fingerprint import COMPILING\n"
        "import forms\n"
        "folders = {name.rpartition('.')[0] for name in sys.modules if name.startswith('semac.')}\n"
        "print(sorted(folders - {'.'.join(('semac', *part)) for part in COMPILING}), 'semac.generate' in folders)"
    )
    assert output(tmp_path, code) == "['semac.diagnostics', 'semac.imports'] True"


def test_read_only_folder(tmp_path: Path) -> None:
    write(tmp_path / "lib/kept.sema", "(define value 1)")
    (tmp_path / "lib/__pycache__").write_text("a file where the folder would be: nobody, root included, can write here")
    code = "import sys; sys.path.insert(0, 'lib')\nimport kept; print(kept.value)"
    assert output(tmp_path, code) == "1"
    (tmp_path / "lib/__pycache__").unlink()
    (tmp_path / "lib").chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert output(tmp_path, code) == "1"
    finally:
        (tmp_path / "lib").chmod(stat.S_IRWXU)


def test_no_bytecode_when_python_is_told_so(tmp_path: Path) -> None:
    write(tmp_path / "kept.sema", "(define value 1)")
    assert output(tmp_path, "import kept; print(kept.value)", "-B") == "1"
    assert not (tmp_path / "__pycache__").exists()


def test_concurrent_first_imports(tmp_path: Path) -> None:
    write(tmp_path / "kept.sema", "(define value 1)")
    code = (
        "import threading\n"
        "found, gate = [], threading.Barrier(8)\n"
        "def load():\n    gate.wait()\n    import kept\n    found.append(kept)\n"
        "threads = [threading.Thread(target=load) for _ in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "print(len(found), len({id(m) for m in found}), found[0].value)"
    )
    command = [sys.executable, "-c", INSTALL + code]
    running = [
        subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    assert [process.communicate()[0].strip() for process in running] == ["8 1 1"] * 4
    assert [path.suffix for path in (tmp_path / "__pycache__").iterdir()] == [".pyc"]


# Programs


def test_python_dash_m_runs_modules_packages_and_files(tmp_path: Path) -> None:
    write(tmp_path / "pkg/__init__.sema", "")
    write(tmp_path / "pkg/__main__.sema", '(py/import "sys")\n(println (nth sys.argv 1) "in a package")')
    write(tmp_path / "pkg/tool.sema", '(py/import "__main__" :as main)\n(println (.-__name__ main) (.-__file__ main))')
    command = [sys.executable, "-m", "semac"]

    def run(*arguments: str) -> str:
        done = subprocess.run([*command, *arguments], cwd=tmp_path, env=environment(), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert run("-m", "pkg", "hello") == "hello in a package"
    assert run("-m", "pkg.tool") == f"__main__ {tmp_path}/pkg/tool.sema"
    assert run("pkg/tool.sema") == "__main__ pkg/tool.sema"


@pytest.mark.parametrize("arguments", [[], ["-m"], ["--nonsense"]])
def test_python_dash_m_usage(tmp_path: Path, arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "semac", *arguments], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("usage: python -m semac")


# From Sema


def sema(folder: Path, name: str) -> str:
    """What the command line says on stderr about a program that fails."""
    command = [sys.executable, "-m", "semac.cli.entry", name]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True)
    assert done.returncode == 1
    return done.stderr


def test_errors_of_an_imported_file_point_into_it(tmp_path: Path) -> None:
    write(tmp_path / "main.sema", '(println "start")\n(import "lib.sema")')
    write(tmp_path / "lib.sema", "(define a 1)\n(define b (foo (bar)")
    shown = sema(tmp_path, "main.sema")
    assert shown.startswith("Error: unterminated list\n  --> lib.sema:2:11\n")
    write(tmp_path / "lib.sema", "(define (f x)\n  (car x))\n(f 5)")
    shown = sema(tmp_path, "main.sema")
    assert shown.splitlines()[1:] == [
        "  --> lib.sema:2:3",
        "     |",
        "   2 |   (car x))",
        "     |   ^",
        "  at car (lib.sema:2:3)",
        "  at f (lib.sema:2:3)",
        "  at <lambda> (lib.sema:3:1)",
        "  at <lambda> (main.sema:2:1)",
    ]


def test_imported_files_are_cached_and_imported_once(tmp_path: Path) -> None:
    write(tmp_path / "main.sema", '(import "lib.sema")\n(import "lib.sema" f)\n(println (f 1))')
    write(tmp_path / "lib.sema", '(println "once")\n(define (f x) (list x))')
    command = [sys.executable, "-m", "semac.cli.entry", "main.sema"]
    for _ in range(2):
        done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
        assert done.stdout == "once\n(1)\n", done.stderr
    assert "lib.semac-1" in str([path.name for path in (tmp_path / "__pycache__").iterdir()])
