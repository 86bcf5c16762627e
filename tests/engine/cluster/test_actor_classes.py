"""The actor classes without Ray, in a separate process, since they change the process they run in."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.cluster.learner_actor import LearnerActor
from engine.cluster.sampler_actor import SamplerActor
from tests.engine.cluster.runs import ray_config


@pytest.fixture(scope="module")
def process() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        yield processes


def learner(stacks: str, sections: dict[str, Any]) -> LearnerActor:
    config = ray_config(**sections).model_dump_json()
    actor = LearnerActor(config, 0, 1, name="learner", stacks=stacks, threads=1, gpu=False)
    actor.open("", "", 1.0)
    return actor


def sampler(stacks: str, sections: dict[str, Any]) -> SamplerActor:
    config = ray_config(**sections).model_dump_json()
    actor = SamplerActor(config, name="sampler", stacks=stacks, threads=1, gpu=False, rows=4, transfer="")
    actor.open()
    return actor


def manifest(stacks: str, sections: dict[str, Any]) -> dict[str, Any]:
    return learner(stacks, sections).manifest()


def scores_of_both(stacks: str, sections: dict[str, Any], ids: list[int]) -> tuple[Any, Any]:
    """Log-probabilities of the same tokens, of a learner and of a sampler."""
    return learner(stacks, sections).probe_logprobs([ids]), sampler(stacks, sections).score([ids])


def visible_gpus(stacks: str, gpu: bool) -> str:
    from engine.cluster.actor_process import set_up

    os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
    set_up("actor", Path(stacks), gpu=gpu)
    return os.environ["CUDA_VISIBLE_DEVICES"]


@pytest.mark.parametrize(
    ("sections", "kind"),
    [
        ({}, "float32"),  # "auto", on a processor
        ({"optimizer": {"precision": "bfloat16"}}, "bfloat16"),
        ({"model": {"lora": {"rank": 4}}}, "float32"),
    ],
)
def test_weights_are_sent_in_the_precision_the_policy_computes_in(
    process: ProcessPoolExecutor, tmp_path: Path, sections: dict[str, Any], kind: str
) -> None:
    sent = process.submit(manifest, str(tmp_path), sections).result()
    assert set(sent["dtype_names"]) == {kind}


def test_our_own_sampler_computes_in_the_learners_precision(process: ProcessPoolExecutor, tmp_path: Path) -> None:
    ids = [5, 17, 40, 8, 23, 99, 61, 7]
    half = {"optimizer": {"precision": "bfloat16"}}
    learners, samplers = process.submit(scores_of_both, str(tmp_path), half, ids).result()
    assert learners == samplers
    assert samplers != process.submit(scores_of_both, str(tmp_path), {}, ids).result()[1]


def test_an_actor_without_a_gpu_sees_none(process: ProcessPoolExecutor, tmp_path: Path) -> None:
    assert process.submit(visible_gpus, str(tmp_path), False).result() == ""
    assert process.submit(visible_gpus, str(tmp_path), True).result() == "0,1"
