"""Reads a model's configuration, tokenizer and headers of weight files. No weight is loaded, and no code of it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.cluster.local_memory import estimate_local
from engine.cluster.resources import local_gpu_memory
from engine.config import EnvironmentConfig, build_config
from engine.errors import ModelError
from engine.inspection.report import AdapterReport, MemoryReport, ModelReport, TemplateReport
from engine.policies.adapter_files import AdapterFiles, misfits, read_adapter
from engine.policies.attention_masks import attention_kinds
from engine.policies.loading import load_tokenizer, require_fused_attention, stop_token_ids_of
from engine.policies.model_config import model_config
from engine.policies.model_paths import check_model_path, split_path
from engine.policies.model_shape import ModelShape, folder_of, model_shape
from engine.policies.vllm_models import unsupported_by_vllm
from engine.rollout.context_manager import ContextManager
from engine.rollout.prompts import first_prompt
from engine.sized_defaults import with_sized_defaults

EXAMPLE = {"kind": "frozen_lake"}
WAYS: dict[str, dict[str, Any]] = {
    "All weights, float32": {
        "optimizer": {"precision": "float32", "gradient_checkpointing": False}, "model": {"lora": {"rank": 0}},
    },
    "All weights, bfloat16 and gradient checkpointing": {
        "optimizer": {"precision": "bfloat16", "gradient_checkpointing": True}, "model": {"lora": {"rank": 0}},
    },
    "LoRA of rank 16, bfloat16 and gradient checkpointing": {
        "optimizer": {"precision": "bfloat16", "gradient_checkpointing": True}, "model": {"lora": {"rank": 16}},
    },
}  # fmt: skip


def inspect_model(path: str, *, adapter: str = "", chat_template: str = "", gpu: bool | None = None) -> ModelReport:
    """What is known of the model at `path`, a directory, a hub id (`organisation/model@revision` for one of its
    revisions) or a name of a bundled one; with the LoRA adapter in the directory `adapter`. `gpu`: whether memory is
    that of a GPU, by default where this machine has one."""
    found = ModelReport(path=path)
    try:
        check_model_path(path)
        shape = model_shape(path)
    except ModelError as error:
        return replace(found, problems=[str(error)])
    on_gpu = bool(local_gpu_memory()) if gpu is None else gpu
    found = replace(_of_shape(found, shape), memory=_memory(path, shape, gpu=on_gpu))
    problems: list[str] = []
    try:
        found = replace(found, attention=_attention(path))
    except ModelError as error:
        problems.append(str(error))
    try:
        found = replace(found, template=_template(path, chat_template))
    except ModelError as error:
        problems.append(str(error))
    if adapter:
        try:
            files = read_adapter(adapter)
            found = replace(found, adapter=_of_adapter(files))
            problems += [why for _, why in misfits(files, files.lora, shape)]
        except ModelError as error:
            problems.append(str(error))
    return replace(found, problems=problems)


def _of_adapter(files: AdapterFiles) -> AdapterReport:
    return AdapterReport(
        path=str(files.folder),
        rank=files.rank,
        alpha=files.alpha,
        targets=files.targets,
        layers=len(files.layers),
        parameters=files.parameters,
        base=files.base,
    )


def _of_shape(found: ModelReport, shape: ModelShape) -> ModelReport:
    folder = folder_of(found.path)
    files = folder.glob("*.safetensors") if folder else ()
    return replace(
        found,
        architecture=shape.architecture,
        model_type=shape.model_type,
        parameters=shape.parameters,
        layers=shape.layers,
        hidden=shape.hidden,
        heads=shape.heads,
        kv_heads=shape.kv_heads,
        vocabulary=shape.vocabulary,
        context=shape.positions,
        tied=shape.tied,
        bytes_of_files=sum(file.stat().st_size for file in files),
        read_in_parts=shape.in_parts,
        vllm=unsupported_by_vllm(shape.architecture, shape.model_type, latent=shape.latent > 0),
    )


def _attention(path: str) -> list[str]:
    try:
        config = model_config(path)
    except (ValueError, OSError, KeyError) as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelError(f"transformers does not know this model: {first}", remedy="Use another model.") from error
    require_fused_attention(config)
    return attention_kinds(config)


def _template(path: str, chat_template: str) -> TemplateReport:
    tokenizer = load_tokenizer(path, chat_template=chat_template)
    context = ContextManager(tokenizer, think=True, stops=stop_token_ids_of(path))
    lake = EnvironmentConfig.model_validate(EXAMPLE)
    system, user = (message["content"] for message in first_prompt(lake, think=True, seed=1))
    example = context.text(list(context.first(system, user)))
    return TemplateReport(
        example=example,
        system_role=context.has_system_role,
        opens_thought=context.opens_thought,
        hides_thoughts=context.hides_thoughts,
        context="without_thoughts" if context.hides_thoughts else "full",
        turn_end=context.text([context.turn_end]),
        stops=sorted(context.text([token]) for token in context.stop_ids),
        special=list(tokenizer.all_special_tokens),
    )


def _memory(path: str, shape: ModelShape, *, gpu: bool) -> list[MemoryReport]:
    """With the defaults for the model's size, as the form of a run has them at first."""
    source, revision = split_path(path)
    found = []
    for title, way in WAYS.items():
        written = {**way, "model": {"path": source, "revision": revision, **way["model"]}}
        config = build_config(with_sized_defaults(written, build_config(written))[0])
        sentences = estimate_local(config, shape, gpu=gpu).sentences()
        found.append(MemoryReport(title=title, sentences=sentences))
    return found
