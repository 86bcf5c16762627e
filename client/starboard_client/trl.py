"""A `TrainerCallback` for TRL and transformers.

>>> callback = StarboardCallback("lakes")
>>> trainer = GRPOTrainer(..., callbacks=[callback])
>>> callback.record_completions(trainer)  # as trajectories, group by group
>>> trainer.train()
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from starboard_client.recorder import Recorder

MOST_COMPLETIONS = 64  # of a step
EVALUATED = "eval_"
SUMMARY = "train_runtime"  # of the last call, which has totals


class StarboardCallback(TrainerCallback):  # type: ignore[misc]
    """`success_reward` is the reward from which a completion counts as a success; without it no success is reported.
    `completions` is the most that are recorded of a step. `options` are those of `Recorder`."""

    def __init__(
        self,
        project: str = "",
        *,
        success_reward: float | None = None,
        completions: int = MOST_COMPLETIONS,
        **options: Any,
    ) -> None:
        self.project, self.options = project, options
        self.success_reward, self.completions = success_reward, completions
        self.recorder: Recorder | None = None
        self._trainer: Any = None
        self._recorded: list[Any] = []  # of the newest generation

    def record_completions(self, trainer: Any) -> None:
        """Records prompts, completions, rewards and advantages of a trainer that keeps them, such as TRL's GRPO."""
        self._trainer = trainer

    def on_train_begin(self, args: Any, state: Any, control: Any, **about: Any) -> None:
        if not state.is_world_process_zero or self.recorder is not None:
            return
        config = getattr(about.get("model"), "config", None)
        options = {
            "source": "trl" if type(args).__module__.startswith("trl.") else "transformers",
            "name": Path(args.run_name or args.output_dir or "").name,
            "config": args.to_sanitized_dict(),
            "model": str(getattr(config, "_name_or_path", "") or ""),
            "steps": max(0, state.max_steps),
            **self.options,
        }
        self.recorder = Recorder(self.project, **options)

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **about: Any) -> None:
        if self.recorder is None or not logs or SUMMARY in logs:
            return
        step = state.global_step
        self.recorder.log({_name(name): value for name, value in logs.items() if _is_number(value)}, step)
        if not any(name.startswith(EVALUATED) for name in logs):
            self._record(step)

    def on_train_end(self, args: Any, state: Any, control: Any, **about: Any) -> None:
        """Not called after an exception: then the run ends as failed when the program does."""
        if self.recorder is not None:
            short = state.global_step < state.max_steps
            reason = f"It was stopped after step {state.global_step} of {state.max_steps}." if short else ""
            self.recorder.finish(reason=reason)
            self.recorder = None

    def _record(self, step: int) -> None:
        """The newest generation, unless it was recorded before: several updates are made with one."""
        kept = getattr(self._trainer, "_logs", None)
        if self.recorder is None or not kept or not kept.get("prompt"):
            return
        prompts, completions, advantages = (list(kept[name]) for name in ("prompt", "completion", "advantages"))
        if [*map(id, completions)] == [*map(id, self._recorded)]:
            return
        self._recorded = completions
        rewards = _totals(kept["rewards"], getattr(self._trainer, "reward_weights", None))
        size = self._trainer.num_generations
        groups = [rewards[start : start + size] for start in range(0, len(rewards), size)]
        self.recorder.log_groups([self._group(group) for group in groups], step)
        trajectories = [
            {
                "group": index // size,
                "member": index % size,
                "return": reward,
                "advantage": advantage,
                "messages": [*_messages(prompt, "user"), *_messages(completion, "assistant")],
                **({"success": reward >= self.success_reward} if self.success_reward is not None else {}),
            }
            for index, (prompt, completion, advantage, reward) in enumerate(
                zip(prompts, completions, advantages, rewards, strict=False)
            )
        ]
        self.recorder.log_trajectories(trajectories[: self.completions], step)

    def _group(self, rewards: Sequence[float]) -> dict[str, Any]:
        if self.success_reward is None:
            return {"returns": rewards}
        return {"returns": rewards, "successes": [reward >= self.success_reward for reward in rewards]}


def _name(name: str) -> str:
    """`eval_reward` as `eval/reward`, among the charts of held-out evaluations."""
    return f"eval/{name.removeprefix(EVALUATED)}" if name.startswith(EVALUATED) else name


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _totals(rewards: Mapping[str, Any], weights: Any) -> list[float]:
    """The weighted sum over reward functions; one that does not apply counts nothing."""
    columns = [list(column) for column in rewards.values()]
    factors = [float(weight) for weight in weights] if weights is not None else [1.0] * len(columns)
    return [
        sum(
            factor * float(value)
            for factor, value in zip(factors, row, strict=False)
            if value is not None and not math.isnan(float(value))
        )
        for row in zip(*columns, strict=True)
    ]


def _messages(text: Any, role: str) -> list[dict[str, str]]:
    """A text, or a chat, whose content may be a list of parts."""
    if isinstance(text, str):
        return [{"role": role, "content": text}]
    return [{"role": str(one.get("role", role)), "content": _content(one.get("content"))} for one in text]


def _content(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)
