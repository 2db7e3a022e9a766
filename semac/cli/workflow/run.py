"""`sema workflow run`: runs the workflow of a file, or resumes a run."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import replace
from typing import Any

import click

from sema_runtime.support.visible import tell
from semac.cli.common import SETTINGS, standalone
from semac.cli.workflow.next_steps import PAUSES, NextSteps
from semac.cli.workflow.resume import Refused, mismatch, replay_report, with_earlier_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.workflow.replay.recording import Recording


def main(args: list[str]) -> int:
    """`sema workflow run ARGS`."""
    return standalone(run_command, args)


@click.command("sema workflow run", context_settings=SETTINGS)
@click.argument("file", metavar="FILE")
@click.option("--args", "args_json", metavar="JSON", help="The program's *workflow-args*. [{}, or the earlier run's]")
@click.option("--run-dir", metavar="DIR", help="Where runs are kept. [.sema/runs]")
@click.option(
    "--resume", metavar="RUN-ID", help="Go on with that run (or `latest`): what it has finished is not done next_steps."
)
@click.option("--fork", metavar="RUN-ID", help="A new run that begins with what that one has finished, edited or not.")
@click.option("--at", metavar="SEQ", help="Only with what it had finished by that event of its journal.")
@click.option("--replay", metavar="RUN-ID", help="Compare the program with that run. No model is asked.")
@click.option("--budget-tokens", type=click.IntRange(0), metavar="N", help="Instead of :tokens of the file's :budget.")
@click.option("--budget-usd", type=click.FloatRange(0), metavar="USD", help="Instead of :usd of the file's :budget.")
@click.option("--no-auth-prompt", is_flag=True, help="Never open a browser for the login of an MCP server.")
@click.option("--view", is_flag=True, help="Serve the viewer meanwhile, and until Ctrl-C; open it in a browser.")
@click.option("-p", "--port", type=click.IntRange(0, 65535), default=8899, metavar="N", help="Its port. [8899]")
@click.option("--approval-mode", default="auto", metavar="MODE", help="auto, prompt, pause or deny. [auto]")
@click.option("--approval-public-key-file", metavar="FILE", help="The key of those who may approve.")
@click.option("--approval-signing-key-file", metavar="FILE", help="A private key to approve with; needs --view.")
@click.option("--approval-actor", metavar="NAME", help="In whose name.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def run_command(file: str, **options: Any) -> int:
    """Run the workflow of FILE, or resume a run.

    Everything that happens is written to a directory of the run's own, .sema/runs/ID. Ctrl-C or a crash loses nothing
    that was finished: resume the run by its id. Progress goes to stderr.

    \b
    Exit status: 0 success; 1 the workflow or the program failed, or was rejected; 2 an MCP server wants a login;
    3 an approval is wanted.

    \b
    Examples:
      sema workflow run review.sema --args '{"folder": "src"}'
      sema workflow run review.sema --resume wf_1763700000_1_42_0 --args '{"folder": "src"}'
      sema --sandbox no-shell workflow run review.sema --budget-usd 0.50
    """
    try:
        return _run(file, options)
    except Refused as problem:
        tell(f"error: {problem}")
        return 1


def _run(file: str, options: dict[str, Any]) -> int:
    from sema_runtime.workflow.run import scope

    settings = scope.Settings.from_environment()
    root = options["run_dir"] or settings.root
    settings, recording = with_earlier_run(replace(settings, root=root), options)
    source = _source(file)
    _check(source, file)
    _configure_approvals(source, file, options)
    viewer = _viewer(root, options["port"]) if options["view"] else None
    _restrict(source, file)
    _check_args(settings.args_json)
    from sema_runtime.workflow.journal.content_keys import code_version

    next_steps = NextSteps(file, options)
    watchers: list[Any] = [next_steps.watch]
    if not options["quiet"] and recording is None:
        progress = _progress()
        watchers.append(progress)
        scope.on_failure.set(progress.dropped)
    settings = replace(
        settings,
        code_version=settings.code_version if options["fork"] or options["replay"] else code_version(source),
        max_tokens=options["budget_tokens"],
        max_usd=options["budget_usd"],
        watchers=(*watchers, *settings.watchers),
        may_ask=not options["no_auth_prompt"] and _interactive(),
    )
    scope.settings.set(settings)
    if options["resume"] and (why := mismatch(settings, file)):
        tell(f"warning: {why}")
    if recording is not None:
        return _replayed(file, source, recording)
    status = _evaluated(file, source, next_steps, root)
    if viewer is not None and next_steps.interrupted():
        viewer.stop()
    elif viewer is not None:
        print(f"Run complete — viewer live at {viewer.url} (Ctrl-C ends it)", flush=True)
        with suppress(KeyboardInterrupt):
            viewer.wait()
        viewer.stop()
    return status


def _viewer(root: str, port: int) -> Any:
    """The viewer, started, which decides about approvals when there is a signing key; None, and a warning, when it
    can't be."""
    from pathlib import Path

    from sema_runtime.values.errors import SemaError
    from sema_runtime.workflow import approvals
    from sema_runtime.workflow.viewer.server import Viewer

    asking = approvals.settings.get()
    viewer = Viewer(Path(root), host="127.0.0.1", port=port, signing_key=asking.key, actor=asking.actor)
    try:
        viewer.start()
    except SemaError as error:
        tell(f"warning: no viewer: {error.message}")
        return None
    print(f"Live viewer: {viewer.url}", flush=True)
    viewer.open_browser()
    return viewer


