"""The errors that calls raise.

SemaError                    message, hint
└── LlmError                 no provider, a cassette without the call, answers that break a schema, an agent that failed
    ├── ProviderError        provider, model, status (0: no reply), retryable, retry_after (seconds or None)
    └── BudgetError          limit, spent, unit ("usd" or "tokens")
"""

from __future__ import annotations

from sema_runtime.llm.budgets.budget import BudgetError as BudgetError
from sema_runtime.llm.errors import ProviderError as ProviderError
from sema_runtime.values.errors import LlmError as LlmError
from sema_runtime.values.errors import SemaError as SemaError
