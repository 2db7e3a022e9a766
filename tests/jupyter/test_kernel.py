"""The kernel, driven by Jupyter's own client and by the tests that Jupyter has for kernels."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import jupyter_kernel_test
import nbformat
import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from semac.jupyter.install import main as jupyter

WAIT = 60


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The kernel entered below a folder of its own, where Jupyter looks."""
    prefix = tmp_path_factory.mktemp("prefix")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(prefix / "share" / "jupyter"))
        assert jupyter(["install", "--prefix", str(prefix), "--name", "sema-tested"]) == 0
        yield


@pytest.fixture(scope="module")
def kernel(installed: None) -> Iterator[Any]:
    manager, client = start_new_kernel(kernel_name="sema-tested")
    client.manager = manager
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def run(kernel: Any, code: str, **options: Any) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """(the reply, the messages that the cell sent)."""
    sent: list[tuple[str, dict[str, Any]]] = []

    def take(message: dict[str, Any]) -> None:
        if message["msg_type"] not in ("status", "execute_input"):
            sent.append((message["msg_type"], message["content"]))

    return kernel.execute_interactive(code, output_hook=take, timeout=WAIT, **options)["content"], sent


class TestJupytersOwn(jupyter_kernel_test.KernelTests):  # type: ignore[misc]
    kernel_name = "sema-tested"
    language_name = "sema"
    file_extension = ".sema"
    code_hello_world = '(println "hello, world")'
    code_stderr = '(print-error "oops")'
    completion_samples: ClassVar = [{"text": "(string/joi", "matches": {"string/join"}}]
    complete_code_samples: ClassVar = ["(+ 1 2)", "x", '"a"']
    incomplete_code_samples: ClassVar = ["(+ 1", '"a', "(define (f x)\n  (let ((y 1))"]
    invalid_code_samples: ClassVar = ["(+ 1))", "]"]
    code_generate_error = "(car 5)"
    code_execute_result: ClassVar = [{"code": "(+ 1 2)", "result": "3"}]
    code_inspect_sample = "car"
    code_history_pattern = "(+ 1?2*"
    supported_history_operations = ("tail", "search", "range")
    code_clear_output = ""


def test_values_and_tables(kernel: Any) -> None:
    _, sent = run(kernel, '(list {:a 1 :b 2} {:a 3 :b "<"})')
    ((kind, content),) = sent
    assert kind == "execute_result"
    assert content["data"]["text/plain"] == '({:a 1 :b 2} {:a 3 :b "<"})'
    assert "<th>a</th><th>b</th>" in content["data"]["text/html"]
    assert "&lt;" in content["data"]["text/html"]


def test_nil_shows_nothing(kernel: Any) -> None:
    assert run(kernel, "(define x 3) nil")[1] == []


def test_rich_values_of_python(kernel: Any) -> None:
    _, sent = run(kernel, '(py/import "pandas") (pandas.DataFrame (py/dict {"a" [1 2]}))')
    assert "<table" in sent[-1][1]["data"]["text/html"]


def test_figures(kernel: Any) -> None:
    _, sent = run(kernel, '(py/from "matplotlib" (pyplot :as plt)) (plt.plot [1 2 3]) nil')
    assert [kind for kind, content in sent if "image/png" in content.get("data", {})] == ["display_data"]


def test_output_arrives_while_the_cell_runs(kernel: Any) -> None:
    """The cell ends only after its first line has been seen: it asks for input behind it."""
    seen: list[str] = []

    def answer(_: object) -> None:
        kernel.input("41")

    reply = kernel.execute_interactive(
        '(println "first") (+ 1 (string->number (read-line)))',
        allow_stdin=True,
        stdin_hook=answer,
        output_hook=lambda message: seen.append(str(message["content"])),
        timeout=WAIT,
    )
    assert reply["content"]["status"] == "ok"
    assert any("42" in one for one in seen)
    assert any("first" in one for one in seen)


def test_errors_have_place_and_hint(kernel: Any) -> None:
    reply, sent = run(kernel, "(define total 3)\n(+ 1\n  totl)")
    assert reply["status"] == "error"
    text = "\n".join(sent[0][1]["traceback"])
    assert "totl" in text
    assert ":3:3" in text
    assert "^" in text
    assert "total" in text.partition("hint:")[2]


def test_the_last_values_and_error(kernel: Any) -> None:
    run(kernel, "(+ 20 1)")
    assert run(kernel, "(* 2 *1)")[1][0][1]["data"]["text/plain"] == "42"
    run(kernel, "(car 5)")
    assert run(kernel, "*e")[1][0][1]["data"]["text/plain"] == '"expected list or vector, got int"'


@pytest.mark.parametrize(
    "code", ["(let loop ((i 0)) (loop (+ i 1)))", "(sleep 1000000)", "(await (async (sleep 1000000)))"]
)
def test_an_interrupt_ends_the_cell_only(kernel: Any, code: str) -> None:
    run(kernel, "(define kept 5)")
    started = threading.Event()

    def watch(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream" and not started.is_set():
            started.set()
            kernel.manager.interrupt_kernel()

    reply = kernel.execute_interactive(f'(println "now") {code}', output_hook=watch, timeout=WAIT)
    assert reply["content"]["status"] == "error"
    assert run(kernel, "kept")[1][0][1]["data"]["text/plain"] == "5"


def test_completion_of_locals_attributes_and_files(kernel: Any, tmp_path: Path) -> None:
    (tmp_path / "numbers.csv").touch()
    run(kernel, '(py/import "math")')
    for code, wanted in (
        ("(define (f first-number) (+ first-n", "first-number"),
        ("(math.sq", "math.sqrt"),
        (f'(file/read "{tmp_path}/numb', f"{tmp_path}/numbers.csv"),
        ("(let ((subtotal 1)) subt", "subtotal"),
    ):
        kernel.complete(code, len(code))
        assert wanted in kernel.get_shell_msg(timeout=WAIT)["content"]["matches"]


def test_inspection_of_own_functions(kernel: Any) -> None:
    run(kernel, '(define (half x)\n  "Half of a number."\n  (/ x 2))')
    kernel.inspect("(half 4", 6, detail_level=1)
    text = kernel.get_shell_msg(timeout=WAIT)["content"]["data"]["text/plain"]
    assert "half : lambda (x)" in text
    assert "Half of a number." in text
    assert "(/ x 2)" in text


def test_is_complete_gives_the_indentation(kernel: Any) -> None:
    kernel.is_complete("(define (f x)")
    assert kernel.get_shell_msg(timeout=WAIT)["content"] == {"status": "incomplete", "indent": "  "}


def test_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "shop.sema").write_text("(define price 7)")
    cells = ['(import "shop.sema")', "(* 2 price)"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    book_folder = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(book, kernel_name="sema-tested", resources=book_folder).execute()
    assert book.cells[1].outputs[0].data["text/plain"] == "14"
    book.cells.append(nbformat.v4.new_code_cell("(car 5)"))
    with pytest.raises(CellExecutionError, match="expected list or vector"):
        NotebookClient(book, kernel_name="sema-tested", resources=book_folder).execute()


def test_uninstall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share" / "jupyter"))
    assert jupyter(["install", "--prefix", str(tmp_path), "--name", "gone"]) == 0
    spec = tmp_path / "share" / "jupyter" / "kernels" / "gone" / "kernel.json"
    assert sys.executable in spec.read_text()
    assert jupyter(["uninstall", "--name", "gone"]) == 0
    assert not spec.exists()
    assert jupyter(["uninstall", "--name", "gone"]) == 1
    assert "there is no kernel 'gone'" in capsys.readouterr().err
