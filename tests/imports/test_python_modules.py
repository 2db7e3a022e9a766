"""What Python's modules have: `__name__`, relative imports, resources, reloading, namespace packages, .py beside."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

HOOK = "import semac.importer; semac.importer.install()\n"
SEMA = str(Path(sys.executable).with_name("sema"))


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def run(folder: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def python(folder: Path, text: str) -> str:
    (folder / "script.py").write_text(HOOK + text)
    return run(folder, sys.executable, "script.py")


GUARDED = '(define (f) 1)\n(when (= __name__ "__main__") (println "main" (sys/args)))\n(define here __file__)\n'


def test_the_name_of_a_module_guards_its_main_part(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"pk/__init__.py": "", "pk/core.sema": GUARDED, "user.sema": '(import "pk/core.sema")\n(println here)'},
    )
    assert (
        python(tmp_path, "import pk.core; print(pk.core.__name__, pk.core.here == pk.core.__file__)")
        == "pk.core True\n"
    )
    assert run(tmp_path, SEMA, "pk/core.sema") == 'main ("pk/core.sema")\n'
    assert run(tmp_path, SEMA, "run", "pk/core.sema", "a", "-b") == 'main ("pk/core.sema" "a" "-b")\n'
    assert run(tmp_path, SEMA, "run", "-m", "pk.core", "-b").endswith('core.sema" "-b")\n')
    assert run(tmp_path, sys.executable, "-m", "semac", "pk/core.sema").startswith("main")
    assert run(tmp_path, SEMA, "user.sema") == f"{tmp_path}/pk/core.sema\n"
    assert run(tmp_path, SEMA, "-p", "(list __name__ (eval '__name__))") == '("__main__" "__main__")\n'


def test_names_that_python_looks_for_in_a_module(tmp_path: Path) -> None:
    text = '(define __version__ "1.2")\n(define (__getattr__ name) (str "no-" name))\n(define __sema_names__ 1)'
    write(tmp_path, {"v.sema": text, "user.sema": '(import "v.sema")\n(println __name__)'})
    assert python(tmp_path, "import v; print(v.__version__, v.other, v.__all__)") == "1.2 no-other []\n"
    assert run(tmp_path, SEMA, "user.sema") == "__main__\n"


def test_the_builtins_of_python_stay_out_of_reach() -> None:
    for name in ("__builtins__", "__loader__", "__spec__", "__import__", "__sema_session__"):
        done = subprocess.run([SEMA, "--sandbox", "strict", "-p", name], capture_output=True, text=True)
        assert f"Unbound variable: {name}" in done.stderr


def test_relative_imports(tmp_path: Path) -> None:
    files = {
        "pk/__init__.py": "",
        "pk/helper.py": "value = 3\n",
        "pk/core.sema": "(define (f) 1)",
        "pk/sub/__init__.sema": '(py/from ".deep" depth)',
        "pk/sub/deep.sema": '(py/from ".." helper core)\n(py/from "..core" (f :as g))\n'
        "(define depth (list helper.value (core.f) (g)))",
    }
    write(tmp_path, files)
    assert python(tmp_path, "import pk.sub; print(pk.sub.depth)") == "(3 1 1)\n"
    write(tmp_path, {"top.sema": '(py/from ".core" f)'})
    done = subprocess.run([SEMA, "top.sema"], cwd=tmp_path, capture_output=True, text=True)
    assert "attempted relative import with no known parent package" in done.stderr


def test_resources(tmp_path: Path) -> None:
    files = {
        "pk/__init__.sema": '(py/import "importlib.resources" :as resources)\n'
        '(define (text) (.read-text (/ (resources.files __name__) "data" "a.txt")))',
        "pk/data/a.txt": "inside",
    }
    write(tmp_path, files)
    assert python(tmp_path, "import pk; print(pk.text())") == "inside\n"
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in files:
            archive.write(tmp_path / name, f"zipped/{name}".replace("zipped/pk", "zipped"))
    text = "import sys; sys.path.insert(0, 'all.zip'); import zipped; print(zipped.text())"
    assert python(tmp_path, text) == "inside\n"


def test_reload_runs_the_text_of_now(tmp_path: Path) -> None:
    write(tmp_path, {"m.sema": "(define a 1)"})
    text = """
