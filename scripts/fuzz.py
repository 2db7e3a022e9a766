"""Feeds broken and unusual programs to the reader, the expander and the compiler, and broken texts to the library.

    python scripts/fuzz.py [--inputs N] [--seed S] [--part reader|compiler|library] [--corpus FOLDER]

Every input must end in forms or code, or in a Sema error with a place in the text; for the library, in a value or a
Sema error, soon. Anything else is a finding; the shortest input of each kind of finding is printed, and the exit
status is 1.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "runtime")]

from library_inputs import DECODERS, changed_text  # noqa: E402

from sema_runtime.values.atoms import symbol  # noqa: E402
from sema_runtime.values.errors import ReaderError, SemaError  # noqa: E402
from sema_runtime.values.lists import List  # noqa: E402
from sema_runtime.values.printer import to_text  # noqa: E402
from semac.pipeline import compile_source  # noqa: E402
from semac.syntax.reader import read_program, read_recovering  # noqa: E402

SOON = 2  # seconds
PIECES = [
    "(", ")", "[", "]", "{", "}", "'", "`", ",", ",@", "@", '"', 'f"', "${", "}", "#(", "#u8(", "#\\", "#\\a", "#",
    ".", "%", "%2", "%&", ":", ":k", "a", "b", "1", "-1", "1/2", "1.5", "1e9", "2i", "+", "-", ";", "|", "\\", "é",
    "λ", "#t", "#f", "nil", "#x1f", '#"', '"s"', 'f"a${b}"', "(define", "let", "let*", "letrec", "fn", "lambda", "if",
    "cond", "case", "match", "do", "while", "when", "unless", "and", "or", "begin", "set!", "quote", "quasiquote",
    "defmacro", "define-syntax", "syntax-rules", "try", "catch", "throw", "module", "export", "import", "named",
    "loop", "=>", "else", "_", ".", "x)", "xs", "(+", "(list", "(map", "(str", "\n", " ", "\t", "\r\n", "²",
]  # fmt: skip
ATOMS: list[Any] = [
    1,
    -1,
    1.5,
    None,
    True,
    False,
    "s",
    (),
    List(),
    *map(symbol, ("x", "a", "f", "_", ".", "else", "=>")),
]
SEEDS = [
    "(define (f x . more) (let loop ((i 0) (acc '())) (if (< i x) (loop (+ i 1) (cons i acc)) acc)))",
    "(defmacro swap (a b) `(let ((tmp# ,a)) (set! ,a ,b) (set! ,b tmp#)))",
    "(define-syntax my-or (syntax-rules () ((_) #f) ((_ e r ...) (let ((t e)) (if t t (my-or r ...))))))",
    '(match {:a 1 :b [1 2]} ({:a x :b [y _]} (list x y)) ([a b] a) (_ f"none ${(+ 1 2)}"))',
    "(try (throw {:k 1}) (catch e (:k (:value e))))",
    "(let* ((x 1) ([a b] [x 2]) ({:keys [c]} {:c 3})) (cond ((> a b) c) (else #(+ % %2))))",
    "(do ((i 0 (+ i 1)) (s 0 (+ s i))) ((= i 5) s) (case i ((1 2) :low) (else (when (> i 3) (set! s 0)))))",
    "(define-record-type point (make-point x y) point? (x point-x) (y point-y set-point-y!))",
]


class Findings:
    """Inputs that ended in anything but a value or a Sema error with a place, one of each kind."""

    def __init__(self) -> None:
        self.first: dict[str, str] = {}
        self.count = 0

    def add(self, kind: str, text: str) -> None:
        self.count += 1
        known = self.first.get(kind)
        if known is None or len(text) < len(known):
            self.first[kind] = text

    def report(self, fails: Callable[[str, str], bool]) -> None:
        for kind, text in sorted(self.first.items()):
            print(f"\n{kind}\n  input: {shortened(text, partial(fails, kind))!r}")


def check_reader(text: str) -> str | None:
    """None, or the kind of finding for one text."""
    try:
        read_program(text)
    except ReaderError as error:
        if error.span is None or not 1 <= error.span.line <= text.count("\n") + 1 or error.span.col < 1:
            return f"reader error without a place: {error.message}"
    except Exception as error:
        return kind_of(error)
    try:
        read_recovering(text)
    except Exception as error:
        return "recovering: " + kind_of(error)
    return None


def check_compiler(text: str) -> str | None:
    try:
        compile_source(text, "<fuzz>", "program" if len(text) % 2 else "module").code  # noqa: B018  (it compiles)
    except SemaError as error:
        if isinstance(error, ReaderError) and error.span is None:
            return f"reader error without a place: {error.message}"
        if getattr(error, "span", None) is None:
            return f"error without a place: {error.message[:60]}"
    except Exception as error:
        if getattr(error, "span", None) is None:  # a macro's own error has the place of the macro's call
            return kind_of(error)
    return None


def kind_of(error: Exception) -> str:
    """The type of an exception and where it was raised, which distinguishes bugs."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno} ({str(error)[:80]})"


def shortened(text: str, fails: Callable[[str], bool]) -> str:
    """A smaller text with the same finding: pieces are left out while it still fails, for at most a second."""
    end = time.monotonic() + 1.0
    size = len(text) // 2
    while size and time.monotonic() < end:
        start = 0
        while start < len(text) and time.monotonic() < end:
            part = text[:start] + text[start + size :]
            if fails(part):
                text = part
            else:
                start += size
        size //= 2
    return text


