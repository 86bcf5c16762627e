"""The same updates in one process and in two: what each process of a test runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from transformers import AutoModelForCausalLM
from transformers.pytorch_utils import Conv1D

from engine.policies.adapter import add_adapter, load_adapter
from engine.policies.meta_model import meta_model
from engine.policies.policy_weights import whole
from engine.training.learner import Learner
from engine.training.sharding import Alone, Sharded, Share
from tests.engine.training.builders import advantages_of, learner_config, made_up_batch
from tests.engine.training.together import end, meet

STEPS = 6
LENGTHS = (6, 40, 11, 3, 25, 18, 33)  # seven rows never split evenly


@dataclass(frozen=True)
class Case:
    """What is trained: a model of the folder, with sections of a configuration."""

    sections: dict[str, Any]
    model: str = "model"
    after: str = ""  # the file of another case's result, whose learner goes on


def in_one(case: Case, folder: Path, name: str) -> None:
    torch.save(train(case, Alone(), folder), folder / f"{name}.of_1.pt")


def in_two(rank: int, cases: dict[str, Case], folder: Path) -> None:
    """All cases, one after the other: two processes take longer to start than to train one."""
    torch.set_num_threads(1)
    meet(rank, 2, folder)
    for name, case in cases.items():
        result = train(case, Sharded(), folder)
        if rank == 0:
            torch.save(result, folder / f"{name}.of_2.pt")
        dist.barrier()  # another case may read it
    end()


def train(case: Case, share: Share, folder: Path) -> dict[str, Any]:
    """Metrics of each step, final weights and the learner's state, after `STEPS` updates."""
    learner = new_learner(share, folder / case.model, case.sections)
    used: set[str] = set()  # precisions of the first layer's weights while it computes
    linear = next(part for part in learner.model.base_model.modules() if isinstance(part, nn.Linear | Conv1D))
    linear.register_forward_pre_hook(lambda layer, _: used.add(str(layer.weight.dtype)))
    if case.after:
        learner.load_state_dict(torch.load(folder / case.after, weights_only=True)["learner"])
    return {
        "metrics": [one_update(learner, step) for step in range(1, STEPS + 1)],
        "weights": gathered(learner.model.state_dict()),
        "learner": gathered(learner.state_dict()),
        "used": sorted(used),
    }


def new_learner(share: Share, path: Path, sections: dict[str, Any]) -> Learner:
    config = learner_config(**sections)
    torch.manual_seed(0)  # an adapter begins at random, and as the same in all processes
    adapter = Path(config.model.adapter) if config.model.adapter else None
    if share.size > 1:
        model = meta_model(str(path), device="cpu", lora=config.model.lora, adapter=adapter)
        return Learner(model, config, share=share)
    model = AutoModelForCausalLM.from_pretrained(path, attn_implementation="sdpa").eval()
    if config.model.lora.rank:
        add_adapter(model, config.model.lora)
    if adapter is not None:
        load_adapter(model, adapter)
    return Learner(model, config, share=share)


def one_update(learner: Learner, step: int) -> dict[str, float]:
    batch = made_up_batch(LENGTHS, seed=step)
    values = learner.values(batch) if learner.critic is not None else None
    returns = advantages_of(batch) if values is not None else None
    shuffle = torch.Generator().manual_seed(step)
    return learner.update(batch, advantages_of(batch), step=step, shuffle=shuffle, values=values, returns=returns)


def gathered(state: Any) -> Any:
    """`state` with every shard made whole. All processes call it, and all have the result."""
    if isinstance(state, dict):
        return {key: gathered(value) for key, value in state.items()}
    if isinstance(state, list):
        return [gathered(value) for value in state]
    return whole(state) if isinstance(state, torch.Tensor) else state
