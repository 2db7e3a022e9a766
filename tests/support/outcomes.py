"""What a program comes to, as one line: for tables of sources and expectations."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from sema_runtime.conditions.describe import describe
from sema_runtime.tasks import scheduler
from sema_runtime.tasks.waiting import CALLING, PULLING
from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.session import Session
from semac.verify.unit import Verifier


def outcome(source: str) -> str:
    """The printed value of a program, or `! ` and the message of its error."""
    try:
        return to_text(Session().run(source))
    except Exception as error:
        return "! " + describe(error).message.splitlines()[0]


def outcome_of_tasks(source: str, mode: str = "program", is_optimized: bool = True) -> str:
    """The printed value of a program of tasks, or the message of its error: in a scheduler of its own."""
    unit = compile_source(source, "tasks.sema", mode, result=True, optimize=is_optimized, watch=Verifier())
    scope: dict[str, object] = {"__name__": "__main__"}
    try:
        exec(unit.code, scope)
    except BaseException as error:
        return describe(error).message
    finally:
        forget_tasks()
    return to_text(scope.get(RESULT))


def run(source: str, **options: Any) -> str:
    """The printed value of a program that is compiled with options of `compile_source`. Raises what it raises."""
    unit = compile_source(source, "test.sema", result=True, **options)
    scope: dict[str, Any] = {"__name__": "test"}
    exec(unit.code, scope)
    return to_text(scope[RESULT])


def python(source: str) -> str:
    """The Python that a program becomes."""
    return ast.unparse(compile_source(source, "test.sema", "program", result=True).tree)


def forget_tasks() -> None:
    """Leaves this thread without a scheduler."""
    scheduler._per_thread.scheduler = None
    PULLING.clear()
    CALLING.clear()


def module_scope(source: str, monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, Any]:
    """The globals of a module that is compiled and imported under some variables of the environment."""
    scope: dict[str, Any] = {"__name__": "of_python"}
    with monkeypatch.context() as context:
        for name, value in environment.items():
            context.setenv(name, value)
        exec(compile_source(source, "<test>", "module").code, scope)
    return scope
