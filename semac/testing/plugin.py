"""Plugin of pytest (entry point `pytest11`): makes .sema modules importable and collects `test_*.sema`.

It loads the import hook; the compiler only for files that have to be compiled. A test is a function `test-NAME` of the
file, as `deftest` and `defproperty` define them; its parameters are fixtures, its options become marks.
"""

from __future__ import annotations

import os
import sys

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType
    from typing import Any

    from _pytest._code.code import TerminalRepr

SUFFIX = ".sema"


def pytest_configure(config: pytest.Config) -> None:
    """Makes .sema files importable by the tests."""
    from semac.imports.finder import install

    install(sets_hooks=False)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SemaModule | None:
    """Claims `test_*.sema` and `test-*.sema`, and .sema files that were named on the command line."""
    if file_path.suffix != SUFFIX:
        return None
    if not parent.session.isinitpath(file_path) and not file_path.name.startswith(("test_", "test-")):
        return None
    return SemaModule.from_parent(parent, path=file_path)


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> list[pytest.Item | pytest.Collector] | None:
    """Makes the items of a .sema file; nothing but its functions can be tests."""
    if type(collector) is not SemaModule:
        return None
    if not collector.funcnamefilter(name) or not collector.is_own_function(obj):
        return []
    marks, rows = marks_of(obj)
    obj.pytestmark = [*getattr(obj, "pytestmark", ()), *(mark.mark for mark in marks + rows)]  # type: ignore[attr-defined]
    return list(collector._genfunctions(name, obj))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object | None:
    """Runs a test of a .sema file. #f as its value is a failure, other values are ignored."""
    if type(pyfuncitem) is not SemaFunction:
        return None
    from semac.process import deepen, drain_tasks

    deepen()
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    value = pyfuncitem.obj(**arguments)
    if hasattr(type(value), "__await__"):
        value = asyncio_result(value)
    drain_tasks()
    if value is False:
        raise AssertionError(f"{pyfuncitem.originalname.replace('_', '-')} returned #f")
    return True


def asyncio_result(awaitable: Any) -> Any:
    """The result of a coroutine that a test returned."""
    import asyncio

    async def awaited() -> Any:
        return await awaitable

    return asyncio.run(awaited())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> None:
    """Leaves the frames of the runtime out of the tracebacks of errors in Sema code that tests in Python call."""
    if call.excinfo is None or type(item) is SemaFunction:
        return
    from semac.diagnostics.tracebacks import concerns_sema
    from semac.testing.frames import without_ours

    if concerns_sema(call.excinfo.value):
        shown = without_ours(call.excinfo.value.__traceback__)
        if shown is not None:
            call.excinfo.traceback = type(call.excinfo.traceback)(shown)


class SemaModule(pytest.Module):
    """One .sema file."""

    def _getobj(self) -> ModuleType:
        from semac.imports.finder import import_file

        folder = str(self.path.parent)
        if self.config.getoption("importmode") != "importlib" and folder not in sys.path:
            sys.path.insert(0, folder)
        try:
            return import_file(str(self.path))
        except pytest.skip.Exception as skipped:
            if skipped.allow_module_level:
                raise
            raise self.CollectError("skip is for tests; at top level it needs allow_module_level") from skipped
        except SystemExit as ended:
            message = f"{self.path.name} ends itself with (exit {ended.code}): a script, not a file of tests"
            raise self.CollectError(message) from None
        except Exception as error:
            from semac.testing.reports import failure_text

            raise self.CollectError(failure_text(error, str(self.path))) from None

    def is_own_function(self, obj: object) -> bool:
        """Whether an object is a function that was defined in this file, not imported into it."""
        code = getattr(obj, "__code__", None)
        return code is not None and os.path.realpath(code.co_filename) == os.path.realpath(self.path)

    def _genfunctions(self, name: str, funcobj: Any) -> Iterator[pytest.Function]:
        for item in super()._genfunctions(name, funcobj):
            item.__class__ = SemaFunction
            yield item


class SemaFunction(pytest.Function):
    """One test of a .sema file."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str | TerminalRepr:
        """The failure in the terms of the .sema file, unless pytest's own form was asked for (`--full-trace`)."""
        if self.config.getoption("fulltrace", False) or isinstance(excinfo.value, pytest.fail.Exception):
            return super().repr_failure(excinfo)
        from semac.testing.reports import failure_report

        everything = self.config.get_verbosity(pytest.Config.VERBOSITY_ASSERTIONS) > 1
        style = self.config.getoption("tbstyle", "auto")
        return failure_report(excinfo.value, str(self.path), everything, style, self.obj.__code__.co_firstlineno)


def marks_of(function: Any) -> tuple[list[pytest.MarkDecorator], list[pytest.MarkDecorator]]:
    """(marks, parametrization) that the options of a `deftest` ask for. Raises CollectError for unknown options."""
    options = getattr(function, "__sema_test__", None)
    if not options:
        return [], []
    unknown = sorted(set(options) - {"marks", "skip", "xfail", "each", "ids", "examples", "deadline"})
    if unknown:
        raise pytest.Collector.CollectError(f"{function.__name__}: unknown option :{unknown[0]}")
    marks = [getattr(pytest.mark, _name(mark)) for mark in _items(options.get("marks", ()))]
    for name in ("skip", "xfail"):
        if name in options and options[name] not in (None, False):
            reason = options[name]
            marks.append(getattr(pytest.mark, name)(reason=reason if isinstance(reason, str) else ""))
    return marks, [_rows(function, options)] if "each" in options else []


def _rows(function: Any, options: dict[str, Any]) -> pytest.MarkDecorator:
    """`:each [[1 2] [3 4]]`: a row is a vector or list of the values of the first parameters, or the value of one."""
    from sema_runtime.values.printer import to_text

    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    rows = _items(options["each"])
    width = 1 if len(names) == 1 else max((len(_items(row)) for row in rows), default=len(names))
    if width > len(names):
        raise pytest.Collector.CollectError(
            f"{function.__name__}: a row of :each has {width} values, the test takes {len(names)}"
        )
    ids = [str(name) for name in _items(options["ids"])] if "ids" in options else None
    values = rows if width == 1 and len(names) == 1 else [tuple(_items(row)) for row in rows]
    return pytest.mark.parametrize(",".join(names[:width]), values, ids=ids or [to_text(row)[:60] for row in rows])


def _items(value: Any) -> list[Any]:
    return list(getattr(value, "items", value)) if not isinstance(value, tuple) else list(value)


def _name(mark: Any) -> str:
    return str(getattr(mark, "name", mark)).replace("-", "_")
