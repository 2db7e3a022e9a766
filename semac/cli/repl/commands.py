"""The comma commands of the REPL."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from sema_runtime.catalogue_index import INDEX
from sema_runtime.support.visible import at_terminal, tell
from sema_runtime.values.printer import pretty, to_text

if TYPE_CHECKING:
    from typing import Any, Protocol

    from semac.session import Session

    class Repl(Protocol):
        """What the commands use of the REPL."""

        prompt: Any

        @property
        def session(self) -> Session: ...

        def evaluate(self, text: str) -> Any: ...

        def show(self, value: Any, text: str) -> None: ...


HELP = """\
,quit ,exit ,q      leave (so do quit, exit and :q)
,help ,h            this text
,env                what you have defined
,builtins           all builtin names
,gc                 run the garbage collector
,type EXPR          the type of a value
,time EXPR          evaluate and show how long it took
,doc NAME           documentation
,apropos PATTERN    names that contain PATTERN
,disasm EXPR        the Python code that EXPR is compiled to
,inspect EXPR       a value as a tree whose branches open; printed in full without an editor
,all                the last value, printed in full
,keys vi|emacs      the keys of the editor
,complete on|off    completions while you type; Tab completes in any case
*1 *2 *3            the last values, *e the last error"""


def run_command(repl: Repl, text: str) -> None:
    """Runs one command, given without its comma."""
    name, _, rest = text.partition(" ")
    rest = rest.strip()
    plain = PLAIN.get(name)
    if plain is not None:
        plain(repl)
    elif name not in WITH_ARGUMENT:
        tell(f"Unknown command: ,{name} (,help lists them)")
    elif not rest:
        print(f"Usage: ,{name} <expr>")
    else:
        WITH_ARGUMENT[name](repl, rest)


def _help(_: Repl) -> None:
    print(HELP)


def _env(repl: Repl) -> None:
    for name in sorted(repl.session.names):
        key = repl.session.shared.global_name(name)
        if key in repl.session.globals and not name.startswith("*"):
            print(at_terminal(f"{name} = {to_text(repl.session.globals[key])}"))
    for name in sorted(repl.session.macros):
        print(at_terminal(f"{name} = <macro {name}>"))


def _builtins(_: Repl) -> None:
    print("\n".join(sorted(name for name in INDEX if not name.startswith("__"))))


def _gc(_: Repl) -> None:
    print(f"collected {gc.collect()} objects, {len(gc.get_objects())} are alive")


def _type(repl: Repl, text: str) -> None:
    from sema_runtime.lib.language.predicates import type_

    print(at_terminal(to_text(type_(repl.evaluate(text)))))


def _time(repl: Repl, text: str) -> None:
    started = time.perf_counter()
    value = repl.evaluate(text)
    elapsed = time.perf_counter() - started
    repl.show(value, text)
    sys.stdout.flush()
    print(f"elapsed: {elapsed * 1000:.3f} ms", file=sys.stderr)


def _doc(repl: Repl, name: str) -> None:
    from semac.interact.documentation import describe_name

    text = describe_name(repl.session, name)
    if text is None:
        tell(f"  not found: {name}")
    else:
        from semac.docs.lookup import show_text

        show_text(at_terminal(text))


def _all(repl: Repl) -> None:
    from semac.docs.lookup import show_text

    show_text(at_terminal(pretty(repl.session.globals.get(repl.session.shared.global_name("*1")))))


def _keys(repl: Repl, name: str) -> None:
    if repl.prompt is None:
        tell("  ,keys needs the prompt of semac[repl] (pip install 'semac[repl]')")
    elif name not in ("vi", "emacs"):
        tell("  ,keys vi or ,keys emacs")
    else:
        repl.prompt.use_keys(name)


def _complete(repl: Repl, wanted: str) -> None:
    if repl.prompt is None:
        tell("  ,complete needs the prompt of semac[repl] (pip install 'semac[repl]')")
    elif wanted not in ("on", "off"):
        tell("  ,complete on or ,complete off")
    else:
        repl.prompt.completes = wanted == "on"


def _apropos(repl: Repl, pattern: str) -> None:
    from semac.docs.lookup import apropos

    wanted = pattern.lower()
    for name in sorted(name for name in repl.session.names if wanted in name.lower() and not name.startswith("*")):
        print(at_terminal(f"  {name}"))
    print(at_terminal(apropos(pattern)))


def _disasm(repl: Repl, text: str) -> None:
    from semac.pipeline import compile_source

    session = repl.session
    known, python = frozenset(session.names), frozenset(session.python_names)
    macros = dict(session.macros)
    unit = compile_source(text, "<input>", "module", macros=macros, known=known, python=python, is_text=True)
    print(at_terminal(unit.python_text().rstrip("\n")))


def _inspect(repl: Repl, text: str) -> None:
    value = repl.evaluate(text)
    if repl.prompt is None:
        print(at_terminal(pretty(value)))
        return
    from semac.cli.repl.tree import inspect

    inspect(value)


PLAIN: dict[str, Callable[[Repl], None]] = {
    "help": _help,
    "h": _help,
    "env": _env,
    "builtins": _builtins,
    "gc": _gc,
    "all": _all,
}
WITH_ARGUMENT: dict[str, Callable[[Repl, str], None]] = {
    "type": _type, "time": _time, "doc": _doc, "apropos": _apropos, "disasm": _disasm, "inspect": _inspect,
    "keys": _keys, "complete": _complete,
}  # fmt: skip
