"""k-means clustering of points that are tuples of two floats."""

from collections import defaultdict


def make_points(n):
    points = []
    seed = 7
    for i in range(n):
        a = (seed * 16807 + 11) % 2147483647
        seed = (a * 16807 + 11) % 2147483647
        center = 10 * (i % 4)
        points.append((center + a % 1000 / 60.0, 0.5 * center + seed % 1000 / 70.0))
    return points[::-1]


def distance(a, b):
    ax, ay = a
    bx, by = b
    return (ax - bx) ** 2 + (ay - by) ** 2


def nearest(point, centers):
    return min(range(len(centers)), key=lambda i: distance(point, centers[i]))


def mean(points):
    n = len(points)
    return sum(x for x, _ in points) / n, sum(y for _, y in points) / n


def improve(points, centers):
    groups = defaultdict(list)
    for p in points:
        groups[nearest(p, centers)].append(p)
    return [mean(members) for _, members in sorted(groups.items())]


def k_means(points, k, rounds):
    centers = points[:k]
    for _ in range(rounds):
        following = improve(points, centers)
        if following == centers:
            break
        centers = following
    return centers


def spread(points, centers):
    return sum(distance(p, centers[nearest(p, centers)]) for p in points)


points = make_points(12000)
centers = k_means(points, 6, 12)
print(f"kmeans: {' '.join(f'{x:.3f},{y:.3f}' for x, y in centers)} {spread(points, centers):.3f}")
