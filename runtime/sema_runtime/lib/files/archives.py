"""Zip and tar archives, gzip data. Extraction, and what it refuses, is in extraction.py."""

from __future__ import annotations

import os
from contextlib import contextmanager

from sema_runtime.catalogue import builtin
from sema_runtime.lib.files.extraction import CHUNK, LIMIT_HINT, MAX_ENTRIES, MAX_LINK, MAX_OUTPUT, Extraction, damaged
from sema_runtime.support.file_access import failed
from sema_runtime.support.input_files import MAX_INPUT, check_limit, open_input, path_of
from sema_runtime.support.replacing import Replacement
from sema_runtime.support.text_arguments import text_of
from sema_runtime.tasks.background import run
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from tarfile import TarFile, TarInfo
    from typing import IO, Any, BinaryIO
    from zipfile import ZipFile

    from sema_runtime.tasks.background import Work

    AddFile = Callable[[str, "Watched"], None]  # an entry's name, and the open file that goes there

GZIP = b"\x1f\x8b"
MAX_PIECE = 20 << 20  # bytes that the libraries may read at once, for a directory or a header
BLOCK = 512  # bytes, of tar
TAR_COMPRESSION = {".tar.gz": "gz", ".tgz": "gz", ".tar.bz2": "bz2", ".tbz2": "bz2", ".tar.xz": "xz", ".txz": "xz"}


# Zip


@builtin("zip/create", type="str, list str -> int", cap="fs-write")
def zip_create(out_path: Any, paths: Any) -> int:
    """Makes a zip archive of files, each under its own name without folders, and returns their number.

    (file/write "a.txt" "hello")
    (zip/create "out.zip" '("a.txt")) => 1
    (zip/create "out.zip" '("a.txt" "b/a.txt")) ! zip/create: duplicate entry name "a.txt" (from b/a.txt)
    """
    return _create("zip/create", out_path, paths, _zip_files)


def _zip_files(path: str, file: BinaryIO, add_all: Callable[[AddFile], None]) -> None:
    from shutil import copyfileobj
    from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

    with ZipFile(file, "w", ZIP_DEFLATED, strict_timestamps=False) as archive:

        def add(name: str, source: Watched) -> None:
            info = ZipInfo.from_file(source.fileno(), name, strict_timestamps=False)  # type: ignore[arg-type]
            info.compress_type = ZIP_DEFLATED
            with archive.open(info, "w") as entry:
                copyfileobj(source, entry)

        add_all(add)


@builtin("zip/extract", type="str, str -> int", cap="fs-write")
def zip_extract(archive: Any, dest: Any) -> int:
    """Unpacks (unzips) a zip archive into a folder, which is created if missing, and returns the number of entries.

    All entries are unpacked or none. Entries that would leave the folder (`..`, an absolute path, a link to elsewhere),
    damaged or encrypted entries, and more than 512 MiB in total raise an error. Existing files are replaced.

    (file/write "a.txt" "hello")
    (zip/create "out.zip" '("a.txt"))
    (zip/extract "out.zip" "unpacked") => 1
    (file/read "unpacked/a.txt") => "hello"
    """
    return _extract("zip/extract", archive, dest, _unzip)


def _unzip(extraction: Extraction, file: BinaryIO) -> None:
    from stat import S_IFMT, S_ISLNK

    function, path = extraction.function, extraction.archive
    with _opened_zip(function, path, file) as archive, reading(function, path):
        for info in archive.infolist():
            mode = info.external_attr >> 16
            if info.is_dir():
                extraction.add_folder(info.filename, mode or 0o777)
            elif info.flag_bits & 1:
                raise extraction.refuse(info.filename, "is encrypted")
            elif S_IFMT(mode) and S_ISLNK(mode):
                with archive.open(info) as content:
                    target = content.read(MAX_LINK + 1)
                extraction.add_link(info.filename, os.fsdecode(target))
            else:
                with archive.open(info) as content:
                    extraction.add_file(info.filename, content, info.file_size, mode, None)


@builtin("zip/list", type="str -> flat str fresh", cap="fs-read")
def zip_list(archive: Any) -> List:
    """The names of the entries of a zip archive, in its order; names of folders end with a slash.

    (file/write "a.txt" "hello")
    (zip/create "out.zip" '("a.txt"))
    (zip/list "out.zip") => ("a.txt")
    (zip/list "a.txt") ! zip/list a.txt: File is not a zip file
    """
    with open_input("zip/list", archive, "archive") as file, _opened_zip("zip/list", archive, file) as opened:
        return List(opened.namelist())


def _opened_zip(function: str, path: str, file: BinaryIO) -> ZipFile:
    from zipfile import ZipFile

    with reading(function, path):
        opened = ZipFile(Pieces(file))
    check_limit(function, "entries", len(opened.filelist), MAX_ENTRIES, LIMIT_HINT)
    return opened


# Tar


