"""What the runtime asks of the compiler: the one module of semac that `sema_runtime/compiler_bridge.py` loads.

Imports stand in the methods: a program that reads text doesn't load the passes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from sema_runtime.compiler_bridge import Compiler
    from sema_runtime.values.lists import List
    from sema_runtime.values.macros import Macro
    from semac.session import Session


class Bridge:
    """The compiler, as `sema_runtime.compiler_bridge.Compiler` declares it."""

    def read_one(self, text: str) -> Any:
        """The first form of the text, nil when there is none. Raises ReaderError."""
        from semac.syntax.reader import read_one

        return read_one(text)

    def read_program(self, text: str) -> List:
        """All forms of the text. Raises ReaderError."""
        from semac.syntax.reader import read_program

        return read_program(text)

    def check_workflows(self, text: str) -> list[Any]:
        """What is wrong with the workflows in a text: the `Diagnostic`s of `semac/checks/workflows.py`."""
        from semac.checks.workflows import check_text

        return check_text(text)

    def new_session(self, file: str, namespace: dict[str, Any]) -> Session:
        """A session in the globals of a module that is running; it knows the macros in the module's source."""
        from semac.session import Session, macros_of

        session = Session(file, closed=False, namespace=namespace)
        if file.endswith(".sema"):  # compiled before, perhaps in another process
            session.macros = macros_of(file)
        return session

    def prelude_macro(self, name: str) -> Macro | None:
        """The macro of the language with that name, or None."""
        from semac.pipeline import prelude

        return prelude().get(name)

    def install_importer(self) -> None:
        """Makes .sema files importable from Python in this interpreter."""
        from semac.imports.finder import install

        install()

    def import_file(self, path: str, importer: str | None) -> ModuleType:
        """The module of a file, executed once. Raises SemaError for a cycle, OSError, and what the module raises."""
        from semac.imports.finder import import_file

        return import_file(path, importer)

    def source_bytes(self, path: str) -> bytes:
        """The bytes of a source file. Raises OSError, and SemaError for one that no approval covers."""
        from semac.sources import read

        return read(path)

    def source_text(self, path: str) -> str:
        """The text of a source file. Raises as `source_bytes`, and ReaderError for one that is not UTF-8."""
        from semac.sources import decode, read

        return decode(read(path), path)

    def declared_exports(self, text: str) -> list[str] | None:
        """The names in the `(export ...)` of a module's source; None without one."""
        from semac.expand.interfaces import module_body

        return module_body(list(self.read_program(text)))[1]

    def defines_macro(self, text: str, name: str) -> bool:
        """Whether a module's source defines a macro of that name at top level."""
        from semac.expand.interfaces import defines_macro

        return defines_macro(list(self.read_program(text)), name)

    def mangle(self, name: str) -> str:
        """The Python name that compiled modules give to a Sema name where nothing else has it."""
        from semac.ir.identifiers import mangle_global

        return mangle_global(name)


COMPILER: Compiler = Bridge()