def _source(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except FileNotFoundError:
        raise Refused(f"file not found: {file}") from None
    except OSError as error:
        raise Refused(f"cannot read {file}: {error.strerror or error}") from None


def _check(source: bytes, file: str) -> None:
    """Refuses a program that can't be read, or in whose workflows the checker finds errors."""
    if b"defworkflow" not in source:
        return  # compiling it will say what is wrong
    from sema_runtime.values.errors import ReaderError
    from semac.checks.workflows import ERROR, check_text
    from semac.sources import decode

    try:
        problems = [finding for finding in check_text(decode(source, file)) if finding.severity == ERROR]
    except ReaderError as error:
        raise Refused(error.message) from None
    if problems:
        errors = "an error" if len(problems) == 1 else f"{len(problems)} errors"
        said = f"{file} has {errors} and is not run (`sema workflow check` tells of warnings, too)"
        raise Refused("\n".join([said, *(finding.text(file) for finding in problems)]))


def _configure_approvals(source: bytes, file: str, options: dict[str, Any]) -> None:
    """Says how `(approval ...)` asks, where the program can come to one."""
    from sema_runtime.values.errors import SemaError
    from sema_runtime.workflow import approvals

    if options["approval_signing_key_file"] is not None and not options["view"]:
        raise Refused("--approval-signing-key-file needs --view")
    from semac.cli.workflow.revision import pinned

    try:
        approvals.configure(
            options["approval_mode"],
            options["approval_public_key_file"],
            options["approval_signing_key_file"],
            options["approval_actor"],
            pinned(file, source),
        )
    except SemaError as error:
        raise Refused(error.message) from None


def _restrict(source: bytes, file: str) -> None:
    """Takes away from this process what the file's workflows forbid themselves."""
    from sema_runtime import sandbox
    from sema_runtime.values.errors import SemaError
    from semac.cli.workflow.permissions import denied
    from semac.sources import decode
    from semac.syntax.reader import read_program

    try:
        names = denied(read_program(decode(source, file)))
    except SemaError:
        return  # it can't be read: compiling it will say so
    except ValueError as error:
        raise Refused(str(error)) from None
    if names:
        sandbox.enter(names)


def _check_args(text: str) -> None:
    from sema_runtime.lib.data.json import json_decode
    from sema_runtime.values.errors import SemaError

    try:
        json_decode(text)
    except SemaError as error:
        raise Refused(f"--args is not valid JSON: {error.message.removeprefix('json/decode: ')}") from None


def _interactive() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty() and not os.environ.get("CI")


def _progress() -> Any:
    from semac.cli.workflow.progress import Progress

    return Progress(live=sys.stderr.isatty())


# The program


def _program(file: str, source: bytes) -> Any:
    """The value of the last form of the program."""
    from semac.cli.main import run_text
    from semac.cli.running import look_beside
    from semac.session import Session

    sys.argv = [file]
    look_beside(file)
    return run_text(Session(file, closed=True), source, file)


def _evaluated(file: str, source: bytes, next_steps: NextSteps, root: str) -> int:
    """Runs the program; the exit status, by the value of its last form."""
    from semac.cli.exits import guarded

    envelope: Any = None

    def run() -> None:
        nonlocal envelope
        try:
            envelope = _program(file, source)
        finally:
            next_steps.tell()

    with Ending() as ending:
        failed = guarded(run, file, prefix=f"Error running workflow {file}:")
    if failed:
        return 128 + ending.signal if ending.signal else failed
    if not next_steps.runs:
        tell(f"warning: {file} has run no workflow: no (defworkflow ...) was reached")
    return _status(envelope, root, next_steps)


class Ending:
    """While it lasts SIGTERM and SIGHUP end the program as Ctrl-C does, so that its runs end in order. signal: which of
    them came, 0 for none. One that is ignored (nohup) stays so."""

    def __init__(self) -> None:
        self.signal = 0
        self.before: dict[int, Any] = {}

    def __enter__(self) -> Ending:
        import signal

        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                self.before[number] = signal.signal(number, self._came)
        return self

    def _came(self, number: int, frame: Any) -> None:
        import signal

        self.signal = number
        os.kill(os.getpid(), signal.SIGINT)

    def __exit__(self, *_: object) -> None:
        import signal

        for number, handler in self.before.items():
            signal.signal(number, handler)


def _replayed(file: str, source: bytes, recording: Recording) -> int:
    """Runs the program against a recording; the exit status is 1 where they differ."""
    from sema_runtime.workflow.run import scope

    def run() -> None:
        with suppress(scope.Stop):  # it ends where the replay does
            _program(file, source)

    from semac.cli.exits import guarded

    failed = guarded(run, file, prefix=f"Error replaying workflow {file}:")
    for problem in recording.all_problems():
        tell(f"warning: {recording.folder}: {problem}")
    said, status = replay_report(recording)
    tell(said)
    return failed or status


def _status(envelope: Any, root: str, next_steps: NextSteps) -> int:
    """The exit status for the program's last value, which is shown when it is no success."""
    from sema_runtime.values.atoms import Keyword, keyword
    from sema_runtime.values.maps import HashMap, Map
    from sema_runtime.values.printer import pretty
    from sema_runtime.workflow import approvals

    value = envelope.lookup(keyword("status")) if isinstance(envelope, Map | HashMap) else None
    status = value.name if isinstance(value, Keyword) else ""
    if status in ("failed", "denied"):
        tell(f"Error: workflow failed: {pretty(envelope, 80)}")
    elif status == "rejected":
        tell(f"Error: workflow approval rejected: {pretty(envelope, 80)}")
    paused = [run.envelope for run in next_steps.paused()]
    if status in PAUSES and envelope not in paused:
        paused.append(envelope)
    for waiting in paused:
        tell(_guidance(waiting, root, next_steps))
    code = approvals.exit_code(envelope)
    if paused and status not in PAUSES:
        tell(f"(exit status {code}: the last value of {next_steps.file} isn't that of the run)")
    return code


def _guidance(envelope: Any, root: str, next_steps: NextSteps) -> str:
    """What to do about a run that waits for somebody."""
    from sema_runtime.values.atoms import keyword
    from sema_runtime.workflow import approvals

    if envelope.lookup(keyword("status")) is keyword("needs-auth"):
        return _logins(envelope)
    return approvals.guidance(envelope, root, next_steps.command_of(envelope.lookup(keyword("run-id"))))


def _logins(envelope: Any) -> str:
    """How to log in to the servers that want it."""
    from sema_runtime.values.atoms import keyword
    from sema_runtime.values.matching import sequence_items

    entries = sequence_items(envelope.lookup(keyword("auth"))) or ()
    servers = [(str(entry.lookup(keyword("server"))), str(entry.lookup(keyword("url")))) for entry in entries]
    width = max((len(alias) for alias, _ in servers), default=0)
    return "\n".join(
        (
            f"run needs authentication for {len(servers)} MCP server(s):",
            *(f"  {alias:<{width}}  sema mcp login {url}" for alias, url in servers),
            "then re-run this workflow. (or authenticate from `sema workflow view`)",
        )
    )
