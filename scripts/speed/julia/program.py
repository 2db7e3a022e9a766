"""Julia sets drawn with characters: float loops that build lines of text."""

PALETTE = " .:-=+*#%@"


def iterations(x, y, cx, cy, limit):
    for n in range(limit):
        xx = x * x
        yy = y * y
        if xx + yy > 4.0:
            return n
        x, y = xx - yy + cx, 2.0 * x * y + cy
    return limit


def shade(n, limit):
    return PALETTE[n * 9 // limit]


def scale(k, size, span):
    return span * (k / size) - span / 2.0


def draw_line(row, width, height, cx, cy, limit):
    y = scale(row, height, 2.4)
    return "".join(shade(iterations(scale(column, width, 3.2), y, cx, cy, limit), limit) for column in range(width))


def draw(width, height, cx, cy, limit):
    return [draw_line(row, width, height, cx, cy, limit) for row in range(height)]


def ink(lines):
    return sum(len(line) - line.count(" ") for line in lines)


pictures = [draw(160, 70, 0.03 * k - 0.8, 0.15 + 0.05 * k, 120) for k in range(12)]
print(f"julia: {' '.join(str(ink(p)) for p in pictures)} [{pictures[9][30].strip()}]")
