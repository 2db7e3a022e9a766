"""One pool for all of a process that says nothing else: started for the first program, ended with the process."""

from __future__ import annotations

import atexit
import os
import threading

from sema_runtime.box.pool import Pool

_lock = threading.Lock()
_pools: dict[int, Pool] = {}  # by the id of the process: a fork doesn't use the pool of its parent


def shared_pool() -> Pool:
    """The pool. Raises Unprotected where the machine lacks a layer, SemaError without the compiler."""
    with _lock:
        pool = _pools.get(os.getpid())
        if pool is None:
            pool = _pools[os.getpid()] = Pool(spare=1)
            atexit.register(close, os.getpid())
        return pool


def close(process: int) -> None:
    pool = _pools.pop(process, None)
    if pool is not None and process == os.getpid():
        pool.close()
