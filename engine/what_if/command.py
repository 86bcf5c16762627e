"""`python -m engine what-if REQUEST.json --out DIR`: loads the policy, plays the fork, tells it as it goes on."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from engine.config import EnvironmentConfig, RunConfig, problems_by_field, read_config
from engine.errors import ConfigError, StarboardError
from engine.policies.batched_sampler import BatchedSampler
from engine.policies.loading import compute_in, context_limit, stop_token_ids
from engine.rollout.agent_proxy import AgentProxy, Player
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EpisodeSpec, chance_seed
from engine.rollout.records import record_of
from engine.rollout.shards import read_record, write_shard
from engine.rollout.types import Response
from engine.training.checkpoint import load_policy
from engine.what_if.fork import EditedWindow, Fork, ForkSampler, check_end, check_prompt, fork_of
from engine.what_if.output import Output
from engine.what_if.request import TRAJECTORY, WhatIfRequest

WHAT_IF_STREAM = 13
EXIT_DONE, EXIT_FAILED = 0, 1
UNFINISHED = "\ufffd"  # the first bytes of a character whose others are not sampled yet


class LimitReached(Exception):
    """Says in words which limit ended the fork."""


def ask_what_if(request_path: Path, folder: Path) -> int:
    """0 when it was played, to its end or to a limit; 1 when not, and then its last message says why."""
    output = Output(folder)
    try:
        _play(_read(request_path), output)
        return EXIT_DONE
    except StarboardError as error:
        output.tell("refused", message=error.message, remedy=error.remedy)
    except Exception as error:  # the environment is somebody's code, and the model anything
        output.tell("failed", message=f"{type(error).__name__}: {error}"[:1000], remedy="engine.log says where.")
        raise
    finally:
        output.close()
    return EXIT_FAILED


def _read(path: Path) -> WhatIfRequest:
    try:
        return WhatIfRequest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        problems = "; ".join(f"{field}: {reason}" for field, reason in problems_by_field(error))
        raise ConfigError(problems, remedy="Mend what is named.") from None


def _play(request: WhatIfRequest, output: Output) -> None:
    run_dir = Path(request.run_dir)
    config = read_config(run_dir / "config.json", [])
    record = read_record(run_dir / request.shard, request.offset, request.length)
    environment = _environment(config, record)
    device = "cuda" if request.device == "auto" and torch.cuda.is_available() else "cpu"
    output.tell("loading", device=device, checkpoint=request.checkpoint, model=config.model.path)
    torch.set_num_threads(config.threads or os.cpu_count() or 1)
    model, tokenizer = load_policy(config, _checkpoint(run_dir, request.checkpoint), device=device)
    compute_in(model, config.optimizer.precision)
    context = ContextManager(tokenizer, think=config.rollout.think, stops=stop_token_ids(model))
    fork = fork_of(record, request, context, room=environment.max_response_tokens)

    limit = context_limit(model, config.rollout.max_context_tokens)
    proxy = AgentProxy.of(config.rollout, context, max_context_tokens=limit)
    proxy.window = EditedWindow(proxy.window, fork)
    member = int(record["member"])
    spec = EpisodeSpec(
        environment=environment,
        group=record["group"],
        member=member,
        seed=record["seed"],
        chance_seed=chance_seed(record["seed"], member),
    )
    players = proxy.players([spec])
    telling = Telling(players[0], fork, context, output, request)
    inner = HeardSampler(
        model,
        rows=1,
        stop_ids=context.stop_ids,
        temperature=request.temperature,
        seeds=[request.seed, WHAT_IF_STREAM],
        heard=telling.hear,
    )
    stopped = ""
    try:
        proxy.play(ForkSampler(inner, fork, telling.prompted), players, check_cancelled=telling.look)
        check_end(fork, players[0])
    except LimitReached as reached:
        stopped = str(reached)
    _finish(request, fork, players[0], context, output, stopped)


def _environment(config: RunConfig, record: dict[str, Any]) -> EnvironmentConfig:
    for environment in config.environments:
        if environment.tag == record["environment"] and environment.kind == record["kind"]:
            return environment
    raise ConfigError(
        f"The run's configuration has no environment {record['environment']!r} of the kind {record['kind']!r}.",
        remedy="Ask it of a trajectory that was recorded here.",
    )


def _checkpoint(run_dir: Path, name: str) -> Path | None:
    if not name:
        return None
    found = run_dir / "checkpoints" / name
    if not found.is_dir():
        raise ConfigError(
            f"The checkpoint {name} is gone: the run keeps its newest ones.", remedy="Choose one that is listed."
        )
    return found


class HeardSampler(BatchedSampler):
    """Says each token at once: `heard` gets the response so far and whether it is whole, and raises to break off."""

    def __init__(self, model: Any, *, heard: Callable[[list[int], bool], None], **options: Any) -> None:
        super().__init__(model, **options)
        self.heard = heard

    def _take(self, row: int, token: int, logprob: float, entropy: float) -> Response | None:
        response = super()._take(row, token, logprob, entropy)
        self.heard(self.rows[row].ids, response is not None)
        return response


class Telling:
    """Follows the play: checks what is played again, tells what is new, and holds the limits."""

    def __init__(
        self, player: Player, fork: Fork, context: ContextManager, output: Output, request: WhatIfRequest
    ) -> None:
        self.player, self.fork, self.context, self.output, self.request = player, fork, context, output, request
        self.until = time.monotonic() + request.most_seconds
        self.tokens = 0
        self.told = fork.turn  # turns that are told, or were recorded
        self.said = ""

    def prompted(self, turn: int, ids: list[int]) -> None:
        """Before anything is said to the prompt of `turn`."""
        check_prompt(self.fork, self.player, turn, ids)
        self.look()
        self.said = ""
        if turn == self.fork.turn:
            self.output.tell("replayed", turns=turn)
        if turn >= self.fork.turn:
            self.output.tell("prompt", turn=turn, text=self.context.text(ids))

    def hear(self, ids: list[int], whole: bool) -> None:
        self.tokens += 1
        text = self.context.response_text(ids)
        if not text.endswith(UNFINISHED):
            self.output.say(len(self.player.trajectory.turns), text[len(self.said) :])
            self.said = text
        if whole:
            return
        if self.tokens >= self.request.most_tokens:
            raise LimitReached(f"It was ended at its limit of {self.request.most_tokens} tokens.")
        if time.monotonic() > self.until:
            raise LimitReached(f"It was ended at its limit of {self.request.most_seconds:g} seconds.")

    def look(self) -> None:
        """Tells the turns that were played since it last looked."""
        turns = self.player.trajectory.turns
        for index in range(self.told, len(turns)):
            turn = turns[index]
            self.output.tell(
                "turn",
                turn=index,
                response=turn.response,
                parse=turn.parsed.case,
                executed=turn.executed,
                reward=turn.reward,
                penalty=turn.penalty,
            )
        self.told = max(self.told, len(turns))


def _finish(
    request: WhatIfRequest, fork: Fork, player: Player, context: ContextManager, output: Output, stopped: str
) -> None:
    """Writes the trajectory as a record like any other, with what was asked of it."""
    trajectory = player.trajectory
    for index, turn in enumerate(trajectory.turns[: len(fork.responses)]):
        response = slice(turn.response_start, turn.response_end)
        trajectory.sampled[response] = _who_sampled(fork, index, turn.response_end - turn.response_start)
    record = record_of(
        trajectory, step=fork.record["step"], split=fork.record["split"], piece=lambda token: context.text([token])
    )
    record["stop"] = "limit" if stopped else record["stop"]
    asked = json.loads(request.model_dump_json(exclude={"run_dir", "shard", "offset", "length", "device"}))
    record["what_if"] = {"of": fork.record["id"], **asked}
    record["what_if"]["prompts"] = sorted(turn for turn in fork.prompts if turn < len(trajectory.turns))
    if "what_if" in fork.record:
        record["what_if"]["after"] = fork.record["what_if"]
    write_shard(output.folder / TRAJECTORY, [record])
    output.tell(
        "finished",
        turns=len(trajectory.turns),
        success=trajectory.success,
        episode_return=trajectory.raw_return,
        stop=record["stop"],
        note=stopped,
    )


def _who_sampled(fork: Fork, index: int, count: int) -> list[int]:
    """Of the `count` tokens of a response that was played again, as it was recorded; nobody sampled an edited one."""
    if index == fork.turn:
        return [0] * count
    turn = fork.record["turns"][index]
    return list(fork.record["tokens"]["sampled"][turn["response_start"] : turn["response_end"]])