def random_text(source: random.Random, programs: list[str]) -> str:
    """Soup of tokens, or a program with a few random changes."""
    if source.random() < 0.4:
        return "".join(source.choice(PIECES) + source.choice(("", " ")) for _ in range(source.randrange(1, 25)))
    text = source.choice(programs)
    for _ in range(source.randrange(1, 4)):
        text = mutated(text, source, programs)
    return text


def mutated(text: str, source: random.Random, programs: list[str]) -> str:
    """One change: something inserted, removed, doubled, or taken from another program."""
    start = source.randrange(len(text) + 1)
    end = min(len(text), start + source.randrange(1, 12))
    choice = source.randrange(5)
    if choice == 0:
        return text[:start] + text[end:]
    if choice == 1:
        return text[:start] + source.choice(PIECES) + text[start:]
    if choice == 2:
        return text[:start] + text[start:end] * 2 + text[end:]
    if choice == 3:
        return swapped(text, source)
    other = source.choice(programs)
    cut = source.randrange(len(other) + 1)
    return text[:start] + other[cut : cut + 40] + text[end:]


def swapped(text: str, source: random.Random) -> str:
    """The text with one of its words replaced by another one: brackets stay balanced."""
    words = [word for word in text.replace("(", " ").replace(")", " ").split() if word.isalnum() or "-" in word]
    if not words:
        return text
    return text.replace(source.choice(words), source.choice([*words, *PIECES]), 1)


def random_program(source: random.Random, programs: list[str]) -> str:
    """A program with some of its forms replaced by others: the brackets are right, the meaning rarely is."""
    try:
        forms = list(read_program(source.choice(programs)))
        others = list(read_program(source.choice(programs)))
    except ReaderError:
        return random_text(source, programs)
    spare = [part for form in (*forms, *others) for part in parts_of(form)] + ATOMS
    for _ in range(source.randrange(1, 4)):
        index = source.randrange(len(forms)) if forms else 0
        forms[index : index + 1] = [changed(form, source, spare) for form in forms[index : index + 1]]
    return "\n".join(map(to_text, forms))


def parts_of(form: Any) -> list[Any]:
    """A form and every form in it."""
    inner = form.items if type(form) is List else form if type(form) is tuple else ()
    return [form, *(part for child in inner for part in parts_of(child))]


def changed(form: Any, source: random.Random, spare: list[Any]) -> Any:
    """The form with one random form in it replaced, left out, doubled, or moved."""
    if type(form) not in (List, tuple) or not len(form) or source.random() < 0.15:
        return source.choice(spare)
    items = list(form)
    index = source.randrange(len(items))
    choice = source.randrange(8)
    if choice == 0:
        del items[index]
    elif choice == 1:
        items.insert(index, source.choice(spare))
    elif choice == 2:
        other = source.randrange(len(items))
        items[index], items[other] = items[other], items[index]
    else:
        items[index] = changed(items[index], source, spare)
    return List(items) if type(form) is List else tuple(items)


def check_library(text: str) -> str | None:
    """Passes a text to the decoder whose name it begins with."""
    name, _, argument = text.partition("\0")
    start = time.perf_counter()
    try:
        DECODERS[name][0](argument)
    except SemaError as error:
        if not error.message:
            return f"{name}: an error without a message"
    except Exception as error:
        return f"{name}: {kind_of(error)}"
    return f"{name}: slow" if time.perf_counter() - start > SOON else None


def library_text(source: random.Random, _: list[str]) -> str:
    """A text for one of the decoders: one it understands, with a few random changes."""
    name = source.choice(list(DECODERS))
    return name + "\0" + changed_text(source, DECODERS[name][1])


PARTS: dict[str, tuple[Callable[[str], str | None], Callable[[random.Random, list[str]], str]]] = {
    "reader": (check_reader, random_text),
    "compiler": (check_compiler, random_program),
    "library": (check_library, library_text),
}


def corpus_programs(folder: str | None) -> list[str]:
    programs = list(SEEDS)
    for path in sorted(Path(folder).glob("*.jsonl")) if folder else ():
        for line in path.read_text("utf-8").split("\n"):
            if not line:
                continue
            source = json.loads(line)["src"]
            if len(source) < 600:
                programs.append(source)
    return programs


def run(part: str, inputs: int, seed: int, programs: list[str]) -> Findings:
    check, make = PARTS[part]
    findings = Findings()
    source = random.Random(seed)
    start = time.process_time()
    for _ in range(inputs):
        text = make(source, programs)
        kind = check(text)
        if kind is not None:
            findings.add(kind, text)
    seconds = time.process_time() - start
    print(
        f"{part}: {inputs} inputs, {inputs / max(seconds, 1e-9):.0f} a second, {findings.count} findings, seed {seed}"
    )
    findings.report(lambda kind, text: check(text) == kind)
    return findings


def main() -> int:
    warnings.simplefilter("ignore", SyntaxWarning)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=20_000, help="how many texts a part gets (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=list(PARTS), help="only this part")
    parser.add_argument("--corpus", help="a folder of .jsonl files whose `src` programs are mutated too")
    options = parser.parse_args()
    programs = corpus_programs(options.corpus)
    parts = [options.part] if options.part else list(PARTS)
    results = [run(part, options.inputs, options.seed, programs) for part in parts]
    return 1 if any(findings.count for findings in results) else 0


if __name__ == "__main__":
    sys.exit(main())
