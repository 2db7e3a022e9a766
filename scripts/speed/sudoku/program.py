"""Sudoku by backtracking: a list of 81 digits, the square with the fewest candidates first."""


def peers_of(square):
    row, column = divmod(square, 9)
    return [
        other
        for other in range(81)
        if other != square
        and (other // 9 == row or other % 9 == column or (other // 27 == row // 3 and other % 9 // 3 == column // 3))
    ]


PEERS = [peers_of(square) for square in range(81)]


def parse(text):
    return [0 if c == "." else int(c) for c in text]


def candidates(board, square):
    used = {board[p] for p in PEERS[square]}
    return [d for d in range(1, 10) if d not in used]


def best_square(board):
    best = None
    for square in range(81):
        if board[square] == 0:
            options = candidates(board, square)
            if best is None or len(options) < len(best[1]):
                best = square, options
                if len(options) <= 1:
                    break
    return best


class Solver:
    def __init__(self):
        self.tries = 0

    def solve(self, board):
        choice = best_square(board)
        if choice is None:
            return True
        square, options = choice
        for digit in options:
            self.tries += 1
            board[square] = digit
            if self.solve(board):
                return True
        board[square] = 0
        return False


def show(board):
    return "".join(map(str, board))


PUZZLES = [
    "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79",
    "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......",
    "52...6.........7.13...........4..8..6......5...........418.........3..2...87.....",
    "6.....8.3.4.7.................5.4.7.3..2.....1.6.......2.....5.....8.6......1....",
    ".524.........7.1..............8.2...3.....6...9.5.....1.6.3...........897........",
    "85...24..72......9..4.........1.7..23.5...9...4...........8..7..17..........36.4.",
]
solver = Solver()
solved = []
for text in PUZZLES:
    board = parse(text)
    solver.solve(board)
    solved.append(show(board))
print(f"sudoku: {solved[0]} {' '.join(line[:9] for line in solved[1:])} {solver.tries}")
