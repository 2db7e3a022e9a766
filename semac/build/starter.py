"""The first module of a zip archive that `sema build` writes: unpacks its layers once, then runs the program.

This text becomes `__main__.py` of the archive, below the facts of the build: NAME, LAYERS (name of a layer → name of
the folder that it becomes), ENTRY, DIGEST, PYTHON and MACHINE, None where any will do. It runs on any Python from 3.6
on, to say what is wrong with the one that it meets.
"""

import os
import sys

NAME = ENTRY = DIGEST = ""
PYTHON = MACHINE = None
LAYERS = {}  # type: dict[str, str]
# facts of the build

MOST_DAYS = 30  # that a folder is kept which no program uses


def fits() -> None:
    """Refuses a Python or a machine that the program was not built for."""
    machine = f"{sys.platform}-{os.uname().machine if hasattr(os, 'uname') else ''}"
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit(f"{NAME} needs Python 3.11 or newer; this is {sys.version.split()[0]}")
    own = sys.implementation.cache_tag
    if PYTHON is not None and own != PYTHON:
        sys.exit(
            f"{NAME} was built for {PYTHON}; this is {own}. Run it with that Python, or build it again with this one"
        )
    if MACHINE is not None and machine != MACHINE:
        sys.exit(f"{NAME} was built for {MACHINE}; this is {machine}. Build it again here")


def home() -> str:
    """The folder in which programs are unpacked."""
    user = os.environ.get("HOME") or os.environ.get("USERPROFILE") or os.path.expanduser("~")
    base = os.environ.get("SEMA_HOME") or os.path.join("." if user == "~" else user, ".sema")
    return os.path.join(base, "cache", "built")


def unpacked(layer: str, folder: str) -> str:
    """The folder of a layer in the user's cache, or in a folder of its own that goes with the process."""
    cache = home()
    target = os.path.join(cache, folder)
    if os.path.isdir(target) and (not hasattr(os, "getuid") or os.stat(target).st_uid in (os.getuid(), 0)):
        try:
            os.utime(target)  # it is in use
        except OSError:
            return target
        return target
    import tempfile

    try:
        os.makedirs(cache, 0o700, exist_ok=True)
        scratch = tempfile.mkdtemp(prefix=".unpacking-", dir=cache)
    except OSError:
        return unpack(layer, temporary())
    try:
        unpack(layer, scratch)
        os.rename(scratch, target)
    except OSError:
        remove(scratch)
        if not os.path.isdir(target):  # else another process was faster
            return unpack(layer, temporary())
    except BaseException:
        remove(scratch)
        raise
    forget(cache)
    return target


def temporary() -> str:
    import atexit
    import tempfile

    folder = tempfile.mkdtemp(prefix="sema-")
    atexit.register(remove, folder)
    return folder


def unpack(layer: str, folder: str) -> str:
    import io
    import zipfile

    with zipfile.ZipFile(sys.path[0]) as program:
        data = program.read(layer + ".zip")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(folder)
    return folder


def remove(folder: str) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def forget(cache: str) -> None:
    """Removes what no program has used for long."""
    import time

    for name in os.listdir(cache):
        path = os.path.join(cache, name)
        try:
            if os.stat(path).st_mtime < time.time() - MOST_DAYS * 86400:
                remove(path)
        except OSError:
            continue


def main() -> int:
    fits()
    packages, program = (unpacked(layer, LAYERS[layer]) for layer in ("packages", "program"))
    own = [path for path in sys.path[1:] if not path.rstrip("/\\").endswith(("site-packages", "dist-packages"))]
    sys.path[:] = [packages, *own]
    from semac.build.launch import run

    return run(program, ENTRY, DIGEST, sys.argv)


if __name__ == "__main__":
    sys.exit(main())