@builtin("tar/create", type="str, list str -> int", cap="fs-write")
def tar_create(out_path: Any, paths: Any) -> int:
    """Makes a tar archive of files, each under its own name without folders, and returns their number.

    The end of the archive's name decides the compression: `.tar.gz` or `.tgz`, `.tar.bz2`, `.tar.xz`; other names mean
    none.

    (file/write "a.txt" "hello")
    (tar/create "out.tar.gz" '("a.txt")) => 1
    (bytes/ref (file/read-bytes "out.tar.gz") 0) => 31
    """
    return _create("tar/create", out_path, paths, _tar_files)


def _tar_files(path: str, file: BinaryIO, add_all: Callable[[AddFile], None]) -> None:
    import tarfile

    name = path.lower()
    kind = next((kind for ending, kind in TAR_COMPRESSION.items() if name.endswith(ending)), "")
    with tarfile.open(fileobj=file, mode=f"w:{kind}", dereference=True) as archive:  # type: ignore[call-overload]

        def add(name: str, source: Watched) -> None:
            info = archive.gettarinfo(arcname=name, fileobj=source)
            info.mtime = int(info.mtime)  # a fraction would take a header of its own
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            archive.addfile(info, source)

        add_all(add)


@builtin("tar/extract", type="str, str -> int", cap="fs-write")
def tar_extract(archive: Any, dest: Any) -> int:
    """Unpacks a tar archive, compressed or not, into a folder, which is created if missing, and returns the number of
    entries.

    It refuses what `zip/extract` refuses, and devices.

    (file/write "a.txt" "hello")
    (tar/create "out.tgz" '("a.txt"))
    (tar/extract "out.tgz" "unpacked") => 1
    (file/read "unpacked/a.txt") => "hello"
    """
    return _extract("tar/extract", archive, dest, _untar)


def _untar(extraction: Extraction, file: BinaryIO) -> None:
    import tarfile
    from tempfile import TemporaryFile

    with TemporaryFile(dir=extraction.hidden) as spool, reading(extraction.function, extraction.archive):
        plain = _decompressed(extraction, file, spool)
        with tarfile.open(fileobj=Pieces(plain), mode="r:") as archive:  # type: ignore[call-overload]
            for info in archive:
                _extract_member(extraction, archive, info)
            _check_end(plain, archive.offset)


def _extract_member(extraction: Extraction, archive: TarFile, info: TarInfo) -> None:
    if info.isdir():
        extraction.add_folder(info.name, info.mode)
    elif info.issym():
        extraction.add_link(info.name, info.linkname)
    elif info.islnk():
        extraction.add_hard_link(info.name, info.linkname)
    elif info.isreg():
        content = archive.extractfile(info)
        assert content is not None  # of a regular file
        extraction.add_file(info.name, content, info.size, info.mode, info.mtime)
    else:
        raise extraction.refuse(info.name, "is a device or something else that is no file")


