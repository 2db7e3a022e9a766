"""What the sources of written programs draw with."""

from __future__ import annotations

import random


class Choices:
    """Random choices and fresh names; equal seeds make equal ones."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, *texts: str) -> str:
        return self.random.choice(texts)

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"
