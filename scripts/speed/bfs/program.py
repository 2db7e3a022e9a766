"""Searches in a maze: breadth first with a queue, depth first for connected rooms. Cells are tuples."""

from collections import deque

SIZE = 350


def is_wall(x, y):
    return x < 0 or y < 0 or x >= SIZE or y >= SIZE or (x * 7919 + y * 104729 + x * y * 31) // 16 % 100 < 38


def neighbours(cell):
    x, y = cell
    return [c for c in ((x + 1, y), (x, y + 1), (x - 1, y), (x, y - 1)) if not is_wall(*c)]


def distances(start):
    queue = deque([start])
    seen = {start: 0}
    while queue:
        cell = queue.popleft()
        d = seen[cell] + 1
        for c in neighbours(cell):
            if c not in seen:
                seen[c] = d
                queue.append(c)
    return seen


def component(start, seen):
    stack = [start]
    seen.add(start)
    n = 0
    while stack:
        cell = stack.pop()
        n += 1
        for c in neighbours(cell):
            if c not in seen:
                seen.add(c)
                stack.append(c)
    return n


def components():
    seen = set()
    sizes = [
        component((x, y), seen) for x in range(SIZE) for y in range(SIZE) if not is_wall(x, y) and (x, y) not in seen
    ]
    return sorted(sizes, reverse=True)


reached = distances((1, 0))
rooms = components()
print(f"bfs: {len(reached)} {max(reached.values())} {len(rooms)} {rooms[0]}")