import importlib, pathlib, m
before = m
pathlib.Path("m.sema").write_text("(define a (+ 40 2))(define b __name__)")
print(importlib.reload(m) is before, m.a, m.b)
"""
    assert python(tmp_path, text) == "True 42 m\n"


def test_namespace_packages_in_two_folders(tmp_path: Path) -> None:
    files = {
        "one/ns/a.sema": "(define x 1)",
        "two/ns/b.sema": '(py/from "ns.a" x)\n(define y (+ x 1))',
        "two/ns/c.py": "z = 3",
    }
    write(tmp_path, files)
    text = "import sys; sys.path += ['one', 'two']; import ns.a, ns.b, ns.c; print(ns.a.x, ns.b.y, ns.c.z)"
    assert python(tmp_path, text) == "1 2 3\n"


PACKAGE = {
    "shop/__init__.py": "from sema_runtime import importer\nimporter.install()\nfrom shop.orders import total\n",
    "shop/orders.sema": '(import "./tax-rates.sema" rate with-rate)\n(py/from ".helper" base)\n'
    '(define (total xs) (+ base (with-rate (foldl + 0 xs))))\n(define (empty? x) "mine")\n(define told (empty? 1))',
    "shop/tax-rates.sema": "(module rates (export rate with-rate)\n (define rate 2)\n (define hidden 3)\n"
    " (defmacro with-rate (x) `(* rate ,x)))",
    "shop/helper.py": "base = 100\n",
    "shop/py.typed": "",
    "main.sema": '(import "shop/orders.sema")\n(println (total (list 1 2)) told __name__)',
}


def test_two_lines_in_a_package_are_enough(tmp_path: Path) -> None:
    write(tmp_path, PACKAGE)
    assert run(tmp_path, sys.executable, "-c", "import shop; print(shop.total([1, 2]))") == "106\n"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of a Python that finds the runtime and nothing else."""
    import sema_runtime

    folder = tmp_path_factory.mktemp("alone")
    (folder / "sema_runtime").symlink_to(Path(sema_runtime.__file__).parent)
    return ["env", f"PYTHONPATH={folder}", sys.executable, "-S"]


@pytest.mark.parametrize("options", [[], ["--fast"]])
def test_a_compiled_folder_needs_the_runtime_alone(tmp_path: Path, alone: list[str], options: list[str]) -> None:
    write(tmp_path, {f"src/{name}": text for name, text in PACKAGE.items()})
    run(tmp_path, SEMA, "compile", "src", "-o", "built", *options)
    built = tmp_path / "built"
    assert sorted(path.relative_to(built).as_posix() for path in built.rglob("*.*")) == [
        "main.py", "shop/__init__.py", "shop/helper.py", "shop/orders.py", "shop/py.typed", "shop/tax_rates.py",
    ]  # fmt: skip
    assert run(built, *alone, "main.py") == "106 mine __main__\n"
    text = "import shop, shop.tax_rates as t; print(shop.total([1]), shop.orders.rate is t.rate, t.__all__)"
    assert run(built, *alone, "-c", text) == "102 True ['rate', 'with_rate']\n"


def test_sources_without_a_compiler_are_named(tmp_path: Path, alone: list[str]) -> None:
    write(tmp_path, PACKAGE)
    done = subprocess.run([*alone, "-c", "import shop"], cwd=tmp_path, capture_output=True, text=True)
    assert "shop/orders.sema is not compiled: install semac, or compile its folder" in done.stderr


def test_two_files_for_one_place_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"src/a.sema": "(define x 1)", "src/a.py": "x = 2"})
    done = subprocess.run([SEMA, "compile", "src", "-o", "out"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "would both be written to out/a.py" in done.stderr
    assert (tmp_path / "out" / "a.py").read_text() == "x = 2"


def test_py_from_finds_sema_modules_in_every_command(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"mail.sema": "(define (read-mails) 5)", "main.sema": '(py/from "mail" read-mails)\n(println (read-mails))'},
    )
    assert run(tmp_path, SEMA, "main.sema") == "5\n"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [SEMA, "-p", '(begin (py/from "mail" read-mails) (read-mails))']
    assert subprocess.run(command, capture_output=True, text=True, env=environment).stdout == "5\n"
    denied = subprocess.run([SEMA, "--sandbox", "strict", "main.sema"], cwd=tmp_path, capture_output=True, text=True)
    assert "requires 'python' capability" in denied.stderr


CLOSURES = """
(define (adder scale limit) (let ((sum (* scale limit))) (fn (x) (+ x (* sum limit) (- scale limit)))))
(define (scaler scale limit) (let ((sum (- scale limit))) (fn (x) (* x (+ sum limit) (* scale limit)))))
"""
COUNT = """
from fractions import Fraction
def count():
    import pstats
    profile = cProfile.Profile()
    profile.enable()
    for number in (3, 2.5, 1):
        closures.adder(number, 2)
    closures.scaler(3, 2), closures.scaler(3, Fraction(1, 2))
    profile.disable()
    counted = {name: stat[1] for (file, _, name), stat in pstats.Stats(profile).stats.items() if "closures" in file}
    print(sorted(counted.items()))
"""


@pytest.mark.parametrize("order", ["import closures, cProfile", "import cProfile, closures"])
def test_profilers_count_the_first_call_of_a_function_once(tmp_path: Path, order: str) -> None:
    write(tmp_path, {"closures.sema": CLOSURES})
    assert python(tmp_path, f"{order}\n{COUNT}\ncount()") == "[('adder', 3), ('scaler', 2)]\n"
