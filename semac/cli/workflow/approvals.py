"""`sema workflow approvals`, `approve`, `reject` and `approval-keygen`: what people decide about a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from semac.cli.common import SETTINGS, standalone
from semac.cli.tables import aligned, one_line
from semac.cli.workflow.list import Problem, as_json, opened, root_of, run_dir, show_json


class Refused(Problem):
    """What was wanted is not done."""

    exit_code = 1


signing_key = click.option(
    "--signing-key-file", required=True, metavar="FILE", help="The private key of the run's authority."
)
actor_option = click.option(
    "--actor", metavar="NAME", help="Who decides. [SEMA_APPROVAL_ACTOR, USER, USERNAME or local-user]"
)


def list_main(args: list[str]) -> int:
    """`sema workflow approvals ARGS`."""
    return standalone(list_command, args)


def approve_main(args: list[str]) -> int:
    """`sema workflow approve ARGS`."""
    return standalone(approve_command, args)


def reject_main(args: list[str]) -> int:
    """`sema workflow reject ARGS`."""
    return standalone(reject_command, args)


def keygen_main(args: list[str]) -> int:
    """`sema workflow approval-keygen ARGS`."""
    return standalone(keygen_command, args)


@click.command("sema workflow approvals", context_settings=SETTINGS)
@click.argument("run", metavar="RUN")
@run_dir
@as_json
def list_command(run: str, run_dir: str | None, as_json: bool) -> int:
    """List what RUN wants to have approved: id, status, reason.

    Requests and decisions are checked: files that were changed, and signatures of others, are errors.
    """
    from sema_runtime.workflow.approvals import deciding

    folder = opened(root_of(run_dir), run).folder
    requests = _answered(lambda: deciding.listed(folder))
    if as_json:
        show_json(requests)
    elif not requests:
        print(f"No approvals in run {run}.")
    else:
        rows = [
            (request["request"]["approval_id"], request["status"], one_line(request["request"]["reason"]))
            for request in requests
        ]
        print("\n".join(aligned([("ID", "STATUS", "REASON"), *rows])))
    return 0


@click.command("sema workflow approve", context_settings=SETTINGS)
@click.argument("run", metavar="RUN")
@click.argument("approval_id", metavar="ID")
@signing_key
@click.option("--comment", metavar="TEXT", help="Kept with the decision.")
@actor_option
@run_dir
def approve_command(run: str, approval_id: str, **options: Any) -> int:
    """Approve what RUN asks for under ID (apr_...). Resume the run then."""
    return _decided(run, approval_id, "approve", **options)


@click.command("sema workflow reject", context_settings=SETTINGS)
@click.argument("run", metavar="RUN")
@click.argument("approval_id", metavar="ID")
@signing_key
@click.option("--reason", required=True, metavar="TEXT", help="Why; the run's journal will say so.")
@actor_option
@run_dir
def reject_command(run: str, approval_id: str, **options: Any) -> int:
    """Reject what RUN asks for under ID (apr_...). A resumed run ends there."""
    return _decided(run, approval_id, "reject", **options)


def _decided(
    run: str,
    approval_id: str,
    verdict: str,
    signing_key_file: str,
    actor: str | None,
    run_dir: str | None,
    comment: str | None = None,
    reason: str | None = None,
) -> int:
    from sema_runtime.workflow import approvals
    from sema_runtime.workflow.approvals import deciding, keys

    folder = opened(root_of(run_dir), run).folder

    def decide() -> Any:
        key = keys.read_private(signing_key_file)
        who = actor or approvals.default_actor()
        return deciding.decide(folder, approval_id, verdict, key, who, comment=comment, reason=reason)

    decision, is_new = _answered(decide)
    word = deciding.PAST[verdict]
    if is_new:
        print(f"{word} {approval_id} as {one_line(decision.actor)} ({decision.decision_id})")
    else:
        print(f"already {word} {approval_id} by {one_line(decision.actor)} ({decision.decision_id})")
    return 0


@click.command("sema workflow approval-keygen", context_settings=SETTINGS)
@click.option("--private-key-file", required=True, metavar="FILE", help="New file for the key that signs decisions.")
@click.option("--public-key-file", required=True, metavar="FILE", help="New file for the key that runs are given.")
def keygen_command(private_key_file: str, public_key_file: str) -> int:
    """Make a pair of Ed25519 keys for approvals. Files that are there are never written over.

    Whoever has the private key decides; runs get the public one with --approval-public-key-file.
    """
    from sema_runtime.workflow.approvals import keys

    public = _answered(lambda: keys.generate(private_key_file, public_key_file))
    print(f"private key: {private_key_file} (keep it to yourself)\npublic key:  {public_key_file}  {public}")
    return 0


def _answered(action: Callable[[], Any]) -> Any:
    """What the action gives; its condition is shown as `error: ...`, and the status is 1."""
    from sema_runtime.values.errors import SemaError

    try:
        return action()
    except SemaError as error:
        raise Refused(f"{error.message} ({error.hint})" if error.hint else error.message) from None
