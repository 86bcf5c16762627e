"""Which problems an evaluation had and which of them were solved, in few bytes: a list of problems that evaluations
share, and a bit for each episode."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.events import ProblemsPlayed
from engine.statistics.shared_problems import Tally, tally
from webapp.evaluations.models import Evaluation, ProblemList
from webapp.runs.models import Run

DIGEST = 16  # bytes
HASHES = np.dtype(">u8")


def save_outcomes(run: Run, played: ProblemsPlayed) -> None:
    """Adds the outcomes to the row of their evaluation."""
    problems = b"".join(bytes.fromhex(problem) for problem in played.problems)
    key = hashlib.blake2b(problems, digest_size=DIGEST).hexdigest()
    ProblemList.objects.bulk_create([ProblemList(id=key, problems=problems)], ignore_conflicts=True)
    rows = Evaluation.objects.filter(
        run=run,
        step=played.step,
        environment=played.environment,
        final=played.final,
        requested=played.requested,
        episodes=len(played.problems),
    )
    rows.update(problem_list=key, solved=packed(played.solved))


def packed(solved: str) -> bytes:
    """Zeros and ones as bits; the last byte is filled up with zeros."""
    return np.packbits(np.frombuffer(solved.encode(), dtype=np.uint8) == ord("1")).tobytes()


def unpacked(solved: bytes, episodes: int) -> NDArray[np.bool_]:
    return np.unpackbits(np.frombuffer(solved, dtype=np.uint8), count=episodes).astype(bool)


def unpacked_many(solved: Sequence[bytes], episodes: int) -> NDArray[np.bool_]:
    """Outcomes of evaluations on one list of problems, (N, E): thousands at once."""
    bits = np.frombuffer(b"".join(solved), dtype=np.uint8).reshape(len(solved), -1)
    return np.unpackbits(bits, axis=1, count=episodes).astype(bool)


def problems_of(row: ProblemList) -> NDArray[np.uint64]:
    return np.frombuffer(row.problems, dtype=HASHES).astype(np.uint64)


def tally_of(evaluation: Evaluation) -> Tally | None:
    """Episodes and successes by problem; None if the evaluation did not record them."""
    if evaluation.problem_list is None:
        return None
    problems = problems_of(evaluation.problem_list)
    return tally(problems, unpacked(bytes(evaluation.solved), len(problems)))
