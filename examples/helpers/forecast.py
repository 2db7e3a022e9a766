"""A function in Python that ../analyst.sema gives to a model as a tool."""

from statistics import linear_regression


def forecast(values: list[float], steps: int = 1) -> list[float]:
    """Continues a series of numbers along its trend line.

    Args:
        values: the series so far, oldest first
        steps: how many values to add
    """
    line = linear_regression(range(len(values)), values)
    return [round(line.intercept + line.slope * (len(values) + n), 1) for n in range(steps)]
