"""Dynamic programming: a knapsack with a memo, the same with a table, coins, longest increasing runs."""

from collections import namedtuple

Item = namedtuple("Item", "weight value")


def make_items(n):
    return [Item(3 + i * 7 % 19, 10 + i * 31 % 47) for i in range(n)]


def knapsack(items, capacity):
    memo = {}

    def best(i, room):
        if i == len(items):
            return 0
        key = (i, room)
        if key in memo:
            return memo[key]
        item = items[i]
        answer = best(i + 1, room)
        if item.weight <= room:
            answer = max(answer, item.value + best(i + 1, room - item.weight))
        memo[key] = answer
        return answer

    return best(0, capacity)


def knapsack_table(items, capacity):
    best = [0] * (capacity + 1)
    for weight, value in items:
        for room in range(capacity, weight - 1, -1):
            candidate = value + best[room - weight]
            if candidate > best[room]:
                best[room] = candidate
    return best[capacity]


def fewest_coins(amount, coins):
    table = [None] * (amount + 1)
    table[0] = 0
    for a in range(1, amount + 1):
        for coin in coins:
            if a >= coin:
                before = table[a - coin]
                if before is not None and (table[a] is None or before + 1 < table[a]):
                    table[a] = before + 1
    return table[amount]


def longest_rising(xs):
    best = [1] * len(xs)
    for i in range(1, len(xs)):
        for j in range(i):
            if xs[j] < xs[i] and best[i] <= best[j]:
                best[i] = best[j] + 1
    return max(best)


sequence = [i * i * 37 % 1009 for i in range(1200)]
print(
    f"knapsack: {knapsack(make_items(70), 1400)} {knapsack_table(make_items(400), 5000)} "
    f"{fewest_coins(100000, (7, 31, 365, 997))} {longest_rising(sequence)}"
)
