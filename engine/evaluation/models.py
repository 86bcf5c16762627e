"""The model that is evaluated: a local one, or an endpoint. Both play the same episodes with the same turn loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from engine.config import RolloutConfig, RunConfig
from engine.cpu_threads import threads_for
from engine.errors import ConfigError, EnvironmentFault, EnvironmentUnavailable, StarboardError
from engine.evaluation.results import Result, Stop, result_of
from engine.policies.chat_endpoint import ChatEndpoint
from engine.policies.openai_policy import ChatContext, ChatSampler
from engine.policies.truncation import NO_TRUNCATION, Truncation
from engine.rollout.agent_proxy import AgentProxy, Player, ResponseSampler
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.types import Response, Trajectory
from engine.training.seen_problems import SeenProblems

UNLIMITED = 10**12  # the endpoint has its own limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """Results in the order of the specs, and the error that ended the batch early, if any."""

    results: list[Result]
    failure: StarboardError | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedEpisode:
    """An episode that is over, by its position among the specs. `piece` returns the text of one of its ids."""

    index: int
    result: Result
    trajectory: Trajectory
    piece: Callable[[int], str]


Over = Callable[[PlayedEpisode], None]


class EvaluatedModel(Protocol):
    name: str
    address: str  # of the endpoint; empty for a local model
    at_once: int  # episodes that one call of `play` should have

    def use(self, rollout: RolloutConfig) -> None:
        """Prompts and contexts of the next episodes."""

    def play(
        self,
        specs: list[EpisodeSpec],
        *,
        temperature: float,
        truncation: Truncation = NO_TRUNCATION,
        over: Over | None = None,
    ) -> Played:
        """One sample of each problem in `specs`.

        With `over`, which gets each episode as soon as it is over, every episode draws from a random stream of its own,
        so that it does not matter which others it is played with. Episodes that could not be played to their end, for
        want of the model, are in the results only.
        """

    def notes(self) -> list[str]:
        """Remarks for readers of its results."""

    def close(self) -> None: ...


class LocalModel:
    """A Hugging Face directory, or a bundled model. Samples exactly like a trainer's own evaluation."""

    at_once = 64

    def __init__(self, config: RunConfig, path: str, *, adapter: Path | None = None) -> None:
        import torch

        from engine.policies.adapter import merge_adapter
        from engine.policies.loading import compute_in, load_model

        torch.set_num_threads(threads_for(config.threads))
        self.name, self.address = path, ""
        self.seen = SeenProblems.read(Path(path).parent)  # of a checkpoint, whose part it is
        self.model, self.tokenizer = load_model(path, device="cuda" if torch.cuda.is_available() else "cpu")
        if adapter is not None:
            merge_adapter(self.model, adapter)
        compute_in(self.model, config.optimizer.precision, float32=config.optimizer.float32_matmul_precision)
        self.use(config.rollout)

    def use(self, rollout: RolloutConfig) -> None:
        from engine.policies.loading import stop_token_ids
        from engine.rollout.context_manager import ContextManager

        self.configured_context = rollout.max_context_tokens
        self.rows_at_once = rollout.rows_at_once
        self.context_tokens = min(self.configured_context, self._own_limit())
        stops, strings = stop_token_ids(self.model), rollout.stop_strings
        context = ContextManager(self.tokenizer, think=rollout.think, stops=stops, stop_strings=strings)
        self.proxy = AgentProxy.of(rollout, context, max_context_tokens=self.context_tokens)

    def play(
        self,
        specs: list[EpisodeSpec],
        *,
        temperature: float,
        truncation: Truncation = NO_TRUNCATION,
        over: Over | None = None,
    ) -> Played:
        from engine.policies.batched_sampler import BatchedSampler
        from engine.policies.rounded_weights import rounded_once

        sample = specs[0].member
        seeds = [specs[0].seed, 2, *([sample] if sample else [])]  # the first sample has the trainer's seeds
        sampler = BatchedSampler(
            self.model,
            rows=len(specs),
            at_once=self.rows_at_once,
            stop_ids=self.proxy.context.stop_ids,
            stop_strings=self.proxy.context.stop_strings,
            temperature=temperature,
            truncation=truncation,
            seeds=seeds,
            row_seeds=[[spec.seed, 2, spec.member] for spec in specs] if over else None,
        )
        timed = TimedSampler(sampler, rows=len(specs))
        players = self.proxy.players(specs)

        def result(row: int, failure: StarboardError | None = None) -> Result:
            trajectory = players[row].trajectory
            return result_of(
                trajectory,
                specs[row],
                model=self.name,
                temperature=temperature,
                stop=timed.stop_of(row, trajectory),
                tokens=trajectory.response_tokens,
                prompt_tokens=len(trajectory.ids) - trajectory.response_tokens,
                seconds=timed.seconds(row),
                error=trajectory.fault or ("" if timed.is_over(row, trajectory) else str(failure)),
                seen=self.seen,
            )

        with rounded_once(self.model):
            return play_out(self.proxy, timed, players, result, over)

    def notes(self) -> list[str]:
        if self.context_tokens == self.configured_context:
            return []
        return [
            f"Episodes end at {self.context_tokens} tokens, the model's own limit, not at "
            f"rollout.max_context_tokens = {self.configured_context}."
        ]

    def close(self) -> None:
        pass

    def _own_limit(self) -> int:
        """The model's maximum position embeddings; beyond them it responds, but badly."""
        limit = getattr(self.model.config, "max_position_embeddings", None)
        return limit if isinstance(limit, int) and limit > 0 else self.configured_context


