"""Random programs of loops that set variables of functions around them, which closures and other loops read later."""

from __future__ import annotations

import re
from pathlib import Path

from programs.written.choices import Choices

PARTS: dict[str, list[str]] = {}
for _line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines():
    if _line and not _line.startswith(";"):
        PARTS.setdefault(_line.partition(" ")[0], []).append(_line.partition(" ")[2])
VARIABLES = {
    "i": "0", "s": "0", "l": "'()", "m": "{}", "fs": "'()", "old": "nil", "xs": "'(1 2 3)", "v": "[]", "t": '""',
    "w": "'()", "a": "(mutable-array/new)",
}  # fmt: skip
NUMBERS = ("3", "4", "0", "5", "2.5", "1")
STARTS = ("0", "0", "0", "1", "0.0")


class Programs(Choices):
    """The program of a seed."""

    def program(self) -> str:
        parameter = "(define prm (make-parameter 0))"
        first, second = self.random.sample(NUMBERS, 2)
        loops = self.placed("")
        if self.chance(0.3):
            loops += " " + self.placed("2")
        if self.chance(0.25):
            starts = [f"(define {name} {value})" for name, value in VARIABLES.items()]
            run = f"(define (run) {loops} nil)"
            call = "(try (run) (catch e (println (:message e))))"
            shown = f"(println {PARTS['after'][0]})"
            held = "(define held (list m l))"
            return "\n".join([parameter, f"(define n {first})", *starts, run, call, held, shown, "(println held)"])
        starts = [f"({name} {value})" for name, value in {**VARIABLES, "i": self.pick(*STARTS)}.items()]
        body = f"(let ({' '.join(starts)}) {loops} {self.pick(*PARTS['after'])})"
        calls = [f"(println (try (f {n}) (catch e (list (:message e) (:value e)))))" for n in (first, second)]
        return "\n".join([parameter, f"(define (f n) {body})", *calls])

    def placed(self, suffix: str) -> str:
        """A loop in some place; suffix: of the names that are defined there."""
        place = re.sub(r"\b(go|keep)\b", rf"\g<1>{suffix}", self.pick(*PARTS["place"]))
        return place.replace("LOOP", self.loop())

    def loop(self) -> str:
        bodies = [self.pick(*PARTS["body"]) for _ in range(self.random.choice((0, 1, 1, 2, 2)))]
        return self.pick(*PARTS["loop"]).replace("BODY", " ".join(bodies))
