"""`python -m engine what-if REQUEST.json --out DIR`: loads the policy, plays the fork, and emits it turn by turn."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from engine.config import EnvironmentConfig, RunConfig, problems_by_field, read_config
from engine.cpu_threads import threads_for
from engine.errors import ConfigError, StarboardError
from engine.forking import begun_at, pin_start
from engine.policies.batched_sampler import BatchedSampler
from engine.policies.loading import compute_in, context_limit, stop_token_ids
from engine.policies.rounded_weights import rounded_once
from engine.rollout.agent_proxy import AgentProxy, Player
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EpisodeSpec, chance_seed
from engine.rollout.records import record_of
from engine.rollout.trajectory_files import read_record, write_trajectory_file
from engine.rollout.types import Response
from engine.starting_adapter import with_pinned_adapter
from engine.training.checkpoint import load_policy
from engine.what_if.events import Failed, Finished, Loading, PromptBuilt, Refused, Replayed, TurnPlayed
from engine.what_if.fork import EditedWindow, Fork, ForkSampler, check_end, check_prompt, fork_of
from engine.what_if.output import Output
from engine.what_if.request import TRAJECTORY, WhatIfRequest

WHAT_IF_STREAM = 13
EXIT_DONE, EXIT_FAILED = 0, 1
UNFINISHED = "\ufffd"  # the first bytes of a character whose others are not sampled yet


class LimitReached(Exception):
    """Its message is the limit that ended the fork."""


def play_what_if(request_path: Path, folder: Path) -> int:
    """0 if it was played to its end or to a limit; 1 if not: then the last event says why."""
    output = Output(folder)
    try:
        _play(_read(request_path), output)
        return EXIT_DONE
    except StarboardError as error:
        output.emit(Refused(message=error.message, remedy=error.remedy))
    except Exception as error:  # environments and models are code of others
        message = f"{type(error).__name__}: {error}"[:1000]
        output.emit(Failed(message=message, remedy="The traceback is in engine.log."))
        raise
    finally:
        output.close()
    return EXIT_FAILED


def _read(path: Path) -> WhatIfRequest:
    try:
        return WhatIfRequest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        problems = "; ".join(f"{field}: {reason}" for field, reason in problems_by_field(error, WhatIfRequest))
        raise ConfigError(problems, remedy="Fix the fields named above.") from None


def _play(request: WhatIfRequest, output: Output) -> None:
    run_dir = Path(request.run_dir)
    config = read_config(run_dir / "config.json", [])
    record = read_record(run_dir / request.file, request.offset, request.length)
    environment = _environment(config, record)
    device = "cuda" if request.device == "auto" and torch.cuda.is_available() else "cpu"
    output.emit(Loading(device=device, checkpoint=request.checkpoint, model=config.model.path))
    torch.set_num_threads(threads_for(config.threads))
    began = begun_at(with_pinned_adapter(config, run_dir), pin_start(config, run_dir))
    model, tokenizer = load_policy(began, _checkpoint(run_dir, request.checkpoint), device=device)
    compute_in(model, config.optimizer.precision, float32=config.optimizer.float32_matmul_precision)
    context = ContextManager(
        tokenizer,
        think=config.rollout.think,
        stops=stop_token_ids(model),
        stop_strings=config.rollout.stop_strings,
    )
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
    follower = Follower(players[0], fork, context, output, request)
    inner = StreamingSampler(
        model,
        rows=1,
        stop_ids=context.stop_ids,
        stop_strings=context.stop_strings,
        temperature=request.temperature,
        seeds=[request.seed, WHAT_IF_STREAM],
        on_token=follower.follow_token,
    )
    stopped = ""
    try:
        with rounded_once(model):
            proxy.play(ForkSampler(inner, fork, follower.check_prompt), players, check_cancelled=follower.emit_turns)
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
        remedy="Fork a trajectory that was recorded here.",
    )


def _checkpoint(run_dir: Path, name: str) -> Path | None:
    if not name:
        return None
    found = run_dir / "checkpoints" / name
    if not found.is_dir():
        raise ConfigError(
            f"The checkpoint {name} no longer exists: the run keeps only the newest.",
            remedy="Choose one that is listed.",
        )
    return found


class StreamingSampler(BatchedSampler):
    """Calls `on_token` after each token with the response so far and whether it is complete; it raises to stop."""

    def __init__(self, model: Any, *, on_token: Callable[[list[int], bool], None], **options: Any) -> None:
        super().__init__(model, **options)
        self.on_token = on_token

    def _take(self, row: int, token: int, logprob: float, entropy: float) -> Response | None:
        response = super()._take(row, token, logprob, entropy)
        self.on_token(self.rows[row].ids, response is not None)
        return response


class Follower:
    """Checks the replayed turns against the record, emits the new ones, and enforces the limits."""

    def __init__(
        self, player: Player, fork: Fork, context: ContextManager, output: Output, request: WhatIfRequest
    ) -> None:
        self.player, self.fork, self.context, self.output, self.request = player, fork, context, output, request
        self.until = time.monotonic() + request.most_seconds
        self.tokens = 0
        self.emitted = fork.turn  # turns that were emitted, or recorded
        self.text = ""

    def check_prompt(self, turn: int, ids: list[int]) -> None:
        """Called before a response to the prompt of `turn`."""
        check_prompt(self.fork, self.player, turn, ids)
        self.emit_turns()
        self.text = ""
        if turn == self.fork.turn:
            self.output.emit(Replayed(turns=turn))
        if turn >= self.fork.turn:
            self.output.emit(PromptBuilt(turn=turn, text=self.context.text(ids)))

    def follow_token(self, ids: list[int], complete: bool) -> None:
        self.tokens += 1
        text = self.context.response_text(ids)
        if not text.endswith(UNFINISHED):
            self.output.add_text(len(self.player.trajectory.turns), text[len(self.text) :])
            self.text = text
        if complete:
            return
        if self.tokens >= self.request.most_tokens:
            raise LimitReached(f"Stopped at the limit of {self.request.most_tokens} tokens.")
        if time.monotonic() > self.until:
            raise LimitReached(f"Stopped at the limit of {self.request.most_seconds:g} seconds.")

    def emit_turns(self) -> None:
        """Emits the turns that were played since the last call."""
        turns = self.player.trajectory.turns
        for index in range(self.emitted, len(turns)):
            turn = turns[index]
            self.output.emit(
                TurnPlayed(
                    turn=index,
                    response=turn.response,
                    parse=turn.parsed.case,
                    executed=turn.executed,
                    reward=turn.reward,
                    penalty=turn.penalty,
                )
            )
        self.emitted = max(self.emitted, len(turns))


def _finish(
    request: WhatIfRequest, fork: Fork, player: Player, context: ContextManager, output: Output, stopped: str
) -> None:
    """Writes the trajectory as a record like any other, with the request in it."""
    trajectory = player.trajectory
    for index, turn in enumerate(trajectory.turns[: len(fork.responses)]):
        response = slice(turn.response_start, turn.response_end)
        trajectory.sampled[response] = _sampled_mask(fork, index, turn.response_end - turn.response_start)
    record = record_of(
        trajectory, step=fork.record["step"], split=fork.record["split"], piece=lambda token: context.text([token])
    )
    record["stop"] = "limit" if stopped else record["stop"]
    request_fields = json.loads(request.model_dump_json(exclude={"run_dir", "file", "offset", "length", "device"}))
    record["what_if"] = {"of": fork.record["id"], **request_fields}
    record["what_if"]["prompts"] = sorted(turn for turn in fork.prompts if turn < len(trajectory.turns))
    if "what_if" in fork.record:
        record["what_if"]["after"] = fork.record["what_if"]
    write_trajectory_file(output.folder / TRAJECTORY, [record])
    output.emit(
        Finished(
            turns=len(trajectory.turns),
            success=trajectory.success,
            episode_return=trajectory.raw_return,
            stop=record["stop"],
            note=stopped,
        )
    )


def _sampled_mask(fork: Fork, index: int, count: int) -> list[int]:
    """Which of the `count` tokens of a replayed response the model sampled; none of an edited one."""
    if index == fork.turn:
        return [0] * count
    turn = fork.record["turns"][index]
    return list(fork.record["tokens"]["sampled"][turn["response_start"] : turn["response_end"]])
