"""Okasaki's red-black trees: tuples (color, left, key, right), balanced by pattern matching."""

RED, BLACK = "red", "black"


def balance(color, left, key, right):
    match (color, left, key, right):
        case (
            ("black", ("red", ("red", a, x, b), y, c), z, d)
            | ("black", ("red", a, x, ("red", b, y, c)), z, d)
            | ("black", a, x, ("red", ("red", b, y, c), z, d))
            | ("black", a, x, ("red", b, y, ("red", c, z, d)))
        ):
            return (RED, (BLACK, a, x, b), y, (BLACK, c, z, d))
        case node:
            return node


def insert_into(tree, key):
    if tree is None:
        return (RED, None, key, None)
    color, left, here, right = tree
    if key < here:
        return balance(color, insert_into(left, key), here, right)
    if key > here:
        return balance(color, left, here, insert_into(right, key))
    return tree


def insert(tree, key):
    _, left, here, right = insert_into(tree, key)
    return (BLACK, left, here, right)


def is_member(tree, key):
    while tree is not None:
        _, left, here, right = tree
        if key < here:
            tree = left
        elif key > here:
            tree = right
        else:
            return True
    return False


def in_order(tree):
    if tree is None:
        return []
    _, left, key, right = tree
    return [*in_order(left), key, *in_order(right)]


def height(tree):
    if tree is None:
        return 0
    _, left, _, right = tree
    return 1 + max(height(left), height(right))


def count_red(tree):
    if tree is None:
        return 0
    color, left, _, right = tree
    return (color == RED) + count_red(left) + count_red(right)


tree = None
for i in range(1, 30000):
    tree = insert(tree, i * 7919 % 40009)
found = sum(is_member(tree, k) for k in range(40009))
keys = in_order(tree)
in_order_text = "#t" if keys == sorted(keys) else "#f"
print(f"redblack: {found} {height(tree)} {count_red(tree)} {keys[0]} {keys[-1]} {in_order_text}")
