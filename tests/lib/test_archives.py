"""Zip and tar archives of other programs and for them, hostile ones, gzip data, what is left behind when it fails."""

from __future__ import annotations

import gzip
import io
import os
import random
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from outcomes import outcome

from sema_runtime import capabilities
from sema_runtime.lib.files import archives, extraction
from sema_runtime.lib.files.archives import (
    gzip_compress,
    gzip_decompress,
    tar_create,
    tar_extract,
    zip_create,
    zip_extract,
)
from sema_runtime.support import input_files
from sema_runtime.tasks import scheduler
from sema_runtime.tasks.background import Abandoned, Work
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.printer import to_text
from semac.session import Session

Entry = tuple[str, bytes | None]  # a name, and its contents; None makes a folder


@pytest.fixture(autouse=True)
def in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    scheduler._here.scheduler = None


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


# Hostile archives: a condition, and nothing is left


HOSTILE_NAMES = ["../out", "a/../../out", "/tmp/out", "..", "a/.."]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_names_that_lead_out(kind: str, name: str) -> None:
    make, extract = (zip_of, zip_extract) if kind == "zip" else (tar_of, tar_extract)
    archive = make(("fine", b"x"), (name, b"x"))  # type: ignore[operator]
    os.mkdir("inner")
    message = f"{kind}/extract {archive}: entry {name} would be written outside of the destination"
    assert refusal(extract, archive, "inner/there") == message
    assert sorted(os.listdir()) == [archive, "inner"] and os.listdir("inner") == []


HOSTILE_LINKS = ["/etc", "..", "../x", "ok/../..", "ok/../x", "", "a\0b"]


@pytest.mark.parametrize("target", HOSTILE_LINKS)
def test_links_that_lead_out(target: str) -> None:
    zip_of(("ok/file", b"x"))
    zip_link("a.zip", "evil", target)
    message = "zip/extract a.zip: entry evil is a link that leads outside of the destination"
    assert refusal(zip_extract, "a.zip", "there") == message
    assert os.listdir() == ["a.zip"]
    if target and "\0" not in target:
        tar_of(("ok/file", b"x"), tar_link("evil", target))
        assert refusal(tar_extract, "a.tar", "there") == message.replace("zip", "tar")
        assert not os.path.exists("there")


def test_nothing_is_written_through_a_link_of_the_archive() -> None:
    tar_of(tar_link("d", "sub"), ("sub/x", b"1"), ("d/y", b"2"))
    assert refusal(tar_extract, "a.tar", "there") == "tar/extract a.tar: entry d is a link and a folder in this archive"
    tar_of(("sub/x", b"1"), tar_link("sub/l", "../../outside"))
    assert "leads outside" in refusal(tar_extract, "a.tar", "there")
    tar_of(tar_link("a", "b"), tar_link("b", "a"))  # a circle is harmless
    assert tar_extract("a.tar", "there") == 2


def test_nothing_is_written_through_a_link_in_the_destination() -> None:
    os.makedirs("there")
    os.makedirs("elsewhere")
    os.symlink("../elsewhere", "there/sub")
    zip_of(("first", b"1"), ("sub/x", b"2"))
    assert "entry sub/x would be written through a link to" in refusal(zip_extract, "a.zip", "there")
    assert tree("there") == {"sub": "-> ../elsewhere"} and os.listdir("elsewhere") == []


OTHER_TAR = [
    (tar_link("dev", "", tarfile.CHRTYPE), "entry dev is a device or something else that is no file"),
    (tar_link("fifo", "", tarfile.FIFOTYPE), "entry fifo is a device or something else that is no file"),
    (
        tar_link("hard", "/etc/passwd", tarfile.LNKTYPE),
        "entry /etc/passwd would be written outside of the destination",
    ),
    (
        tar_link("hard", "missing", tarfile.LNKTYPE),
        "entry hard is a link to missing, which is not a file before it in the archive",
    ),
]


