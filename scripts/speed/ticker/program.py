"""A ticker without an end, prices that follow it, a moving average, and a trader who watches until it has enough."""

from collections import deque
from itertools import count


def prices(ticks, seed):
    state, price = seed, 1000
    for time in ticks:
        state = (state * 1103 + 12345) % 65536
        price = max(1, price + state % 21 - 10)
        yield time, price


def moving_average(n, events):
    window = deque()
    total = 0
    for time, price in events:
        window.append(price)
        total += price
        if len(window) > n:
            total -= window.popleft()
            yield time, price, total / n


def trade(events, goal):
    bought = cash = 0
    for time, price, average in events:
        if price < average - 8:
            bought += 1
            cash -= price
            if bought == goal:
                return cash, time


cash, time = trade(moving_average(5, prices(count(0, 5), 42)), 12000)
print(f"ticker: {cash} {time}")
