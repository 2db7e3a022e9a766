"""`sema doctor`: what is configured, what is missing, and one cheap call on request."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import click

from sema_runtime.support.money import dollars
from semac.cli.common import SETTINGS, failed, standalone
from semac.cli.native import native_lines, native_report
from semac.cli.tables import aligned, one_line

QUESTION = "Answer with the single word: ok"
MOST_TOKENS = 256  # enough for models that think first
ANSWER_SHOWN = 60


def main(args: list[str]) -> int:
    """Runs `sema doctor ARGS` and returns the exit status."""
    return standalone(doctor_command, args)


@click.command("sema doctor", context_settings=SETTINGS)
@click.option(
    "--call",
    "provider",
    is_flag=False,
    flag_value="",
    metavar="[PROVIDER]",
    help="Ask a provider one question (a few tokens): the default one, a named one, or all that have keys.",
)
@click.option("--timeout", default=30.0, type=click.FloatRange(0.1), metavar="SECONDS", help="Of a call. [30]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def doctor_command(provider: str | None, timeout: float, as_json: bool) -> int:
    """Show what is configured and what is missing: providers and their keys (never the value), defaults, proxies,
    recordings, telemetry, extras. The exit status is 1 if something is set up wrongly or a call fails.

    \b
    Examples:
      sema doctor
      sema doctor --call            asks the default provider
      sema doctor --call groq
      sema doctor --call all --json
      sema --sandbox strict doctor  what the sandbox denies and what it leaves open
    """
    from semac.cli.doctor_facts import facts

    report = facts()
    report["native"] = native_report()
    if provider is not None:
        names = _asked(provider.strip().lower(), report)
        if not names:
            return failed(f"unknown provider '{provider}': {', '.join(entry['name'] for entry in report['providers'])}")
        report["calls"] = [call(name, timeout) for name in names]
    if as_json:
        print(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        print("\n".join(shown(report)))
    return 1 if report["problems"] or any(entry["error"] for entry in report.get("calls", ())) else 0


def _asked(wanted: str, report: dict[str, Any]) -> list[str]:
    """The names of the providers to call."""
    default = report["default"]["name"] if report["default"] else "ollama"
    known = [entry["name"] for entry in report["providers"]]
    if wanted == "all":
        return [entry["name"] for entry in report["providers"] if entry["set"]] or [default]
    return [default] if not wanted else [wanted] if wanted in known else []


# One call


def call(name: str, timeout: float) -> dict[str, Any]:
    """Asks a provider and returns the outcome. error and hint are None when it answered. cost_usd None: price
    unknown."""
    from sema_runtime.llm import providers, transport
    from sema_runtime.llm.attempt import ChatAttempt
    from sema_runtime.llm.budgets import usage
    from sema_runtime.llm.calls import Call
    from sema_runtime.llm.messages import Message, Request
    from sema_runtime.llm.observers import observed
    from sema_runtime.values.errors import SemaError

    outcome: dict[str, Any] = {"provider": name, "model": None, "ms": None, "error": None, "hint": None}
    started = time.perf_counter()
    try:
        provider = providers.registry().providers.get(name)
        if provider is None:
            off = "SEMA_NO_LLM is set, which leaves all providers out"
            hint = off if os.environ.get("SEMA_NO_LLM") else f"set {providers.PRESETS[name].variable}"
            return {**outcome, "error": "not configured", "hint": hint}
        outcome["model"] = provider.default_model
        request = Request(
            [Message("user", QUESTION)], provider.default_model, MOST_TOKENS, timeout_ms=int(timeout * 1000)
        )
        started = time.perf_counter()
        with (
            observed(Call("chat", request)) as record,
            ChatAttempt(record, provider, provider.default_model) as attempt,
        ):
            reply = attempt.succeeded(transport.send(provider, request, provider.default_model))
            usage.measure(record, reply)
        outcome.update(
            model=reply.model or provider.default_model,
            answer=one_line(reply.content.strip()[:ANSWER_SHOWN]),
            prompt_tokens=reply.usage.prompt,
            completion_tokens=reply.usage.completion,
            cost_usd=record.cost_usd,
        )
    except SemaError as error:
        outcome.update(error=one_line(error.message), hint=error.hint)
    outcome["ms"] = round((time.perf_counter() - started) * 1000)
    return outcome


# Text


def shown(report: dict[str, Any]) -> list[str]:
    """The report as lines for people."""
    home, openssl = report["home"], report["openssl"] or "no OpenSSL"
    lines = [
        f"Sema {report['sema']}, Python {report['python']} ({report['executable']}), {openssl}",
        f"Home: {home['path']} ({'writable' if home['writable'] else 'NOT writable'})",
        _ledger_line(report["ledger"]),
        "",
        *_default_lines(report),
        "",
        "Providers:",
        *_table(map(_provider, report["providers"])),
        "",
        "Embeddings:",
        *_table(map(_provider, report["embedding_providers"])),
        "",
    ]
    for title, values in (("Settings", report["settings"]), ("Proxies", report["proxies"])):
        if values:
            lines += [f"{title}:", *_table((name, one_line(value)) for name, value in values.items()), ""]
    lines += ["Extras:", *_table(map(_extra, report["extras"])), ""]
    lines += [*_sandbox_lines(report["sandbox"]), _box_line(report["box"]), *native_lines(report["native"]), ""]
    for entry in report.get("calls", ()):
        lines += _call_lines(entry)
    lines += [f"Problem: {one_line(problem)}" for problem in report["problems"]]
    if not report["problems"] and "calls" not in report:
        lines.append("No problems found; 'sema doctor --call' tries a call.")
    return lines


def _provider(entry: dict[str, Any]) -> tuple[str, str, str, str]:
    """One row of the tables of providers."""
    return entry["name"], entry["variable"], _state(entry), _model(entry)


def _sandbox_lines(sandbox: dict[str, Any]) -> list[str]:
    if not sandbox["not_covered"]:
        return ["Sandbox: none ('sema --sandbox strict doctor' shows what that leaves open)"]
    paths = (
        "" if sandbox["allowed_paths"] is None else f"; files only below {', '.join(sandbox['allowed_paths']) or '-'}"
    )
    return [
        f"Sandbox: denies {', '.join(sandbox['denied'])}{paths}",
        "Not covered:",
        *(f"  {one_line(gap)}" for gap in sandbox["not_covered"]),
    ]


def _box_line(box: dict[str, Any]) -> str:
    from sema_runtime.box.policy import VARIABLE, WHERE

    always = f"{'a user of their own, ' if box['own_user'] else ''}limits of memory and processor, the deadline"
    if not box["missing"]:
        return f"Box: programs have {', '.join(box['layers'])}, {always}"
    lacks = "; ".join(f"{name} ({WHERE[name]})" for name in box["missing"])
    runs = "programs run without it" if box["runs"] else "no program runs"
    policy = f"{VARIABLE}={','.join(box['needs']) or 'none'}; --allow-missing-layers"
    return f"Box: this machine lacks {lacks}: {runs} ({policy})"


def _ledger_line(ledger: dict[str, Any]) -> str:
    if not ledger["on"]:
        return "Usage ledger: off (SEMA_USAGE)"
    return f"Usage ledger: {ledger['path']} (sema usage sums it up, SEMA_USAGE=off switches it off)"


def _default_lines(report: dict[str, Any]) -> list[str]:
    default, embeddings = report["default"], report["default_embeddings"]
    chat = f"Default: {default['name']}, model {default['model']}" if default else "Default: none"
    if default and not any(entry["set"] for entry in report["providers"]):
        chat += " (no key is set: calls go to a server on this machine)"
    vectors = f"{embeddings['name']}, model {embeddings['model']}" if embeddings else "none"
    return [chat, f"Default for embeddings: {vectors}"]


def _state(entry: dict[str, Any]) -> str:
    return "set" if entry["set"] else "not set"


def _model(entry: dict[str, Any]) -> str:
    if not (entry["set"] or entry["default"]):
        return ""
    return f"{entry['model']}{' (default)' if entry['default'] else ''}"


def _extra(entry: dict[str, Any]) -> tuple[str, str, str]:
    missing = "" if entry["installed"] else f": pip install 'semac[{entry['name']}]'"
    return entry["name"], "installed" if entry["installed"] else "missing", f"{entry['brings']}{missing}"


def _table(rows: Any) -> list[str]:
    return [f"  {line}" for line in aligned(list(rows))]


def _call_lines(call: dict[str, Any]) -> list[str]:
    asked = f"Call to {call['provider']}{' (' + call['model'] + ')' if call['model'] else ''}"
    if call["error"]:
        after = f" after {call['ms']} ms" if call["ms"] is not None else ""
        return [
            f"{asked} failed{after}: {call['error']}",
            *([f"  hint: {call['hint']}"] if call["hint"] else []),
        ]
    cost = "price unknown" if call["cost_usd"] is None else dollars(call["cost_usd"])
    tokens = f"{call['prompt_tokens']}+{call['completion_tokens']} tokens"
    return [f"{asked}: answered in {call['ms']} ms, {tokens}, {cost}: {call['answer']}"]
