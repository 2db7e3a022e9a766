"""Maps over pools of tasks: words are counted in chunks, summaries are merged, failures are caught one by one."""

import asyncio
from collections import Counter

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "again"]


def document(i):
    return [WORDS[(i * 7 + j * j) % 10] for j in range(30)]


async def fetch(i):
    await asyncio.sleep(0)
    if i % 50 == 0:
        raise LookupError(f"document {i} is missing")
    return document(i)


async def analyze(i):
    try:
        return Counter(await fetch(i))
    except LookupError:
        return Counter()


async def pool_map(function, items, size):
    semaphore = asyncio.Semaphore(size)

    async def limited(item):
        async with semaphore:
            return await function(item)

    return await asyncio.gather(*map(limited, items), return_exceptions=True)


async def square(n):
    return n * n


async def double_even(i):
    if i % 2:
        raise ValueError("odd")
    return i * 2


async def main():
    totals = Counter()
    for counts in await pool_map(analyze, range(2000), 16):
        totals.update(counts)
    squares = await asyncio.gather(*map(square, range(5000)))
    settled = await pool_map(double_even, range(3000), 8)
    failed = [result for result in settled if isinstance(result, Exception)]
    good = sum(result for result in settled if not isinstance(result, Exception))
    shown = " ".join(str(totals[word]) for word in WORDS)
    print(f"poolmap: ({shown}) {sum(squares)} {len(failed)} {good}")


asyncio.run(main())
