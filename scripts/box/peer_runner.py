"""Runs one Python program in another project's sandbox: `python peer_runner.py PEER < program`, in the peers' venv.

Prints {"status": "value" or "error", "text", "ms"}: ms is the time of one evaluation, the sandbox being warm.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

SECONDS = 1
MEGABYTES = 96
MONTY, SMOLAGENTS, RESTRICTED = "monty", "smolagents", "RestrictedPython"


def monty() -> Callable[[str], Any]:
    import pydantic_monty

    limits = {"max_feed_duration_secs": SECONDS, "max_memory": MEGABYTES << 20}
    pool = pydantic_monty.Monty().__enter__()

    def run(source: str) -> Any:
        printed = pydantic_monty.CollectString()
        with pool.checkout(limits=limits) as session:
            return session.feed_run(source, print_callback=printed)

    return run


def smolagents() -> Callable[[str], Any]:
    from smolagents.local_python_executor import LocalPythonExecutor

    def run(source: str) -> Any:
        executor = LocalPythonExecutor([], timeout_seconds=SECONDS)
        executor.send_tools({})
        return executor(source).output

    return run


def restricted() -> Callable[[str], Any]:
    import ast

    from RestrictedPython import compile_restricted, safe_builtins, utility_builtins
    from RestrictedPython.Eval import default_guarded_getitem, default_guarded_getiter
    from RestrictedPython.Guards import guarded_iter_unpack_sequence, guarded_unpack_sequence, safer_getattr
    from RestrictedPython.PrintCollector import PrintCollector

    given = {
        "__builtins__": {**safe_builtins, **utility_builtins, "sum": sum, "dict": dict, "list": list, "range": range},
        "_getiter_": default_guarded_getiter,
        "_getitem_": default_guarded_getitem,
        "_getattr_": safer_getattr,
        "_write_": lambda value: value,
        "_print_": PrintCollector,
        "_inplacevar_": lambda op, a, b: a + b if op == "+=" else a * b,
        "_iter_unpack_sequence_": guarded_iter_unpack_sequence,
        "_unpack_sequence_": guarded_unpack_sequence,
        "__name__": "program",
        "__metaclass__": type,
    }  # fmt: skip

    def run(source: str) -> Any:
        tree = ast.parse(source)
        if isinstance(tree.body[-1], ast.Expr):  # the value of the last expression
            tree.body[-1] = ast.Assign([ast.Name("result", ast.Store())], tree.body[-1].value)
        variables = dict(given)
        exec(compile_restricted(ast.unparse(ast.fix_missing_locations(tree)), "<program>", "exec"), variables)
        return variables.get("result")

    return run


def main() -> None:
    run = {MONTY: monty, SMOLAGENTS: smolagents, RESTRICTED: restricted}[sys.argv[1]]()
    source = sys.stdin.read()
    run("1 + 1")
    start = time.perf_counter()
    try:
        answer = {"status": "value", "text": repr(run(source))[:2000]}
    except BaseException as problem:
        answer = {"status": "error", "text": f"{type(problem).__name__}: {problem}"[:2000]}
    print(json.dumps({**answer, "ms": (time.perf_counter() - start) * 1000}), flush=True)


if __name__ == "__main__":
    main()
