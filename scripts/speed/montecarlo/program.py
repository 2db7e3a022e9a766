"""Simulations with a linear congruential generator: pi, dice, a random walk, shuffled decks."""


class Random:
    def __init__(self, seed):
        self.seed = seed

    def random(self):
        self.seed = (self.seed * 1103515245 + 12345) % 2147483648
        return self.seed / 2147483648.0

    def roll(self, sides):
        return 1 + int(sides * self.random())


def estimate_pi(rng, n):
    inside = 0
    for _ in range(n):
        x = rng.random()
        y = rng.random()
        if x * x + y * y <= 1.0:
            inside += 1
    return 4.0 * inside / n


def dice_histogram(rng, n):
    counts = [0] * 13
    for _ in range(n):
        counts[rng.roll(6) + rng.roll(6)] += 1
    return counts


def walk(rng, steps):
    x = y = furthest = 0
    for _ in range(steps):
        direction = rng.roll(4)
        if direction == 1:
            x += 1
        elif direction == 2:
            x -= 1
        elif direction == 3:
            y += 1
        else:
            y -= 1
        furthest = max(furthest, abs(x) + abs(y))
    return furthest


def shuffle(rng, deck):
    for i in range(len(deck) - 1, 0, -1):
        j = rng.roll(i + 1) - 1
        deck[i], deck[j] = deck[j], deck[i]


rng = Random(42)
estimate = estimate_pi(rng, 800000)
dice = dice_histogram(rng, 80000)
distance = walk(rng, 150000)
deck = list(range(40000))
shuffle(rng, deck)
print(f"montecarlo: {estimate:.4f} [{' '.join(map(str, dice))}] {distance} {deck[0]} {deck[-1]}")
