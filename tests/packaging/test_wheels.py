"""Wheels with Sema modules, built by hatchling and setuptools, installed where there is no compiler."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest
from paths import ROOT
from wheels import build, build_runtime, environment, install, run, site_of

HATCHLING = """\
[build-system]
requires = ["hatchling", "semac"]
build-backend = "hatchling.build"
[project]
name = "shop"
version = "1.0"
requires-python = ">=3.11"
dependencies = ["sema-runtime"]
[project.scripts]
shop = "shop.__main__:main"
[tool.hatch.build.hooks.semac]
exclude = ["shop/data/*"]
"""
SETUPTOOLS = """\
[build-system]
requires = ["setuptools", "semac"]
build-backend = "setuptools.build_meta"
[project]
name = "depot"
version = "1.0"
dependencies = ["Sema_Runtime>=0"]
[tool.semac]
modules = ["alone"]
[tool.setuptools.packages.find]
where = ["src"]
"""
FILES = {
    "shop/__init__.py": "from sema_runtime import importer\nimporter.install()\n",
    "shop/core.sema": """\
(import "deep/rates.sema")
(define (gross xs)
  (twice (foldl + 0 (map with-vat xs))))
(define (pick xs)
  (nth xs 9))
""",
    "shop/deep/rates.sema": """\
