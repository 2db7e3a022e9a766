"""pytest for Sema: finds `.sema` modules and tests, and takes a test that returns #f for one that failed.

pytest loads it by its entry point. Where pytest looks for `test_*.py`, tests in `test_*.sema` and `test-*.sema` are
found too: their functions are named as for Python (`test-total` is `test_total`), and parameters name fixtures.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from sema_runtime.conditions.tracebacks import is_ours
from sema_runtime.values.errors import SemaError
from semac.diagnostics.tracebacks import concerns_sema
from semac.imports.finder import SUFFIX, import_file, install


def pytest_configure(config: pytest.Config) -> None:
    """Makes .sema files importable by the tests."""
    install(sets_hooks=False)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The tests of a .sema file whose name is one of `python_files`, or that was named on the command line."""
    if file_path.suffix != SUFFIX:
        return None
    as_python = file_path.with_name(file_path.stem.replace("-", "_") + ".py")
    patterns = parent.config.getini("python_files")
    if not parent.session.isinitpath(file_path) and not any(map(as_python.match, patterns)):
        return None
    return SemaTests.from_parent(parent, path=file_path)


class SemaTests(pytest.Module):
    """The tests of one .sema file."""

    def _getobj(self) -> Any:
        try:
            return import_file(str(self.path))
        except SemaError as error:
            place = getattr(error, "span", None)
            if place is None:  # it compiles, and fails when it is run
                raise
            file = getattr(error, "source_file", self.path)
            hint = f" (hint: {error.hint})" if error.hint else ""
            raise self.CollectError(f"{file}:{place[0]}: {error.message}{hint}") from None


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a test written in Sema, whose value is that of its last form."""
    function = inspect.unwrap(getattr(pyfuncitem.obj, "__func__", pyfuncitem.obj))
    code = getattr(function, "__code__", None)
    if code is None or not code.co_filename.endswith(SUFFIX):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    result = pyfuncitem.obj(**arguments)
    if inspect.isawaitable(result):
        import asyncio

        result = asyncio.run(_awaited(result))
    if result is False:
        pytest.fail(f"{pyfuncitem.name} returned #f", pytrace=False)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> None:
    """Leaves the frames of the runtime out of the tracebacks of errors in Sema code."""
    error = call.excinfo
    if error is not None and concerns_sema(error.value):
        shown = without_ours(error.value.__traceback__)
        if shown is not None:
            error.traceback = type(error.traceback)(shown)


def without_ours(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of the runtime and the compiler."""
    kept = []
    while trace is not None:
        if not is_ours(trace.tb_frame.f_globals):
            kept.append(trace)
        trace = trace.tb_next
    shown: TracebackType | None = None
    for entry in reversed(kept):
        shown = TracebackType(shown, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return shown


async def _awaited(result: Any) -> Any:
    return await result