@pytest.mark.parametrize(("entry", "message"), OTHER_TAR)
def test_devices_and_hard_links(entry: tarfile.TarInfo, message: str) -> None:
    tar_of(("fine", b"x"), entry)
    assert refusal(tar_extract, "a.tar", "there") == f"tar/extract a.tar: {message}"
    assert os.listdir() == ["a.tar"]


CONFLICTS = [
    ([("a", b"1"), ("./a", b"2")], "tar/extract: duplicate entry target a — refusing to overwrite"),
    ([("a", b"1"), ("a/b", b"2")], "tar/extract a.tar: entry a/b goes where this archive has a file"),
    ([("a/b", b"1"), ("a", b"2")], "tar/extract a.tar: entry a is a file and a folder in this archive"),
    ([("a", b"1"), ("a", None)], "tar/extract a.tar: entry a goes where this archive has a file"),
]


@pytest.mark.parametrize(("entries", "message"), CONFLICTS)
def test_entries_in_each_others_way(entries: list[Entry], message: str) -> None:
    tar_of(*entries)
    assert refusal(tar_extract, "a.tar", "there") == message
    assert os.listdir() == ["a.tar"]


def test_targets_that_are_in_the_way() -> None:
    os.makedirs("there/folder")
    Path("there/file").write_text("old")
    before = tree("there")
    zip_of(("new", b"1"), ("folder", b"2"))
    assert refusal(zip_extract, "a.zip", "there").endswith("can't replace there/folder, which is a folder")
    zip_of(("new", b"1"), ("file/x", b"2"))
    assert refusal(zip_extract, "a.zip", "there").endswith("can't replace there/file, which is a file")
    assert tree("there") == before
    assert refusal(zip_extract, "a.zip", "there/file") == "zip/extract there/file: Not a directory (os error 20)"


def test_bombs(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (archives, extraction):
        monkeypatch.setattr(module, "MAX_OUTPUT", 1 << 20)
        monkeypatch.setattr(module, "MAX_ENTRIES", 20)
    bomb = bytes(2 << 20)
    zip_of(("small", b"x"), ("big", bomb))
    limit = "output bytes 2097153 exceeds the quarantined limit 1048576"
    assert refusal(zip_extract, "a.zip", "there") == f"zip/extract: {limit}"
    tar_of(("big", bomb))
    Path("a.tgz").write_bytes(gzip.compress(Path("a.tar").read_bytes()))
    assert refusal(tar_extract, "a.tgz", "there").startswith("tar/extract: output bytes ")
    tar_of(("deep" + "/x" * 30, b""))
    assert refusal(tar_extract, "a.tar", "there") == "tar/extract: entries 21 exceeds the quarantined limit 20"
    zip_of(*((str(i), b"") for i in range(21)))
    assert refusal(zip_extract, "a.zip", "there") == "zip/extract: entries 21 exceeds the quarantined limit 20"
    assert refusal(archives.zip_list, "a.zip") == "zip/list: entries 21 exceeds the quarantined limit 20"
    assert not os.path.exists("there")
    data = gzip.compress(bomb)
    assert refusal(gzip_decompress, data).endswith("exceeds the quarantined limit 1048576")


def test_a_size_that_lies_is_found_out_while_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "MAX_OUTPUT", 1 << 20)
    zip_of(("big", bytes(2 << 20)))
    data = Path("a.zip").read_bytes()
    Path("a.zip").write_bytes(data.replace((2 << 20).to_bytes(4, "little"), (5).to_bytes(4, "little")))
    assert refusal(zip_extract, "a.zip", "there").startswith("zip/extract a.zip: ")
    assert not os.path.exists("there")


