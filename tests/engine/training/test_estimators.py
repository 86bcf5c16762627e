"""Every estimator trains: short real runs on the untrained model, update and record included."""

from __future__ import annotations

import math
from pathlib import Path
from typing import get_args

import pytest

from engine.config import WITH_CRITIC, Estimator
from engine.training.credit import ESTIMATORS
from engine.training.session import EXIT_DONE, train
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import run_config, steps_of


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


def test_the_configuration_offers_exactly_the_estimators_there_are() -> None:
    assert set(get_args(Estimator)) == set(ESTIMATORS)


@pytest.mark.slow
@pytest.mark.parametrize("credit", ["trajectory", "turn"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_run_of_two_steps_updates_the_policy(model: Path, tmp_path: Path, estimator: str, credit: str) -> None:
    config = run_config(model, steps=2, algorithm={"estimator": estimator, "credit": credit})
    assert train(config, tmp_path) == EXIT_DONE
    for metrics in steps_of(tmp_path).values():
        assert metrics["optim/grad_norm"] > 0 and math.isfinite(metrics["policy/loss"])
        assert ("value/loss" in metrics) == (estimator in WITH_CRITIC)
