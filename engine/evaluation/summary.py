"""Summarises rows: success over prompts, pass@k, returns, and unscored episodes."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from engine.evaluation.results import Result
from engine.statistics.bootstrap import bootstrap_mean
from engine.statistics.clustered import METHODS, rerun_error, success_interval
from engine.statistics.pass_at_k import shown_k, suite_pass_all_k, suite_pass_at_k


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One environment at one temperature. Rates are over scored episodes, from 0 to 1; None if unknown."""

    environment: str
    temperature: float
    prompts: int
    problems: int  # distinct ones of them
    trained_on: int | None  # scored episodes whose problem the run trained on
    samples: int
    episodes: int
    scored: int
    successes: int
    success: float | None
    low: float | None
    high: float | None
    interval: str
    rerun_error: float | None
    pass_at: dict[int, float | None]
    pass_all: dict[int, float | None]
    mean_return: float | None
    return_low: float | None
    return_high: float | None
    mean_turns: float | None
    tokens: int | None
    prompt_tokens: int | None
    responses: int
    parse_failures: int
    stops: dict[str, int]

    @property
    def unscored(self) -> int:
        return self.episodes - self.scored

    def fields(self) -> dict[str, Any]:
        return {**asdict(self), "unscored": self.unscored}


def summarise(results: list[Result], *, samples: int) -> Summary:
    """`results` of one environment and temperature, at least one. Results of one seed form a cluster."""
    scored = [result for result in results if result.scored]
    by_seed: dict[int, list[Result]] = {}
    for result in scored:
        by_seed.setdefault(result.seed, []).append(result)
    outcomes = [[float(bool(result.success)) for result in group] for group in by_seed.values()]
    returns = [[result.raw_return or 0.0 for result in group] for group in by_seed.values()]
    counts = [(len(group), int(sum(group))) for group in outcomes]
    complete = len(scored) == len(results)
    known = success_interval(outcomes) if outcomes else None
    ends = bootstrap_mean(returns, seed=min(by_seed)) if len(returns) > 1 else (None, None)
    return Summary(
        environment=results[0].environment,
        temperature=results[0].temperature,
        prompts=len({result.seed for result in results}),
        problems=len({result.problem for result in results if result.problem}),
        trained_on=_sum([None if result.trained_on is None else int(result.trained_on) for result in scored]),
        samples=samples,
        episodes=len(results),
        scored=len(scored),
        successes=sum(successes for _, successes in counts),
        success=known.rate if known else None,
        low=known.low if known else None,
        high=known.high if known else None,
        interval=METHODS[known.method] if known else "",
        rerun_error=rerun_error(outcomes),
        # a mean over the others would hide a prompt without scores
        pass_at={k: suite_pass_at_k(counts, k) if complete else None for k in shown_k(samples)},
        pass_all={k: suite_pass_all_k(counts, k) if complete else None for k in shown_k(samples)},
        mean_return=fmean(result.raw_return or 0.0 for result in scored) if scored else None,
        return_low=ends[0],
        return_high=ends[1],
        mean_turns=fmean(result.turns for result in scored) if scored else None,
        tokens=_sum([result.tokens for result in results]),
        prompt_tokens=_sum([result.prompt_tokens for result in results]),
        responses=sum(result.turns for result in results),
        parse_failures=sum(result.parse_failures for result in results),
        stops=dict(sorted(Counter(result.stop for result in results).items())),
    )


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
