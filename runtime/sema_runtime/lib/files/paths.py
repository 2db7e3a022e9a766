"""Paths as text. Paths are normalized only where the text says so; only functions of the group fs-read read the
disk."""

from __future__ import annotations

import os

from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@builtin("path/join", type="str, str... -> str", total=True, pure=True)
def path_join(first: Any, *others: Any) -> str:
    """Joins paths with `/` where neither side has one. The result is not normalized.

    (path/join "src" "main.sema") => "src/main.sema"
    (path/join "a/" "../b") => "a/../b"
    """
    joined = text_of(first)
    for other in others:
        part = text_of(other)
        joined += part if joined.endswith("/") or part.startswith("/") else "/" + part
    return joined


@builtin("path/dir", "path/dirname", type="str -> str", total=True, pure=True)
def path_dir(path: Any) -> str:
    """The directory of a path: everything but its last part.

    (path/dir "/a/b/c.txt") => "/a/b"
    (path/dir "c.txt") => ""
    """
    text = text_of(path).rstrip("/")
    end = text.rfind("/")
    return text[:end] or "/" if end >= 0 else ""


@builtin("path/filename", "path/basename", type="str -> str", total=True, pure=True)
def path_filename(path: Any) -> str:
    """The file name of a path: its last part.

    (path/filename "/a/b/c.txt") => "c.txt"
    """
    return text_of(path).rstrip("/").rpartition("/")[2]


@builtin("path/extension", "path/ext", type="str -> str", total=True, pure=True)
def path_extension(path: Any) -> str:
    """The extension of a file name: the text after its last dot. A leading dot doesn't count.

    (path/extension "a.tar.gz") => "gz"
    (path/extension ".bashrc") => ""
    """
    name = path_filename(path)
    dot = name.rfind(".")
    return name[dot + 1 :] if dot > 0 else ""


@builtin("path/stem", type="str -> str", total=True, pure=True)
def path_stem(path: Any) -> str:
    """The file name without its extension.

    (path/stem "a.tar.gz") => "a.tar"
    """
    name = path_filename(path)
    if name in (".", ".."):
        return ""
    dot = name.rfind(".")
    return name[:dot] if dot > 0 else name


@builtin("path/absolute?", type="str -> bool", total=True, pure=True)
def path_is_absolute(path: Any) -> bool:
    """Whether the path begins at the root.

    (path/absolute? "/a") => #t
    (path/absolute? "a/b") => #f
    """
    return os.path.isabs(text_of(path))


@builtin("path/absolute", type="str -> str", cap="fs-read")
def path_absolute(path: Any) -> str:
    """The absolute path without `.`, `..` and symbolic links; the path must exist.

    (path/absolute "/.") => "/"
    (path/absolute "missing") ! I/O error: path/absolute missing: No such file
    """
    return _canonical("path/absolute", path)


@builtin("path/canonicalize", type="str -> str", cap="fs-read")
def path_canonicalize(path: Any) -> str:
    """The absolute path with symbolic links resolved; the path must exist.

    (path/canonicalize "missing") ! I/O error: path/canonicalize missing: No such file
    """
    return _canonical("path/canonicalize", path)


def _canonical(function: str, path: Any) -> str:
    from sema_runtime.support.file_access import FAILURES, checked, failed, readable_name

    target = checked(function, path)
    try:
        if not target:
            raise FileNotFoundError
        return readable_name(os.path.realpath(target, strict=True))
    except FAILURES as error:
        raise failed(function, path, error) from None


@builtin("path/relative-to", type="str, str -> str")
def path_relative_to(base: Any, path: Any) -> str:
    """The path relative to the directory base.

    (path/relative-to "/a/b" "/a/c/d.txt") => "../c/d.txt"
    """
    return os.path.relpath(text_of(path) or ".", text_of(base) or ".")


@builtin("path/within?", type="str, str -> bool")
def path_is_within(base: Any, child: Any) -> bool:
    """Whether child is base or lies below it, after resolving symbolic links and `..`. Neither needs to exist.

    (path/within? "/a" "/a/b") => #t
    (path/within? "/a" "/a/../b") => #f
    """
    try:
        outer, inner = os.path.realpath(text_of(base)), os.path.realpath(text_of(child))
    except ValueError:  # a NUL byte: no file has such a name
        return False
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")
