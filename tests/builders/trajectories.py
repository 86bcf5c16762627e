"""Trajectories as a run leaves them: real environments played through the engine's own turn loop by a scripted player.

Only the sampler and the tokenizer stand in: words are tokens, and log-probabilities and entropies are made up.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from statistics import fmean, pstdev
from typing import Any, ClassVar

import numpy as np

from engine.config import EnvironmentConfig
from engine.environments.base import UNKNOWN
from engine.events import TrajectoriesRecorded
from engine.rollout.agent_proxy import AgentProxy
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EnvStateManager
from engine.rollout.environment_pool import local_environments
from engine.rollout.episode import Episode
from engine.rollout.records import record_of
from engine.rollout.trajectory_files import write_trajectory_file
from engine.rollout.types import Response, Trajectory
from webapp.runs.models import Run
from webapp.trajectories.models import Trajectory as TrajectoryRow
from workers.bridge import save_trajectories
from workers.rows import Rows

END = "<|im_end|>"
MALFORMED = ("I will go now", "<answer>Left</answer>", "go on</think><answer>Jump</answer>", "I think and think")


class WordTokenizer:
    """Every word, sign and run of blanks is a token; ids are given in the order of first sight."""

    eos_token = END
    eos_token_id = 0
    all_special_tokens = ("<|im_start|>", END)
    added_tokens_decoder: ClassVar[dict[int, Any]] = {}

    def __init__(self) -> None:
        self.pieces = [END]
        self.ids = {END: 0}

    def apply_chat_template(
        self, messages: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool
    ) -> str:
        text = "".join(f"<|im_start|>{message['role']}\n{message['content']}{END}\n" for message in messages)
        return text + ("<|im_start|>assistant\n" if add_generation_prompt else "")

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return [self._id(piece) for piece in re.findall(r"<\|\w+\|>|</?\w+>| ?\w+|\s|.", text, re.DOTALL)]

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        return "".join(self.pieces[token] for token in ids)

    def _id(self, piece: str) -> int:
        if piece not in self.ids:
            self.ids[piece] = len(self.pieces)
            self.pieces.append(piece)
        return self.ids[piece]


class ScriptedSampler:
    """Responses for every row: the next moves of a shortest solution with chance `skill`, else random ones; malformed
    with chance `faults`, and with an action too many with chance `surplus`."""

    def __init__(
        self,
        tokenizer: WordTokenizer,
        episodes: Mapping[int, Episode],
        *,
        skill: float,
        faults: float,
        surplus: float,
        seed: int,
    ) -> None:
        self.tokenizer = tokenizer
        self.episodes = episodes
        self.skill = skill
        self.faults = faults
        self.surplus = surplus
        self.stream = random.Random(seed)
        self.waiting: list[int] = []

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        self.waiting.append(row)

    def restart(self, row: int) -> None:
        pass

    def advance(self, *, block: bool = True) -> list[Response]:
        rows, self.waiting = self.waiting, []
        return [self._response(row) for row in rows]

    def release(self, row: int) -> None:
        pass

    def _response(self, row: int) -> Response:
        ids = [*self.tokenizer.encode(self._response_text(self.episodes[row]), add_special_tokens=False), 0]
        surprise = [self.stream.expovariate(3.0) for _ in ids]
        entropies = [min(2.5, value * self.stream.uniform(0.6, 1.6)) for value in surprise]
        return Response(row=row, ids=ids, logprobs=[-value for value in surprise], entropies=entropies, ended=True)

    def _response_text(self, episode: Episode) -> str:
        if self.stream.random() < self.faults:
            return self.stream.choice(MALFORMED)
        environment = episode.environment
        if environment.action_names() is None:
            rng = np.random.default_rng(self.stream.randrange(2**32))
            act = environment.scripted_action if self.stream.random() < self.skill else environment.random_action
            return f"Some words on what to do next</think><answer>{act(rng)}</answer>"
        names, found = environment.action_names() or [], environment.solution()
        plan = [] if found is None or found is UNKNOWN else found
        if plan and self.stream.random() < self.skill:
            chosen = [names[action] for action in plan[: episode.config.max_actions_per_turn]]
        else:
            chosen = [self.stream.choice(names)]
        if self.surplus and self.stream.random() < self.surplus:
            chosen += [names[0]] * (episode.config.max_actions_per_turn + 1 - len(chosen))
        thought = f"From here the way is {' then '.join(chosen)}, and no hole is in between"
        return f"{thought}</think><answer>{' || '.join(chosen)}</answer>"


def play_step(
    config: EnvironmentConfig,
    *,
    step: int = 1,
    groups: int = 4,
    group_size: int = 4,
    skill: float = 0.6,
    faults: float = 0.1,
    surplus: float = 0.0,
    split: str = "train",
    seed: int = 1,
) -> list[dict[str, Any]]:
    """The records of one step; of each group the returns decide advantages and whether it was kept."""
    tokenizer = WordTokenizer()
    proxy = AgentProxy(ContextManager(tokenizer, think=True), think=True, max_context_tokens=100_000)
    manager = EnvStateManager([config], groups=groups, group_size=group_size, seed=seed)
    players = proxy.players(manager.training_batch(step))
    with local_environments(0) as environments:
        sampler = ScriptedSampler(
            tokenizer,
            environments.episodes,
            skill=skill,
            faults=faults,
            surplus=surplus,
            seed=seed * 1000 + step,
        )
        proxy.play(sampler, players, environments=environments)
    played = [player.trajectory for player in players]
    return [_record(trajectory, played, tokenizer, step=step, split=split) for trajectory in played]


def record_steps(run: Run, config: EnvironmentConfig, *, steps: range, **options: Any) -> list[TrajectoryRow]:
    """Plays and records `steps` of a run: files in its directory, and the rows that the bridge makes of them."""
    rows = Rows(run)
    for step in steps:
        records = play_step(config, step=step, **options)
        file = f"trajectories/{records[0]['split']}/step_{step}.jsonl.zst"
        write_trajectory_file(run.directory / file, records)
        event = TrajectoriesRecorded(
            seq=step + 1,
            time=1.0,
            attempt=1,
            epoch=0,
            step=step,
            split=records[0]["split"],
            path=file,
            count=len(records),
        )
        rows.add(event)
    save_trajectories(rows)
    return list(TrajectoryRow.objects.filter(run=run, file__in=rows.trajectories).order_by("pk"))


def _record(
    trajectory: Trajectory, played: list[Trajectory], tokenizer: WordTokenizer, *, step: int, split: str
) -> dict[str, Any]:
    scores = [other.score for other in played if other.group == trajectory.group]
    std = pstdev(scores)
    advantage = (trajectory.score - fmean(scores)) / (std + 1e-6)
    return record_of(
        trajectory,
        step=step,
        split=split,
        piece=lambda token: tokenizer.pieces[token],
        advantages=[advantage * sampled for sampled in trajectory.sampled],
        kept=std > 0.1,
        group_std=std,
    )
