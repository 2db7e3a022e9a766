"""Names of numbers. `inf` and `nan` are missing: the reader parses those."""

CONSTANTS: dict[str, float] = {
    "pi": 3.141592653589793,
    "e": 2.718281828459045,
    "math/infinity": float("inf"),
    "math/nan": float("nan"),
}
