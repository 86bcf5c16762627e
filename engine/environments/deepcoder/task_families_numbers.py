"""Families of tasks on numbers and lists, written by hand.

`<name>` in a statement or a solution is a parameter of the family; each of its `parameters` is one task.
"""

from __future__ import annotations

from engine.environments.deepcoder.task_inputs import (
    Family,
    lines_of_numbers,
    list_and_number,
    numbers,
    one_list,
    one_number,
    variants,
)

FAMILIES: tuple[Family, ...] = (
    Family(
        name="greatest-common-divisor",
        statement="Return the greatest common divisor of two positive integers a and b, multiplied by <k>.",
        solution="""
def solve(a, b):
    while b:
        a, b = b, a % b
    return <k> * a
""",
        function="solve",
        inputs=lambda rng, _: numbers(rng, 2, 1, 500),
        parameters=variants("k", 1, 3),
    ),
    Family(
        name="primes-below",
        statement="Return the list of all primes below n whose last digit is <d>.",
        solution="""
def solve(n):
    primes = [p for p in range(2, n) if all(p % q for q in range(2, int(p**0.5) + 1))]
    return [p for p in primes if p % 10 == <d>]
""",
        function="solve",
        inputs=one_number(0, 120),
        parameters=variants("d", 1, 3, 7),
    ),
    Family(
        name="fibonacci",
        statement=(
            "The sequence begins with <a> and <b>; each later term is the sum of the two before it. Return the "
            "term at index n, where the first has index 0."
        ),
        solution="""
def solve(n):
    x, y = <a>, <b>
    for _ in range(n):
        x, y = y, x + y
    return x
""",
        function="solve",
        inputs=one_number(0, 40),
        parameters=({"a": 0, "b": 1}, {"a": 2, "b": 1}, {"a": 3, "b": 5}),
    ),
    Family(
        name="digit-sum",
        statement="Return the sum of the digits of the non-negative integer n written in base <base>.",
        solution="""
def solve(n):
    total = 0
    while n:
        total += n % <base>
        n //= <base>
    return total
""",
        function="solve",
        inputs=one_number(0, 99999),
        parameters=variants("base", 2, 7, 10, 16),
    ),
    Family(
        name="two-sum",
        statement=(
            "Return the indices [i, j] with i < j of two numbers whose sum is target, with the smallest i and "
            "then the smallest j; return [] if there are none."
        ),
        solution="""
def solve(numbers, target):
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers)):
            if numbers[i] + numbers[j] == target:
                return [i, j]
    return []
""",
        function="solve",
        inputs=list_and_number(0, 12, 0, 24),
    ),
    Family(
        name="coins",
        statement=(
            "With any number of coins of the values <coins>, return the smallest number of coins that make the "
            "amount, or -1 if no coins do."
        ),
        solution="""
def solve(amount):
    best = [0] + [None] * amount
    for a in range(1, amount + 1):
        options = [best[a - c] for c in (<coins>) if c <= a and best[a - c] is not None]
        best[a] = min(options) + 1 if options else None
    return -1 if best[amount] is None else best[amount]
""",
        function="solve",
        inputs=one_number(0, 60),
        parameters=variants("coins", "1, 3, 4", "4, 7", "2, 5, 10", "6, 9, 20"),
    ),
    Family(
        name="longest-increasing",
        statement=(
            "Return the length of the longest strictly increasing subsequence of the list; its elements need not "
            "be next to each other."
        ),
        solution="""
def solve(numbers):
    best = []
    for i, x in enumerate(numbers):
        best.append(1 + max((best[j] for j in range(i) if numbers[j] < x), default=0))
    return max(best, default=0)
""",
        function="solve",
        inputs=one_list(0, 20),
    ),
    Family(
        name="mean-of-numbers",
        statement="The first line has the number n, the second n integers. Print their <what> with two decimals.",
        solution="""
n = int(input())
x = sorted(map(int, input().split()))
mean = sum(x) / n
median = (x[(n - 1) // 2] + x[n // 2]) / 2
print(f'{<what>:.2f}')
""",
        inputs=lines_of_numbers,
        parameters=variants("what", "mean", "median"),
    ),
    Family(
        name="second-largest",
        statement=(
            "The first line has the number n, the second n integers. Print the <which> of the distinct values, or"
            " none if there are fewer than two."
        ),
        solution="""
input()
x = sorted(set(map(int, input().split())))
print('none' if len(x) < 2 else x[-2] if '<which>' == 'second largest' else x[1])
""",
        inputs=lines_of_numbers,
        parameters=variants("which", "second largest", "second smallest"),
    ),
    Family(
        name="rotate",
        statement="Return the list rotated to the <side> by k, which may be larger than its length.",
        solution="""
def solve(numbers, k):
    k %= len(numbers)
    if '<side>' == 'right':
        k = len(numbers) - k
    return numbers[k:] + numbers[:k]
""",
        function="solve",
        inputs=list_and_number(0, 9, 0, 15),
        parameters=variants("side", "left", "right"),
    ),
    Family(
        name="intervals",
        statement=(
            "Each interval is a list [start, end] with start <= end. Return the intervals that remain when all "
            "that overlap or touch are merged, in ascending order."
        ),
        solution="""
def solve(intervals):
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged
""",
        function="solve",
        inputs=lambda rng, _: [[sorted(numbers(rng, 2, 0, 25)) for _ in range(int(rng.integers(0, 7)))]],
    ),
    Family(
        name="largest-sum",
        statement="Return the largest sum of a run of at least <k> neighbouring numbers of the list.",
        solution="""
def solve(numbers):
    n = len(numbers)
    return max(sum(numbers[i:j]) for i in range(n) for j in range(i + <k>, n + 1))
""",
        function="solve",
        inputs=one_list(-9, 9, shortest=3),
        parameters=variants("k", 1, 2, 3),
    ),
    Family(
        name="collatz",
        statement=(
            "From n go to n / 2 if n is even, else to <k> * n + 1. Return how many steps lead to 1, but 100 if it"
            " takes more."
        ),
        solution="""
def solve(n):
    steps = 0
    while n != 1 and steps < 100:
        n = n // 2 if n % 2 == 0 else <k> * n + 1
        steps += 1
    return steps
""",
        function="solve",
        inputs=one_number(1, 40),
        parameters=variants("k", 3, 5),
    ),
    Family(
        name="prime-factors",
        statement="Return the prime factors of n in ascending order, <how>.",
        solution="""
def solve(n):
    out, p = [], 2
    while n > 1:
        while n % p == 0:
            out.append(p)
            n //= p
        p += 1
    return out if '<how>' == 'each as often as it divides n' else sorted(set(out))
""",
        function="solve",
        inputs=one_number(1, 500),
        parameters=variants("how", "each as often as it divides n", "each once"),
    ),
    Family(
        name="bit-count",
        statement="Return how many digits <d> the binary form of the positive integer n has.",
        solution="""
def solve(n):
    return bin(n)[2:].count('<d>')
""",
        function="solve",
        inputs=one_number(1, 5000),
        parameters=variants("d", 0, 1),
    ),
    Family(
        name="merge-sorted",
        statement="Return the numbers that are in <which> list, without repetition, in descending order.",
        solution="""
def solve(a, b):
    a, b = set(a), set(b)
    found = {'at least one': a | b, 'each': a & b, 'exactly one': a ^ b}['<which>']
    return sorted(found, reverse=True)
""",
        function="solve",
        inputs=lambda rng, _: [numbers(rng, int(rng.integers(0, 8)), 0, 9) for _ in range(2)],
        parameters=variants("which", "at least one", "each", "exactly one"),
    ),
    Family(
        name="squares",
        statement=(
            "Return the square root of the number x by <n> steps of Newton's method from the start x: each step "
            "replaces r by (r + x / r) / 2."
        ),
        solution="""
def solve(x):
    r = x
    for _ in range(<n>):
        r = (r + x / r) / 2
    return r
""",
        function="solve",
        inputs=one_number(1, 100),
        parameters=variants("n", 1, 2, 5),
    ),
    Family(
        name="josephus",
        statement=(
            "The numbers 1 to n stand in a circle. Beginning with 1, count up to <k> and remove the number "
            "reached; begin the next count with the number after it. Return the last number that remains."
        ),
        solution="""
def solve(n):
    circle, i = list(range(1, n + 1)), 0
    while len(circle) > 1:
        i = (i + <k> - 1) % len(circle)
        circle.pop(i)
    return circle[0]
""",
        function="solve",
        inputs=one_number(1, 40),
        parameters=variants("k", 2, 3, 5),
    ),
)
