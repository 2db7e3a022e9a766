"""The special forms, by topic. Importing this package fills `semac.analyze.analyzer.SPECIAL`."""

from semac.analyze.forms import (  # noqa: F401
    agents,
    binding,
    control,
    definitions,
    dynamic,
    errors,
    functions,
    loops,
    modules,
    patterns,
    python,
    tasks,
)
