"""The C compiler: from the text of an extension to its file."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from sema_runtime.values.errors import SemaError

SHOWN = 2000  # characters of what a compiler says
OPTIONS = ("-O2", "-fwrapv", "-ffp-contract=off", "-fno-strict-aliasing", "-DNDEBUG", "-w")
STRICT = ("-Werror=implicit-function-declaration", "-Werror=int-conversion", "-Werror=incompatible-pointer-types")


def c_compiler() -> str | None:
    """The command of the C compiler, if it is there: `CC`, or the one that this Python was built with."""
    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    words = shlex.split(str(command))
    return shutil.which(words[0]) or shutil.which("cc") if words else shutil.which("cc")


def problem() -> SemaError | None:
    """What is missing to compile natively, and how to install it."""
    if sys.platform == "win32":
        return SemaError("native code is made on Linux and macOS only", "programs run without it")
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return SemaError("native code needs CPython with its global lock", "programs run without it")
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


def command(source: str, target: str) -> list[str]:
    """The call of the compiler that makes an extension of one file."""
    compiler = c_compiler()
    words = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    link = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    return [
        *([compiler] if compiler is not None else words[:1]),
        *words[1:],
        *shlex.split(sysconfig.get_config_var("CCSHARED") or ""),
        *OPTIONS,
        *STRICT,
        *shlex.split(os.environ.get("CFLAGS", "")),
        f"-I{sysconfig.get_path('include')}",
        *link,
        source,
        "-o",
        target,
    ]


def build(text: str, name: str, target: str) -> None:
    """Compiles the text of an extension to the file target. Raises SemaError and OSError."""
    with tempfile.TemporaryDirectory(prefix="sema-native-") as folder:
        source, made = os.path.join(folder, f"{name}.c"), os.path.join(folder, f"{name}.so")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        if os.environ.get("SEMA_NATIVE_KEEP"):  # for who works on the compiler
            shutil.copy(source, os.environ["SEMA_NATIVE_KEEP"])
        process = subprocess.Popen(
            command(source, made),
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
            raise SemaError("the C compiler failed", f"it said: {output.strip()[-SHOWN:]}")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        scratch = f"{target}.{os.getpid()}"
        shutil.copyfile(made, scratch)
        os.replace(scratch, target)
