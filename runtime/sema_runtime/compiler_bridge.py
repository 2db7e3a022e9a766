"""The only door from the runtime to the compiler: `eval`, `read`, `macroexpand`, `load` and `import` of Sema text.

A compiled program works without the compiler until it comes here; then a clear error says what is missing. `Compiler`
says what the runtime needs of it; `semac/bridge.py` implements that and is loaded when it is first needed.
Every function that runs code takes the globals of the module that asks; names are bound there.
"""

from __future__ import annotations

import os
import sys

from sema_runtime import bundle
from sema_runtime.compiled_modules import compiled_form, import_compiled, refuse_sources
from sema_runtime.support.home import in_home
from sema_runtime.values.atoms import Symbol
from sema_runtime.values.errors import ArityError, IoError, SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import MISSING
from sema_runtime.values.naming import COMPILED, EXPORTS, GLOBALS, program_globals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Protocol

    from sema_runtime.values.macros import Macro

    class Session(Protocol):
        """Globals of a module that is running, with the macros and names that texts evaluated in it may use."""

        macros: dict[str, Macro]
        names: set[str]

        def run_form(self, form: Any) -> Any:
            """The value of one form."""

        def compile(self, text: str, filename: str) -> Any:
            """Source text, compiled for `execute`."""

        def execute(self, unit: Any, drain: bool) -> Any:
            """The value of the last form of a compiled text. drain: whether tasks that are left may finish."""

        def bind(self, name: str, value: Any) -> None:
            """Defines a global."""

    class Compiler(Protocol):
        """What the runtime asks of the compiler (`semac/bridge.py` has the docstrings)."""

        def read_one(self, text: str) -> Any: ...
        def read_program(self, text: str) -> List: ...
        def check_workflows(self, text: str) -> list[Any]: ...
        def new_session(self, file: str, namespace: dict[str, Any]) -> Session: ...
        def prelude_macro(self, name: str) -> Macro | None: ...
        def install_importer(self) -> None: ...
        def import_file(self, path: str, importer: str | None) -> ModuleType: ...
        def source_bytes(self, path: str) -> bytes: ...
        def source_text(self, path: str) -> str: ...
        def declared_exports(self, text: str) -> list[str] | None: ...
        def defines_macro(self, text: str, name: str) -> bool: ...
        def mangle(self, name: str) -> str: ...


COMPILER = "semac.bridge"  # the module that implements Compiler, as its attribute COMPILER
ZYGOTE = "semac.box.start"  # the module that starts processes of the box, run as a program
SESSION = "__sema_session__"
NO_COMPILER = "this program was compiled to run without the compiler; install the package semac to use {what}"

SHIPPED = os.path.join(os.path.dirname(__file__), "packages")  # packages that need no installation: sema/patterns

_imported: dict[str, ModuleType] = {}  # by the name in sys.modules
_running: list[str] = []  # canonical paths of the files being loaded, outermost first


def _compiler(what: str) -> Compiler:
    """The compiler. what: the builtin that needs it. Raises SemaError where it isn't installed."""
    from importlib import import_module

    try:
        compiler: Compiler = import_module(COMPILER).COMPILER
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith("semac"):
            raise
        raise SemaError(NO_COMPILER.format(what=what)) from None
    return compiler


def read_text(text: str) -> Any:
    """The first form of the text, nil when there is none. Raises ReaderError."""
    return _compiler("read").read_one(text)


def read_many(text: str) -> List:
    """All forms of the text. Raises ReaderError."""
    return _compiler("read-many").read_program(text)


def check_workflows(text: str) -> list[Any]:
    """What is wrong with the workflows in a text, as `sema workflow check` reports it."""
    return _compiler("workflow/check").check_workflows(text)


def session_of(namespace: dict[str, Any], what: str) -> Session:
    """The session that runs a module's globals; a module imported as plain Python gets one now."""
    session: Session | None = namespace.get(SESSION)
    if session is None:
        from sema_runtime.conditions.describe import global_names

        session = _compiler(what).new_session(namespace.get("__file__") or "<input>", namespace)
        session.names = set(global_names(namespace))
    return session


def eval_form(form: Any, namespace: dict[str, Any]) -> Any:
    """The value of a form, evaluated among the globals of a module."""
    return session_of(namespace, "eval").run_form(form)


def macroexpand(form: Any, namespace: dict[str, Any]) -> Any:
    """The form with its macro call replaced, once; anything else is given back."""
    if type(form) is not List or not form.items or type(form.items[0]) is not Symbol:
        return form
    name = form.items[0].name
    macros = session_of(namespace, "macroexpand").macros
    macro = macros.get(name) or _compiler("macroexpand").prelude_macro(name)
    return form if macro is None else macro.transformer(*form.items[1:])


