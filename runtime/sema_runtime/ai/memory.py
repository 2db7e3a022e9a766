"""Memory threads, which outlive the process."""

from __future__ import annotations

import os
from typing import Any, Literal

from sema_runtime.llm.messages import Message
from sema_runtime.values.maps import Map


class Memory:
    """Turns of a conversation and facts, kept under an id. folder: instead of the user's Sema folder."""

    def __init__(self, id: str, namespace: str = "default", folder: str | os.PathLike[str] | None = None) -> None:
        from sema_runtime.lib.llm.memory import memory_open
        from sema_runtime.values.atoms import keyword

        options = {keyword("id"): id, keyword("namespace"): namespace}
        if folder is not None:
            options[keyword("dir")] = os.fspath(folder)
        self.handle = memory_open(Map(options))

    def append(self, role: Literal["user", "assistant"], content: str) -> None:
        from sema_runtime.lib.llm.memory import memory_append

        memory_append(self.handle, {"role": role, "content": content})

    @property
    def messages(self) -> tuple[Message, ...]:
        from sema_runtime.lib.llm.memory import memory_messages

        return memory_messages(self.handle).messages

    def remember(self, key: str, value: Any) -> None:
        """Stores a fact, as JSON."""
        from sema_runtime.lib.llm.memory import memory_remember

        memory_remember(self.handle, key, value)

    def fact(self, key: str) -> Any:
        """Returns a fact as plain data; None without one."""
        from sema_runtime.interop import to_python
        from sema_runtime.lib.llm.memory import memory_recall_fact

        return to_python(memory_recall_fact(self.handle, key))
