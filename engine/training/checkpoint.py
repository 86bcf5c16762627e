"""Checkpoints: model, learner state, counters. Written atomically, verified by digest when read."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from copy import deepcopy
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from engine.allocator import return_large_blocks
from engine.config import RunConfig
from engine.errors import CheckpointError
from engine.evaluation.checkpoint_model import AVERAGED, MODEL
from engine.main_memory import MANY_PARAMETERS
from engine.policies.adapter import add_adapter, load_adapter, merge_adapter, ranks_of, save_adapter
from engine.policies.loading import LanguageModel, load_model, load_tokenizer
from engine.policies.meta_model import NeedsWholeLoad, meta_model
from engine.policies.weight_files import write_tensors
from engine.training.checkpoint_folder import digest_of, replace_folder, sync
from engine.training.checkpoint_settings import FILE, checkpoint_settings, require_same_settings, weight_settings
from engine.training.checkpoint_state import CheckpointState, Progress, SavesFiles, files_below
from engine.training.learner import Learner
from engine.training.learner_state import NAME as LEARNER
from engine.training.learner_state import read_learner_state
from engine.training.seen_problems import SeenProblems
from engine.training.sharded_state import ADAPTER, Gathered, ShardedState
from engine.training.sharding import Share

log = logging.getLogger(__name__)


def save(directory: Path, tokenizer: SavesFiles, state: CheckpointState) -> Path:
    """Writes `step_<n>` below `directory`; a folder with that name is always complete.

    Its `model` can be loaded by any program. With LoRA that is the model with the adapter merged; training resumes from
    `adapter` instead, since merging rounds. With a moving average of the weights there is one more model, `ema`.
    """
    model, config = state.model, state.config
    with _new(directory, tokenizer, config, state.progress) as part:
        with closing(state.models()) as models:
            for folder, weights in models:
                if isinstance(weights, dict):
                    model.save_pretrained(part / folder, state_dict=weights)
                else:
                    _write_model(part / folder, model, weights)
        if config.model.lora.rank:
            save_adapter(model, config.model.lora, part / ADAPTER, base=config.model, state=state.adapter())
        torch.save(state.learner(), part / "learner.pt")
    return _named(directory, state.progress)


def save_sharded(
    directory: Path, tokenizer: SavesFiles, state: ShardedState, *, export_model: LanguageModel | None = None
) -> Path:
    """`save` for a sharded model. All learners call it and the first one writes; none gathers more at a time than one
    file holds. `export_model` is a whole model that the first one copies the weights into, for a model whose files do
    not use the names of its weights. What the first one cannot write fails in all of them, so that all can begin
    again."""
    gathered = state.gathered()
    failure: Exception | None = None
    if dist.get_rank(state.group) == 0:
        try:
            with _new(directory, tokenizer, state.config, state.progress) as part:
                _write_gathered(part, gathered, state, export_model)
        except Exception as error:
            failure = error
    for _ in gathered:
        pass  # the others gather what the first one writes, and all of them what it no longer can
    outcome = [failure]
    dist.broadcast_object_list(outcome, src=0, group=state.group)
    if outcome[0] is not None:
        raise outcome[0]
    return _named(directory, state.progress)


def _write_gathered(
    folder: Path, gathered: Iterator[Gathered], state: ShardedState, export_model: LanguageModel | None
) -> None:
    model, config = state.model, state.config
    for part, tensors in groupby(gathered, key=attrgetter("part")):
        named = ((one.name, one.tensor) for one in tensors)
        if part == ADAPTER:
            whole_ones = {name: weight.cpu() for name, weight in named}
            save_adapter(model, config.model.lora, folder / ADAPTER, base=config.model, state=whole_ones)
        elif part == LEARNER:
            write_tensors(folder, LEARNER, named)
        elif export_model is None:
            _write_model(folder / part, model, named)
        else:
            target = export_model.state_dict()
            for name, weight in named:
                target[name].copy_(weight)
            export_model.save_pretrained(folder / part)
    torch.save(state.remaining, folder / f"{LEARNER}.pt")


def _write_model(folder: Path, model: LanguageModel, weights: Iterator[tuple[str, Tensor]]) -> None:
    """One weight at a time in float32, under the model's own names; the configuration as transformers writes it."""
    write_tensors(folder, "model", weights)
    config = deepcopy(model.config)
    config.architectures, config.dtype = [type(model).__name__.removeprefix("FSDP")], "float32"
    config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)


@contextmanager
def _new(directory: Path, tokenizer: SavesFiles, config: RunConfig, progress: Progress) -> Iterator[Path]:
    """A temporary folder that gets its final name when it is complete."""
    target = _named(directory, progress)
    part = directory / f".{target.name}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    yield part
    for folder in (MODEL, AVERAGED):
        if (part / folder).is_dir():
            tokenizer.save_pretrained(part / folder)
    (part / FILE).write_text(json.dumps(checkpoint_settings(config)))
    progress.problems.write(part)
    (part / "progress.json").write_text(json.dumps(progress.counters()))
    digests = {str(file.relative_to(part)): digest_of(file) for file in files_below(part)}
    (part / "manifest.json").write_text(json.dumps(digests, indent=1))
    for file in part.rglob("*"):
        sync(file)
    replace_folder(part, target)


