"""Where memory is short, fewer tokens go through the model at once, and nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from engine.cluster.forward_tokens import with_tokens
from engine.cluster.local_memory import estimate_local
from engine.config import RunConfig, build_config
from engine.policies.model_shape import model_shape
from engine.training import forward_size, learner
from engine.training.forward_size import fitting_size, free_on_device
from engine.training.session import EXIT_DONE, train
from engine.training.token_values import tokens_per_forward
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import events_of, run_config, steps_of

GIB = 1 << 30


def learner_bytes(config: RunConfig, tokens: int, *, gpu: bool = False) -> int:
    return estimate_local(with_tokens(config, tokens), model_shape(config.model.path), gpu=gpu).learner.total


def pretend_free(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """As if the run could take `room` bytes of main memory in total."""
    monkeypatch.setattr(forward_size, "free_memory", lambda: room - psutil.Process().memory_info().rss)


@pytest.mark.parametrize(
    ("room_for", "expected"),
    [
        (2048, None),  # of what a CPU takes at once: it fits
        (2047, 1792),  # 1024 and three steps of 256; the fourth is the usual number
        (1500, 1280),
        (1024, 1024),
        (1, 1024),  # a trajectory of a whole context goes through the model in one piece
    ],
)
def test_the_number_is_the_largest_that_fits_by_the_plan_but_never_less_than_a_trajectory(
    monkeypatch: pytest.MonkeyPatch, room_for: int, expected: int | None
) -> None:
    config = build_config({"rollout": {"max_context_tokens": 1024}})
    room = learner_bytes(config, room_for) if room_for > 1 else 1000
    # memory that is read twice is not the same twice
    monkeypatch.setattr(forward_size, "free_on_device", lambda *, gpu: room)
    found = fitting_size(config, None)
    assert (found and found.tokens) == expected
    if found is not None:
        assert found.needs == learner_bytes(config, found.tokens)
        assert (found.needs <= found.room) is (room_for > 1)
        assert f"{expected:,} tokens go through the model at once, not 2,048" in str(found)


def test_a_gpu_has_its_own_free_memory_and_usual_number(monkeypatch: pytest.MonkeyPatch) -> None:
    config = build_config({"rollout": {"max_context_tokens": 1024}})
    room = learner_bytes(config, 9000, gpu=True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (room, 80 * GIB))
    found = fitting_size(config, None)
    assert found is not None
    assert (found.tokens, found.usual, found.room) == (1024 + 31 * 256, 16384, room)  # 8960 is the last up to 9000


def test_a_run_that_moves_to_a_cpu_takes_no_more_than_is_usual_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = build_config({"rollout": {"max_context_tokens": 1024}})
    pretend_free(monkeypatch, 100 * GIB)
    for saved, expected in ((12_032, 2048), (1280, 1280)):
        (tmp_path / "progress.json").write_text(json.dumps({"tokens_per_forward": saved}))
        found = fitting_size(config, tmp_path)
        assert found is not None
        assert (found.tokens, found.is_short) == (expected, False)


def test_a_longest_trajectory_that_may_not_fit_is_reported_with_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model takes 2,048 tokens, the usual number; a trajectory of so many goes through it in one piece."""
    config = build_config({"rollout": {"max_context_tokens": 4096}})
    room = learner_bytes(config, 2048) - 1
    monkeypatch.setattr(forward_size, "free_on_device", lambda *, gpu: room)
    found = fitting_size(config, None)
    assert found is not None and found.is_short
    assert str(found).startswith("2,048 tokens go through the model at once, as many as the longest trajectory has: ")
    assert "optimizer.gradient_checkpointing" in str(found)
    room += 1
    assert fitting_size(config, None) is None


def test_what_this_process_has_taken_is_counted_by_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward_size, "free_memory", lambda: 5 * GIB)
    resident = psutil.Process().memory_info().rss
    assert free_on_device(gpu=False) == pytest.approx(5 * GIB + resident, rel=0.01)


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": {"micro_batch_tokens": 2000}},
        {"model": {"path": "/no/such/model"}},
    ],
    ids=["configured", "unknown model"],
)
def test_a_configured_number_and_what_the_plan_does_not_know_stay(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    pretend_free(monkeypatch, 1000)
    assert fitting_size(build_config({"rollout": {"max_context_tokens": 1024}, **changes}), None) is None


def test_a_run_says_its_number_has_the_same_results_and_keeps_it_when_it_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = save_small_model(tmp_path / "model")
    config = run_config(model, rollout={"groups": 4, "group_size": 2, "max_context_tokens": 160})
    assert train(config, tmp_path / "usual") == EXIT_DONE
    seen: set[int] = set()

    def watched(*arguments: Any) -> int:
        seen.add(tokens_per_forward(*arguments))
        return tokens_per_forward(*arguments)

    monkeypatch.setattr(learner, "tokens_per_forward", watched)
    # in two mini-batches of 4 x 160 tokens; 640 is the most, and 160 + 256 the only number between
    pretend_free(monkeypatch, learner_bytes(config, 200))
    assert train(config.model_copy(update={"steps": 2}), tmp_path / "few") == EXIT_DONE
    pretend_free(monkeypatch, 100 * GIB)
    assert train(config, tmp_path / "few", resume=True) == EXIT_DONE
    alerts = [
        event for event in events_of(tmp_path / "few") if event.kind == "alert_raised" and event.rule == "cluster"
    ]
    assert [(event.value, event.severity) for event in alerts] == [(160, "watch")]
    counters = [
        json.loads((tmp_path / name / "checkpoints/step_4/progress.json").read_text())["tokens_per_forward"]
        for name in ("few", "usual")
    ]
    assert counters == [160, 0]
    assert json.loads((tmp_path / "few/config.json").read_text())["optimizer"]["micro_batch_tokens"] == 0
    assert seen == {160}
    few, usual = steps_of(tmp_path / "few"), steps_of(tmp_path / "usual")
    for step, metrics in usual.items():
        assert few[step] == pytest.approx(metrics, rel=1e-3, abs=1e-5)


def test_a_resumed_run_takes_fewer_than_before_only_if_it_must(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = build_config({"rollout": {"max_context_tokens": 1024}})
    (tmp_path / "progress.json").write_text(json.dumps({"tokens_per_forward": 1536}))
    for room_for, expected in ((4000, 1536), (1536, 1536), (1300, 1280)):
        room = learner_bytes(config, room_for)
        monkeypatch.setattr(forward_size, "free_on_device", lambda *, gpu, room=room: room)
        found = fitting_size(config, tmp_path)
        assert found is not None and (found.tokens, found.usual) == (expected, 1536)
