"""What a matrix of returns, problems by rollouts, says about training on them. Pure numbers and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, pvariance
from typing import Any

FEW_MIXED = 0.2  # of the problems
MANY_MALFORMED = 0.5  # of the responses
OVER_BUDGET = 0.4  # of the problems with a known solution
SAME = 1e-9  # returns that differ by less are equal


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One episode; `value` is its return, None if it has none because the environment failed."""

    value: float | None
    success: bool
    turns: int
    malformed: int  # responses
    stop: str
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem and its rollouts. `length` is that of a shortest solution; `solution` says whether it is known,
    unknown or impossible."""

    seed: int
    identity: str
    solution: str
    length: int | None
    rollouts: list[Rollout] = field(default_factory=list)

    @property
    def values(self) -> list[float]:
        return [rollout.value for rollout in self.rollouts if rollout.value is not None]

    @property
    def varies(self) -> bool:
        return bool(self.values) and max(self.values) - min(self.values) > SAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`level` is good, warn or bad."""

    level: str
    text: str


def report(problems: Sequence[Problem], *, player: str, rollouts: int, budget: int, shared: int) -> dict[str, Any]:
    """JSON for pages. `shared` problems of an equally large held-out sample are among `problems`."""
    played = [rollout for problem in problems for rollout in problem.rollouts]
    scored = [problem for problem in problems if problem.values]
    values = [value for problem in scored for value in problem.values]
    within = fmean(pvariance(problem.values) for problem in scored) if scored else 0.0
    lengths = [problem.length for problem in problems if problem.length is not None]
    return {
        "player": player,
        "rollouts": rollouts,
        "problems": [
            {
                **asdict(problem),
                "mean": fmean(problem.values) if problem.values else None,
                "variance": pvariance(problem.values) if problem.values else None,
                "difficulty": difficulty(problem),
            }
            for problem in problems
        ],
        "played": len(played),
        "shares": {name: _share(problems, name) for name in ("easy", "mixed", "hard")},
        "varied": fmean(problem.varies for problem in scored) if scored else 0.0,
        "mean": fmean(values) if values else None,
        "success": fmean(rollout.success for rollout in played) if played else None,
        "variance_within": within,
        "variance_total": pvariance(values) if values else 0.0,
        "budget": budget,
        "lengths": lengths,
        "over_budget": sum(length > budget for length in lengths),
        "unknown_solutions": sum(problem.solution == "unknown" for problem in problems),
        "impossible": sum(problem.solution == "impossible" for problem in problems),
        "malformed": _malformed(played),
        "faults": sum(rollout.value is None for rollout in played),
        "errors": list(dict.fromkeys(rollout.error for rollout in played if rollout.error))[:3],
        "distinct": len({problem.identity for problem in problems}),
        "shared": shared,
        "verdict": asdict(verdict(problems, budget=budget)),
    }


def difficulty(problem: Problem) -> str:
    """easy: every rollout succeeds; hard: none does; mixed: some do. Empty before its first rollout."""
    if not problem.rollouts:
        return ""
    solved = sum(rollout.success for rollout in problem.rollouts)
    return "hard" if solved == 0 else "easy" if solved == len(problem.rollouts) else "mixed"


def verdict(problems: Sequence[Problem], *, budget: int) -> Verdict:
    """Whether RL has something to learn from these rollouts, in one sentence."""
    played = [rollout for problem in problems for rollout in problem.rollouts]
    failed = sum(rollout.value is None for rollout in played)
    scored = [problem for problem in problems if problem.values]
    if not scored:
        return Verdict(level="bad", text="No rollout has a return: the environment failed in all of them.")
    if failed * 10 > len(played):
        return Verdict(level="bad", text=f"The environment failed in {failed} of {len(played)} rollouts; fix it first.")
    if all(len(problem.values) < 2 for problem in scored):
        return Verdict(level="warn", text="One rollout per problem says nothing about variance; play at least two.")
    varied = sum(problem.varies for problem in scored)
    if not varied:
        return Verdict(level="bad", text=f"Nothing to learn from with GRPO: {_why_constant(scored)}")
    share = varied / len(scored)
    text = f"In {varied} of {len(scored)} problems the rewards of the rollouts differ"
    if share < FEW_MIXED:
        return Verdict(
            level="warn",
            text=f"{text}: a small part of each batch has a gradient with GRPO. Make the problems "
            f"{'harder' if _mostly_solved(scored) else 'easier'}, or sample more rollouts.",
        )
    if _malformed(played) > MANY_MALFORMED:
        return Verdict(
            level="warn",
            text=f"{text}, but {_malformed(played):.0%} of the responses are malformed: the format is learned first.",
        )
    if not any(rollout.success for rollout in played):
        return Verdict(
            level="warn",
            text=f"{text}, but no rollout succeeds: the differences are not in success, and may only reflect a cost of "
            "actions. Make the problems easier, reward parts of a solution, or start from a better model.",
        )
    lengths = [problem.length for problem in problems if problem.length is not None]
    if lengths and sum(length > budget for length in lengths) > OVER_BUDGET * len(lengths):
        return Verdict(
            level="warn",
            text=f"{text}, but many problems need more than the {budget} actions that the budget allows. Raise it.",
        )
    return Verdict(level="good", text=f"{text}, so RL has something to learn.")


def _why_constant(problems: Sequence[Problem]) -> str:
    """Why no problem's rollouts differ in reward."""
    if all(rollout.success for problem in problems for rollout in problem.rollouts):
        return "every rollout succeeds, so all advantages are 0. Make the problems harder."
    if not any(rollout.success for problem in problems for rollout in problem.rollouts):
        return "no rollout succeeds and all rewards of a problem are equal, so all advantages are 0. " + (
            "Make the problems easier, reward parts of a solution, or start from a better model."
        )
    return "the rollouts of each problem all get the same reward, so all advantages are 0. Raise the temperature."


def _mostly_solved(problems: Sequence[Problem]) -> bool:
    return fmean(rollout.success for problem in problems for rollout in problem.rollouts) > 0.5


def _share(problems: Sequence[Problem], name: str) -> float:
    known = [difficulty(problem) for problem in problems if problem.rollouts]
    return known.count(name) / len(known) if known else 0.0


def _malformed(rollouts: Sequence[Rollout]) -> float:
    turns = sum(rollout.turns for rollout in rollouts)
    return sum(rollout.malformed for rollout in rollouts) / turns if turns else 0.0