def install_importer() -> None:
    """Makes .sema files importable from Python in this interpreter. Without the compiler they are named in an error."""
    from importlib.util import find_spec

    if find_spec("semac") is not None:
        _compiler("imports of .sema files").install_importer()
    else:
        refuse_sources()


# Files


def load_file(path: Any, namespace: dict[str, Any]) -> Any:
    """Runs a file among the globals of a module, every time; returns the value of its last form."""
    file = _checked_path("load", path, namespace)
    session = session_of(namespace, "load")
    before = namespace.get("__file__")
    namespace["__file__"] = file
    try:
        return _guarded(file, lambda text: _run(session, text, file), _text("load", path, file))
    finally:
        namespace["__file__"] = before


def import_file(path: Any, namespace: dict[str, Any], *names: str) -> None:
    """Runs a module file, once, and binds the names given, or all that it exports."""
    base = namespace.get("__file__")
    if type(path) is not str:
        type_error("string", path)
    file = resolve(path, base)
    if file != _shipped(path):  # those are a part of the language, in a sandbox too
        _allow("import", file)
    module = _module(path, file, base)
    exported = exports(module)
    for name in names or exported:
        if name in exported:
            python = python_name(name, vars(module))
            value = getattr(module, python, MISSING)
            if value is not MISSING:  # a macro is no value, and was taken over by the compiler
                bind(name, value, namespace, python)
        elif not _is_macro(name, module):
            raise SemaError(f"import: module does not export '{name}'")


def _module(shown: str, path: str, base: str | None) -> ModuleType:
    compiled = compiled_form(path, base)
    if compiled is not None:
        return import_compiled(compiled)
    known = base is not None and os.path.isfile(base)
    try:
        module = _compiler("import").import_file(path, base if known else None)
    except OSError as error:
        from sema_runtime.support.file_access import reason

        raise IoError(f"import {shown}: {reason(error)}") from None
    _imported[module.__name__] = module
    return module


def exports(module: ModuleType) -> list[str]:
    """The Sema names that a module offers: those of its `export`, without one all its definitions."""
    known: list[str] | None = getattr(module, EXPORTS, None)
    if known is None:
        known = _declared_exports(module)
        setattr(module, EXPORTS, known)
    return known


def _declared_exports(module: ModuleType) -> list[str]:
    if not _is_compiled(module):
        text = _source(module)
        declared = _compiler("import").declared_exports(text) if "(module" in text else None
        if declared is not None:
            return declared
    own = program_globals(vars(module))
    return sorted(name for name, python in own.items() if hasattr(module, python))


def _is_compiled(module: ModuleType) -> bool:
    return str(module.__doc__).endswith(COMPILED)


def _is_macro(name: str, module: ModuleType) -> bool:
    """Whether a module's source defines a macro of that name; the compiler took it over where it met the import.

    A compiled module doesn't say; a name that it lacks is unbound where it is used.
    """
    return _is_compiled(module) or _compiler("import").defines_macro(_source(module), name)


def _source(module: ModuleType) -> str:
    return _compiler("import").source_text(module.__file__ or "")


def forget() -> bool:
    """Has files that were imported run again when they are imported the next time. Whether there were any."""
    any_imported = bool(_imported)
    for name in _imported:
        sys.modules.pop(name, None)
    _imported.clear()
    _running.clear()
    return any_imported


def _run(session: Session, text: str, path: str) -> Any:
    return session.execute(session.compile(text, path), drain=False)


def bind(name: str, value: Any, namespace: dict[str, Any], python: str | None = None) -> None:
    """Defines a global of a module that is running, for an import whose names the compiler may not have known.

    python: what the other module calls it, for a name that this one never mentions.
    """
    session = namespace.get(SESSION)
    if session is not None:
        session.bind(name, value)
        return
    namespace[program_globals(namespace).setdefault(name, python_name(name, namespace, python))] = value


def python_name(name: str, namespace: dict[str, Any], unmentioned: str | None = None) -> str:
    """The Python name of a Sema name in a compiled module; unmentioned: that of a name which isn't in its table."""
    known = program_globals(namespace)
    if name in known:
        return known[name]
    for python, sema in namespace.get("__sema_names__", {}).items():
        if sema == name and python in namespace:
            return str(python)
    if unmentioned is not None and GLOBALS in namespace:
        return unmentioned
    return _compiler("import").mangle(name)


