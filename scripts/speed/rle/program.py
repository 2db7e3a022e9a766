"""Run-length encoding of texts and lists, look-and-say, zips of runs."""


def encode(xs):
    runs = []
    for x in xs:
        if runs and runs[-1][0] == x:
            runs[-1][1] += 1
        else:
            runs.append([x, 1])
    return runs


def decode(runs):
    return "".join(item * n for item, n in runs)


def show_runs(runs):
    return "".join(f"{n}{c}" for c, n in runs)


def parse_runs(text):
    runs = []
    n = 0
    for c in text:
        if c.isdigit():
            n = 10 * n + int(c)
        else:
            runs.append((c, n))
            n = 0
    return runs


def look_and_say(digits):
    out = []
    for digit, n in encode(digits):
        out += [n, digit]
    return out


def pixel(x, y):
    if (x + y) % 20 < 8:
        return " "
    return "#" if x * y % 50 < 35 else "."


rows = ["".join(pixel(x, y) for x in range(120)) for y in range(1000)]
encoded = [show_runs(encode(row)) for row in rows]
decoded = [decode(parse_runs(text)) for text in encoded]
saved = [len(row) - len(text) for row, text in zip(rows, encoded, strict=True)]
same = sum(a == b for a, b in zip(rows, decoded, strict=True))
say = [1]
for _ in range(44):
    say = look_and_say(say)
print(f"rle: {same} {max(saved)} {min(saved)} {sum(saved)} {len(say)} {sum(say)}")
