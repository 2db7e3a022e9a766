"""A select loop: one dispatcher polls queues of orders, payments and ticks, and keeps the state of a shop."""

import asyncio
from dataclasses import dataclass


@dataclass
class Order:
    id: int
    amount: int


@dataclass
class State:
    open: int = 0
    orders: int = 0
    paid: int = 0
    ticks: int = 0
    peak: int = 0
    last: int | None = None


class Source:
    def __init__(self, kind, n, make):
        self.kind = kind
        self.queue = asyncio.Queue(5)
        self.task = asyncio.create_task(self.produce(n, make))

    async def produce(self, n, make):
        for i in range(n):
            await self.queue.put(make(i))

    def finished(self):
        return self.task.done() and self.queue.empty()


async def select(sources):
    for source in sources:
        await asyncio.sleep(0)
        if not source.queue.empty():
            return source.kind, source.queue.get_nowait()
    return None


def step(state, event):
    match event:
        case ("order", Order(id, amount)):
            state.open += amount
            state.orders += 1
            state.last = id
        case ("payment", amount):
            state.open -= amount
            state.paid += amount
        case ("tick", _):
            state.ticks += 1
            state.peak = max(state.peak, state.open)


async def event_loop(sources, state):
    while True:
        event = await select(sources)
        if event is not None:
            step(state, event)
        elif all(source.finished() for source in sources):
            return state


async def main(n):
    final = await event_loop(
        [
            Source("payment", n, lambda i: i * 7 % 90),
            Source("order", n, lambda i: Order(i, i * 11 % 100)),
            Source("tick", n // 4, lambda i: i + 1),
        ],
        State(),
    )
    print(f"selectloop: {final.orders} {final.paid} {final.open} {final.ticks} {final.last}")


asyncio.run(main(10000))