def _guarded(path: str, run: Any, text: str) -> Any:
    """Runs a file's text; an error when the file is being run already."""
    canonical = os.path.realpath(path)
    if canonical in _running:
        circle = [*_running[_running.index(canonical) :], canonical]
        raise SemaError(f"cyclic import detected: {' -> '.join(circle)}")
    _running.append(canonical)
    try:
        return run(text)
    finally:
        _running.pop()


def _checked_path(what: str, path: Any, namespace: dict[str, Any]) -> str:
    if type(path) is not str:
        type_error("string", path)
    file = beside(path, namespace.get("__file__"))
    _allow(what, file)
    return file


def _allow(what: str, path: str) -> None:
    from sema_runtime import capabilities

    capabilities.require(what, "fs-read")
    capabilities.check_path(what, path)


def _text(what: str, shown: str, path: str) -> str:
    from sema_runtime.support.file_access import reason

    try:
        return _compiler(what).source_bytes(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise IoError(f"{what} {shown}: {reason(error)}") from None


# Where a module is found


def beside(path: str, base: str | None) -> str:
    """A relative path, seen from the directory of the file base (from the current one when base is no file)."""
    if os.path.isabs(path) or base is None or base.startswith("<"):
        return path
    file = os.path.join(os.path.dirname(base), path)
    carried = bundle.root is not None and not os.path.exists(file) and os.path.exists(path)
    return path if carried else file


def resolve(spec: str, base: str | None) -> str:
    """The path of the file that `(import "spec")` means: a file beside base, or one of a package.

    A package that comes with the runtime wins over an installed one of the same name.
    """
    if not spec:
        raise ArityError("import", "1+", 0)
    if not is_package(spec):
        return beside(spec, base)
    for segment in spec.split("/"):
        if segment in (".", "..", ""):
            raise SemaError(f"invalid package spec: path traversal not allowed: {spec}")
    shipped = _shipped(spec)
    if shipped is not None:
        return shipped
    for folder in package_folders():
        file = _file_of_package(os.path.join(folder, spec))
        if file is not None:
            return file
    file = _of_python(spec)
    if file is not None:
        return file
    raise SemaError(f"package not found: {spec}", f"Run: sema pkg add {spec}")


def _shipped(spec: str) -> str | None:
    """The file of a package that comes with the runtime; None for any other spec, and for paths."""
    if not is_package(spec) or ".." in spec.split("/"):
        return None
    path = os.path.join(SHIPPED, spec + ".sema")
    return path if os.path.isfile(path) else None


def is_package(spec: str) -> bool:
    """Whether an import spec names a package and not a file."""
    if (
        spec.startswith(("./", "../", "/"))
        or spec.endswith(".sema")
        or any(mark in spec for mark in ("://", "\\", ":"))
    ):
        return False
    return "/" in spec or any(os.path.isdir(os.path.join(folder, spec)) for folder in package_folders())


def packages_dir() -> str:
    """Where packages are installed."""
    return in_home("packages")


def package_folders() -> list[str]:
    """Where packages are looked for: in a built program among those that it carries, then where they are installed."""
    return [packages_dir()] if bundle.packages is None else [bundle.packages, packages_dir()]


def _of_python(spec: str) -> str | None:
    """The Sema file of a package of Python: `shop/orders` is `orders.sema` in the package `shop`."""
    from importlib.util import find_spec

    top, *parts = spec.split("/")
    try:
        found = find_spec(top.replace("-", "_"))
    except (ImportError, ValueError):
        return None
    if found is None or found.origin is None:  # a folder that happens to be on the path is no package
        return None
    for folder in found.submodule_search_locations or ():
        for tail in ([*parts[:-1], f"{parts[-1]}.sema"], [*parts, "__init__.sema"]):
            path = os.path.join(folder, *tail)
            if os.path.isfile(path):
                return path
    return None


def _file_of_package(root: str) -> str | None:
    """The file that stands for a package at root: `root.sema`, the entry point of its manifest, `package.sema`."""
    if os.path.isfile(root + ".sema"):
        return root + ".sema"
    entry = _entrypoint(os.path.join(root, "sema.toml"))
    for candidate in (entry, "package.sema"):
        if candidate is not None and os.path.isfile(os.path.join(root, candidate)):
            return os.path.join(root, candidate)
    return None


def _entrypoint(manifest: str) -> str | None:
    if not os.path.isfile(manifest):
        return None
    import tomllib

    with open(manifest, "rb") as file:
        data = tomllib.load(file)
    package = data.get("package")
    entry = package.get("entrypoint") if isinstance(package, dict) else None
    entry = entry or data.get("entrypoint")
    return entry if isinstance(entry, str) else None
