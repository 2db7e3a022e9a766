"""Dicts whose entries are computed when somebody asks for them: an operation fills such a dict first."""

from __future__ import annotations

from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

TAKING = RLock()  # held while a dict is filled or changes its owner
take, let_go = TAKING.acquire, TAKING.release  # `with` takes twice as long
ASKING = (
    "__contains__ __delitem__ __eq__ __getitem__ __ior__ __iter__ __len__ __ne__ __or__ __repr__ __reversed__ __ror__ "
    "__setitem__ clear copy get items keys pop popitem setdefault update values"
)


class FilledDict(dict[object, object]):
    """A lazy dict that has its entries."""

    __slots__ = ("source",)
    source: Any  # what the entries come from; None afterwards
    __hash__ = None

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (list(self.items()),)


class LazyDict(FilledDict):
    """A dict without its entries. A subclass has `load`, which adds them with the methods of `dict`."""

    __slots__ = ()
    __hash__ = None

    def load(self) -> None:
        raise NotImplementedError

    def fill(self) -> None:
        """Adds the entries, unless another thread was faster."""
        take()
        try:
            if type(self) is not FilledDict:
                self.load()
                self.source = None
                self.__class__ = FilledDict  # type: ignore[assignment]
        finally:
            let_go()


def _asking(name: str) -> Callable[..., Any]:
    """The method of `dict`, which fills first."""
    of_dict = getattr(dict, name)

    def method(self: LazyDict, *args: Any) -> Any:
        self.fill()
        return of_dict(self, *args)

    return method


for _operation in ASKING.split():
    setattr(LazyDict, _operation, _asking(_operation))
