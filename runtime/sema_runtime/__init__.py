"""The runtime of compiled Sema programs: values, builtins by topic, LLM, tasks. Importing it loads nothing else."""

__all__ = ["ai", "importer", "interop", "web", "workflow"]  # the public modules: docs/reference/public-api.md
