"""Stubs of Sema modules, as mypy and pyright use them to check Python code."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from paths import EXAMPLES, ROOT

SEMA = str(Path(sys.executable).with_name("sema"))
LOCAL_PYRIGHT = ROOT / "node_modules" / ".bin" / "pyright"
PYRIGHT = str(LOCAL_PYRIGHT) if LOCAL_PYRIGHT.exists() else shutil.which("pyright")

SHOP = """(py/from "dataclasses" dataclass)
(define-record-type account (make-account owner balance) account? (owner account-owner) (balance account-balance))
(define limit 10)
(define names '("a" "b"))
(define (greet name) "Says \\"hi\\"." (string-append "hi " name))
(define (squares n) (map (fn (i) (* i i)) (range n)))
(define (open-account owner) (make-account owner 0))
(define (find-name key) (if (= key 1) "one" nil))
(define (settings) {:depth 3 "other" 4})
(define (total . amounts) (foldl + 0 amounts))
(define (count-of xs) (length xs))
(define (empty-cart? cart) (null? cart))
(define (list . xs) xs)
(defmacro twice (form) `(begin ,form ,form))
(py/class [dataclass] Point "A point." [x int] [y int 0] (py/def (norm self) -> float (+ (.-x self) (.-y self))))
(py/def (area [w float] [h float 2.0]) -> float (* w h))
"""
RIGHT = """import shop
from shop import Point, area, is_empty_cart, make_account

greeting: str = shop.greet("ann").upper()
length: int = len(shop.squares(3)) + shop.limit + shop.count_of([1, 2]) + shop.count_of("text")
first: str = shop.names[0]
for square in shop.squares(4):
    print(square + 1)
account = shop.open_account("ann")
print(account.owner, shop.account_balance(account) + 1, isinstance(account, shop.Account))
print(make_account(owner="ann", balance=2.5), shop.is_account(account))
name = shop.find_name(1)
print(name.upper() if name else None, shop.find_name(2) is None)
print(shop.settings()["depth"] + 1, shop.total(), shop.total(1, 2.5, 3))
point = Point(1, y=2)
print(point.x + point.y, point.norm() / 2, area(1), area(1.5, h=2))
if is_empty_cart([]):
    print(shop.list(1, 2))
"""
WRONG = {
    "shop.greet()": "call-arg|reportCallIssue",
    "shop.greet('a', 'b')": "call-arg|reportCallIssue",
    "shop.gret('a')": "attr-defined|reportAttributeAccessIssue",
    "shop.greet('a') + 1": "operator|reportOperatorIssue",
    "shop.squares(3)[0].upper()": "attr-defined|reportAttributeAccessIssue",
    "shop.open_account('a').ownr": "attr-defined|reportAttributeAccessIssue",
    "shop.account_owner(3)": "arg-type|reportArgumentType",
    "shop.limit.upper()": "attr-defined|reportAttributeAccessIssue",
    "shop.twice(1)": "attr-defined|reportAttributeAccessIssue",
    "shop.Point('a')": "arg-type|reportArgumentType",
    "shop.Point(1).z": "attr-defined|reportAttributeAccessIssue",
    "shop.area('wide')": "arg-type|reportArgumentType",
    "number: int = shop.find_name(1)": "assignment|reportAssignmentType",
}


def sema(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SEMA, *args], capture_output=True, text=True, cwd=folder)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a module, its stub, and Python code that uses it rightly and wrongly."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "shop.sema").write_text(SHOP)
    assert sema(folder, "stubs").stdout == "shop.pyi\n"
    (folder / "right.py").write_text(RIGHT)
    (folder / "wrong.py").write_text("import shop\n\n" + "\n".join(WRONG) + "\n")
    return folder


def findings(command: list[str], folder: Path) -> dict[str, dict[int, set[str]]]:
    """Codes of what a checker reports, by line and file."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    found: dict[str, dict[int, set[str]]] = {}
    for file, line, code in re.findall(r"(?m)(\w+\.pyi?):(\d+).*error.*[\[(]([\w-]+)[\])]$", done.stdout):
        found.setdefault(file, {}).setdefault(int(line), set()).add(code)
    return found


def checked(found: dict[str, dict[int, set[str]]]) -> None:
    """The right file has no finding, each wrong line has its own."""
    assert {name: lines for name, lines in found.items() if name != "wrong.py"} == {}
    for line, (use, codes) in enumerate(WRONG.items(), 3):
        assert found["wrong.py"].get(line, set()) & {*codes.split("|")}, use


def test_mypy(project: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=.mypy", "right.py", "wrong.py"]
    checked(findings(command, project))


@pytest.mark.skipif(PYRIGHT is None, reason="needs pyright: npm install pyright")
def test_pyright(project: Path) -> None:
    command = [str(PYRIGHT), "--outputjson", "--pythonpath", sys.executable, "right.py", "wrong.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=project)
    found: dict[str, dict[int, set[str]]] = {}
    for finding in json.loads(done.stdout)["generalDiagnostics"]:
        if finding["severity"] == "error":
            lines = found.setdefault(Path(finding["file"]).name, {})
            lines.setdefault(finding["range"]["start"]["line"] + 1, set()).add(finding["rule"])
    checked(found)


def test_the_right_uses_run(project: Path) -> None:
    program = "import semac.importer; semac.importer.install(); import right"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=project)
    assert done.stderr == ""


def test_stubs_have_documentation_and_no_macros(project: Path) -> None:
    text = (project / "shop.pyi").read_text()
    assert '"""Says "hi". """' in text or '"""Says "hi"."""' in text
    assert "twice" not in text


def test_check_tells_missing_and_stale_stubs(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "my-mod.sema").write_text("(define a 1)\n")
    assert sema(tmp_path, "stubs", "--check").stderr == "pkg/my_mod.pyi: missing; run: sema stubs pkg/my-mod.sema\n"
    assert sema(tmp_path, "stubs", "pkg", "-o", "typings").stdout == "typings/my_mod.pyi\n"
    assert sema(tmp_path, "stubs").stdout == "pkg/my_mod.pyi\n"
    assert sema(tmp_path, "stubs", "--check").returncode == 0
    (tmp_path / "pkg" / "my-mod.sema").write_text('(define a "text")\n')
    done = sema(tmp_path, "stubs", "--check")
    assert (done.returncode, "stale" in done.stderr) == (1, True)


def test_what_cannot_be_compiled_leaves_the_old_stub(tmp_path: Path) -> None:
    (tmp_path / "a.sema").write_text("(define a 1)\n")
    sema(tmp_path, "stubs")
    before = (tmp_path / "a.pyi").read_text()
    (tmp_path / "a.sema").write_text("(define a\n")
    done = sema(tmp_path, "stubs", "a.sema", "none.sema")
    assert done.returncode == 1
    assert "Error: file not found: none.sema" in done.stderr and "a.sema:1:1" in done.stderr
    assert (tmp_path / "a.pyi").read_text() == before


@pytest.mark.parametrize(("wanted", "place"), [("1", "shop.pyi"), ("typings", "typings/shop.pyi")])
def test_imports_keep_stubs_current(tmp_path: Path, wanted: str, place: str) -> None:
    (tmp_path / "shop.sema").write_text("(define a 1)\n")
    program = "import semac.importer; semac.importer.install(); import shop"
    environment = {**os.environ, "SEMA_STUBS": wanted}
    for _ in range(2):  # the second time the module comes from the cache
        subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, check=True)
        assert "a: int" in (tmp_path / place).read_text()
        (tmp_path / place).unlink()


def test_the_examples_have_stubs_that_checkers_read(tmp_path: Path) -> None:
    for path in EXAMPLES.glob("*.sema"):
        shutil.copy(path, tmp_path)
    done = sema(tmp_path, "stubs")
    assert done.returncode == 0, done.stderr
    stubs = [path.name for path in tmp_path.glob("*.pyi")]
    assert len(stubs) > 10
    assert findings([sys.executable, "-m", "mypy", "--config-file=", "--cache-dir=.mypy", *stubs], tmp_path) == {}
