"""Sudoku of 4x4, 9x9 and 16x16 with unique solutions."""
