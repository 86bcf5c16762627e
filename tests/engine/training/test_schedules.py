"""The learning rate by step: worked out by hand, followed by a run, and the same after an interruption."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.config import OptimizerConfig, build_config
from engine.config.learning_rate import learning_rate
from engine.config.schedules import ExponentialSchedule, LinearSchedule
from engine.errors import ConfigError
from engine.training.session import EXIT_DONE, train
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import events_of, run_config, steps_of


def rates(schedule: str, *, warmup: int, minimum: float, steps: int) -> list[float]:
    shape = {"type": schedule} if schedule == "constant" else {"type": schedule, "minimum_ratio": minimum}
    optimizer = OptimizerConfig.model_validate({"learning_rate": 0.1, "warmup_steps": warmup, "schedule": shape})
    return [learning_rate(optimizer, step, steps=steps) for step in range(1, steps + 1)]


def test_a_constant_rate_only_warms_up() -> None:
    assert rates("constant", warmup=4, minimum=0.0, steps=6) == pytest.approx([0.025, 0.05, 0.075, 0.1, 0.1, 0.1])
    assert rates("constant", warmup=0, minimum=0.0, steps=2) == [0.1, 0.1]


def test_a_linear_rate_falls_by_the_same_amount_each_step_to_its_minimum() -> None:
    # full at step 2; four steps remain, in which it loses 0.8 of 0.1: 0.02 a step
    assert rates("linear", warmup=2, minimum=0.2, steps=6) == pytest.approx([0.05, 0.1, 0.08, 0.06, 0.04, 0.02])


def test_a_cosine_rate_is_half_way_down_in_the_middle() -> None:
    # (1 + cos(pi k / 4)) / 2 for k = 1..4: 0.853553, 0.5, 0.146447, 0
    expected = [0.0853553, 0.05, 0.0146447, 0.0]
    assert rates("cosine", warmup=0, minimum=0.0, steps=4) == pytest.approx(expected, abs=1e-7)


def test_an_exponential_rate_changes_by_the_same_factor_each_step() -> None:
    # full at step 1; in three steps it rises eightfold, or falls to an eighth: a factor of 2 a step
    shapes = [ExponentialSchedule(final_ratio=8), ExponentialSchedule(final_ratio=1 / 8)]
    rising, falling = (OptimizerConfig(learning_rate=0.1, warmup_steps=1, schedule=shape) for shape in shapes)
    found = [[learning_rate(one, step, steps=4) for step in (1, 2, 3, 4)] for one in (rising, falling)]
    assert found[0] == pytest.approx([0.1, 0.2, 0.4, 0.8])
    assert found[1] == pytest.approx([0.1, 0.05, 0.025, 0.0125])


def test_an_exponential_rate_may_stay_for_a_while_before_it_changes() -> None:
    # half of four steps at 0.1, then twice as much at each of the two others
    optimizer = OptimizerConfig(learning_rate=0.1, schedule=ExponentialSchedule(final_ratio=4, hold=0.5))
    found = [learning_rate(optimizer, step, steps=4) for step in (1, 2, 3, 4)]
    assert found == pytest.approx([0.1, 0.1, 0.2, 0.4])


def test_beyond_the_last_step_the_rate_stays_at_its_minimum() -> None:
    optimizer = OptimizerConfig(learning_rate=0.1, schedule=LinearSchedule(minimum_ratio=0.5))
    assert learning_rate(optimizer, 9, steps=4) == pytest.approx(0.05)


def test_a_warm_up_by_tokens_multiplies_the_schedule() -> None:
    """A linear schedule of four steps, 0.075, 0.05, 0.025, 0, while 100, 300, 600, 900 of 600 tokens were sampled."""
    optimizer = OptimizerConfig(learning_rate=0.1, warmup_tokens=600, schedule=LinearSchedule())
    sampled = {1: 100, 2: 300, 3: 600, 4: 900}
    rates = [learning_rate(optimizer, step, steps=4, tokens=tokens) for step, tokens in sampled.items()]
    assert rates == pytest.approx([0.0125, 0.025, 0.025, 0.0])
    assert learning_rate(optimizer, 2, steps=4) == pytest.approx(0.05)  # the warm-up is over


def test_a_run_warms_up_by_the_tokens_it_has_sampled_and_a_fork_continues_that(tmp_path: Path) -> None:
    model = str(save_small_model(tmp_path / "model"))
    optimizer = {"learning_rate": 0.001, "warmup_tokens": 1000}
    config = run_config(tmp_path, steps=2, optimizer=optimizer, model={"path": model})
    assert train(config, tmp_path / "one") == EXIT_DONE
    tokens = {event.step: event.tokens for event in events_of(tmp_path / "one") if event.kind == "step_completed"}
    assert 0 < tokens[1] < tokens[2] < 500
    rates = {step: metrics["optim/learning_rate"] for step, metrics in steps_of(tmp_path / "one").items()}
    assert rates == pytest.approx({step: 0.001 * count / 1000 for step, count in tokens.items()})

    start = {"run": "one", "step": 2, "steps_before": 2}
    fork = run_config(tmp_path, steps=1, optimizer=optimizer, model={"path": model, "start_from": start})
    assert train(fork, tmp_path / "two") == EXIT_DONE
    own = next(event.tokens for event in events_of(tmp_path / "two") if event.kind == "step_completed")
    assert steps_of(tmp_path / "two")[1]["optim/learning_rate"] == pytest.approx(1e-6 * (tokens[2] + own))


def test_a_warm_up_is_by_steps_or_by_tokens(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Set one of warmup_steps and warmup_tokens to 0"):
        run_config(tmp_path, optimizer={"warmup_steps": 2, "warmup_tokens": 100})


def test_a_fork_continues_the_warm_up_and_the_schedule_of_its_parent(tmp_path: Path) -> None:
    """Steps 3 and 4 of four: after a warm-up of 2 steps, half and nothing of the rate."""
    model = {"path": str(save_small_model(tmp_path / "model")), "start_from": {"steps_before": 2}}
    optimizer = {"learning_rate": 0.001, "warmup_steps": 2, "schedule": {"type": "linear"}}
    config = run_config(tmp_path, steps=2, optimizer=optimizer, model=model)
    assert train(config, tmp_path / "run") == EXIT_DONE
    rates = [metrics["optim/learning_rate"] for metrics in steps_of(tmp_path / "run").values()]
    assert rates == pytest.approx([0.0005, 0.0])


def test_an_interrupted_run_follows_its_schedule_as_if_it_had_not_been(tmp_path: Path) -> None:
    model = save_small_model(tmp_path / "model")
    optimizer = {"learning_rate": 0.001, "schedule": {"type": "linear"}, "warmup_steps": 1}
    config = run_config(model, optimizer=optimizer)
    train(config, tmp_path / "run")
    whole = steps_of(tmp_path / "run")
    # full at step 1, then down by thirds
    found = [whole[step]["optim/learning_rate"] for step in (1, 2, 3, 4)]
    assert found == pytest.approx([0.001, 0.000667, 0.000333, 0.0], abs=1e-6)
    shutil.rmtree(tmp_path / "run/checkpoints/step_4")
    train(config, tmp_path / "run", resume=True)
    assert steps_of(tmp_path / "run") == whole


@pytest.mark.parametrize(
    ("optimizer", "reason"),
    [
        ({"schedule": {"type": "constant", "minimum_ratio": 0.1}}, "unknown field"),
        ({"schedule": {"type": "cosine"}, "warmup_steps": 4}, "no step for the cosine schedule"),
    ],
)
def test_a_schedule_that_could_do_nothing_is_refused(optimizer: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        build_config({"steps": 4, "optimizer": optimizer})
