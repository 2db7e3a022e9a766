"""Fan-out by key and fan-in: events go to a queue for each shard, shards aggregate, a merger adds up reports."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass

SHARDS = 4


@dataclass
class Event:
    key: int
    value: int


async def events(n, out):
    for i in range(n):
        await out.put(Event(i * 31 % 1009, i % 17))
    await out.put(None)


async def split(source, outs):
    while (event := await source.get()) is not None:
        await outs[event.key % SHARDS].put(event)
    for out in outs:
        await out.put(None)


async def aggregate(source, reports):
    totals, seen = defaultdict(int), 0
    while (event := await source.get()) is not None:
        totals[event.key] += event.value
        seen += 1
    await reports.put(totals)
    return seen


async def run(n):
    source = asyncio.Queue(16)
    outs = [asyncio.Queue(16) for _ in range(SHARDS)]
    reports = asyncio.Queue(SHARDS)
    _, _, *seen = await asyncio.gather(
        events(n, source), split(source, outs), *[aggregate(out, reports) for out in outs]
    )
    keys = total = most = 0
    for _ in range(SHARDS):
        totals = await reports.get()
        keys += len(totals)
        total += sum(totals.values())
        most = max(most, *totals.values())
    return keys, total, most, sum(seen)


print("fanout:", *asyncio.run(run(40000)))
