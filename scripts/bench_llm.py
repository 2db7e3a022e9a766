"""Measures what calls to models cost beyond the bare HTTP client, and how many can wait concurrently.

    python scripts/bench_llm.py [--parts call,token,cold,many] [--calls 400] [--tokens 1500] [--many 2000]
        [--peers PYTHON]

A server in a process of its own answers at once, token by token, or after 300 ms. Times are CPU times of the client.
- call: one completion, beside the same request with httpx, in turn in one process (median of rounds).
- token: one token of a stream, beside httpx reading the same bytes; at full speed, and paced: a packet and a wait each.
- cold: CPU of a new `sema` process until its first request arrives, and of one that makes none.
- many: completions side by side, at most 200 under way: wall time beside the ideal, memory, threads; the same through
  the official SDK (openai) and LiteLLM where they are installed. Each client is a process of its own; its imports (and
  one call of ours, which imports what is imported late) are over when the clock starts.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

SERVER = """
import asyncio, json
REPLY = json.dumps({"id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-5.5", "choices": [{"index": 0,
    "message": {"role": "assistant", "content": "Hello there, how can I help you today?"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 9, "total_tokens": 21}}).encode()
WHOLE = b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: %d\\r\\n\\r\\n" % len(REPLY) + REPLY
OPEN = b"HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\ntransfer-encoding: chunked\\r\\n\\r\\n"
def event(data):
    data = b"data: " + data + b"\\n\\n"
    return b"%x\\r\\n" % len(data) + data + b"\\r\\n"
TOKEN = event(json.dumps({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5.5",
    "choices": [{"index": 0, "delta": {"content": " word"}, "logprobs": None, "finish_reason": None}]}).encode())
END = event(json.dumps({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5.5", "choices": [
    {"index": 0, "delta": {}, "finish_reason": "stop"}]}).encode()) + event(b"[DONE]") + b"0\\r\\n\\r\\n"
async def handler(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            lower = head.lower()
            size = int(lower.split(b"content-length: ")[1].split(b"\\r\\n")[0]) if b"content-length" in lower else 0
            body = json.loads(await reader.readexactly(size)) if size else {}
            if body.get("stream"):
                writer.write(OPEN)
                for _ in range(body["max_tokens"]):
                    writer.write(TOKEN)
                    await asyncio.sleep(0.0003 if head.startswith(b"POST /paced") else 0)
                writer.write(END)
                continue
            if head.startswith(b"POST /slow"):
                await asyncio.sleep(0.3)
            writer.write(WHOLE)
    except (OSError, asyncio.IncompleteReadError):
        writer.close()
async def main():
    server = await asyncio.start_server(handler, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
BODY = {"model": "gpt-5.5", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4096}
COMMON = """
import asyncio, json, resource, sys, threading, time
URL, N = sys.argv[1], int(sys.argv[2])
HELLO = [{"role": "user", "content": "Hello"}]
def report(begun, **more):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": time.time() - begun, "cpu": time.process_time(), "mb": peak,
                      "threads": threading.active_count(), **more}))
"""
MANY = {
    "sema llm/batch": """
from semac.session import Session
session = Session()
session.run('(llm/configure :server {:api-key "k" :base-url "' + URL + '" :default-model "gpt-5.5"})')
session.run('(llm/batch ["Hello"])')
begun = time.time()
session.run('(define answers (llm/batch (map (fn (i) "Hello") (range ' + str(N) + '))))')
report(begun)
""",
    "sema llm/complete in tasks": """
from semac.session import Session
session = Session()
session.run('(llm/configure :server {:api-key "k" :base-url "' + URL + '" :default-model "gpt-5.5"})')
session.run('(llm/complete "Hello")')
begun = time.time()
session.run('(map async/await (map (fn (i) (async (llm/complete "Hello"))) (range ' + str(N) + ')))')
report(begun)
""",
    "httpx": """
import httpx
BODY = {"model": "gpt-5.5", "messages": HELLO, "max_tokens": 4096}
async def main():
    limits = httpx.Limits(max_connections=200, max_keepalive_connections=200)
    async with httpx.AsyncClient(limits=limits, timeout=120) as client:
        turn = asyncio.Semaphore(200)
        async def one():
            async with turn:
                return (await client.post(URL + "/chat/completions", json=BODY)).json()
        await asyncio.gather(*(one() for _ in range(N)))
begun = time.time()
asyncio.run(main())
report(begun)
""",
    "openai SDK": """
import openai
async def main():
    client = openai.AsyncOpenAI(api_key="k", base_url=URL)
    turn = asyncio.Semaphore(200)
    async def one():
        async with turn:
            return await client.chat.completions.create(model="gpt-5.5", messages=HELLO)
    global begun
    begun = time.time()
    await asyncio.gather(*(one() for _ in range(N)))
asyncio.run(main())
report(begun)
""",
    "LiteLLM": """
import litellm
async def main():
    turn = asyncio.Semaphore(200)
    async def one():
        async with turn:
            return await litellm.acompletion(model="openai/gpt-5.5", api_key="k", api_base=URL, messages=HELLO)
    global begun
    begun = time.time()
    await asyncio.gather(*(one() for _ in range(N)))
asyncio.run(main())
report(begun)
""",
}


def call(url: str, calls: int) -> None:
    """CPU time of a completion, here and with httpx, alternating in blocks so that other work on the machine affects
    both."""
    import asyncio

    import httpx

    from semac.session import Session

    session = Session()
    session.run(f'(llm/configure :server {{:api-key "k" :base-url "{url}/now" :default-model "gpt-5.5"}})')
    session.run('(define (ask n) (when (> n 0) (llm/complete "Hello") (ask (- n 1))))')
    ask = session.globals["ask"]
    loop = asyncio.new_event_loop()
    client = httpx.AsyncClient(timeout=120)

    async def bare(count: int) -> None:
        for _ in range(count):
            (await client.post(f"{url}/now/chat/completions", json=BODY, headers={"Authorization": "Bearer k"})).json()

    block = 40
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(-1, max(2, calls // block)):
        for run, times in ((lambda: ask(block), ours), (lambda: loop.run_until_complete(bare(block)), theirs)):
            begun = time.process_time()
            run()
            if number >= 0:
                times.append((time.process_time() - begun) / block * 1000)
    differences = median(a - b for a, b in zip(ours, theirs, strict=True))
    print(f"call: {median(ours):.3f} ms, httpx {median(theirs):.3f} ms, overhead {differences:.3f} ms CPU (limit 0.5)")


def token(url: str, tokens: int) -> None:
    """CPU of a streamed token."""
    for pace in ("now", "paced"):
        _token(f"{url}/{pace}", tokens, pace)


def _token(url: str, tokens: int, pace: str) -> None:
    import asyncio

    import httpx

    from semac.session import Session

    session = Session()
    session.run(f'(llm/configure :server {{:api-key "k" :base-url "{url}" :default-model "gpt-5.5"}})')
    session.run("(define count 0)")
    session.run(f'(define (ask) (llm/stream "Hello" (fn (piece) (set! count (+ count 1))) {{:max-tokens {tokens}}}))')
    ask = session.globals["ask"]
    loop = asyncio.new_event_loop()
    client = httpx.AsyncClient(timeout=120)

    async def bare() -> None:
        body = {**BODY, "stream": True, "max_tokens": tokens}
        async with client.stream("POST", f"{url}/chat/completions", json=body) as response:
            async for _ in response.aiter_bytes():
                pass

    ours: list[float] = []
    theirs: list[float] = []
    for number in range(-1, 5):
        for run, times in ((ask, ours), (lambda: loop.run_until_complete(bare()), theirs)):
            begun = time.process_time()
            run()
            if number >= 0:
                times.append((time.process_time() - begun) / tokens * 1e6)
    difference = median(a - b for a, b in zip(ours, theirs, strict=True))
    beside = f"{median(ours):.1f} µs, httpx alone {median(theirs):.1f} µs"
    print(f"token, {pace}: {beside}, overhead {difference:.1f} µs CPU (limit 20)")


def cold(url: str) -> None:
    """CPU of a new process until its first request arrives, and of a process that makes none."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "one.sema"
        nothing = Path(folder) / "none.sema"
        nothing.write_text('(println "Hello")\n')
        with socket.create_server(("127.0.0.1", 0)) as server:
            program.write_text(
                f'(llm/configure :s {{:api-key "k" :base-url "http://127.0.0.1:{server.getsockname()[1]}"}})\n'
                '(llm/complete "Hello")\n'
            )
            print(f"cold, first call: {_until_arrival(program, server):.0f} ms CPU (limit 250)")
        print(f"cold, no call: {_whole(nothing):.0f} ms CPU")


def _sema(path: Path) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    sema = Path(sys.executable).with_name("sema")
    return subprocess.Popen([sema, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)


def _until_arrival(path: Path, server: socket.socket) -> float:
    """Milliseconds on the processor, as the system's scheduler counts them (Linux)."""
    times = []
    for _ in range(9):
        process = _sema(path)
        connection, _ = server.accept()
        connection.recv(65536)
        threads = Path(f"/proc/{process.pid}/task").glob("*/schedstat")
        times.append(sum(int(thread.read_text().split()[0]) for thread in threads) / 1e6)
        process.kill()
        process.wait()
        connection.close()
    return median(times[1:])


def _whole(path: Path) -> float:
    times = []
    for _ in range(9):
        before = os.times()
        _sema(path).wait()
        after = os.times()
        used = after.children_user - before.children_user + after.children_system - before.children_system
        times.append(used * 1000)
    return median(times[1:])


def many(url: str, count: int, peers: str) -> None:
    """Wall time beside the ideal, at most 200 under way. peers: the Python that has the other clients."""
    ideal = -(-count // 200) * 0.3
    print(f"many: {count} calls that take 300 ms, 200 at once: ideal {ideal:.2f} s (limits 1.15, 200 MB)")
    for name, source in MANY.items():
        python = sys.executable if name.startswith(("sema", "httpx")) else peers
        command = [python, "-c", COMMON + source, f"{url}/slow", str(count)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"  {name:<28} {done.stderr.strip().splitlines()[-1][:80]}")
            continue
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        print(
            f"  {name:<28} {result['seconds']:.2f} s = {result['seconds'] / ideal:.2f} x ideal, "
            f"{result['cpu']:.2f} s CPU, {result['mb']:.0f} MB, {result['threads']} threads"
        )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--parts", default="call,token,cold,many")
    options.add_argument("--calls", type=int, default=400)
    options.add_argument("--tokens", type=int, default=1500)
    options.add_argument("--many", type=int, default=2000)
    options.add_argument("--peers", default=sys.executable, help="a Python in which openai and litellm are installed")
    arguments = options.parse_args()
    os.environ["SEMA_HOME"] = tempfile.mkdtemp()
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = f"http://127.0.0.1:{int(server.stdout.readline())}"
    print(f"load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    try:
        for part in arguments.parts.split(","):
            if part == "call":
                call(url, arguments.calls)
            elif part == "token":
                token(url, arguments.tokens)
            elif part == "cold":
                cold(url)
            else:
                many(url, arguments.many, arguments.peers)
    finally:
        server.kill()


if __name__ == "__main__":
    main()
