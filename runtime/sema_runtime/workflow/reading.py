"""Public name of recorded runs: `open_run`, `run_ids`; `read/recorded_run.py` defines them."""

from sema_runtime.workflow.read.recorded_run import *  # noqa: F403
from sema_runtime.workflow.read.recorded_run import __all__ as __all__
