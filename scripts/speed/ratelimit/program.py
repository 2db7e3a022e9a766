"""A rate limiter: a ticker refills a bucket of tokens in each tick, clients take one a request."""

import asyncio
from dataclasses import dataclass


@dataclass
class Result:
    id: int
    served: int
    checksum: int


class Limiter:
    def __init__(self, rate):
        self.tokens = asyncio.Queue(rate)
        self.rate = rate

    async def refill(self):
        for _ in range(self.rate):
            await self.tokens.put(True)

    async def acquire(self):
        return await self.tokens.get()


async def ticker(limiter, ticks, clients, done):
    for _ in range(ticks):
        await limiter.refill()
        await asyncio.sleep(0)
    for _ in range(clients):
        await limiter.tokens.put(None)
    await done.put("ticker")


async def client(id, limiter, results):
    served, checksum = 0, id
    while await limiter.acquire():
        checksum = (checksum * 31 + served) % 10007
        served += 1
    await results.put(Result(id, served, checksum))
    return served


async def run(clients, ticks, capacity):
    limiter = Limiter(capacity)
    results = asyncio.Queue(clients)
    done = asyncio.Queue(1)
    tasks = [asyncio.create_task(client(id, limiter, results)) for id in range(clients)]
    ticking = asyncio.create_task(ticker(limiter, ticks, clients, done))
    await done.get()
    served = checksum = 0
    for _ in range(clients):
        r = await results.get()
        served += r.served
        checksum += r.checksum
    await ticking
    return served, checksum, sum(await asyncio.gather(*tasks))


served, checksum, awaited = asyncio.run(run(5, 6000, 10))
print(f"ratelimit: {served} {'#t' if checksum > 0 else '#f'} {awaited}")
