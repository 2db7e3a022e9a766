"""Zip and tar archives of other programs and for them, gzip data, tasks and the sandbox."""

from __future__ import annotations

import gzip
import os
import random
import stat
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from archive_support import in_own_directory as in_own_directory
from archive_support import refusal, run, tree, zip_of
from outcomes import outcome

from sema_runtime import capabilities
from sema_runtime.lib.files.archives import (
    gzip_compress,
    gzip_decompress,
    tar_create,
    tar_extract,
    zip_create,
    zip_extract,
)
from sema_runtime.tasks.background import Abandoned, Work
from sema_runtime.values.lists import List

# Creating


def test_a_zip_archive_for_other_programs() -> None:
    Path("a.txt").write_text("hello")
    os.makedirs("sub")
    Path("sub/ü.sh").write_text("run")
    os.chmod("sub/ü.sh", 0o750)
    assert run('(zip/create "out.zip" \'("a.txt" "sub/ü.sh"))') == "2"
    subprocess.run(["unzip", "-q", "out.zip", "-d", "there"], check=True)
    assert tree("there") == {"a.txt": "hello", "ü.sh": "run"}
    assert os.stat("there/ü.sh").st_mode & 0o777 == 0o750
    assert run('(zip/list "out.zip")') == '("a.txt" "ü.sh")'


@pytest.mark.parametrize(
    ("name", "start"),
    [("o.tar", b"a.txt"), ("o.tgz", b"\x1f\x8b"), ("o.TAR.GZ", b"\x1f\x8b"), ("o.tbz2", b"BZh"), ("o.txz", b"\xfd7z")],
)
def test_a_tar_archive_for_other_programs(name: str, start: bytes) -> None:
    Path("a.txt").write_text("hello")
    os.link("a.txt", "b.txt")
    assert tar_create(name, List(["a.txt", "./b.txt"])) == 2
    assert Path(name).read_bytes().startswith(start)
    os.mkdir("there")
    subprocess.run(["tar", "xf", name, "-C", "there"], check=True)
    assert tree("there") == {"a.txt": "hello", "b.txt": "hello"}


CREATE_ERRORS = [
    (("out", List(["a.txt", "sub/a.txt"])), '{}: duplicate entry name "a.txt" (from sub/a.txt)'),
    (("out", List(["a.txt", "missing"])), "{} missing: No such file"),
    (("out", List(["a.txt", "sub"])), "{}: archive input must be a regular file: sub"),
    (("out", List(["a.txt", "pipe"])), "{}: archive input must be a regular file: pipe"),
    (("out", List(["a.txt", 5])), "{}: Type error: expected string, got int"),
    (("out", List([".."])), "{}: bad file path .."),
    (("out", ("a.txt",)), "expected list, got vector"),
    ((5, List(["a.txt"])), "expected string, got int"),
    (("no/out", List(["a.txt"])), "{} no/out: No such file"),
    (("sub", List(["a.txt"])), "{} sub: Is a directory (os error 21)"),
    (("o\0", List(["a.txt"])), "{} o\0: file name contained an unexpected NUL byte"),
]


@pytest.mark.parametrize(("args", "message"), CREATE_ERRORS)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_creation_that_fails_leaves_nothing(kind: str, args: tuple[object, object], message: str) -> None:
    os.mkdir("sub")
    os.mkfifo("pipe")
    Path("a.txt").write_text("hello")
    Path("sub/a.txt").write_text("hello")
    function = zip_create if kind == "zip" else tar_create
    assert refusal(function, *args) == message.format(f"{kind}/create")
    assert sorted(os.listdir()) == ["a.txt", "pipe", "sub"]


def test_an_archive_that_can_not_be_made_leaves_the_old_one() -> None:
    Path("out.zip").write_text("old")
    assert refusal(zip_create, "out.zip", List(["out.zip", "missing"])) == "zip/create missing: No such file"
    assert tree(".") == {"out.zip": "old"}
    assert zip_create("out.zip", List(["out.zip"])) == 1  # the old one goes into the new one
    assert zip_extract("out.zip", "there") == 1
    assert tree("there") == {"out.zip": "old"}