def _decompressed(extraction: Extraction, file: BinaryIO, spool: IO[bytes]) -> IO[bytes]:
    """The plain tar archive in a file: that file, or spool with its decompressed contents."""
    import bz2
    import gzip
    import lzma

    start = file.read(6)
    file.seek(0)
    openers: dict[bytes, Any] = {GZIP: gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
    opener = next((opener for magic, opener in openers.items() if start.startswith(magic)), None)
    if opener is None:
        return file
    with opener(file) as content:
        while chunk := content.read(CHUNK):
            extraction.work.check()
            spool.write(chunk)
            check_limit(extraction.function, "output bytes", spool.tell(), MAX_OUTPUT, LIMIT_HINT)
    spool.seek(0)
    return spool


def _check_end(plain: IO[bytes], end: int) -> None:
    """Raises ValueError unless the archive ends there: Python takes a damaged header for the end."""
    plain.seek(end)
    block = plain.read(BLOCK)
    if block.strip(b"\0"):
        raise ValueError(f"damaged header at byte {end}")


# Both


def _create(function: str, out_path: Any, paths: Any, write: Callable[..., None]) -> int:
    """Makes an archive of files with write(path, file, add_all) and returns the number of files."""
    target = path_of(function, out_path)
    if not isinstance(paths, List | list):
        type_error("list", paths)
    sources = _named(function, list(paths))

    def work_on(work: Work) -> int:
        def add_all(add: AddFile) -> None:
            total = 0
            for name, path in sources.items():
                with open_input(function, path, "archive") as source:
                    total += os.fstat(source.fileno()).st_size
                    check_limit(function, "input bytes", total, MAX_INPUT, LIMIT_HINT)
                    try:
                        add(name, Watched(source, work))
                    except OSError as error:
                        raise failed(function, path, error) from None

        try:
            with Replacement(target, through=True, check=work.check) as file:
                write(target, file, add_all)
        except OSError as error:
            raise failed(function, target, error) from None
        return len(sources)

    return run(work_on)


class Watched:
    """A file that goes into an archive. Reading it stops when nothing waits for the archive any more."""

    def __init__(self, file: BinaryIO, work: Work) -> None:
        self.name = ""  # tarfile asks for one
        self.fileno = file.fileno
        self._read = file.read
        self._work = work

    def read(self, size: int = -1, /) -> bytes:
        self._work.check()
        return self._read(size)


def _named(function: str, paths: list[Any]) -> dict[str, str]:
    """The paths by the names that they get in the archive."""
    check_limit(function, "entries", len(paths), MAX_ENTRIES, LIMIT_HINT)
    members: dict[str, str] = {}
    for path in paths:
        if type(path) is not str:
            raise SemaError(f"{function}: Type error: expected string, got {type_name(path)}")
        name = os.path.basename(path.rstrip("/"))
        if name in ("", ".", ".."):
            raise SemaError(f"{function}: bad file path {path}")
        if name in members:
            raise SemaError(f'{function}: duplicate entry name "{name}" (from {path})')
        members[name] = path
    return members


def _extract(function: str, archive: Any, dest: Any, unpack: Callable[[Extraction, BinaryIO], None]) -> int:
    path, destination = text_of(archive), path_of(function, dest)

    def work_on(work: Work) -> int:
        with (
            open_input(function, path, "archive") as file,
            Extraction(function, path, destination, work) as extraction,
        ):
            unpack(extraction, file)
            return extraction.finish()

    return run(work_on)


@contextmanager
def reading(function: str, archive: str) -> Iterator[None]:
    """Turns the exceptions that the libraries raise for a damaged archive, of any kind, into conditions."""
    try:
        yield
    except SemaError:
        raise
    except Exception as error:
        raise damaged(function, archive, error) from None


class Pieces:
    """A file that refuses to be read in one huge piece: what a forged size would make the libraries do."""

    def __init__(self, file: IO[bytes]) -> None:
        self.seek = file.seek
        self.tell = file.tell
        self.close = file.close
        self.seekable = file.seekable
        self._read = file.read

    def read(self, size: int = -1) -> bytes:
        data = self._read(min(size, MAX_PIECE + 1) if size >= 0 else MAX_PIECE + 1)
        if len(data) > MAX_PIECE:
            raise ValueError(f"a header or directory of more than {MAX_PIECE} bytes")
        return data


# Gzip


def _bytes_of(function: str, value: Any) -> bytes:
    if type(value) is str:
        value = value.encode()
    if not isinstance(value, bytes | bytearray):
        raise SemaError(f"{function}: Type error: expected bytevector or string, got {type_name(value)}")
    check_limit(function, "input bytes", len(value), MAX_INPUT, LIMIT_HINT)
    return bytes(value)


@builtin("gzip/compress", type="str|bytevector -> bytevector")
def gzip_compress(data: Any) -> bytes:
    """The bytes of a bytevector, or of a string in UTF-8, compressed with gzip.

    (< (bytevector-length (gzip/compress (string/repeat "abc" 1000))) 100) => #t
    """
    import zlib

    content = _bytes_of("gzip/compress", data)

    def compress(work: Work) -> bytes:
        encoder = zlib.compressobj(wbits=31)
        pieces = []
        for start in range(0, len(content), CHUNK):
            work.check()
            pieces.append(encoder.compress(content[start : start + CHUNK]))
        return b"".join([*pieces, encoder.flush()])

    return run(compress)


@builtin("gzip/decompress", type="str|bytevector -> bytevector")
def gzip_decompress(data: Any) -> bytes:
    """Decompresses gzip data to a bytevector. Several compressed pieces in a row are joined.

    (utf8->string (gzip/decompress (gzip/compress "hello"))) => "hello"
    (gzip/decompress (bytevector 1 2 3)) ! gzip/decompress: invalid gzip header
    """
    content = _bytes_of("gzip/decompress", data)
    return run(lambda work: b"".join(_gunzipped(content, work)))


def _gunzipped(data: bytes, work: Work) -> Iterator[bytes]:
    """The contents of gzip data in pieces. Data after it that isn't gzip is ignored, as in the reference."""
    import zlib

    at = total = 0
    while at == 0 or data.startswith(GZIP, at):
        decoder = zlib.decompressobj(wbits=31)
        pending = b""
        while not decoder.eof:
            work.check()
            if not pending:
                pending = data[at : at + CHUNK]
                at += len(pending)
            try:
                piece = decoder.decompress(pending, CHUNK)
            except zlib.error as error:
                raise SemaError(f"gzip/decompress: {_gzip_reason(str(error))}") from None
            if not piece and not pending and not decoder.eof:
                raise SemaError("gzip/decompress: unexpected end of file")
            pending = decoder.unconsumed_tail
            total += len(piece)
            check_limit("gzip/decompress", "output bytes", total, MAX_OUTPUT, LIMIT_HINT)
            yield piece
        at -= len(decoder.unused_data)


def _gzip_reason(text: str) -> str:
    if "header" in text or "method" in text:
        return "invalid gzip header"
    if "check" in text:
        return "corrupt gzip stream does not have a matching checksum"
    return "corrupt deflate stream"
