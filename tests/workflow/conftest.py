"""What holds for all tests of workflows."""

from __future__ import annotations

from workflow_schema import journals_fit_their_schema as journals_fit_their_schema
