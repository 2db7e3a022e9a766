"""How long the tools for people take: prompt of the REPL, kernel of Jupyter, formatter, start of a built executable.

    python scripts/tools/measure.py [--rounds 9] [--only prompt,kernel,fmt,start,executable]

Wall and CPU times, the least of some rounds. `scripts/bench_lsp.py` measures the language server. `executable`
needs PyInstaller and a minute: it builds the same program in Sema and in Python.
"""

from __future__ import annotations

import argparse
import os
import pty
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEMA = str(Path(sys.executable).with_name("sema"))
Time = tuple[float, float]  # wall and CPU, in seconds


def main() -> None:
    """Prints a line for each tool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default=",".join(MEASURED))
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, least of {options.rounds}")
    for name in options.only.split(","):
        MEASURED[name](options.rounds)


def show(name: str, times: list[Time]) -> None:
    wall, cpu = (min(time[at] for time in times) for at in (0, 1))
    print(f"{name:<44} {wall * 1000:7.0f} ms   CPU {cpu * 1000:6.0f} ms")


def timed(action: Callable[[], object]) -> Time:
    """The wall time of an action, and the CPU time of the processes that it has awaited."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    action()
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(*command: str, folder: str | None = None) -> Time:
    return timed(lambda: subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL))


def prompt(rounds: int) -> None:
    show("sema to its prompt, in a terminal", [shown_by_sema(b"sema>") for _ in range(rounds)])
    show("the same, until what is typed is shown", [shown_by_sema(b"typed", b"typed") for _ in range(rounds)])


def shown_by_sema(wanted: bytes, keys: bytes = b"") -> Time:
    """From the start of `sema` until a terminal shows a text. keys: typed when the prompt is there."""
    start = time.perf_counter()
    process, terminal = pty.fork()
    if not process:
        os.execv(SEMA, [SEMA])
    shown = b""
    while wanted not in shown:
        shown += os.read(terminal, 1024)
        if keys and b"sema>" in shown:
            os.write(terminal, keys)
            keys = b""
    wall = time.perf_counter() - start
    facts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    os.kill(process, 9)
    os.close(terminal)
    os.waitpid(process, 0)
    return wall, sum(map(int, facts[11:13])) / os.sysconf("SC_CLK_TCK")


def kernel(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([SEMA, "jupyter", "install", "--prefix", folder], check=True, capture_output=True)
        os.environ["JUPYTER_PATH"] = f"{folder}/share/jupyter"
        show("kernel of Jupyter, ready", [timed(ready_kernel) for _ in range(rounds)])


def ready_kernel() -> None:
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="sema", stderr=subprocess.DEVNULL)
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def fmt(rounds: int) -> None:
    """One file of 20,000 lines: the examples, again and again."""
    text = "\n".join(path.read_text() for path in sorted((ROOT / "examples").glob("*.sema")))
    lines = (text.splitlines() * (20_000 // text.count("\n") + 1))[:20_000]
    while lines and not lines[-1].startswith("("):  # no half form at the end
        lines.pop()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "long.sema")
        path.write_text("\n".join(lines[:-1]) + "\n")
        show(f"sema fmt, {len(lines) - 1} lines", [run(SEMA, "fmt", str(path)) for _ in range(min(rounds, 3))])


def start(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "hello.sema").write_text('(println "hello")')
        run(SEMA, "hello.sema", folder=folder)
        show("python -c pass", [run(sys.executable, "-c", "pass") for _ in range(rounds)])
        show("sema hello.sema", [run(SEMA, "hello.sema", folder=folder) for _ in range(rounds)])


def executable(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "hello.sema").write_text('(println "hello")')
        Path(folder, "twin.py").write_text('print("hello")\n')
        run(SEMA, "build", "hello.sema", folder=folder)
        run(SEMA, "build", "hello.sema", "--standalone", "--no-cache", "-o", "frozen", folder=folder)
        freeze = (sys.executable, "-m", "PyInstaller", "--onefile", "--log-level=ERROR", "--name=twin", "twin.py")
        run(*freeze, folder=folder)
        commands = {"hello": "archive of sema build", "frozen": "executable of sema build", "dist/twin": "of Python"}
        times: dict[str, list[Time]] = {name: [] for name in commands}
        for _ in range(rounds):  # alternating, so that they meet the same load
            for name in commands:
                times[name].append(run(f"{folder}/{name}", folder=folder))
        for name, title in commands.items():
            show(title, times[name])


MEASURED = {"prompt": prompt, "kernel": kernel, "fmt": fmt, "start": start, "executable": executable}

if __name__ == "__main__":
    main()
