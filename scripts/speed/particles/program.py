"""Particles in a box: objects with floats, gravity, bouncing walls, a grid of cells that counts them."""

from collections import Counter
from dataclasses import dataclass

WIDTH = 100.0
HEIGHT = 60.0
GRAVITY = -9.8


@dataclass(slots=True)
class Particle:
    x: float
    y: float
    vx: float
    vy: float
    mass: float

    def moved(self, dt):
        vy = self.vy + GRAVITY * dt
        x, vx = bounce(self.x + dt * self.vx, self.vx, WIDTH)
        y, vy = bounce(self.y + dt * vy, vy, HEIGHT)
        return Particle(x, y, vx, vy, self.mass)

    def kinetic(self):
        return 0.5 * self.mass * (self.vx * self.vx + self.vy * self.vy)

    def potential(self):
        return -1.0 * GRAVITY * self.mass * self.y

    def cell(self):
        return int(self.x // 10.0), int(self.y // 10.0)


def bounce(position, speed, limit):
    if position < 0.0:
        return -position, -0.9 * speed
    if position > limit:
        return 2.0 * limit - position, -0.9 * speed
    return position, speed


def energy(particles):
    return sum(p.kinetic() + p.potential() for p in particles)


def crowded(particles):
    return max(Counter(p.cell() for p in particles).values())


def simulate(particles, steps):
    most = 0
    for i in range(steps):
        particles = [p.moved(0.02) for p in particles]
        if i % 25 == 0:
            most = max(most, crowded(particles))
    return particles, most


start = [
    Particle(5.0 + i * 37 % 90, 5.0 + i * 23 % 50, i * 7 % 31 - 15.0, i * 11 % 29 - 14.0, 1.0 + i % 3)
    for i in range(160)
]
final, most = simulate(start, 3000)
print(f"particles: {energy(start):.3f} {energy(final):.3f} {most}")
