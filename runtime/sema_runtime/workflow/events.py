"""Public name of the events of a run; `journal/events.py` defines them."""

from sema_runtime.workflow.journal.events import *  # noqa: F403
from sema_runtime.workflow.journal.events import __all__ as __all__
