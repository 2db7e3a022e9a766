"""What a built program carries: files that are imported, packages, data, distributions of Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from semac.build.distributions import needed, runtime_closure
from semac.build.errors import BuildError
from semac.build.layers import Compiled
from semac.build.program import Program, traced
from semac.build.targets import chosen, host, listing


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv("SEMA_HOME", str(tmp_path / "home"))
    write(
        tmp_path,
        {
            "app/main.sema": '(import "lib/a.sema") (load "b.sema") (import "../shared.sema") (import "kit/tool")'
            '(import "gone.sema") (import "sema/patterns") (py/import "helpers") (py/from "yaml" dump)'
            '(when #f (import "lib/a.sema"))',
            "app/lib/a.sema": '(py/from "numbers.rational" half)',
            "app/b.sema": "(unbound-until-loaded)",
            "app/helpers.py": "import json\nfrom . import nothing\nimport pk.inner\nimport requests.adapters\n",
            "app/pk/inner.sema": "(define x 1)",
            "app/numbers/__init__.py": "",
            "app/numbers/rational.sema": "(define half 1/2)",
            "app/unused.sema": "",
            "shared.sema": "(define y 2)",
            "home/packages/kit/tool/sema.toml": '[package]\nentrypoint = "src/tool.sema"\n',
            "home/packages/kit/tool/src/tool.sema": '(import "part.sema")',
            "home/packages/kit/tool/src/part.sema": "(define z 3)",
            "data/one.txt": "1",
            "data/deep/two.txt": "2",
            "notes.txt": "n",
        },
    )
    includes = [tmp_path / "data", tmp_path / "notes.txt", tmp_path / "missing"]
    return traced(str(tmp_path / "app" / "main.sema"), map(str, includes))


def test_imports_and_loads_are_traced_and_placed(program: Program) -> None:
    assert (program.entry, program.folder) == ("app/main.sema", "app/")
    assert sorted(program.sources) == [
        "app/b.sema",
        "app/helpers.py",
        "app/lib/a.sema",
        "app/main.sema",
        "app/numbers/__init__.py",
        "app/numbers/rational.sema",
        "app/pk/inner.sema",
        "shared.sema",
    ]
    tool = ["kit/tool/sema.toml", "kit/tool/src/part.sema", "kit/tool/src/tool.sema"]
    assert sorted(program.packages) == tool
    assert sorted(program.included) == ["app/data/deep/two.txt", "app/data/one.txt", "app/notes.txt"]
    assert program.modules == {"json", "yaml", "requests.adapters"}
    assert [note.partition(":")[0] if "--include" in note else note for note in program.notes] == [
        '(import "gone.sema") in main.sema names no file; the program will look for it where it runs',
        f"--include {Path(program.sources['shared.sema']).parent / 'missing'}",
    ]


def test_imported_files_are_compiled_and_loaded_ones_are_not(program: Program) -> None:
    layer = Compiled(program)
    compiled = {place for place in layer.files if place.endswith(".py") and b"runs_as_source" in layer.files[place]}
    assert compiled == {
        "app/app/main.run.py",
        "app/app/lib/a.py",
        "app/app/numbers/rational.py",
        "app/app/pk/inner.py",
        "app/shared.py",
        "packages/kit/tool/src/tool.py",
        "packages/kit/tool/src/part.py",
    }
    assert layer.main == "app/app/main.run.py"
    assert layer.files["app/app/notes.txt"] == b"n"


def test_two_files_cannot_have_one_place(tmp_path: Path) -> None:
    write(tmp_path, {"main.sema": "", "a/x.txt": "1", "b/x.txt": "2"})
    with pytest.raises(BuildError, match=r"b/x\.txt and .*a/x\.txt would both be x\.txt in the built program"):
        traced(str(tmp_path / "main.sema"), [str(tmp_path / "a" / "x.txt"), str(tmp_path / "b" / "x.txt")])
    with pytest.raises(BuildError, match="file not found"):
        traced(str(tmp_path / "none.sema"))


def test_a_file_that_cannot_be_compiled_is_shown_with_its_line(tmp_path: Path) -> None:
    write(tmp_path, {"main.sema": '(import "a.sema")', "a.sema": "(define x\n  (f"})
    with pytest.raises(BuildError, match=r"a\.sema can't be compiled\n(.|\n)*a\.sema:2:3"):
        Compiled(traced(str(tmp_path / "main.sema")))


def test_distributions_are_those_that_the_program_reaches() -> None:
    assert needed(["json", "os.path"], ["sema_runtime.lib.language.output"], []) == {}
    assert {*needed([], ["sema_runtime.lib.tasks.channels"], [])} == {"greenlet"}
    models = needed([], ["sema_runtime.lib.llm.llm"], [])
    assert {"httpx", "h11", "idna", "pydantic", "pydantic-core", "tenacity"} <= {*models}
    assert not {"opentelemetry-sdk", "requests", "numpy"} & {*models}
    assert "httpx" in needed([], ["sema_runtime.lib.language.dynamic"], [])
    assert "pypdf" in needed(["pypdf.generic"], [], [])
    assert "cryptography" in needed([], [], ["cryptography"])
    with pytest.raises(BuildError, match="--with no-such-thing: it is not installed here; pip install no-such-thing"):
        needed([], [], ["no-such-thing"])


def test_the_closure_of_the_runtime_leaves_types_out() -> None:
    reached, others = runtime_closure(["sema_runtime.values.maps"])
    assert "sema_runtime.values.atoms" in reached
    assert others == set()


def test_targets_are_this_machine() -> None:
    assert chosen(None) == chosen(host()) == host()
    other = "windows" if host().endswith("gnu") else "linux"
    refused = (("web", "the browser"), ("amiga", "--list-targets"), (other, "Run sema build there"), ("all", "CI"))
    for name, why in refused:
        with pytest.raises(BuildError, match=why):
            chosen(name)
    assert "this machine" in listing()
