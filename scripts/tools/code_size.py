"""The size of compiled code beside that of hand-written Python.

    python scripts/tools/code_size.py [FOLDER ...] [--modes module,program] [--only NAME,NAME] [--each] [--parts]

A FOLDER (default: scripts/speed) holds a folder for each program, with `program.sema` and `program.py` (or
`module.sema` and `twin.py`). Sizes are those of the code object as the import hook keeps it, without the hook's header,
and of what Python's own cache would have of the twin: `marshal.dumps`.

--each shows every program. --parts says what the bytes are: of each part, how much smaller all code would be without
it. Parts overlap a little, as marshal writes equal constants once.
"""

from __future__ import annotations

import argparse
import marshal
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

from sema_runtime.conditions import places, sites
from sema_runtime.packed_code import BEGINNING, ENTRIES, is_stub, packed_in
from sema_runtime.values.naming import PRIVATE
from semac.pipeline import compile_source

HERE = Path(__file__).resolve().parent
PAIRS = (("program.sema", "program.py"), ("module.sema", "twin.py"))
Change = Callable[[CodeType], CodeType]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=[HERE.parent / "speed"])
    parser.add_argument("--modes", default="module,program")
    parser.add_argument("--only", default="")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--parts", action="store_true")
    options = parser.parse_args()
    only = set(options.only.split(",")) - {""}
    pairs = [pair for folder in options.folders for pair in programs(folder) if not only or pair[0].parent.name in only]
    twins = [compile(twin.read_text(), str(twin), "exec", dont_inherit=True) for _, twin in pairs]
    for mode in options.modes.split(","):
        codes = [compile_source(source.read_text(), str(source), mode).code for source, _ in pairs]
        ratios = [size(code) / size(twin) for code, twin in zip(codes, twins, strict=True)]
        total = sum(map(size, codes)) / sum(map(size, twins))
        print(f"{mode}: {len(codes)} files, all together {total:.3f}, median {statistics.median(ratios):.3f}")
        if options.each:
            for (source, _), code, ratio in sorted(zip(pairs, codes, ratios, strict=True), key=lambda row: -row[2]):
                print(f"  {source.parent.name:16} {size(code):7} {ratio:5.2f}")
        if options.parts:
            show_parts(codes, twins)


def programs(folder: Path) -> list[tuple[Path, Path]]:
    """The programs of a folder with their twins."""
    found = [(each / a, each / b) for each in sorted(folder.iterdir()) for a, b in PAIRS]
    return [(source, twin) for source, twin in found if source.exists() and twin.exists()]


def size(code: object) -> int:
    return len(marshal.dumps(code))


def show_parts(codes: list[CodeType], twins: list[CodeType]) -> None:
    """What the bytes of code are, of 100 bytes of the twins."""
    unit = sum(map(size, twins)) / 100
    for label, change in PARTS.items():
        ours, theirs = (
            sum(size(everywhere(code, same)) - size(everywhere(code, change)) for code in each)
            for each in (codes, twins)
        )
        print(f"  {label:44} {ours / unit:6.1f}   Python {theirs / unit:6.1f}")
    for label, belongs in KINDS.items():
        found = [each for code in codes for each in inner(code) if belongs(each)]
        print(f"  {label:44} {sum(map(size, found)) / unit:6.1f}   {len(found)} of them")
    wholes = [size(each) for code in codes for each in packed_in(code)]
    print(f"  {'packed whole bodies, if they were not':44} {sum(wholes) / unit:6.1f}   {len(wholes)} of them")
    print(f"  {'functions of the twins':44} {'':6}   {sum(len(inner(code)) for code in twins)} of them")


def same(code: CodeType) -> CodeType:
    return code


def inner(code: CodeType) -> list[CodeType]:
    """The functions of a module."""
    return [each for each in code.co_consts if type(each) is CodeType]


def everywhere(code: CodeType, change: Change) -> CodeType:
    """The code changed, with all code in it; what is shared stays so, as packs name the functions of their module."""
    made: dict[int, CodeType] = {}

    def changed(each: Any) -> Any:
        if type(each) is tuple:
            return tuple(map(changed, each))
        if type(each) is not CodeType:
            return each
        if id(each) not in made:
            own = change(each)
            made[id(each)] = own.replace(co_consts=tuple(map(changed, own.co_consts)))
        return made[id(each)]

    result: CodeType = changed(code)
    return result


def without(unwanted: Callable[[Any], bool]) -> Change:
    return lambda code: code.replace(co_consts=tuple(each for each in code.co_consts if not unwanted(each)))


def is_table(constant: object) -> bool:
    """Whether a constant is the table of the places or sites of calls."""
    return (type(constant) is bytes and constant.startswith(places.PLACES)) or (
        type(constant) is str and constant.startswith(sites.SITES)
    )


def is_pack(constant: object) -> bool:
    return (
        type(constant) is tuple
        and bool(constant)
        and all(type(each) is tuple for each in constant)
        and any(type(each[0]) is bytes for each in constant if each)
    )


def without_packs(is_whole: bool) -> Change:
    def change(code: CodeType) -> CodeType:
        constants: list[Any] = []
        for each in code.co_consts:
            if is_pack(each):
                each = tuple(pack for pack in each if pack[0].startswith(BEGINNING) != is_whole)
            constants.append(each)
        return code.replace(co_consts=tuple(constants))

    return change


PARTS: dict[str, Change] = {
    "instructions": lambda code: code.replace(co_code=b""),
    "line tables": lambda code: code.replace(co_linetable=b""),
    "exception tables": lambda code: code.replace(co_exceptiontable=b""),
    "tables of places": without(is_table),
    "names": lambda code: code.replace(co_names=()),
    "constants but code, tables and packs": without(
        lambda each: type(each) is not CodeType and not is_table(each) and not is_pack(each)
    ),
    "packed whole bodies": without_packs(True),
    "code that is loaded late": without_packs(False),
    "made from a table (names of stubs)": without(lambda each: type(each) is tuple and each[:1] == (ENTRIES,)),
}  # fmt: skip
KINDS: dict[str, Callable[[CodeType], bool]] = {
    "private copies": lambda code: code.co_qualname.startswith(PRIVATE),
    "stubs": lambda code: not code.co_qualname.startswith(PRIVATE) and is_stub(code),
    "other functions": lambda code: not code.co_qualname.startswith(PRIVATE) and not is_stub(code),
}

if __name__ == "__main__":
    sys.exit(main())