def test_no_files() -> None:
    assert (zip_create("o.zip", List([])), tar_create("o.tar", List([]))) == (0, 0)
    assert (zip_extract("o.zip", "z"), tar_extract("o.tar", "t")) == (0, 0)


# Extracting what other programs made


@pytest.fixture
def source() -> dict[str, str]:
    """A folder `source` with all that usual archives hold."""
    os.makedirs("source/deep/er")
    os.mkdir("source/empty")
    Path("source/run.sh").write_text("#!\n")
    Path("source/deep/er/data").write_text("x" * 100_000)
    os.chmod("source/run.sh", 0o755)
    os.chmod("source/empty", 0o700)
    os.symlink("deep/er", "source/link")
    os.symlink("../run.sh", "source/deep/up")
    os.link("source/run.sh", "source/same.sh")
    os.utime("source/run.sh", (1e9, 1e9))
    return tree("source")


PACKERS = [
    ("zip -qry ../a.zip .", "a.zip"),
    ("zip -0qry ../a.zip .", "a.zip"),
    ("tar cf ../a .", "a"),
    ("tar czf ../a .", "a"),
    ("tar cjf ../a .", "a"),
    ("tar cJf ../a .", "a"),
    ("tar --format=v7 -cf ../a *", "a"),
    ("tar --format=pax -cf ../a *", "a"),
]


@pytest.mark.parametrize(("command", "name"), PACKERS)
def test_archives_of_other_programs(command: str, name: str, source: dict[str, str]) -> None:
    subprocess.run(command, shell=True, cwd="source", check=True)
    extract = zip_extract if name.endswith("zip") else tar_extract
    assert extract(name, "there/new/") == len(source)
    assert tree("there/new") == source
    assert os.stat("there/new/run.sh").st_mode & 0o777 == 0o755
    assert os.stat("there/new/empty").st_mode & 0o777 == 0o700
    if extract is tar_extract:
        assert os.stat("there/new/run.sh").st_mtime == 1e9


def test_existing_files_are_replaced_and_others_stay() -> None:
    zip_of(("a", b"new"), ("sub/b", b"new"))
    os.makedirs("there/sub")
    Path("elsewhere").write_text("old")
    os.symlink("../elsewhere", "there/a")
    Path("there/sub/b").write_text("old")
    Path("there/sub/c").write_text("mine")
    assert zip_extract("a.zip", "there") == 2
    assert tree("there") == {"a": "new", "sub": "/", "sub/b": "new", "sub/c": "mine"}
    assert Path("elsewhere").read_text() == "old"


def test_a_sparse_file() -> None:
    with open("sparse", "wb") as file:
        file.seek(1 << 20)
        file.write(b"end")
    subprocess.run(["tar", "cSf", "a.tar", "sparse"], check=True)
    assert tar_extract("a.tar", "there") == 1
    assert Path("there/sparse").read_bytes() == bytes(1 << 20) + b"end"


def test_modes_are_those_of_the_owner_only_as_far_as_the_umask_allows() -> None:
    info = zipfile.ZipInfo("a")
    info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o6666) << 16
    with zipfile.ZipFile("a.zip", "w") as archive:
        archive.writestr(info, "x")
    old = os.umask(0o027)
    try:
        zip_extract("a.zip", "there")
    finally:
        os.umask(old)
    assert os.stat("there/a").st_mode & 0o7777 == 0o640


# Gzip


def test_gzip_data() -> None:
    assert run('(utf8->string (gzip/decompress (gzip/compress "héllo")))') == '"héllo"'
    assert run("(gzip/decompress (gzip/compress #u8()))") == "#u8()"
    assert gzip.decompress(gzip_compress(bytearray(b"x" * 1_000_000))) == b"x" * 1_000_000
    assert gzip_compress(b"same") == gzip_compress(b"same")
    noise = random.Random(1).randbytes(1_000_000)
    assert gzip_decompress(gzip.compress(noise)) == noise


def test_gzip_pieces_in_a_row_and_what_stands_behind_them() -> None:
    two = gzip.compress(b"one") + gzip.compress(b"two")
    assert gzip_decompress(two) == b"onetwo"
    assert gzip_decompress(two + b"\0\0 and more") == b"onetwo"
    assert refusal(gzip_decompress, two + b"\x1f\x8bbroken") == "gzip/decompress: invalid gzip header"


