"""`sema box repl`: programs that somebody types, one after another, in one session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from semac.cli.box.options import granted_options, limit_options, named_data, opened, show, tools_of

if TYPE_CHECKING:
    from sema_runtime.box import Session


@click.command("repl")
@granted_options
@click.option("--save", metavar="FILE", help="Keep the session in this file, after each program that succeeds.")
@click.option("--load", metavar="FILE", help="Continue a session that was saved; its data come from the file.")
@limit_options
def repl(
    data: tuple[str, ...],
    tools: tuple[str, ...],
    save: str | None,
    load: str | None,
    limits: tuple[str, ...],
    allow_missing_layers: bool,
) -> int:
    """Read programs, each up to the end of its last form; definitions of those that succeed live on.

    Ctrl-C ends the program that runs, or the text that is being typed; Ctrl-D ends the session.
    """
    from sema_runtime.box import Session

    if load and data:
        raise click.UsageError("--load brings the data of the session; leave --data out")
    granted = [tool for file in tools for tool in tools_of(file)]
    with opened(limits, allow_missing_layers) as pool:
        session = pool.restore(load, granted) if load else Session(pool, dict(map(named_data, data)), granted)
        with session:
            return converse(session, save)


def converse(session: Session, save: str | None) -> int:
    """Runs the programs that somebody types, until the end of the input."""
    from contextlib import suppress

    from sema_runtime.support.visible import tell
    from sema_runtime.values.errors import SemaError

    with suppress(ImportError):  # lines can be edited and called back where the system offers it
        import readline  # noqa: F401
    while True:
        try:
            source = typed()
            if source is None:
                print()
                return 0
            if not source.strip():
                continue
            outcome = session.run(source)
        except KeyboardInterrupt:
            session.close()  # what ran has left nothing: the next program continues from before it
            print()
            continue
        show(outcome)
        try:
            if save and outcome.ok:
                session.save(save)
        except SemaError as problem:  # the session continues: another program may find room
            tell(f"Error: {problem.message}")


def typed() -> str | None:
    """The next program; None at the end of the input."""
    from semac.interact.forms import incomplete

    text = ""
    while True:
        try:
            text += input("...> " if text else "box> ") + "\n"
        except EOFError:
            return text or None
        if not incomplete(text):
            return text
