"""Runs untrusted Python code without network or files of the machine, within limits on time, memory, processes and
output.

What a test expects stays with the caller: the code gets one input and returns one output.
"""

from engine.sandbox.levels import LEVELS, available_levels, problem_with, sandbox
from engine.sandbox.outcomes import Call, Case, CaseResult, Limits, Outcome, Program

__all__ = [
    "LEVELS",
    "Call",
    "Case",
    "CaseResult",
    "Limits",
    "Outcome",
    "Program",
    "available_levels",
    "problem_with",
    "sandbox",
]