GZIP_ERRORS = [
    ("(gzip/compress 5)", "gzip/compress: Type error: expected bytevector or string, got int"),
    ("(gzip/decompress nil)", "gzip/decompress: Type error: expected bytevector or string, got nil"),
    ('(gzip/decompress "text")', "gzip/decompress: invalid gzip header"),
    ("(gzip/decompress #u8())", "gzip/decompress: unexpected end of file"),
]


@pytest.mark.parametrize(("call", "message"), GZIP_ERRORS)
def test_gzip_errors(call: str, message: str) -> None:
    assert outcome(call) == f"! {message}"


def test_damaged_gzip_data() -> None:
    data = bytearray(gzip.compress(random.Random(2).randbytes(1000)))
    assert refusal(gzip_decompress, bytes(data[:-1])) == "gzip/decompress: unexpected end of file"
    data[-8] ^= 1
    expected = "gzip/decompress: corrupt gzip stream does not have a matching checksum"
    assert refusal(gzip_decompress, bytes(data)) == expected
    assert refusal(gzip_decompress, bytes(data[:10]) + b"\xff" * 50) == "gzip/decompress: corrupt deflate stream"


# Tasks and the sandbox


def test_other_tasks_go_on_meanwhile() -> None:
    Path("a.txt").write_text("hello")
    program = """
    (let ((out (channel/new 8)))
      (async/all (list (async (zip/create "o.zip" '("a.txt")) (channel/send out (zip/extract "o.zip" "there")))
                       (async (channel/send out :other))))
      (list (channel/recv out) (channel/recv out)))
    """
    assert run(program) == "(:other 1)"


def test_a_cancelled_extraction_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    zip_of(*((str(i), b"x") for i in range(50)))
    real = Work.check
    checks = 0

    def check(work: Work) -> None:
        nonlocal checks
        checks += 1
        work.cancelled = work.cancelled or checks == 20
        real(work)

    monkeypatch.setattr(Work, "check", check)
    with pytest.raises(Abandoned):
        zip_extract("a.zip", "there")
    assert os.listdir() == ["a.zip"]


@pytest.mark.parametrize("create", [zip_create, tar_create])
def test_a_cancelled_creation_leaves_nothing(create: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("big").write_bytes(bytes(1 << 22))
    ready = Work.check

    def check(work: Work) -> None:
        assert len(os.listdir()) == 2  # what is being made
        work.cancelled = True
        ready(work)

    monkeypatch.setattr(Work, "check", check)
    with pytest.raises(Abandoned):
        create("out", List(["big"]))
    assert os.listdir() == ["big"]


SANDBOX = [
    ('(zip/create "o.zip" \'("inside/a"))', "zip/create", "o.zip"),
    ('(zip/create "inside/o.zip" \'("secret"))', "zip/create", "secret"),
    ('(tar/create "inside/o.tar" \'("inside/link"))', "tar/create", "inside/link"),
    ('(zip/extract "inside/a.zip" "there")', "zip/extract", "there"),
    ('(zip/extract "a.zip" "inside/there")', "zip/extract", "a.zip"),
    ('(zip/list "a.zip")', "zip/list", "a.zip"),
    ('(tar/extract "a.zip" "inside/there")', "tar/extract", "a.zip"),
]


@pytest.mark.parametrize(("call", "function", "path"), SANDBOX)
def test_paths_outside_of_the_allowed_folders(
    call: str, function: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkdir("inside")
    Path("secret").write_text("x")
    Path("inside/a").write_text("x")
    os.symlink("../secret", "inside/link")
    zip_of(("a", b"x"))
    zip_of(("a", b"x"), name="inside/a.zip")
    before = sorted(os.listdir("inside"))
    monkeypatch.setattr(capabilities, "denied", set())
    monkeypatch.setattr(capabilities, "allowed", None)
    capabilities.restrict(paths=["inside"])
    assert outcome(call) == f"! Permission denied: {function} — path '{path}' is outside allowed directories"
    assert sorted(os.listdir("inside")) == before
    assert run('(zip/extract "inside/a.zip" "inside/there")') == "1"
