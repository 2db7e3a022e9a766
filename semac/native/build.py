"""mypyc and the C compiler: from the text of an extension to its file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec

from sema_runtime.values.errors import SemaError

ERROR = re.compile(r"\.py:(\d+): error: (.*)")
OPTIONS = ("--follow-imports=skip", "--ignore-missing-imports", "--no-error-summary", "--hide-error-context")
SHOWN = 2000  # characters of what a compiler says


class Refused(Exception):
    """mypyc doesn't compile some lines of a text. lines: (number, why)."""

    def __init__(self, lines: list[tuple[int, str]]) -> None:
        super().__init__("; ".join(f"line {line}: {why}" for line, why in lines))
        self.lines = lines


def c_compiler() -> str | None:
    """The command of the C compiler that extensions of this Python are built with, if it is there."""
    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    first = str(command).split()[0]
    return shutil.which(first) or shutil.which("cc") if sys.platform != "win32" else first


def problem() -> SemaError | None:
    """What is missing to compile natively, and how to install it."""
    if find_spec("mypyc") is None or find_spec("setuptools") is None:
        return SemaError("native code needs mypyc", "pip install 'semac[native]'")
    if c_compiler() is None:
        return SemaError("native code needs a C compiler, and there is none", compiler_hint())
    headers = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(headers, "Python.h")):
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        return SemaError(f"native code needs the headers of Python {version}", f"e.g. apt install python{version}-dev")
    return None


def compiler_hint() -> str:
    if sys.platform == "darwin":
        return "xcode-select --install"
    return "install gcc or clang, e.g. apt install gcc, dnf install gcc, apk add build-base"


def build(text: str, name: str, target: str) -> None:
    """Compiles the text of a module of this name to the file target. Raises Refused, SemaError and OSError."""
    with tempfile.TemporaryDirectory(prefix="sema-native-") as folder:
        with open(os.path.join(folder, f"{name}.py"), "w", encoding="utf-8") as file:
            file.write(text)
        process = subprocess.Popen(
            [sys.executable, "-m", "mypyc", *OPTIONS, f"{name}.py"],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        try:
            output, _ = process.communicate()
        except BaseException:
            process.kill()
            process.wait()
            raise
        if process.returncode:
            lines = [(int(line), why) for line, why in ERROR.findall(output)]
            if lines:
                raise Refused(lines)
            raise SemaError("mypyc failed", f"it said: {output.strip()[-SHOWN:]}")
        made = [file for file in os.listdir(folder) if file.startswith(f"{name}.") and not file.endswith(".py")]
        if not made:
            raise SemaError("mypyc made no extension", f"it said: {output.strip()[-SHOWN:]}")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        scratch = f"{target}.{os.getpid()}"
        shutil.copyfile(os.path.join(folder, made[0]), scratch)
        os.replace(scratch, target)


def environment() -> dict[str, str]:
    """That of the compiler: `python -m mypyc` must not meet modules of the user's by accident.

    mypyc has the C compiler treat warnings as errors, also such as are right of a program: `x == x` is always true.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") and name != "MYPYPATH"}
    flags = f"{kept.get('CFLAGS', '')} -w".strip()
    return {**kept, "MYPY_CACHE_DIR": ".mypy_cache", "CFLAGS": flags}
