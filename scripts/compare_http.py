"""Compares HTTP clients on hostile servers: this project's, httpx, aiohttp, and httpx over aiohttp (httpx-aiohttp).

    python scripts/compare_http.py [--clients ours,httpx,aiohttp,httpx-aiohttp] [--cases WORDS] [--timeout 1.5]

Plays the cases of tests/support/hostile_replies.py, each on a raw socket of its own, and prints what came of them:
the outcome, the memory that the client held at its peak, the time, and what is unsafe about it. Each client is a
process of its own; it reads bodies piece by piece and stops at 1 MiB, as careful programs do, follows redirects,
and keeps its connections for a second request. The other clients come with `pip install -e '.[bench]'`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import hostile_replies as hostile

CLIENTS = ("ours", "httpx", "aiohttp", "httpx-aiohttp")
PATIENCE = 30.0  # seconds until a client counts as hung
MOST_MEMORY = 2 << 30  # bytes that a client may map beyond its start
SHOWN = 300  # bytes of a body that are compared
LATE = 2.0  # seconds beyond the timeout

Get = Callable[[str, str, dict[str, str]], Awaitable[bytes]]


class TooLarge(Exception):
    """The body is larger than the program wants."""


class Outcome(NamedTuple):
    """body: the result of the first request; second: that of the second. held: bytes. unsafe: why it is, "" if it
    isn't."""

    body: bytes
    why: str
    second: bytes
    held: int
    seconds: float
    unsafe: str = ""


# The clients: each is a function of a URL that gives a body


@asynccontextmanager
async def our_client(timeout: float) -> AsyncIterator[Get]:
    from sema_runtime.net.http import Request, fetch

    async def get(method: str, url: str, headers: dict[str, str]) -> bytes:
        body = b"x" if method == "POST" else None
        request = Request(
            method, url, list(headers.items()), body, timeout_ms=timeout * 1000, max_bytes=hostile.MOST_BODY
        )
        return (await fetch(request)).body

    yield get


@asynccontextmanager
async def httpx_client(timeout: float, transport: Any = None) -> AsyncIterator[Get]:
    import httpx

    async with httpx.AsyncClient(
        timeout=timeout, follow_redirects=True, transport=transport, trust_env=False
    ) as client:

        async def get(method: str, url: str, headers: dict[str, str]) -> bytes:
            content = b"x" if method == "POST" else None
            async with asyncio.timeout(timeout), client.stream(method, url, headers=headers, content=content) as reply:
                return await _limited(reply.aiter_bytes())

        yield get


@asynccontextmanager
async def httpx_aiohttp_client(timeout: float) -> AsyncIterator[Get]:
    from httpx_aiohttp import AiohttpTransport

    async with httpx_client(timeout, AiohttpTransport()) as get:
        yield get


@asynccontextmanager
async def aiohttp_client(timeout: float) -> AsyncIterator[Get]:
    import aiohttp

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=timeout)) as client:

        async def get(method: str, url: str, headers: dict[str, str]) -> bytes:
            data = b"x" if method == "POST" else None
            async with client.request(method, url, headers=headers, data=data) as reply:
                return await _limited(reply.content.iter_any())

        yield get


async def _limited(pieces: AsyncIterator[bytes]) -> bytes:
    whole = bytearray()
    async for piece in pieces:
        whole += piece
        if len(whole) > hostile.MOST_BODY:
            raise TooLarge(f"more than {hostile.MOST_BODY} bytes")
    return bytes(whole)


OPENED = {
    "ours": our_client,
    "httpx": httpx_client,
    "aiohttp": aiohttp_client,
    "httpx-aiohttp": httpx_aiohttp_client,
}


# A process that is one client: a line in for each case, a line out


def work(name: str, timeout: float) -> None:
    import resource

    async def play(url: str, method: str, headers: dict[str, str], idle: float) -> dict[str, Any]:
        async with OPENED[name](timeout) as get:
            before, began = _reset_peak(), time.perf_counter()
            body, why = await _outcome(get(method, f"{url}/case", headers))
            held, seconds = _peak() - before, time.perf_counter() - began
            await asyncio.sleep(idle)
            second, _ = await _outcome(get("GET", f"{url}/second", {}))
            return {
                "body": body.decode("latin-1")[:SHOWN],
                "why": why[:200],
                "second": second.decode("latin-1")[:SHOWN],
                "held": held,
                "seconds": seconds,
            }

    async def warm_up() -> None:
        async with OPENED[name](timeout) as get:
            await _outcome(get("GET", "http://127.0.0.1:9/", {}))

    with asyncio.Runner() as runner:
        runner.run(warm_up())
        most = _mapped() + MOST_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        print("{}", flush=True)
        for line in sys.stdin:
            asked = json.loads(line)
            print(json.dumps(runner.run(play(**asked))), flush=True)


