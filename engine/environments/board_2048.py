"""Boards of 2048: slides, merges, and a player that looks one move and its random tiles ahead."""

from __future__ import annotations

from functools import lru_cache

Row = tuple[int, ...]
Board = tuple[Row, ...]  # 0 is an empty cell
ACTIONS = ["Up", "Right", "Down", "Left"]  # RAGEN's ids
MOST_CELLS_CONSIDERED = 6  # empty cells that the player tries a new tile in


@lru_cache(maxsize=16384)  # 16384 rows of about 300 bytes, 5 MB; a 4x4 game meets a few thousand
def slide(row: Row) -> tuple[Row, int]:
    """`row` slid to the left and the sum of its merged tiles. A tile merges once, pairs nearest the edge first."""
    tiles = [tile for tile in row if tile]
    merged: list[int] = []
    gained = 0
    while tiles:
        tile = tiles.pop(0)
        if tiles and tiles[0] == tile:
            tile += tiles.pop(0)
            gained += tile
        merged.append(tile)
    return (*merged, *[0] * (len(row) - len(merged))), gained


@lru_cache(maxsize=16384)
def slide_back(row: Row) -> tuple[Row, int]:
    """`row` slid to the right."""
    slid, gained = slide(row[::-1])
    return slid[::-1], gained


@lru_cache(maxsize=16384)
def changes(row: Row) -> tuple[bool, bool]:
    """Whether sliding `row` to the left, and to the right, changes it."""
    return slide(row)[0] != row, slide_back(row)[0] != row


def move(board: Board, action: int) -> tuple[Board, int]:
    """The board after a move, before a new tile, and the sum of merged tiles."""
    lines = board if action in (1, 3) else _transposed(board)
    slid = [*map(slide_back if action in (1, 2) else slide, lines)]
    moved, gained = tuple([line for line, _ in slid]), sum([gain for _, gain in slid])
    return (moved if action in (1, 3) else _transposed(moved)), gained


@lru_cache(maxsize=1024)  # about 1 kB each; a step asks twice for the same board
def legal_moves(board: Board) -> tuple[int, ...]:
    """The ids of moves that change the board."""
    rows = [*map(changes, board)]
    columns = [*map(changes, _transposed(board))]
    legal = (  # up is to the left in columns
        any(left for left, _ in columns),
        any(right for _, right in rows),
        any(right for _, right in columns),
        any(left for left, _ in rows),
    )
    return tuple(action for action, changed in enumerate(legal) if changed)


def empty_cells(board: Board) -> list[tuple[int, int]]:
    return [(r, c) for r, row in enumerate(board) for c, tile in enumerate(row) if not tile]


def with_tile(board: Board, cell: tuple[int, int], tile: int) -> Board:
    row, column = cell
    changed = (*board[row][:column], tile, *board[row][column + 1 :])
    return (*board[:row], changed, *board[row + 1 :])


def largest_tile(board: Board) -> int:
    return max(map(max, board))


def best_move(board: Board) -> int | None:
    """The move with the best expected board after a new tile 2 and another move; None if there is no move.

    Of many empty cells every n-th is tried, so that a choice takes about a millisecond.
    """
    values = {action: _value_after(move(board, action)[0]) for action in legal_moves(board)}
    return max(values, key=values.__getitem__) if values else None


def _value_after(board: Board) -> float:
    """The mean over new tiles of the best board that a move then leads to."""
    cells = empty_cells(board)
    tried = cells[:: max(1, len(cells) // MOST_CELLS_CONSIDERED)]
    return sum(_best_value(with_tile(board, cell, 2)) for cell in tried) / len(tried)


def _best_value(board: Board) -> float:
    """0, the worst, if no move is left."""
    boards = (move(board, action)[0] for action in range(len(ACTIONS)))
    return max((_value(after) for after in boards if after != board), default=0.0)


def _value(board: Board) -> float:
    """Large tiles along the upper edge towards a corner, then back below, with many empty cells."""
    value, weight = 0.0, 1.0
    for number, row in enumerate(board):
        for tile in row if number % 2 == 0 else row[::-1]:
            value += weight * tile + (0 if tile else 2.0 * weight)
            weight *= 0.5
    return value + 4.0 * len(empty_cells(board))


def _transposed(board: Board) -> Board:
    return tuple(zip(*board, strict=False))  # a check of lengths would take a third of the time