(module rates (export with-vat twice)
  (define (with-vat n) (* n 1.5))
  (defmacro twice (x) `(* 2 ,x)))
""",
    "shop/__main__.sema": """\
(py/from ".core" gross)
(define (main) (println (gross '(1 2))))
(when (= __name__ "__main__") (main))
""",
    "shop/py.typed": "",
    "shop/data/broken.sema": "(",
    "shop/data/words.txt": "one two",
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The project shop, and the folder of its sdist and its wheel."""
    out = tmp_path_factory.mktemp("dist")
    project = write(tmp_path_factory.mktemp("shop"), {"pyproject.toml": HATCHLING, **FILES})
    assert build(project, out) == ["shop-1.0-py3-none-any.whl", "shop-1.0.tar.gz"]
    return project, out


@pytest.fixture(scope="module")
def python(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the runtime and shop."""
    folder = tmp_path_factory.mktemp("environment")
    return environment(folder / "venv", build_runtime(folder), built[1] / "shop-1.0-py3-none-any.whl")


def test_a_wheel_has_sources_and_modules(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1] / "shop-1.0-py3-none-any.whl") as wheel:
        names = {name for name in wheel.namelist() if name.startswith("shop/")}
    modules = {"shop/core.py", "shop/deep/rates.py", "shop/__main__.py"}
    assert names == {*FILES, *modules, *(f"{module}i" for module in modules)}


def test_type_checkers_read_the_stubs_of_an_installed_package(python: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import shop.core\nshop.core.pick([1])\nshop.core.pick(1, 2)\nshop.core.pack\n"
    )
    options = ["--python-executable", str(python), "--cache-dir", str(tmp_path)]
    shown = run(sys.executable, "-m", "mypy", *options, "program.py", cwd=tmp_path, fails=True)
    assert shown.splitlines() == [
        'program.py:3: error: Too many arguments for "pick"  [call-arg]',
        'program.py:4: error: Module has no attribute "pack"  [attr-defined]',
        "Found 2 errors in 1 file (checked 1 source file)",
    ]


def test_the_installed_package_runs_without_the_compiler(python: Path, tmp_path: Path) -> None:
    assert run(python, "-m", "shop", cwd=tmp_path) == "9.0\n"
    assert run(python.parent / "shop", cwd=tmp_path) == "9.0\n"
    code = (
        "import importlib.util, shop.core\nfrom importlib.resources import files\n"
        "words = files('shop.data').joinpath('words.txt').read_text()\n"
        "print(importlib.util.find_spec('semac'), shop.core.gross([1]), words, flush=True)\n"
        "shop.core.pick([])"
    )
    shown = run(python, "-c", code, cwd=tmp_path, fails=True)
    assert shown.startswith("None 3.0 one two\n")
    assert 'shop/core.sema", line 5, in pick\n    (nth xs 9))\n' in shown
    assert shown.endswith("sema_runtime.values.errors.OutOfBounds: index 9 out of bounds (length 0)\n")


def test_pdb_stops_in_the_source_of_an_installed_package(python: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import shop.core\nshop.core.pick([1])\n")
    commands = f"tbreak {site_of(python)}/shop/core.sema:5\nc\nc\np xs\nq\n"
    shown = run(python, "-m", "pdb", "program.py", cwd=tmp_path, text=commands)
    assert "Breakpoint 1 at" in shown
    assert "-> (nth xs 9))\n(Pdb) " in shown


def test_a_program_shares_the_modules_of_an_installed_package(python: Path, tmp_path: Path) -> None:
    """Where the compiler is there, too, the modules of the wheel are used, not their sources."""
    site = str(site_of(python))
    (tmp_path / "program.sema").write_text(
        f'(import "{site}/shop/core.sema")\n(py/import "shop.core" :as core)\n'
        "(println (gross (list 1)) (= gross core.gross) core.__file__)"
    )
    command = [sys.executable, "-m", "semac.cli.entry", "program.sema"]
    shown = run(*command, cwd=tmp_path, PYTHONPATH=site, PYTHONWARNINGS="error")
    assert shown == f"3.0 #t {site}/shop/core.py\n"


def test_an_editable_install_uses_the_import_hook(tmp_path: Path) -> None:
    files = {**FILES, "shop/__init__.sema": '(define name "Shop")'}
    del files["shop/__init__.py"]
    packages = '[tool.hatch.build.targets.wheel]\npackages = ["shop"]\n'
    project = write(tmp_path / "project", {"pyproject.toml": HATCHLING + packages, **files})
    python = environment(tmp_path / "venv")
    paths = [path for path in sys.path if path.endswith("site-packages")]
    (site_of(python) / "compiler.pth").write_text("\n".join([*paths, str(ROOT), str(ROOT / "runtime")]))
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    run(python, "-m", "pip", "install", *options, "--editable", project, cwd=tmp_path)
    code = "import shop, shop.core; print(shop.name, shop.core.gross([1]))"
    assert run(python, "-c", code, cwd=tmp_path) == "Shop 3.0\n"
    (project / "shop" / "core.sema").write_text("(define (gross xs) :changed)")
    assert run(python, "-c", code, cwd=tmp_path) == "Shop :changed\n"


def test_setuptools_builds_the_same(python: Path, tmp_path: Path) -> None:
    files = {name.replace("shop/", "src/depot/"): text for name, text in FILES.items()}
    del files["src/depot/data/broken.sema"]
    project = write(tmp_path / "depot", {"pyproject.toml": SETUPTOOLS, **files, "src/alone.sema": "(define answer 42)"})
    (tmp_path / "dist").mkdir()
    assert build(project, tmp_path / "dist") == ["depot-1.0-py3-none-any.whl", "depot-1.0.tar.gz"]
    with zipfile.ZipFile(tmp_path / "dist" / "depot-1.0-py3-none-any.whl") as wheel:
        record = wheel.read("depot-1.0.dist-info/RECORD").decode()
    for name in ("alone.py", "alone.sema", "depot/core.py", "depot/core.sema", "depot/deep/rates.py", "depot/core.pyi"):
        assert f"{name},sha256=" in record
    install(python, tmp_path / "dist" / "depot-1.0-py3-none-any.whl")
    code = "import alone, depot.core; print(alone.answer, depot.core.gross([1]), depot.core.gross.__code__.co_filename)"
    shown = run(python, "-c", code, cwd=tmp_path)
    assert shown.startswith("42 3.0 /") and shown.endswith("/depot/core.sema\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shop/core.sema": "(define (f)\n  (g"}, "core.sema:2:3\n"),
        ({"shop/core.py": ""}, "shop/core.sema and shop/core.py are both the module 'core'; rename one of them"),
        ({"shop/1st.sema": "1"}, "shop/1st.sema: '1st' is no name that Python can import; rename the file"),
        ({"pyproject.toml": HATCHLING.replace('"sema-runtime"', "")}, "dependencies = ['sema-runtime>="),
        ({"pyproject.toml": HATCHLING.replace("exclude =", "exlude =")}, "has no option 'exlude'; there are exclude"),
        ({"pyproject.toml": HATCHLING.replace('["shop/data/*"]', "1")}, "is a list of strings, not 1"),
    ],
)
def test_what_cannot_be_built_is_said(change: dict[str, str], message: str, tmp_path: Path) -> None:
    project = write(tmp_path, {"pyproject.toml": HATCHLING, **FILES, **change})
    shown = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", cwd=project, fails=True)
    assert message in shown
    assert "Traceback" not in shown
