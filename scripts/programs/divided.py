"""Random programs of two files: a library, and a program that calls its functions and hands it functions of its own."""

from __future__ import annotations

from programs.files import BORDER
from programs.generator import Profile
from programs.program import Assembly, callers_first


class Division(Assembly):
    """Makes one program of two files."""

    def text(self) -> str:
        self.features.discard("total")  # only the file of a variable can assign to it
        library = self.prelude() + self.forms(2)
        if self.chance(0.5):
            library = callers_first(library)
        if self.chance(0.4):
            library = [f"(module library (export {' '.join(self.exported())})", *library, ")"]
        return "\n".join(library) + BORDER + "\n".join([*self.forms(1), self.ending()])

    def forms(self, least: int) -> list[str]:
        templates = self.top_templates()
        made: list[str] = []
        for _ in range(least + self.random.choice((0, 0, 1))):
            made += self.some_forms(templates)
        return made

    def exported(self) -> list[str]:
        """What the library defines; now and then something is missing."""
        names = [name.name for name in self.globals]
        if "note" in self.features:
            names.append("note")
        return [name for name in names if not self.chance(0.02)]


def divided(seed: int, wild: bool) -> str:
    """The program of a seed."""
    return Division(seed, Profile(wild=wild, small=True, mixed=seed % 2 == 0)).text()
