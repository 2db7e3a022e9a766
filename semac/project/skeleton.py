"""The files of a new project, from the templates in `templates/`.

A template is the files of `common/` and those of its own folder, which win; `script` has of the former only those for
editors and git. In names and texts `__project__` and its like stand for words of the project (`replacements`). At the
start of a name `dot-` stands for a dot, and an ending `.in` keeps tools of this repository away from a file.
"""

from __future__ import annotations

import keyword
import os
import re
import sys
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable

TEMPLATES = {
    "agent": "an agent with two tools, and tests in which a stand-in plays the model",
    "library": "functions to import from Sema and Python, and a command",
    "workflow": "a workflow that resumes where it stopped, and a command",
    "script": "one file and its test, no package",
}
DESCRIPTIONS = {
    "agent": "An agent that answers questions about a folder of notes.",
    "library": "Counts the words of texts.",
    "workflow": "Reviews the pages of a folder.",
    "script": "Greets.",
}
USAGES = {"agent": '"What about the red bicycle?"', "library": "README.md", "workflow": "pages", "script": ""}
KEYS = (
    "It asks the model whose key is set in the environment: `ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, ... Tests need none."
)
RUNS = """
`sema workflow run __package__/run.sema` shows progress, `sema workflow view` the run in a browser, `--resume latest`
continues a run that stopped."""
ABOUT = {
    "agent": KEYS,
    "library": 'In Python: `from __package__ import text; text.count_words("a b a")`.',
    "workflow": f"{KEYS}\n{RUNS}",
    "script": "",
}
OF_SCRIPTS = (".gitignore", ".editorconfig", ".vscode/settings.json")
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
TAKEN = frozenset(("semac", "sema_runtime", "tests", "test"))


class NotPossible(Exception):
    """Why no project can be made, and what to do."""


def package_of(name: str) -> str:
    """The name of the package in a project. Raises NotPossible for a name that no distribution or package can have."""
    if not NAME.fullmatch(name):
        raise NotPossible(f"'{name}' is no name for a project: letters, digits, and . _ - between them")
    package = re.sub(r"[-.]+", "_", name).lower()
    if not package.isidentifier() or keyword.iskeyword(package):
        raise NotPossible(f"the package would be called '{package}', which Python can't import; choose another name")
    if package in sys.stdlib_module_names or package in TAKEN:
        raise NotPossible(
            f"'{package}' is a module of {'semac' if package in TAKEN else 'Python'}; choose another name"
        )
    return package


def replacements(name: str, template: str) -> dict[str, str]:
    """What stands for what in the files of a template, in the order in which it is replaced."""
    from semac import __version__

    major, minor, _ = __version__.split(".")
    return {
        "__description__": DESCRIPTIONS[template],
        "__about__": ABOUT[template],
        "__usage__": USAGES[template],
        "__version__": f"{major}.{minor}",
        "__next__": f"0.{int(minor) + 1}" if major == "0" else f"{int(major) + 1}",
        "__package__": package_of(name),
        "__command__": package_of(name).replace("_", "-"),
        "__project__": name,
    }


def project_files(name: str, template: str) -> dict[str, str]:
    """The files of a project: path → text."""
    words = replacements(name, template)
    root = files("semac.project").joinpath("templates")
    texts: dict[str, str] = {}
    for part in ("common", template):
        for path, text in _texts(root.joinpath(part), ""):
            if part == template or template != "script" or path in OF_SCRIPTS:
                texts[_replaced(path, words)] = _laid_out(path, _replaced(text, words))
    return texts


def _laid_out(path: str, text: str) -> str:
    """The text as `sema fmt` has it: that depends on the length of names."""
    if not path.endswith(".sema"):
        return text
    from semac.format.document import Style
    from semac.format.files import formatted_bytes

    return formatted_bytes(text.encode(), path, Style()).after


def _texts(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name = f".{entry.name[4:]}" if entry.name.startswith("dot-") else entry.name
        if entry.is_dir():
            yield from _texts(entry, f"{path}{name}/")
        elif not name.endswith(".pyc"):
            yield f"{path}{name.removesuffix('.in')}", entry.read_text(encoding="utf-8")


def _replaced(text: str, words: dict[str, str]) -> str:
    for word, by in words.items():
        text = text.replace(word, by)
    return text


def create(folder: str, name: str, template: str) -> list[str]:
    """Writes a project into a folder that is not there or empty; the paths of its files. Raises NotPossible.

    A failure leaves nothing behind that was not there before.
    """
    texts = project_files(name, template)
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise NotPossible(f"{folder} is a file; choose another name")
    if os.path.isdir(folder) and os.listdir(folder):
        raise NotPossible(f"{folder} is not empty; choose another folder, nothing was written")
    was_there = os.path.isdir(folder)
    try:
        for path, text in texts.items():
            target = os.path.join(folder, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "x", encoding="utf-8") as file:
                file.write(text)
    except BaseException as error:
        _remove(folder, was_there)
        if isinstance(error, OSError):
            raise NotPossible(f"cannot write {error.filename or folder}: {error.strerror}") from None
        raise
    return list(texts)


def _remove(folder: str, was_there: bool) -> None:
    import shutil

    for entry in os.scandir(folder) if was_there else ():
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.remove(entry.path)
    if not was_there:
        shutil.rmtree(folder, ignore_errors=True)