def test_a_forged_header_reads_no_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_PIECE", 1000)
    zip_of(*((f"{i:050}", b"") for i in range(20)))
    assert refusal(archives.zip_list, "a.zip") == "zip/list a.zip: a header or directory of more than 1000 bytes"
    with tarfile.open("a.tar", "w", format=tarfile.PAX_FORMAT, pax_headers={"comment": "x" * 2000}) as archive:
        archive.addfile(tarfile.TarInfo("a"))
    assert refusal(tar_extract, "a.tar", "t") == "tar/extract a.tar: a header or directory of more than 1000 bytes"


def test_input_over_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.txt").write_text("hello")
    zip_of(("a", b"x"))
    for module in (archives, input_files):
        monkeypatch.setattr(module, "MAX_INPUT", 4)
    message = "{}: input bytes {} exceeds the quarantined limit 4"
    size = os.path.getsize("a.zip")
    assert refusal(zip_create, "o.zip", List(["a.txt"])) == message.format("zip/create", 5)
    assert refusal(zip_extract, "a.zip", "there") == message.format("zip/extract", size)
    assert refusal(gzip_compress, b"hello") == message.format("gzip/compress", 5)


# Damaged archives


BROKEN = [b"", b"PK", b"not an archive" * 100, b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\0", bytes(5000) + b"x"]


@pytest.mark.parametrize("data", BROKEN)
def test_files_that_are_no_archives(data: bytes) -> None:
    Path("a").write_bytes(data)
    assert refusal(zip_extract, "a", "there").startswith("zip/extract a: ")
    assert refusal(archives.zip_list, "a").startswith("zip/list a: ")
    if data.strip(b"\0") != b"x":  # a tar archive ends at the first zeros
        assert refusal(tar_extract, "a", "there").startswith("tar/extract a: ")
    assert not os.path.exists("there") or tree("there") == {}


def test_an_encrypted_entry() -> None:
    Path("a.txt").write_text("hello")
    subprocess.run(["zip", "-qP", "secret", "a.zip", "a.txt"], check=True)
    assert refusal(zip_extract, "a.zip", "there") == "zip/extract a.zip: entry a.txt is encrypted"
    assert not os.path.exists("there")


def test_a_damaged_header_is_not_the_end() -> None:
    tar_of(("a", b"1"), ("b", b"2"))
    data = bytearray(Path("a.tar").read_bytes())
    data[1024 + 150] ^= 0xFF  # in the checksum of the second header
    Path("a.tar").write_bytes(data)
    assert refusal(tar_extract, "a.tar", "there") == "tar/extract a.tar: damaged header at byte 1024"
    assert not os.path.exists("there")


@pytest.mark.parametrize("kind", ["zip", "tar", "tgz"])
def test_cut_and_changed_archives_leave_nothing(kind: str) -> None:
    chance = random.Random(3)
    noise = chance.randbytes(3000)
    zip_of(("a", noise), ("b/c", b"text" * 500), ("d", None))
    tar_of(("a", noise), ("b/c", b"text" * 500), ("d", None))
    data = Path("a.zip" if kind == "zip" else "a.tar").read_bytes()
    data = gzip.compress(data) if kind == "tgz" else data
    extract = zip_extract if kind == "zip" else tar_extract
    refused = 0
    for round_ in range(150):
        damaged = bytearray(data)
        if round_ % 2:
            del damaged[chance.randrange(len(data)) :]
        else:
            for _ in range(4):
                damaged[chance.randrange(len(data))] = chance.randrange(256)
        Path("damaged").write_bytes(damaged)
        try:
            extract("damaged", f"there{round_}")
        except SemaError:
            refused += 1
            assert not os.path.exists(f"there{round_}")
    assert refused > 50


def test_a_disk_that_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    zip_of(("a", b"1"), ("b", b"2"))
    real = os.mkdir

    def full(path: str, mode: int = 0o777) -> None:
        if path.endswith("there"):
            real(path, mode)
        else:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "mkdir", full)
    assert refusal(zip_extract, "a.zip", "there") == "zip/extract there: No space left on device (os error 28)"
    assert os.listdir() == ["a.zip"]


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
