"""Names that stand for a number. `inf` and `nan` are not among them: the reader knows those."""

CONSTANTS: dict[str, float] = {
    "pi": 3.141592653589793,
    "e": 2.718281828459045,
    "math/infinity": float("inf"),
    "math/nan": float("nan"),
}
