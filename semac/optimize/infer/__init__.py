"""Type inference: what every variable can hold, over a whole unit, until nothing grows any more."""
