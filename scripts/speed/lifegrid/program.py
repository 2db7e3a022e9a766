"""Game of Life on a torus: a list of rows, rebuilt each generation."""

OFFSETS = ((-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1))


def neighbours(board, x, y):
    rows = len(board)
    columns = len(board[0])
    return sum(board[(y + dy) % rows][(x + dx) % columns] for dx, dy in OFFSETS)


def next_cell(board, x, y):
    n = neighbours(board, x, y)
    return 1 if n == 3 or (n == 2 and board[y][x]) else 0


def step(board):
    return [[next_cell(board, x, y) for x in range(len(row))] for y, row in enumerate(board)]


def population(board):
    return sum(map(sum, board))


def show_row(row):
    return "".join("#" if c else "." for c in row)


def parse_board(lines):
    return [[1 if c == "#" else 0 for c in line] for line in lines]


def run(board, generations):
    history = []
    for _ in range(generations):
        history.append(population(board))
        board = step(board)
    return board, history


glider = parse_board([".#......", "..#.....", "###.....", *["." * 8] * 5])
soup = [[1 if (x * 7 + y * 13 + x * y * 3) % 11 < 4 else 0 for x in range(80)] for y in range(60)]
moved, _ = run(glider, 32)
final, history = run(soup, 40)
same = "#t" if moved == glider else "#f"
print(f"lifegrid: {same} {population(final)} {max(history)} {min(history)} {show_row(final[7])}")
