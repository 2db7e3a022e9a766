"""Fan-out and fan-in: workers take numbers from one queue, put factors on another, a collector counts them."""

import asyncio
from collections import Counter


def factors(n):
    found = []
    p = 2
    while n > 1:
        if p * p > n:
            found.append(n)
            break
        if n % p == 0:
            found.append(p)
            n //= p
        else:
            p += 1
    return found


async def worker(pending, out):
    handled = 0
    while (n := await pending.get()) is not None:
        await out.put((n, factors(n)))
        handled += 1
    await out.put(None)
    return handled


async def feed(pending, numbers, workers):
    for n in numbers:
        await pending.put(n)
    for _ in range(workers):
        await pending.put(None)


async def collect(out, workers):
    primes = most = 0
    counts = Counter()
    while workers:
        message = await out.get()
        if message is None:
            workers -= 1
            continue
        k = len(message[1])
        if k == 1:
            primes += 1
        most = max(most, k)
        counts[k] += 1
    return primes, most, counts


async def run(numbers, workers):
    pending, out = asyncio.Queue(8), asyncio.Queue(32)
    tasks = [asyncio.create_task(worker(pending, out)) for _ in range(workers)]
    feeding = asyncio.create_task(feed(pending, numbers, workers))
    summary = await collect(out, workers)
    await feeding
    return *summary, sum(await asyncio.gather(*tasks))


primes, most, counts, handled = asyncio.run(run(range(2, 22000), 6))
shown = " ".join(str(counts[k]) for k in sorted(counts))
print(f"fanin: {primes} {most} {handled} ({shown})")
