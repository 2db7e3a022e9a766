"""Text and metadata of PDF files, read by the package pypdf (extra `pdf`)."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.support.input_files import check_limit, open_input
from sema_runtime.support.missing_packages import package_missing
from sema_runtime.tasks.background import run
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from pypdf import PdfReader

    from sema_runtime.tasks.background import Work

    T = TypeVar("T")

MAX_PAGES = 10_000
MAX_TEXT = 256 << 20  # characters
LIMIT_HINT = "reduce or split the PDF input"
SIGNATURE = b"%PDF-"
SIGNATURE_WITHIN = 1024  # bytes; readers let other things stand before it
FIELDS = ("title", "author", "subject", "creator", "producer")


@builtin("pdf/extract-text", type="str -> str", cap="fs-read")
def pdf_extract_text(path: Any) -> str:
    """The text of a PDF file, its pages with an empty line between them. Text in pictures is not read.

    ; (pdf/extract-text "invoice.pdf") => "Invoice 17\\nTotal: 40.00"
    """
    return _read("pdf/extract-text", path, lambda reader, work: "\n\n".join(_texts("pdf/extract-text", reader, work)))


@builtin("pdf/extract-text-pages", type="str -> flat str fresh", cap="fs-read")
def pdf_extract_text_pages(path: Any) -> List:
    """A list with the text of each page of a PDF file.

    ; (pdf/extract-text-pages "report.pdf") => ("Page one" "Page two")
    """
    name = "pdf/extract-text-pages"
    return _read(name, path, lambda reader, work: List(list(_texts(name, reader, work))))


def _texts(function: str, reader: PdfReader, work: Work) -> Iterator[str]:
    size = 0
    for page in reader.pages:
        work.check()
        text = str(page.extract_text())
        size += len(text)
        check_limit(function, "output bytes", size, MAX_TEXT, LIMIT_HINT)
        yield text


@builtin("pdf/page-count", type="str -> int", cap="fs-read")
def pdf_page_count(path: Any) -> int:
    """The number of pages of a PDF file.

    ; (pdf/page-count "report.pdf") => 2
    """
    return _read("pdf/page-count", path, lambda reader, work: len(reader.pages))


@builtin("pdf/metadata", type="str -> map keyword (int|str) fresh", cap="fs-read")
def pdf_metadata(path: Any) -> Map:
    """The metadata of a PDF file as a map: :pages, and :title, :author, :subject, :creator, :producer where the file
    has them.

    ; (pdf/metadata "report.pdf") => {:author "Ada" :pages 2 :title "Report"}
    """
    return _read("pdf/metadata", path, lambda reader, work: _metadata(reader))


def _metadata(reader: PdfReader) -> Map:
    fields: dict[Any, Any] = {keyword("pages"): len(reader.pages)}
    info: Any = reader.metadata or {}
    for field in FIELDS:
        value = info.get(f"/{field.capitalize()}")
        if value is not None:
            fields[keyword(field)] = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return Map(fields)


def _read(function: str, path: Any, use: Callable[[PdfReader, Work], T]) -> T:
    """The result of use(reader, work) on a PDF file. Everything that is wrong with the file raises a condition."""
    package = _package(function)
    with open_input(function, path, "PDF") as file:
        if SIGNATURE not in file.read(SIGNATURE_WITHIN):
            raise SemaError(f"{function} {path}: not a PDF file")

        def work_on(work: Work) -> T:
            try:
                reader = package.PdfReader(file)
                _unlock(function, path, reader)
                check_limit(function, "pages", len(reader.pages), MAX_PAGES, LIMIT_HINT)
                return use(reader, work)
            except SemaError:
                raise
            except Exception as error:  # a damaged file makes pypdf raise whatever the damage comes to
                raise SemaError(f"{function} {path}: {str(error) or type(error).__name__}") from None

        return run(work_on)


def _package(function: str) -> Any:
    """The module pypdf, kept from writing its remarks about sloppy files to the program's stderr."""
    try:
        import pypdf
    except ImportError:
        raise package_missing(function, "pypdf", "pdf") from None
    from logging import NullHandler, getLogger

    logger = getLogger("pypdf")
    if not logger.handlers:
        logger.addHandler(NullHandler())
    return pypdf


def _unlock(function: str, path: str, reader: PdfReader) -> None:
    """Opens an encrypted file that has no password; raises a condition when it has one."""
    if reader.is_encrypted and not reader.decrypt(""):
        raise SemaError(f"{function} {path}: the file is encrypted and needs a password")
