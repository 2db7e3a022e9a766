"""Runs the programs of a corpus in the box and through `sema eval`, and prints those that answer otherwise.

    python scripts/box/compare_corpus.py FOLDER [--count N] [--seed S]

FOLDER has `.jsonl` files of `{"id", "src"}`. Programs that name what the box lacks are left out. Two differences are
meant: the box looks unknown names up before anything runs, all of them; and tasks end before their program does.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from boxed_programs import TOKEN, is_of_the_box

from semac.box.profile import ABSENT_FORMS

SEMA = [sys.executable, "-m", "semac.cli.entry"]
IN_BOX = [*SEMA, "box", "eval", "--jsonl", "--limit", "wall_ms=60000"]
STATIC = ("unbound_var", "unknown_tool", "invalid_form")


def programs(folder: Path) -> list[dict[str, str]]:
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").split("\n"):
            case = json.loads(line) if line else {}
            source = case.get("src")
            if isinstance(source, str) and is_of_the_box(source):
                words = TOKEN.findall(source)
                if not any(word in ABSENT_FORMS or word.startswith(("py/", ".")) for word in words):
                    found.append({"id": case["id"], "src": source})
    return found


def answers(command: list[str], cases: list[dict[str, str]]) -> list[dict[str, Any]]:
    text = "".join(json.dumps(case) + "\n" for case in cases)
    ran = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.split("\n") if line]


def inside(answer: dict[str, Any]) -> tuple[Any, ...]:
    """Value, first line of the error, and lines of output of a program in the box."""
    error = (answer["message"] or "").partition("\n")[0] if answer["status"] == "error" else None
    return answer["value"], error, [line for text in answer["prints"] for line in text.split("\n")]


def outside(answer: dict[str, Any]) -> tuple[Any, ...]:
    error = answer.get("error")
    return answer.get("value"), error and error.partition("\n")[0], answer.get("output") or []


def agree(box: dict[str, Any], plain: dict[str, Any]) -> bool:
    value, error, output = inside(box)
    others_value, others_error, others_output = outside(plain)
    if box["reason"] == "type_error" and others_error:  # says more than outside: of which function
        return others_error in error and output == others_output
    return (value, error, output) == (others_value, others_error, others_output)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=10**6)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    cases = programs(options.folder)
    random.Random(options.seed).shuffle(cases)
    cases = cases[: options.count]
    ends: Counter[str] = Counter()
    for case, box, plain in zip(cases, answers(IN_BOX, cases), answers([*SEMA, "eval", "--jsonl"], cases), strict=True):
        same = agree(box, plain)
        end = "same" if same else "refused before it ran" if box["reason"] in STATIC else "different"
        ends[end] += 1
        if end == "different":
            print(f"{case['id']}: {case['src'][:200]!r}\n  inside  {inside(box)}\n  outside {outside(plain)}")
    print(f"{len(cases)} programs: {dict(ends)}")
    return 1 if ends["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
