"""An error while a run's actors start is reported with its reason, and retried only where a retry may help."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.cluster.runs import events, needs_ray, ray_config, train
from tests.engine.models import save_small_model
from tests.engine.policies.vllm_builders import needs_vllm

pytestmark = [pytest.mark.slow, needs_ray]


@needs_vllm
def test_a_model_that_vllm_cannot_run_ends_the_run_with_the_reason_and_is_not_retried(
    tmp_path: Path, ray_address: str
) -> None:
    narrow = save_small_model(tmp_path / "narrow")  # heads of 16, which vLLM's attention on a CPU does not have
    config = ray_config(cluster={"sampler": "vllm"}, model={"path": str(narrow)})
    assert train(config, tmp_path / "run", RAY_ADDRESS=ray_address) == 1
    last = events(tmp_path / "run")[-1]
    assert last.kind == "run_failed" and last.error == "ModelError" and not last.retryable
    assert "head_dim=16" in last.message and "Use a decoder-only language model" in last.remedy