def _named(directory: Path, progress: Progress) -> Path:
    return directory / f"step_{progress.step}"


def load_learner(
    config: RunConfig,
    found: Path | None,
    *,
    device: str,
    share: Share | None = None,
    warn: Callable[[str], None] = log.warning,
) -> tuple[Any, Learner, Progress]:
    """Tokenizer, learner (with its model) and progress, from the checkpoint `found` or else from `config.model`.

    One of several learners reads only its shard of the model; `warn` gets the reason if it has to load all of it.
    """
    if found is not None:
        require_same_settings(found, weight_settings(config))
    load = partial(_load_meta, warn=warn) if share is not None and share.size > 1 else load_policy
    model, tokenizer = load(config, found, device=device)
    if device == "cpu" and model.num_parameters() > MANY_PARAMETERS:
        return_large_blocks()
    reference = None
    if config.copies_reference and found is not None:  # the model the run started with, not that of the checkpoint
        reference, _ = load(config, None, device=device)
    learner = Learner(model, config, reference=reference, share=share)
    return tokenizer, learner, restore(found, learner) if found is not None else Progress()


def load_policy(config: RunConfig, found: Path | None, *, device: str) -> tuple[LanguageModel, Any]:
    """The model, with its adapter if it has one, and the tokenizer."""
    path, adapter = _model_of(config, found)
    model, tokenizer = load_model(path, device=device, chat_template=config.model.chat_template)
    if config.model.lora.rank:
        add_adapter(model, config.model.lora, ranks=ranks_of(adapter))
        if adapter is not None:
            load_adapter(model, adapter)
    elif adapter is not None:
        merge_adapter(model, adapter)
    return model, tokenizer


def _load_meta(
    config: RunConfig, found: Path | None, *, device: str, warn: Callable[[str], None]
) -> tuple[LanguageModel, Any]:
    """The model on the meta device, to be materialized once it is sharded."""
    path, adapter = _model_of(config, found)
    try:
        tokenizer = load_tokenizer(path, chat_template=config.model.chat_template)
        return meta_model(path, device=device, lora=config.model.lora, adapter=adapter), tokenizer
    except NeedsWholeLoad as why:
        warn(f"each learner loads all of {path} before it is sharded, because {why}")
        return load_policy(config, found, device=device)


def _model_of(config: RunConfig, found: Path | None) -> tuple[str, Path | None]:
    """Paths of the model and of its adapter: of the checkpoint, or that which the run starts from."""
    if found is None:
        given = config.model.adapter
        return config.model.versioned_path, Path(given).expanduser() if given else None
    return (config.model.versioned_path, found / ADAPTER) if config.model.lora.rank else (str(found / MODEL), None)


def restore(path: Path, learner: Learner) -> Progress:
    """Loads the learner's state in place. Its model has been loaded before (`load_learner`)."""
    try:
        learner.load_state_dict(read_learner_state(path, learner))
        problems = SeenProblems.read(path) or SeenProblems()
        return Progress(**json.loads((path / "progress.json").read_text()), problems=problems)
    except (KeyError, ValueError, RuntimeError, TypeError) as error:
        raise CheckpointError(
            f"The checkpoint {path.name} does not fit this configuration: {error}",
            remedy="Resume with the configuration that the run started with.",
        ) from error


def warm_start(path: Path, learner: Learner) -> None:
    """Loads the optimiser's state of another run's checkpoint, and its critic if both have one, with the learner's own
    settings. The learner's weights are already those of that checkpoint."""
    own = learner.state_dict()
    loaded = read_learner_state(path, learner)
    state = {name: loaded.get(name, value) for name, value in own.items()}
    try:
        for name in state.keys() & {"optimizer", "critic_optimizer"}:
            groups = zip(state[name]["param_groups"], own[name]["param_groups"], strict=True)
            state[name]["param_groups"] = [
                {**theirs, **{key: ours[key] for key in ("lr", "weight_decay")}} for theirs, ours in groups
            ]
        learner.load_state_dict(state)
    except (KeyError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"The optimiser's state of {path.name} does not fit this configuration: {error}",
            remedy="Set model.start_from.optimizer to false to take the weights only and start with a fresh optimiser.",
        ) from error


def tokens_of(path: Path) -> int:
    """Tokens sampled up to the checkpoint, by its run and the runs whose steps that continues."""
    counters = json.loads((path / "progress.json").read_text())
    return int(counters["tokens"]) + int(counters.get("tokens_before", 0))


def changed_settings(path: Path | None) -> dict[str, Any]:
    """The changes of settings in force when the checkpoint was written, by dotted field."""
    if path is None:
        return {}
    try:
        changes: dict[str, Any] = json.loads((path / "progress.json").read_text())["settings"]["changes"]
        return changes
    except (KeyError, ValueError):
        return {}  # nothing was changed
