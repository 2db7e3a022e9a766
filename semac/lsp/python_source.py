"""Names that a text imports from Python, in the source of their modules: nothing of them is imported or run."""

from __future__ import annotations

import ast
import os
import sys
from functools import lru_cache
from typing import Any

from semac.lsp.documents import Document, uri_of
from semac.lsp.names import PYTHON_IMPORTS
from semac.lsp.tree import Node, walk

MOST_HOPS = 6  # from one module to the next, for a name that packages pass on
MOST_BYTES = 4_000_000  # of a module

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Member:
    """What a name of Python means: a place, and for functions and classes what their definition says."""

    def __init__(self, path: str, node: ast.AST | None, name: str) -> None:
        self.path = path
        self.node = node
        self.name = name

    @property
    def doc(self) -> str:
        if isinstance(self.node, Definition | ast.Module):
            return ast.get_docstring(self.node) or ""
        return ""

    @property
    def signature(self) -> str:
        """How it is called, as Sema writes calls."""
        node: Any = self.node
        if isinstance(node, ast.ClassDef):
            inits = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
            node = inits[0] if inits else None
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return self.name
        args = node.args
        plain = [arg.arg for arg in (*args.posonlyargs, *args.args)]
        required = len(plain) - len(args.defaults)
        shown = [*plain[:required], *(f"[{name}]" for name in plain[required:])]
        if shown[:1] and plain[0] in ("self", "cls"):
            shown.pop(0)
        shown += [f". {args.vararg.arg}"] if args.vararg else []
        shown += [f":{arg.arg}" for arg in args.kwonlyargs]
        return f"({' '.join([self.name, *shown])})"

    def markdown(self) -> str:
        head = f"```sema\n{self.signature}\n```\n\nFrom `{os.path.basename(self.path)}`."
        return f"{head}\n\n{self.doc}" if self.doc else head

    def location(self) -> dict[str, Any]:
        """The definition, for the client."""
        node: Any = self.node
        line = max(getattr(node, "lineno", 1) - 1, 0)
        column = getattr(node, "col_offset", 0)
        if isinstance(node, Definition):
            column += len({ast.ClassDef: "class ", ast.FunctionDef: "def "}.get(type(node), "async def "))
        start = {"line": line, "character": column}
        end = {"line": line, "character": column + (len(node.name) if isinstance(node, Definition) else 0)}
        return {"uri": uri_of(self.path), "range": {"start": start, "end": end}}


class PythonFiles:
    """The modules that texts can import. folders: of the workspace; then those of this interpreter."""

    def __init__(self) -> None:
        self.folders: list[str] = []

    def imports(self, document: Document) -> dict[str, tuple[str, str]]:
        """(module, its attribute or "") by the names that the imports of a text bind."""
        names: dict[str, tuple[str, str]] = {}
        for unit in document.units:
            if "python" not in unit.kept:
                unit.kept["python"] = _imported(unit.root) if "py/" in unit.text else {}
            names.update(unit.kept["python"])  # type: ignore[call-overload]
        return names

    def member(self, document: Document, name: str) -> Member | None:
        """What a name, dotted or not, means of Python; None for one that no import binds, or without source."""
        first, *rest = name.split(".")
        meant = self.imports(document).get(first)
        if meant is None or not all(rest):
            return None
        module, attribute = meant
        return self.find(document, module, [*([attribute] if attribute else []), *rest])

    def find(self, document: Document, module: str, names: list[str]) -> Member | None:
        """What names below a module mean; the module itself for none."""
        for _ in range(MOST_HOPS):
            path = self.file(document, module)
            while path is not None and names and (inner := self.file(document, f"{module}.{names[0]}")) is not None:
                if _defines(path, names[0]):
                    break
                module, path, names = f"{module}.{names[0]}", inner, names[1:]
            if path is None or path.endswith(".sema"):
                return Member(path, None, ".".join(names)) if path else None
            tree = _tree(path)
            if not names:
                return Member(path, tree, module)
            node = _lookup(tree, names)
            if not isinstance(node, tuple):
                return Member(path, node, names[-1]) if node is not None else None
            module, passed = _absolute(node[0], module, path), node[1]
            names = [*([passed] if passed else []), *names[1:]]
        return None

    def file(self, document: Document, module: str) -> str | None:
        """The source file of a module."""
        for folder in [os.path.dirname(document.path), *self.folders, *sys.path]:
            base = os.path.join(folder or ".", *module.split("."))
            for path in (os.path.join(base, "__init__.py"), base + ".py", base + ".sema"):
                if os.path.isfile(path):
                    return path
        return None

    def members(self, document: Document, name: str) -> list[str]:
        """The names that can follow one and a dot."""
        meant = self.imports(document).get(name)
        path = self.file(document, meant[0]) if meant and not meant[1] else None
        tree = _tree(path) if path and path.endswith(".py") else None
        names = [name for node in tree.body for name in _bound(node)] if tree is not None else []
        return sorted({name for name in names if not name.startswith("_")})


