"""What each of two processes finds of models that it read its own part of; the tests look at what they wrote."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from transformers import Qwen2Config, Qwen2ForCausalLM

from engine.config import LoraSection, RunConfig, build_config
from engine.policies.adapter import add_adapter
from engine.policies.loading import load_model
from engine.policies.meta_model import meta_model
from engine.policies.policy_weights import whole
from engine.training import checkpoint
from engine.training.checkpoint_state import Progress
from engine.training.learner import Learner
from engine.training.sharded_state import LiveShards
from engine.training.sharding import Sharded
from tests.engine.models import words
from tests.engine.training.builders import made_up_batch, update
from tests.engine.training.together import meet, report

LORA = {"rank": 4, "alpha": 8.0}
PAGES = 1024  # bytes of the unit of /proc/self/status


def config_of(path: str | Path, **sections: Any) -> RunConfig:
    """With a critic and a pull to the start, where `sections` say nothing else."""
    usual = {"algorithm": {"type": "ppo"}, "loss": {"kl_coefficient": 0.1}}
    return build_config({**usual, **sections, "model": {"path": str(path), **sections.get("model", {})}})


def save_wide_model(folder: Path) -> int:
    """Random weights, many layers and few words, in files of some MB; returns its bytes in float32."""
    torch.manual_seed(1)
    config = Qwen2Config(
        vocab_size=len(words()),
        hidden_size=512,
        intermediate_size=1536,
        num_hidden_layers=12,
        num_attention_heads=8,
        num_key_value_heads=2,
        tie_word_embeddings=False,
    )
    model = Qwen2ForCausalLM(config)
    model.save_pretrained(folder, max_shard_size="40MB")
    words().save_pretrained(folder)
    return sum(weight.nbytes for weight in model.parameters())


def work(rank: int, folder: Path) -> None:
    """Each check writes down what it found, the first process for both."""
    torch.set_num_threads(1)
    meet(rank, 2, folder)
    torch.manual_seed(3)
    found: dict[str, Any] = {}
    found["ships"] = differences("tiny", LoraSection())
    found["peaks"] = peaks(folder)  # early: memory that was freed before would be taken again unseen
    for name, path, lora in (
        ("tied", folder / "tied", {}),
        ("odd", folder / "odd", {}),
        ("adapted", "tiny", LORA),
    ):
        found[name] = differences(str(path), LoraSection(**lora))
    found["learner"] = learner_differences(folder)
    found["saved"] = save_and_resume(folder, config_of(folder / "tied"), "whole")
    found["saved_adapter"] = save_and_resume(folder, config_of("tiny", model={"lora": LORA}), "adapter")
    found["warnings"] = load_what_is_stored_twice(folder)
    report(found, folder)


def differences(path: str, lora: LoraSection) -> list[str]:
    """Weights and buffers that differ from those of a model that was loaded whole, to the bit."""
    model = meta_model(path, device="cpu", lora=lora)
    Sharded().shard_model(model)
    right, _ = load_model(path)
    if lora.rank:
        add_adapter(right, lora)
    return unequal(model, right)


def unequal(model: Any, right: Any) -> list[str]:
    theirs = dict([*right.named_parameters(remove_duplicate=False), *right.named_buffers()])
    ours = dict([*model.named_parameters(remove_duplicate=False), *model.named_buffers()])
    names = sorted(theirs.keys() ^ ours.keys())
    for name, weight in ours.items():
        held = whole(weight)
        if name in theirs and not (
            torch.equal(held, theirs[name].detach())
            and held.dtype == theirs[name].dtype
            and weight.requires_grad == theirs[name].requires_grad
        ):
            names.append(name)
    if (model.get_output_embeddings().weight is model.get_input_embeddings().weight) != (
        right.get_output_embeddings().weight is right.get_input_embeddings().weight
    ):
        names.append("the head's tie")
    return names


def learner_differences(folder: Path) -> list[str]:
    """Of a policy, its frozen start and its critic."""
    config = config_of("tiny")
    _, learner, _ = checkpoint.load_learner(config, None, device="cpu", share=Sharded())
    right, _ = load_model("tiny")
    alone = Learner(right, config)
    names = unequal(learner.model, alone.model)
    names += [f"reference {name}" for name in unequal(learner.reference.frozen, alone.reference.frozen)]  # type: ignore[union-attr]
    ours, theirs = learner.critic.state_dict(), alone.critic.state_dict()  # type: ignore[union-attr]
    return names + [f"critic {name}" for name in theirs if not torch.equal(whole(ours[name]), theirs[name])]


def save_and_resume(folder: Path, config: RunConfig, name: str) -> list[str]:
    """A learner of two that trained a little is saved and read again; what differs then."""
    tokenizer, learner, _ = checkpoint.load_learner(config, None, device="cpu", share=Sharded())
    update(learner, made_up_batch((6, 9, 12, 4)))
    saved = checkpoint.save_sharded(folder / name, tokenizer, LiveShards(learner, Progress(step=1)))
    dist.barrier()  # the first has written
    _, again, progress = checkpoint.load_learner(config, saved, device="cpu", share=Sharded())
    names = [] if progress.step == 1 else ["progress"]
    for index, (then, now) in enumerate(zip(tensors_of(learner), tensors_of(again), strict=True)):
        if not torch.equal(whole(then), whole(now)):
            names.append(f"tensor {index}")
    _, forked, _ = checkpoint.load_learner(config, None, device="cpu", share=Sharded())
    checkpoint.warm_start(saved, forked)
    for then, now in zip(moments_of(learner), moments_of(forked), strict=True):
        if not torch.equal(whole(then), whole(now)):
            names.append("a moment of a fork")
    return names


def tensors_of(learner: Learner) -> list[Tensor]:
    critic, _, _ = learner._with_critic()
    return [*learner.model.parameters(), *critic.parameters(), *moments_of(learner)]


def moments_of(learner: Learner) -> list[Tensor]:
    _, optimizer, _ = learner._with_critic()
    states = [state for one in (learner.optimizer, optimizer) for state in one.state.values()]
    return [value for state in states for value in state.values()]


def load_what_is_stored_twice(folder: Path) -> list[str]:
    """Loaded whole, and saved from a whole model after each weight grew by 1."""
    warnings: list[str] = []
    config = config_of(folder / "twice", algorithm={"type": "grpo"})
    tokenizer, learner, _ = checkpoint.load_learner(config, None, device="cpu", share=Sharded(), warn=warnings.append)
    right, _ = load_model(str(folder / "tied"))
    found = warnings + unequal(learner.model, right)
    with torch.no_grad():
        for weight in learner.model.parameters():
            weight.add_(1)
    export_model = right if learner.share.rank == 0 else None
    state = LiveShards(learner, Progress(step=1))
    checkpoint.save_sharded(folder / "poured", tokenizer, state, export_model=export_model)
    return found


def peaks(folder: Path) -> dict[str, int]:
    """Bytes of its own memory, not of files' pages, that this process took at its peak, and that its weights are."""
    config = config_of(folder / "wide", algorithm={"type": "grpo"}, loss={"kl_coefficient": 0.0})
    held: list[Any] = []

    def load() -> None:
        held.extend(checkpoint.load_learner(config, None, device="cpu", share=Sharded()))

    loading = Watch(load).bytes
    dist.barrier()
    state = LiveShards(held[1], Progress(step=1))
    saving = Watch(lambda: checkpoint.save_sharded(folder / "large", held[0], state)).bytes
    weights = sum(weight.to_local().nbytes for weight in held[1].model.parameters())
    return {"loading": loading, "saving": saving, "weights": weights}


class Watch:
    """The most that `act` adds to what this process has of its own, looked at all the time while it goes on."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.before = self.most = own_bytes()
        self.done = threading.Event()
        eye = threading.Thread(target=self._look)
        eye.start()
        act()
        self.done.set()
        eye.join()
        self.bytes = max(self.most, own_bytes()) - self.before

    def _look(self) -> None:
        while not self.done.wait(0.002):
            self.most = max(self.most, own_bytes())


def own_bytes() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) * PAGES
