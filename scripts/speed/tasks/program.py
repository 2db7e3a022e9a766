"""A pool of worker tasks: jobs and results on queues, tasks awaited, failures caught and counted."""

import asyncio
from dataclasses import dataclass


class JobError(Exception):
    pass


@dataclass
class Job:
    n: int
    kind: str


def digits_sum(n):
    total = 0
    while n:
        n, digit = divmod(n, 10)
        total += digit
    return total


def work(job):
    n = job.n
    if job.kind == "sum":
        return digits_sum(n * n * n)
    if job.kind == "steps":
        steps = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps
    raise JobError(n)


async def worker(jobs, results):
    done = 0
    while (job := await jobs.get()) is not None:
        try:
            answer = work(job)
        except JobError:
            answer = None
        await results.put(answer)
        done += 1
    return done


async def submit(jobs, queue, size):
    for job in jobs:
        await queue.put(job)
    for _ in range(size):
        await queue.put(None)


async def collector(results, n):
    total = failed = 0
    for _ in range(n):
        answer = await results.get()
        if answer is None:
            failed += 1
        else:
            total += answer
    return total, failed


async def run_pool(jobs, size):
    pending = asyncio.Queue(16)
    results = asyncio.Queue(16)
    totals, _, *done = await asyncio.gather(
        collector(results, len(jobs)),
        submit(jobs, pending, size),
        *[worker(pending, results) for _ in range(size)],
    )
    return *totals, sum(done)


async def digits_task(n):
    return digits_sum(n)


def make_job(i):
    return Job(i, "fail" if i % 17 == 0 else "sum" if i % 2 == 0 else "steps")


async def main():
    total, failed, done = await run_pool([make_job(i) for i in range(1, 15000)], 8)
    sums = await asyncio.gather(*[digits_task(i * 12345) for i in range(12000)])
    print(f"tasks: {total} {failed} {done} {sum(sums)}")


asyncio.run(main())
