"""The special forms, by topic. Each topic has a table `FORMS`, from a name to the function that analyzes the form."""

from semac.analyze.context import Handler
from semac.analyze.forms import (
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
    python_async,
    python_definitions,
    tasks,
)

SPECIAL_FORMS: dict[str, Handler] = {
    **control.FORMS,
    **binding.FORMS,
    **definitions.FORMS,
    **functions.FORMS,
    **loops.FORMS,
    **patterns.FORMS,
    **errors.FORMS,
    **dynamic.FORMS,
    **modules.FORMS,
    **tasks.FORMS,
    **python.FORMS,
    **python_async.FORMS,
    **python_definitions.FORMS,
    **agents.FORMS,
}
