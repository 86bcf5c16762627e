"""Families of tasks on text, grids and programs, written by hand.

`<name>` in a statement or a solution is a parameter of the family; each of its `parameters` is one task.
"""

from __future__ import annotations

from engine.environments.deepcoder.task_inputs import (
    WORDS,
    Family,
    line_of_words,
    matrix,
    numbers,
    one_number,
    one_text,
    text_of,
    two_texts,
    variants,
)

FAMILIES: tuple[Family, ...] = (
    Family(
        name="palindrome",
        statement=(
            "Return True if the text reads the same from both ends when the letter <letter> is left out, else False."
        ),
        solution="""
def solve(text):
    kept = text.replace('<letter>', '')
    return kept == kept[::-1]
""",
        function="solve",
        inputs=lambda rng, _: [
            (lambda half: half + half[::-1] if rng.random() < 0.5 else half)(text_of("abc", 6)(rng)) + "c"
        ],
        parameters=variants("letter", "b", "c"),
    ),
    Family(
        name="brackets",
        statement=(
            "Return True if the text of <kinds> brackets is balanced: each opening bracket is closed by one of "
            "its kind, and pairs do not cross. Otherwise return False."
        ),
        solution="""
def solve(text):
    pairs, stack = {')': '(', ']': '['}, []
    for c in text:
        if c in pairs:
            if not stack or stack.pop() != pairs[c]:
                return False
        else:
            stack.append(c)
    return not stack
""",
        function="solve",
        inputs=lambda rng, _: [
            "".join(
                ("()", "[]", "([])", "[()]", "(", "]")[int(i)]
                for i in rng.choice(6, 4, p=[0.25] * 3 + [0.19, 0.03, 0.03])
            )
        ],
        parameters=variants("kinds", "round and square"),
    ),
    Family(
        name="run-lengths",
        statement=(
            "Compress the text: replace each run of at least <k> equal letters by the letter and the length of "
            "the run. Shorter runs stay as they are."
        ),
        solution="""
def solve(text):
    out, i = '', 0
    while i < len(text):
        j = i
        while j < len(text) and text[j] == text[i]:
            j += 1
        out += text[i] + str(j - i) if j - i >= <k> else text[i:j]
        i = j
    return out
""",
        function="solve",
        inputs=one_text("aab"),
        parameters=variants("k", 2, 3),
    ),
    Family(
        name="shift-cipher",
        statement=(
            "Read a line of small letters and spaces. Print it with each letter replaced by the one <k> further "
            "on in the alphabet, beginning again with a after z. Spaces stay."
        ),
        solution="""
print(''.join(c if c == ' ' else chr((ord(c) - 97 + <k>) % 26 + 97) for c in input()))
""",
        inputs=lambda rng, _: line_of_words(rng, int(rng.integers(1, 6))) + "\n",
        parameters=variants("k", 1, 3, 13, 25),
    ),
    Family(
        name="edit-distance",
        statement=(
            "Return the smallest number of insertions, deletions and replacements of a letter that turn the first"
            " text into the second, where a replacement counts as <k>."
        ),
        solution="""
def solve(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        above, row = row, [i + 1]
        for j, y in enumerate(b):
            row.append(min(above[j + 1] + 1, row[j] + 1, above[j] + (0 if x == y else <k>)))
    return row[-1]
""",
        function="solve",
        inputs=two_texts("abc"),
        parameters=variants("k", 1, 2),
    ),
    Family(
        name="common-subsequence",
        statement="Return the length of the longest common subsequence of two texts.",
        solution="""
def solve(a, b):
    row = [0] * (len(b) + 1)
    for x in a:
        new = [0]
        for j, y in enumerate(b):
            new.append(row[j] + 1 if x == y else max(row[j + 1], new[j]))
        row = new
    return row[-1]
""",
        function="solve",
        inputs=two_texts("abcd"),
    ),
    Family(
        name="transpose",
        statement="Return the transpose of the matrix, a list of rows, with each entry multiplied by <k>.",
        solution="""
def solve(matrix):
    return [[<k> * x for x in column] for column in zip(*matrix)]
""",
        function="solve",
        inputs=matrix,
        parameters=variants("k", 1, -1, 2),
    ),
    Family(
        name="matrix-border",
        statement="Return the sum of the entries of the matrix that are <where>.",
        solution="""
def solve(matrix):
    last_row, last_column = len(matrix) - 1, len(matrix[0]) - 1
    return sum(x for i, row in enumerate(matrix) for j, x in enumerate(row)
               if (i in (0, last_row) or j in (0, last_column)) == ('<where>' == 'on its border'))
""",
        function="solve",
        inputs=matrix,
        parameters=variants("where", "on its border", "not on its border"),
    ),
    Family(
        name="anagrams",
        statement=(
            "Read one line of words. Print the number of words that are an anagram of an earlier word of the "
            "line; an equal word counts too."
        ),
        solution="""
seen, count = set(), 0
for word in input().split():
    key = ''.join(sorted(word))
    count += key in seen
    seen.add(key)
print(count)
""",
        inputs=lambda rng, _: " ".join(text_of("abe", 4)(rng) for _ in range(int(rng.integers(1, 9)))) + "\n",
    ),
    Family(
        name="word-counts",
        statement=(
            "Read one line of words. For each word that occurs at least <k> times print a line with the word and "
            "how often it occurs, in alphabetical order. If there are none, print none."
        ),
        solution="""
words = input().split()
found = [w for w in sorted(set(words)) if words.count(w) >= <k>]
for w in found:
    print(w, words.count(w))
if not found:
    print('none')
""",
        inputs=lambda rng, _: " ".join(WORDS[int(i)] for i in rng.integers(4, size=int(rng.integers(1, 10)))) + "\n",
        parameters=variants("k", 1, 2, 3),
    ),
    Family(
        name="roman-numerals",
        statement="Return the Roman numeral of n, from 1 to 3999.",
        solution="""
def solve(n):
    values = [(1000, 'M'), (900, 'CM'), (500, 'D'), (400, 'CD'), (100, 'C'), (90, 'XC'), (50, 'L'),
              (40, 'XL'), (10, 'X'), (9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I')]
    out = ''
    for value, letters in values:
        out += letters * (n // value)
        n %= value
    return out
""",
        function="solve",
        inputs=one_number(1, 3999),
    ),
    Family(
        name="paths",
        statement=(
            "A grid has the rows given, of . and #. Return the number of paths from the upper left to the lower "
            "right cell that move right or down and never enter a #."
        ),
        solution="""
def solve(rows):
    ways = [[0] * len(rows[0]) for _ in rows]
    for i, row in enumerate(rows):
        for j, c in enumerate(row):
            if c == '.':
                above = ways[i - 1][j] if i else 0
                left = ways[i][j - 1] if j else 0
                ways[i][j] = 1 if i == j == 0 else above + left
    return ways[-1][-1]
""",
        function="solve",
        inputs=lambda rng, _: [
            (lambda r, c: ["".join(".#"[int(rng.random() < 0.15)] for _ in range(c)) for _ in range(r)])(
                int(rng.integers(2, 6)), int(rng.integers(2, 6))
            )
        ],
    ),
    Family(
        name="islands",
        statement="A map has the rows given, of . and #. Return the number of groups of # that are connected <how>.",
        solution="""
def solve(rows):
    land = {(i, j) for i, row in enumerate(rows) for j, c in enumerate(row) if c == '#'}
    diagonal, count = '<how>'.endswith('diagonals'), 0
    while land:
        count += 1
        stack = [land.pop()]
        while stack:
            i, j = stack.pop()
            for a in (-1, 0, 1):
                for b in (-1, 0, 1):
                    if (diagonal or a == 0 or b == 0) and (i + a, j + b) in land:
                        land.remove((i + a, j + b))
                        stack.append((i + a, j + b))
    return count
""",
        function="solve",
        inputs=lambda rng, _: [
            (
                lambda c: [
                    "".join(".#"[int(rng.random() < 0.4)] for _ in range(c)) for _ in range(int(rng.integers(1, 6)))
                ]
            )(int(rng.integers(1, 7)))
        ],
        parameters=variants("how", "by sides", "by sides or diagonals"),
    ),
    Family(
        name="clock",
        statement=(
            "Read a time as HH:MM and, on the next line, a number of minutes, which may be negative. Print the "
            "time after these minutes and <k> more, as HH:MM on a 24-hour clock."
        ),
        solution="""
h, m = map(int, input().split(':'))
t = (60 * h + m + int(input()) + <k>) % 1440
print(f'{t // 60:02d}:{t % 60:02d}')
""",
        inputs=lambda rng, _: (
            f"{int(rng.integers(24)):02d}:{int(rng.integers(60)):02d}\n{int(rng.integers(-2000, 2000))}\n"
        ),
        parameters=variants("k", 0, 15, 90),
    ),
    Family(
        name="pattern",
        statement=(
            "Read a number n. Print n lines: line i, from 1 to n, has i times the character <c>, <side>-aligned "
            "to the width n with dots."
        ),
        solution="""
n = int(input())
for i in range(1, n + 1):
    line = '<c>' * i
    print(line.rjust(n, '.') if '<side>' == 'right' else line.ljust(n, '.'))
""",
        inputs=lambda rng, _: f"{int(rng.integers(1, 13))}\n",
        parameters=({"c": "*", "side": "left"}, {"c": "#", "side": "right"}),
    ),
    Family(
        name="queries",
        statement=(
            "The first line has a list of integers, the second a number q; then follow q lines with two indices a"
            " and b, from 0, a <= b. For each print the <what> of the numbers from index a to b, both included."
        ),
        solution="""
x = list(map(int, input().split()))
for _ in range(int(input())):
    a, b = map(int, input().split())
    part = x[a : b + 1]
    print({'sum': sum, 'largest': max, 'smallest': min}['<what>'](part))
""",
        inputs=lambda rng, _: (
            lambda x: (
                f"{' '.join(map(str, x))}\n3\n"
                + "".join("{} {}\n".format(*sorted(numbers(rng, 2, 0, len(x) - 1))) for _ in range(3))
            )
        )(numbers(rng, int(rng.integers(1, 9)), -20, 20)),
        parameters=variants("what", "sum", "largest", "smallest"),
    ),
    Family(
        name="calculator",
        statement=(
            "Read a line with integers, + and -, separated by spaces, such as 3 + 4 - 1. Print its value modulo "
            "<m>, from 0 to <m> - 1."
        ),
        solution="""
words = input().split()
total = int(words[0])
for sign, number in zip(words[1::2], words[2::2]):
    total += int(number) if sign == '+' else -int(number)
print(total % <m>)
""",
        inputs=lambda rng, _: (
            str(int(rng.integers(30)))
            + "".join(f" {'+-'[int(rng.integers(2))]} {int(rng.integers(30))}" for _ in range(int(rng.integers(0, 6))))
            + "\n"
        ),
        parameters=variants("m", 7, 10, 100),
    ),
    Family(
        name="robot",
        statement=(
            "A robot at (0, 0) reads a line of the letters N, E, S and W and moves one step for each: N adds 1 to"
            " y, E adds 1 to x, S and W subtract. Print its <what>."
        ),
        solution="""
x = y = 0
for c in input():
    x += (c == 'E') - (c == 'W')
    y += (c == 'N') - (c == 'S')
print(x, y) if '<what>' == 'last position, x and y' else print(abs(x) + abs(y))
""",
        inputs=lambda rng, _: text_of("NESW", 20)(rng) + "\n",
        parameters=variants("what", "last position, x and y", "distance from (0, 0), counted in steps"),
    ),
)
