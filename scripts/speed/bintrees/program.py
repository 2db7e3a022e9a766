from dataclasses import dataclass


@dataclass(slots=True)
class Node:
    left: "Node | None"
    right: "Node | None"


def bottom_up(depth):
    if depth == 0:
        return Node(None, None)
    return Node(bottom_up(depth - 1), bottom_up(depth - 1))


def check(tree):
    if tree.left is None:
        return 1
    return 1 + check(tree.left) + check(tree.right)


def run_depth(depth, iterations):
    total = 0
    for _ in range(iterations):
        total += check(bottom_up(depth))
    return total


def main(n):
    stretch = check(bottom_up(n + 1))
    long_lived = bottom_up(n)
    out = [stretch]
    for depth in range(4, n + 1, 4):
        out.append(run_depth(depth, 1 << (n - depth + 2)))
    out.append(check(long_lived))
    print("bintrees:", f"({' '.join(map(str, out))})")


main(12)
