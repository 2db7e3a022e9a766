"""Compares requests a second of `http/serve` with a bare ASGI handler in the same uvicorn with the same settings.

    python scripts/bench_server.py [--rounds 15] [--seconds 1] [--connections 200] [--programs json,router,waiting]

Loads the servers alternately with `wrk` (Debian: apt-get install wrk), so that other work on the machine affects all of
them. A ratio is the median, over the rounds, of the ratio to the bare handler in the same round; for `waiting` that is
one that awaits asyncio.sleep. CPU time (median and least) is that of the server process.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

BARE = """
import asyncio, sys, uvicorn
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"19")]
async def app(scope, receive, send):
    {wait}
    await send({{"type": "http.response.start", "status": 200, "headers": HEADERS}})
    await send({{"type": "http.response.body", "body": b'{{"message":"hello"}}'}})
class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print(self.servers[0].sockets[0].getsockname()[1], flush=True)
Server(uvicorn.Config(app, port=0, http="httptools", loop="asyncio", lifespan="off", interface="asgi3", log_config=None,
    log_level="critical", access_log=False, proxy_headers=False, server_header=False)).run()
"""
SERVE = '(http/serve {} {{:port 0 :host "127.0.0.1" :on-listen (fn (info) (println (:port info)))}})'
HELLO = '(http/ok {:message "hello"})'
PROGRAMS = {
    "bare": BARE.format(wait="pass"),
    "json": SERVE.format(f"(fn (request) {HELLO})"),
    "router": SERVE.format(
        '(http/router [[:get "/users/:id" (fn (r) (http/ok (:params r)))] [:post "/" (fn (r) (http/ok (:json r)))]'
        f' [:get "/" (fn (r) {HELLO})]])'
    ),
    "bare waiting": BARE.format(wait="await asyncio.sleep(0.005)"),
    "waiting": SERVE.format(f"(fn (request) (async/sleep 5) {HELLO})"),
}


class Load(NamedTuple):
    per_second: float
    cpu_us: float  # CPU time of the server a request, microseconds
    failed: int


def start(name: str, folder: Path) -> tuple[subprocess.Popen[str], int]:
    """A server process and its port."""
    source = PROGRAMS[name]
    bare = name.startswith("bare")
    path = folder / f"{name.replace(' ', '_')}.{'py' if bare else 'sema'}"
    path.write_text(source)
    command = [sys.executable, str(path)] if bare else [sys.executable, "-m", "semac.cli.entry", str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(process: subprocess.Popen[str], port: int, connections: int, seconds: int) -> Load:
    before = cpu_seconds(process.pid)
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", f"http://127.0.0.1:{port}/"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    used = cpu_seconds(process.pid) - before
    count = int(re.search(r"(\d+) requests in", text)[1])
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    failed = sum(map(int, errors.groups())) if errors else 0
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])
    return Load(rate, used / count * 1e6, failed + (int(bad[1]) if bad else 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--programs", default="json,router,waiting")
    options = parser.parse_args()
    wanted = options.programs.split(",")
    names = ["bare", *(["bare waiting"] if "waiting" in wanted else []), *wanted]
    loads: dict[str, list[Load]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        servers = {name: start(name, Path(folder)) for name in names}
        try:
            for name in names:
                load(*servers[name], options.connections, 1)  # warms up
            for _ in range(options.rounds):
                for name in names:
                    loads[name].append(load(*servers[name], options.connections, options.seconds))
        finally:
            for process, _ in servers.values():
                process.terminate()
                process.wait()
    print(
        f"{options.connections} connections, medians of {options.rounds} rounds of {options.seconds} s, "
        f"load average {os.getloadavg()[0]:.1f}, {time.strftime('%Y-%m-%d')}, Python {sys.version.split()[0]}"
    )
    print("program         requests/s  of bare   CPU us  of bare  least  of bare  failed")
    for name in names:
        print(row(name, loads[name], loads["bare waiting" if name.endswith("waiting") else "bare"]))


def row(name: str, mine: list[Load], base: list[Load]) -> str:
    rate = median(load.per_second for load in mine)
    cpu = median(load.cpu_us for load in mine)
    least = min(load.cpu_us for load in mine)
    rates = median(load.per_second / other.per_second for load, other in zip(mine, base, strict=True))
    cpus = median(other.cpu_us / load.cpu_us for load, other in zip(mine, base, strict=True))
    leasts = min(load.cpu_us for load in base) / least
    failed = sum(load.failed for load in mine)
    return f"{name:14}{rate:12.0f}{rates:9.0%}{cpu:9.0f}{cpus:9.0%}{least:7.0f}{leasts:9.0%}{failed:8}"


if __name__ == "__main__":
    main()
