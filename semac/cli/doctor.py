"""`sema doctor`: what is configured, what is missing, and one cheap call on request."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import click

from sema_runtime.support.money import dollars
from semac.cli.common import SETTINGS, failed, standalone
from semac.cli.tables import aligned, one_line

QUESTION = "Answer with the single word: ok"
MOST_TOKENS = 256  # enough for models that think first
ANSWER_SHOWN = 60


def main(args: list[str]) -> int:
    """`sema doctor ARGS`."""
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
@click.option("--timeout", default=30.0, type=click.FloatRange(0.1), metavar="SECONDS", help="For a call. [30]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def doctor_command(provider: str | None, timeout: float, as_json: bool) -> int:
    """Show what is configured and what is missing: providers and their keys (never the value), defaults, proxies,
    recordings, telemetry, extras. Exit status 1 if something is set up wrongly or a call fails.

    \b
    Examples:
      sema doctor
      sema doctor --call            asks the default provider
      sema doctor --call groq
      sema doctor --call all --json
      sema --sandbox strict doctor  what the sandbox denies and what it leaves open
    """
    from semac.cli.doctor_facts import facts

    found = facts()
    if provider is not None:
        names = _asked(provider.strip().lower(), found)
        if not names:
            return failed(f"unknown provider '{provider}': {', '.join(one['name'] for one in found['providers'])}")
        found["calls"] = [call(name, timeout) for name in names]
    if as_json:
        print(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        print("\n".join(shown(found)))
    return 1 if found["problems"] or any(one["error"] for one in found.get("calls", ())) else 0


def _asked(wanted: str, found: dict[str, Any]) -> list[str]:
    """The names of the providers to call."""
    default = found["default"]["name"] if found["default"] else "ollama"
    known = [one["name"] for one in found["providers"]]
    if wanted == "all":
        return [one["name"] for one in found["providers"] if one["set"]] or [default]
    return [default] if not wanted else [wanted] if wanted in known else []


# One call


def call(name: str, timeout: float) -> dict[str, Any]:
    """Asks a provider; what came of it. error and hint are None when it answered. cost_usd None: price unknown."""
    from sema_runtime.llm import providers, transport
    from sema_runtime.llm.attempt import Trial
    from sema_runtime.llm.budgets import usage
    from sema_runtime.llm.calls import Call, observed
    from sema_runtime.llm.messages import Message, Request
    from sema_runtime.values.errors import SemaError

    made: dict[str, Any] = {"provider": name, "model": None, "ms": None, "error": None, "hint": None}
    started = time.perf_counter()
    try:
        provider = providers.registry().providers.get(name)
        if provider is None:
            off = "SEMA_NO_LLM is set, which leaves all providers out"
            hint = off if os.environ.get("SEMA_NO_LLM") else f"set {providers.PRESETS[name].variable}"
            return {**made, "error": "not configured", "hint": hint}
        made["model"] = provider.default_model
        request = Request(
            [Message("user", QUESTION)], provider.default_model, MOST_TOKENS, timeout_ms=int(timeout * 1000)
        )
        started = time.perf_counter()
        with observed(Call("chat", request)) as record, Trial(record, provider, provider.default_model) as trial:
            reply = trial.won(transport.send(provider, request, provider.default_model))
            usage.measure(record, reply)
        made.update(
            model=reply.model or provider.default_model,
            answer=one_line(reply.content.strip()[:ANSWER_SHOWN]),
            prompt_tokens=reply.usage.prompt,
            completion_tokens=reply.usage.completion,
            cost_usd=record.cost_usd,
        )
    except SemaError as error:
        made.update(error=one_line(error.message), hint=error.hint)
    made["ms"] = round((time.perf_counter() - started) * 1000)
    return made


# Text


def shown(found: dict[str, Any]) -> list[str]:
    """The lines for people."""
    home = found["home"]
    lines = [
        f"Sema {found['sema']}, Python {found['python']} ({found['executable']}), {found['openssl'] or 'no OpenSSL'}",
        f"Home: {home['path']} ({'writable' if home['writable'] else 'NOT writable'})",
        _ledger_line(found["ledger"]),
        "",
        *_default_lines(found),
        "",
        "Providers:",
        *_table((one["name"], one["variable"], _state(one), _model(one)) for one in found["providers"]),
        "",
        "Embeddings:",
        *_table((one["name"], one["variable"], _state(one), _model(one)) for one in found["embedding_providers"]),
        "",
    ]
    for title, values in (("Settings", found["settings"]), ("Proxies", found["proxies"])):
        if values:
            lines += [f"{title}:", *_table((name, one_line(value)) for name, value in values.items()), ""]
    lines += ["Extras:", *_table(map(_extra, found["extras"])), ""]
    lines += [*_sandbox_lines(found["sandbox"]), ""]
    for one in found.get("calls", ()):
        lines += _call_lines(one)
    lines += [f"Problem: {one_line(problem)}" for problem in found["problems"]]
    if not found["problems"] and "calls" not in found:
        lines.append("No problems found; 'sema doctor --call' tries a call.")
    return lines


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


def _ledger_line(ledger: dict[str, Any]) -> str:
    if not ledger["on"]:
        return "Usage ledger: off (SEMA_USAGE)"
    return f"Usage ledger: {ledger['path']} (sema usage sums it up, SEMA_USAGE=off switches it off)"


def _default_lines(found: dict[str, Any]) -> list[str]:
    default, embeddings = found["default"], found["default_embeddings"]
    chat = f"Default: {default['name']}, model {default['model']}" if default else "Default: none"
    if default and not any(one["set"] for one in found["providers"]):
        chat += " (no key is set: calls go to a server on this machine)"
    vectors = f"{embeddings['name']}, model {embeddings['model']}" if embeddings else "none"
    return [chat, f"Default for embeddings: {vectors}"]


def _state(one: dict[str, Any]) -> str:
    return "set" if one["set"] else "not set"


def _model(one: dict[str, Any]) -> str:
    if not (one["set"] or one["default"]):
        return ""
    return f"{one['model']}{' (default)' if one['default'] else ''}"


def _extra(one: dict[str, Any]) -> tuple[str, str, str]:
    missing = "" if one["installed"] else f": pip install 'semac[{one['name']}]'"
    return one["name"], "installed" if one["installed"] else "missing", f"{one['brings']}{missing}"


def _table(rows: Any) -> list[str]:
    return [f"  {line}" for line in aligned(list(rows))]


def _call_lines(one: dict[str, Any]) -> list[str]:
    asked = f"Call to {one['provider']}{' (' + one['model'] + ')' if one['model'] else ''}"
    if one["error"]:
        after = f" after {one['ms']} ms" if one["ms"] is not None else ""
        return [f"{asked} failed{after}: {one['error']}", *([f"  hint: {one['hint']}"] if one["hint"] else [])]
    cost = "price unknown" if one["cost_usd"] is None else dollars(one["cost_usd"])
    tokens = f"{one['prompt_tokens']}+{one['completion_tokens']} tokens"
    return [f"{asked}: answered in {one['ms']} ms, {tokens}, {cost}: {one['answer']}"]