def _imported(root: Node) -> dict[str, tuple[str, str]]:
    names: dict[str, tuple[str, str]] = {}
    for node in walk(root):
        parts = node.children
        if node.head not in PYTHON_IMPORTS or len(parts) < 2 or not isinstance(parts[1].value, str):
            continue
        module = parts[1].value
        if node.head == "py/import":
            renamed = parts[3].name if len(parts) > 3 else ""
            names[renamed or module.partition(".")[0]] = (module if renamed else module.partition(".")[0]), ""
            continue
        for part in parts[2:]:
            inner = part.children
            taken, bound = (inner[0].name, inner[-1].name) if inner else (part.name, part.name)
            if bound:
                names[bound] = module, taken
    return names


@lru_cache(64)
def _parsed(path: str, stamp: tuple[int, int]) -> ast.Module | None:
    try:
        with open(path, "rb") as file:
            return ast.parse(file.read(MOST_BYTES))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def _tree(path: str) -> ast.Module | None:
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return _parsed(path, (facts.st_mtime_ns, facts.st_size))


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a module or class, those below `if` and `try` too."""
    found = []
    for node in body:
        found.append(node)
        if isinstance(node, ast.If | ast.Try):
            found += _statements([*node.body, *node.orelse])
            for handler in getattr(node, "handlers", ()):
                found += _statements(handler.body)
    return found


def _bound(node: ast.stmt) -> list[str]:
    """The names that a statement binds."""
    if isinstance(node, Definition):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    if isinstance(node, ast.ImportFrom | ast.Import):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    return []


def _defines(path: str, name: str) -> bool:
    tree = _tree(path) if path.endswith(".py") else None
    return tree is not None and any(isinstance(part, Definition) and part.name == name for part in tree.body)


def _lookup(tree: ast.AST | None, names: list[str]) -> ast.AST | tuple[Any, str] | None:
    """The statement that binds names below a tree; for one that is imported, (the import, its name there)."""
    from semac.ir.identifiers import mangle

    node: Any = tree
    for name in names:
        spelled = {name, name.replace("-", "_"), mangle(name)}
        bound = [part for part in _statements(getattr(node, "body", [])) if spelled & {*_bound(part)}]
        if not bound:
            return None
        node = next((part for part in bound if isinstance(part, Definition)), bound[0])
        if isinstance(node, ast.ImportFrom | ast.Import):
            alias = next(alias for alias in node.names if spelled & {alias.asname or alias.name.partition(".")[0]})
            return (node, alias.name) if isinstance(node, ast.ImportFrom) else (alias.name, "")
    return node  # type: ignore[no-any-return]


def _absolute(node: Any, module: str, path: str) -> str:
    """The module that an import statement inside of another module means."""
    if isinstance(node, str):
        return node
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    package = parts if os.path.basename(path).startswith("__init__.") else parts[:-1]
    package = package[: len(package) - node.level + 1]
    return ".".join([*package, *([node.module] if node.module else [])])