class EndpointModel:
    """A model behind an OpenAI-compatible endpoint, which has its own context limit."""

    at_once = 256

    def __init__(self, config: RunConfig, endpoint: ChatEndpoint, *, concurrency: int) -> None:
        self.name, self.address = endpoint.settings.model, endpoint.url
        self.endpoint, self.concurrency = endpoint, concurrency
        self.use(config.rollout)

    def use(self, rollout: RolloutConfig) -> None:
        self.rollout = rollout

    def play(
        self,
        specs: list[EpisodeSpec],
        *,
        temperature: float,
        truncation: Truncation = NO_TRUNCATION,
        over: Over | None = None,
    ) -> Played:
        context = ChatContext(think=self.rollout.think, stop_strings=self.rollout.stop_strings)
        sampler = ChatSampler(
            self.endpoint,
            context,
            specs,
            temperature=temperature,
            truncation=truncation,
            concurrency=self.concurrency,
        )
        timed = TimedSampler(sampler, rows=len(specs))
        proxy = AgentProxy.of(self.rollout, context, max_context_tokens=UNLIMITED)
        players = proxy.players(specs)

        def result(index: int, failure: StarboardError | None = None) -> Result:
            trajectory, row = players[index].trajectory, sampler.rows[index]
            return result_of(
                trajectory,
                specs[index],
                model=self.name,
                temperature=temperature,
                stop=row.stop or timed.stop_of(index, trajectory),
                tokens=row.response_tokens,
                prompt_tokens=row.prompt_tokens,
                seconds=row.seconds,
                error=row.problem or trajectory.fault or ("" if timed.is_over(index, trajectory) else str(failure)),
            )

        try:
            return play_out(proxy, timed, players, result, over)
        finally:
            sampler.close()

    def notes(self) -> list[str]:
        retried = [f"{self.endpoint.retried} requests were retried."] if self.endpoint.retried else []
        return [*self.endpoint.notes.values(), *retried]

    def close(self) -> None:
        self.endpoint.close()


class TimedSampler:
    """A `ResponseSampler` that records when each row started and ended, and calls `ended_row` with one that has."""

    def __init__(self, sampler: ResponseSampler, *, rows: int) -> None:
        self.sampler = sampler
        self.started: list[float | None] = [None] * rows
        self.ended: list[float | None] = [None] * rows
        self.ended_row: Callable[[int], None] = lambda row: None

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        if self.started[row] is None:
            self.started[row] = time.monotonic()
        self.sampler.submit(row, ids, max_tokens=max_tokens)

    def restart(self, row: int) -> None:
        self.sampler.restart(row)

    def advance(self, *, block: bool = True) -> list[Response] | None:
        return self.sampler.advance(block=block)

    def release(self, row: int) -> None:
        self.ended[row] = time.monotonic()
        self.sampler.release(row)
        self.ended_row(row)

    def is_over(self, row: int, trajectory: Trajectory) -> bool:
        return self.ended[row] is not None or trajectory.stop in ("fault", "context_full", "max_tokens")

    def stop_of(self, row: int, trajectory: Trajectory) -> Stop:
        return trajectory.stop if self.is_over(row, trajectory) else "not_played"

    def seconds(self, row: int) -> float:
        started, ended = self.started[row], self.ended[row]
        return ended - started if started is not None and ended is not None else 0.0


def play_out(
    proxy: AgentProxy, sampler: TimedSampler, players: list[Player], result: Callable[..., Result], over: Over | None
) -> Played:
    """Plays until all episodes are over or an error ends them; keeps what was played until then.

    `result(row, failure)` is that of a row. A row is reported to `over` when it is released; those that never start are
    reported at the end.
    """
    reported: set[int] = set()

    def report(row: int) -> None:
        if over is not None and row not in reported:
            over(PlayedEpisode(index=row, result=result(row), trajectory=players[row].trajectory, piece=piece))
            reported.add(row)

    def piece(token: int) -> str:
        return proxy.context.text([token])

    sampler.ended_row = report
    failure: StarboardError | None = None
    try:
        proxy.play(sampler, players)
    except EnvironmentUnavailable as error:
        failure = error
    except (EnvironmentFault, ConfigError):
        pass  # every episode of this environment failed, and its rows say so; other environments may succeed
    except StarboardError as error:
        failure = error
    except KeyboardInterrupt:
        failure = StarboardError("The evaluation was interrupted.", remedy="Its results so far are kept.")
    results = [result(row, failure) for row in range(len(players))]
    for row, one in enumerate(results):
        if one.stop != "not_played":
            report(row)
    return Played(results=results, failure=failure)