async def _outcome(work: Awaitable[bytes]) -> tuple[bytes, str]:
    try:
        return await work, ""
    except Exception as error:
        late = isinstance(error, TimeoutError) or "Timeout" in type(error).__name__ or "timed out" in str(error)
        return hostile.TIMEOUT if late else hostile.ERROR, f"{type(error).__name__}: {error}"


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) << 10
    return 0


def _mapped() -> int:
    return _status("VmSize:")


def _reset_peak() -> int:
    """The memory in use now; resets its peak (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS:")


def _peak() -> int:
    return _status("VmHWM:")


# The process that plays the cases and judges


class Worker:
    """A client in a process of its own, which is replaced when it hangs or dies."""

    def __init__(self, name: str, timeout: float) -> None:
        self.command = [sys.executable, __file__, "--work", name, "--timeout", str(timeout)]
        self.timeout = timeout
        self.process: subprocess.Popen[str] | None = None

    def play(self, case: hostile.Case) -> Outcome:
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            self._line()
        assert self.process.stdin is not None
        with hostile.serving(case) as hosting:
            headers = hostile.SECRETS if case.secrets else {}
            asked = {"url": hosting.url, "method": case.method, "headers": headers, "idle": case.idle}
            began = time.perf_counter()
            self.process.stdin.write(json.dumps(asked) + "\n")
            self.process.stdin.flush()
            said = self._line()
            if said is None:
                outcome = Outcome(b"<killed>", "", b"", MOST_MEMORY, time.perf_counter() - began)
                self.close()
            else:
                outcome = Outcome(
                    said["body"].encode("latin-1"),
                    said["why"],
                    said["second"].encode("latin-1"),
                    said["held"],
                    said["seconds"],
                )
            return outcome._replace(unsafe=judged(case, outcome, hosting.seen, self.timeout))

    def _line(self) -> Any:
        assert self.process is not None and self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            return None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def judged(case: hostile.Case, outcome: Outcome, seen: list[bytes], timeout: float) -> str:
    """The reason why an outcome is unsafe, "" if it isn't."""
    wrong = []
    in_time = outcome.body == hostile.TIMEOUT and hostile.ERROR in case.safe  # the program's limit has held
    if outcome.body not in {body[:SHOWN] for body in case.safe} and not in_time:
        wrong.append("hung" if outcome.body == b"<killed>" else f"took {outcome.body[:20]!r}")
    if outcome.second not in (b"second", hostile.ERROR, hostile.TIMEOUT):
        wrong.append("smuggled" if b"smuggled" in outcome.second else f"then {outcome.second[:20]!r}")
    if outcome.held > hostile.MOST_HELD:
        wrong.append("memory")
    if outcome.seconds > timeout + LATE:
        wrong.append("late")
    leaked = sorted(
        name for name in hostile.SECRETS if any(f"\n{name}:".lower().encode() in request.lower() for request in seen)
    )
    if leaked:
        wrong.append(f"leaked {len(leaked)}")
    return ", ".join(wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", default=",".join(CLIENTS))
    parser.add_argument("--cases", default="", help="only those whose names hold this")
    parser.add_argument("--timeout", type=float, default=1.5, help="seconds that a program gives a request")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        return work(arguments.work, arguments.timeout)
    names = arguments.clients.split(",")
    workers = {name: Worker(name, arguments.timeout) for name in names}
    unsafe = dict.fromkeys(names, 0)
    held, seconds = dict.fromkeys(names, 0), dict.fromkeys(names, 0.0)
    print(f"| case | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    played = [case for case in hostile.cases() if arguments.cases in case.name]
    for case in played:
        cells = []
        for name in names:
            outcome = workers[name].play(case)
            unsafe[name] += bool(outcome.unsafe)
            held[name] = max(held[name], outcome.held)
            seconds[name] = max(seconds[name], outcome.seconds)
            cells.append(_cell(outcome))
        print(f"| {case.name} | {' | '.join(cells)} |", flush=True)
    for worker in workers.values():
        worker.close()
    print(f"\n| {len(played)} cases | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    print(f"| unsafe | {' | '.join(str(unsafe[name]) for name in names)} |")
    print(f"| most memory, MB | {' | '.join(str(held[name] >> 20) for name in names)} |")
    print(f"| longest, s | {' | '.join(f'{seconds[name]:.1f}' for name in names)} |")


def _cell(outcome: Outcome) -> str:
    word = {hostile.ERROR: "error", hostile.TIMEOUT: "timeout"}.get(outcome.body, f"{len(outcome.body)} bytes")
    summary = f"{word}, {outcome.held >> 20} MB, {outcome.seconds:.2f} s"
    return f"**{outcome.unsafe}** ({summary})" if outcome.unsafe else summary


if __name__ == "__main__":
    os.environ.setdefault("NO_PROXY", "*")
    main()
