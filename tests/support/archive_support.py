"""Archives as other programs make them, and hostile ones."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sema_runtime.tasks import scheduler
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text
from semac.session import Session

Entry = tuple[str, bytes | None]  # a name, and its contents; None makes a folder


@pytest.fixture(autouse=True)
def in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    scheduler._per_thread.scheduler = None


def run(source: str) -> str:
    return to_text(Session().run(source))


def refusal(function: Callable[..., object], *args: object) -> str:
    """The message of the condition that a call raises."""
    with pytest.raises(SemaError) as caught:
        function(*args)
    return caught.value.message


def zip_of(*entries: Entry, name: str = "a.zip") -> str:
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, data in entries:
            archive.writestr(entry + "/" if data is None else entry, data or b"")
    return name


def tar_of(*entries: Entry | tarfile.TarInfo, name: str = "a.tar") -> str:
    with tarfile.open(name, "w") as archive:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                archive.addfile(entry)
                continue
            info = tarfile.TarInfo(entry[0])
            info.type = tarfile.DIRTYPE if entry[1] is None else tarfile.REGTYPE
            info.size = len(entry[1] or b"")
            archive.addfile(info, io.BytesIO(entry[1] or b""))
    return name


def tar_link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zip_link(archive: str, name: str, target: str) -> None:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr(info, target)


def tree(folder: str) -> dict[str, str]:
    """What a folder holds: by path, the contents of files, `-> target` of links, `/` for folders."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        else:
            found[name] = "/" if path.is_dir() else path.read_text()
    return found
