"""Our training step against TRL's GRPO trainer, in one run: the same model, FrozenLake, batch and number of updates.

Both play 16 problems x 8 trajectories of up to five turns with our environments, prompts and parser, and make two
updates. TRL samples with transformers' `generate` (its default without vLLM) through its own `rollout_func` hook, and
learns with its own GRPO loss. Each runs in a process of its own with all cores; the two take turns, `--rounds` times.

    make setup-trl
    python -m benchmarks.training_against_trl [--rounds N]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GROUPS, MEMBERS, UPDATES, STEPS, WARM_UP = 16, 8, 2, 8, 2
ROWS = GROUPS * MEMBERS
STARTER = "engine/configs/starter.toml"
TRL_PYTHON = Path(__file__).resolve().parents[1] / ".venv-trl" / "bin" / "python"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trl-python", default=str(TRL_PYTHON), help="the interpreter that has TRL")
    parser.add_argument("--rounds", type=int, default=2, help="times that each is measured, in turn")
    parser.add_argument("--only-trl", action="store_true", help="measure TRL in this process")
    options = parser.parse_args()
    if options.only_trl:
        sys.stdout.write(json.dumps(trl_step_seconds()) + "\n")
        return 0
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(options.rounds):
        ours.append(measure([sys.executable, "-m", "engine", "bench", STARTER, "--steps", str(STEPS)])["time/step"])
        theirs.append(measure([options.trl_python, "-m", "benchmarks.training_against_trl", "--only-trl"]))
    a, b = statistics.median(ours), statistics.median(theirs)
    result = {"ours_trajectories_per_second": round(ROWS / a, 1), "trl_trajectories_per_second": round(ROWS / b, 1)}
    seconds = {"ours_step_seconds": round(a, 2), "trl_step_seconds": round(b, 2), "ratio": round(b / a, 2)}
    sys.stdout.write(json.dumps({"benchmark": "training_against_trl", **result, **seconds}) + "\n")
    return 0


def measure(command: list[str]) -> Any:
    environment = {**os.environ, "TRL_EXPERIMENTAL_SILENCE": "1", "HF_HUB_OFFLINE": "1", "GOMP_SPINCOUNT": "1000"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:3])} … failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def trl_step_seconds() -> float:
    """Median seconds from one rollout of TRL's trainer to the next: sampling, advantages and its updates."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from engine.config import read_config
    from engine.policies.model_paths import model_source

    config = read_config(Path(STARTER))
    rollouts = Rollouts(config)
    with tempfile.TemporaryDirectory() as directory:
        arguments = GRPOConfig(
            output_dir=directory,
            per_device_train_batch_size=ROWS // UPDATES,
            steps_per_generation=UPDATES,
            num_generations=MEMBERS,
            max_completion_length=config.rollout.max_context_tokens,
            learning_rate=config.optimizer.learning_rate,
            beta=0.0,
            temperature=config.rollout.temperature,
            max_steps=UPDATES * (WARM_UP + STEPS + 1),
            bf16=False,
            use_cpu=True,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            logging_steps=10_000,
            model_init_kwargs={"dtype": "float32"},
        )
        trainer = GRPOTrainer(
            model=model_source("tiny"),
            reward_funcs=lambda completions, score, **_: score,
            args=arguments,
            train_dataset=Dataset.from_list([{"prompt": str(seed)} for seed in range(4096)]),
            rollout_func=rollouts,
        )
        trainer.train()
    times = rollouts.began
    gaps = [later - sooner for sooner, later in itertools.pairwise(times)]
    return statistics.median(gaps[WARM_UP:])


class Rollouts:
    """TRL's hook: plays the episodes of a batch with our environments and TRL's model."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.began: list[float] = []

    def __call__(self, prompts: list[str], trainer: Any) -> dict[str, Any]:
        from engine.rollout.agent_proxy import AgentProxy
        from engine.rollout.context_manager import ContextManager
        from engine.rollout.env_state_manager import EnvStateManager

        if len(prompts) != ROWS:
            raise SystemExit(f"TRL asked for {len(prompts)} rollouts at once instead of {ROWS}")
        self.began.append(time.monotonic())
        manager = EnvStateManager(self.config.environments, groups=GROUPS, group_size=MEMBERS, seed=1)
        context = ContextManager(trainer.processing_class, think=True)
        proxy = AgentProxy(context, think=True, max_context_tokens=self.config.rollout.max_context_tokens)
        model = trainer.accelerator.unwrap_model(trainer.model)
        trajectories = proxy.rollout(
            GenerateSampler(model, trainer.processing_class), manager.training_batch(len(self.began))
        )
        first = [trajectory.turns[0].response_start for trajectory in trajectories]
        return {
            "prompt_ids": [t.ids[:start] for t, start in zip(trajectories, first, strict=True)],
            "completion_ids": [t.ids[start:] for t, start in zip(trajectories, first, strict=True)],
            "env_mask": [t.sampled[start:] for t, start in zip(trajectories, first, strict=True)],
            "logprobs": None,
            "score": [t.score for t in trajectories],
        }


class GenerateSampler:
    """Responses by transformers' `generate`, all waiting rows at once, padded on the left."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.contexts: dict[int, list[int]] = {}
        self.waiting: dict[int, int] = {}

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        self.contexts.setdefault(row, []).extend(ids)
        self.waiting[row] = max_tokens

    def restart(self, row: int) -> None:
        self.contexts.pop(row, None)

    def release(self, row: int) -> None:
        self.contexts.pop(row, None)

    def advance(self, *, block: bool = True) -> list[Any]:
        import torch

        from engine.rollout.types import Response

        if not self.waiting:
            return []
        rows, limit = list(self.waiting), max(self.waiting.values())
        self.waiting.clear()
        longest = max(len(self.contexts[row]) for row in rows)
        pad, end = self.tokenizer.pad_token_id, self.tokenizer.eos_token_id
        padded = [[pad] * (longest - len(self.contexts[row])) + self.contexts[row] for row in rows]
        mask = [[0] * (longest - len(self.contexts[row])) + [1] * len(self.contexts[row]) for row in rows]
        with torch.inference_mode():
            out = self.model.generate(
                torch.tensor(padded), attention_mask=torch.tensor(mask), do_sample=True, temperature=1.0, top_k=0,
                max_new_tokens=limit, pad_token_id=pad, eos_token_id=end,
            )  # fmt: skip
        responses = []
        for row, sampled in zip(rows, out[:, longest:].tolist(), strict=True):
            ids = sampled[: sampled.index(end) + 1] if end in sampled else sampled
            self.contexts[row].extend(ids)
            zeros = [0.0] * len(ids)
            responses.append(Response(row=row, ids=ids, logprobs=zeros, entropies=zeros, ended=end in sampled))
        return responses


if __name__ == "__main__":
    sys.exit(main())
