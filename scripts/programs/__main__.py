"""Random programs of many top-level forms, for comparing configurations of the compiler and the reference.

python scripts/programs write --seed 0 --count 100 > programs.jsonl     {"id","src"} a line
python scripts/programs compare --count 100000                          optimized code with plain code
python scripts/programs compare --option without:own,loops              another option: see configurations.py
python scripts/programs oracle --count 2000 --oracle ../oracle          with the reference
python scripts/programs soak --state s.json --out differences.jsonl     all of it, for days: goes on where it was
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parent.parent)  # the folder of the package instead of the package

from programs import compare, reference, soak  # noqa: E402
from programs.generator import Profile  # noqa: E402
from programs.program import program  # noqa: E402


def write(options: argparse.Namespace) -> int:
    for seed in range(options.seed, options.seed + options.count):
        source = program(seed, Profile(wild=options.wild)).source
        print(json.dumps({"id": f"programs/{seed}", "src": source}, ensure_ascii=False))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/programs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    writing = commands.add_parser("write", help="print programs")
    writing.add_argument("--count", type=int, default=10)
    writing.add_argument("--seed", type=int, default=0)
    writing.add_argument("--wild", action="store_true", help="with what the reference does otherwise on purpose")
    writing.set_defaults(run=write)
    comparing = commands.add_parser("compare", help=compare.__doc__)
    compare.add_options(comparing)
    comparing.set_defaults(run=compare.run)
    asking = commands.add_parser("oracle", help=reference.__doc__)
    reference.add_options(asking)
    asking.set_defaults(run=reference.run)
    soaking = commands.add_parser("soak", help=soak.__doc__)
    soak.add_options(soaking)
    soaking.set_defaults(run=soak.run)
    options = parser.parse_args()
    status: int = options.run(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
