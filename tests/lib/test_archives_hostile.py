"""Hostile and damaged archives: a condition says why, and nothing is left behind."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import tarfile
from pathlib import Path

import pytest
from archive_support import Entry, refusal, tar_link, tar_of, tree, zip_link, zip_of
from archive_support import in_own_directory as in_own_directory

from sema_runtime.lib.files import archives, extraction
from sema_runtime.lib.files.archives import (
    gzip_compress,
    gzip_decompress,
    tar_extract,
    zip_create,
    zip_extract,
)
from sema_runtime.support import input_files
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List

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
