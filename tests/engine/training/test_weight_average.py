"""The moving average of the weights: what it is, what is evaluated with it, and that it survives a resume."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM

from engine.__main__ import main
from engine.errors import ConfigError
from engine.evaluation.checkpoint_model import evaluated_model
from engine.rollout.trajectory_files import read_records
from engine.training.session import EXIT_DONE, train
from engine.training.weight_average import WeightAverage
from tests.engine.models import save_small_model
from tests.engine.training.builders import made_up_batch, updated
from tests.engine.training.test_runs import events_of, run_config, steps_of


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


def averaged_config(path: Path, **changes: Any) -> Any:
    optimizer = {"learning_rate": 0.01, "ema_decay": 0.75}
    return run_config(path, **{"optimizer": optimizer, "evaluation": {"every": 2, "weights": "ema"}, **changes})


def learner_state(checkpoint: Path) -> dict[str, Any]:
    return dict(torch.load(checkpoint / "learner.pt", weights_only=True))


def test_the_average_is_decay_times_itself_plus_the_rest_of_the_weights() -> None:
    """Decay 0.75 from 8: after weights of 4 and 0, 8 * 0.75 + 4 * 0.25 = 7 and 7 * 0.75 = 5.25."""
    model = nn.Linear(1, 1, bias=False)
    frozen = nn.Parameter(torch.ones(1), requires_grad=False)
    model.register_parameter("frozen", frozen)
    seen: list[float] = []
    with torch.no_grad():
        model.weight.fill_(8.0)
        average = WeightAverage(model, decay=0.75)
        for value in (4.0, 0.0):
            model.weight.fill_(value)
            average.add()
            seen.append(float(average.average["weight"]))
    assert seen == [7.0, 5.25]
    assert list(average.average) == ["weight"]  # frozen weights have none
    with average.in_place():
        assert model.weight.item() == 5.25
    assert (model.weight.item(), average.average["weight"].item()) == (0.0, 5.25)


def test_every_gradient_step_is_averaged_in_float32() -> None:
    """Two of the batch's halves: from the initial weights w0, a = (w0 * 0.75 + w1 * 0.25) * 0.75 + w2 * 0.25."""
    batch = made_up_batch()
    settings = {"updates_per_step": 2, "learning_rate": 0.01}
    plain = updated(batch, optimizer=settings)
    both = updated(batch, optimizer={**settings, "ema_decay": 0.75, "precision": "bfloat16"})
    assert both.average is not None
    assert {weight.dtype for weight in both.average.average.values()} == {torch.float32}
    averaged = updated(batch, optimizer={**settings, "ema_decay": 0.75})
    first = updated(batch, optimizer={**settings, "ema_decay": 1e-12})  # all of it the last weights
    assert averaged.average is not None and first.average is not None
    name = "model.layers.0.mlp.up_proj.weight"
    initial, last = updated(batch, optimizer={**settings, "learning_rate": 1e-12}), dict(plain.model.named_parameters())
    torch.testing.assert_close(first.average.average[name], last[name].detach())
    # w1 follows from the average: (a - 0.25 w2) / 0.75 = 0.75 w0 + 0.25 w1, and it lies near the other two
    start = dict(initial.model.named_parameters())[name].detach()
    middle = ((averaged.average.average[name] - 0.25 * last[name]) / 0.75 - 0.75 * start) / 0.25
    assert 0.005 < (middle - start).abs().max() < 0.0105  # one step of AdamW at 0.01
    assert 0.0 < (last[name] - middle).abs().max() < 0.0205


def test_training_is_the_same_with_an_average_and_evaluation_is_not(path: Path, tmp_path: Path) -> None:
    plain = run_config(path, optimizer={"learning_rate": 0.01}, evaluation={"every": 2})
    assert train(plain, tmp_path / "plain") == EXIT_DONE
    assert train(averaged_config(path), tmp_path / "averaged") == EXIT_DONE
    assert steps_of(tmp_path / "plain") == steps_of(tmp_path / "averaged")
    assert held_out(tmp_path / "plain", 0) == held_out(tmp_path / "averaged", 0)
    assert held_out(tmp_path / "plain", 4) != held_out(tmp_path / "averaged", 4)

    first, last = (tmp_path / name / "checkpoints/step_4" for name in ("plain", "averaged"))
    assert weights(last / "model").keys() == weights(last / "ema").keys()
    for name, weight in weights(first / "model").items():
        torch.testing.assert_close(weights(last / "model")[name], weight, atol=0, rtol=0)
    assert any(not torch.equal(weight, weights(last / "ema")[name]) for name, weight in weights(last / "model").items())


def held_out(run: Path, step: int) -> list[list[int]]:
    records = read_records(run / f"trajectories/validation/step_{step}.jsonl.zst")
    return [record["tokens"]["ids"] for _, _, record in records]


def weights(folder: Path) -> dict[str, Tensor]:
    return dict(AutoModelForCausalLM.from_pretrained(folder).state_dict())


def test_what_is_evaluated_is_the_average(path: Path, tmp_path: Path) -> None:
    """The run's own last evaluation is that of its `ema` folder, episode by episode, and `engine evaluate` plays it."""
    assert train(averaged_config(path), tmp_path / "run") == EXIT_DONE
    checkpoint = tmp_path / "run/checkpoints/step_4"
    assert evaluated_model(checkpoint) == checkpoint / "ema"
    final = next(event for event in events_of(tmp_path / "run") if event.kind == "evaluation_completed" and event.final)
    assert main(["evaluate", str(tmp_path / "run"), "--record"]) == 0
    again = events_of(tmp_path / "run")[-2]
    assert again.kind == "checkpoint_evaluated"
    assert (again.episodes, again.successes, again.mean_return) == (final.episodes, final.successes, final.mean_return)


@pytest.mark.parametrize("lora", [{}, {"rank": 4}], ids=["all weights", "an adapter"])
def test_a_resumed_run_has_the_same_average_to_the_last_bit(path: Path, tmp_path: Path, lora: dict[str, Any]) -> None:
    config = averaged_config(path, model={"path": str(path), "lora": lora})
    assert train(config, tmp_path / "whole") == EXIT_DONE
    assert train(config.model_copy(update={"steps": 2}), tmp_path / "parts") == EXIT_DONE
    assert train(config, tmp_path / "parts", resume=True) == EXIT_DONE
    one, two = (learner_state(tmp_path / name / "checkpoints/step_4")["average"] for name in ("whole", "parts"))
    assert one.keys() == two.keys() and len(one) > 0
    assert all(torch.equal(one[name], two[name]) for name in one)
    exported = weights(tmp_path / "whole/checkpoints/step_4/ema")
    assert all(torch.equal(exported[name], value) for name, value in one.items() if name in exported)
    assert steps_of(tmp_path / "parts") == steps_of(tmp_path / "whole")


def test_the_exported_weights_are_those_that_were_evaluated_unless_others_are_asked_for(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(averaged_config(path), tmp_path / "run") == EXIT_DONE
    run, checkpoint = str(tmp_path / "run"), tmp_path / "run/checkpoints/step_4"
    assert main(["export", run, str(tmp_path / "out"), "--step", "4"]) == 0
    card = (tmp_path / "out/README.md").read_text()
    assert "| weights | exponential moving average, decay 0.75 |" in card and "95% Wilson interval" in card
    assert weights(tmp_path / "out").keys() == weights(checkpoint / "ema").keys()
    assert all(torch.equal(one, weights(checkpoint / "ema")[name]) for name, one in weights(tmp_path / "out").items())
    assert main(["export", run, str(tmp_path / "now"), "--step", "4", "--weights", "current"]) == 0
    assert "This checkpoint has not been evaluated." in (tmp_path / "now/README.md").read_text()
    assert all(torch.equal(one, weights(checkpoint / "model")[name]) for name, one in weights(tmp_path / "now").items())


def test_an_average_that_is_not_kept_can_be_neither_evaluated_nor_exported(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError, match=r"Set optimizer.ema_decay, for example to 0.99, or use current"):
        run_config(path, evaluation={"weights": "ema"})
    assert train(run_config(path, steps=1), tmp_path / "run") == EXIT_DONE
    assert main(["export", str(tmp_path / "run"), str(tmp_path / "out"), "--weights", "ema"]) == 1
    assert "has no moving average of the weights" in capsys.readouterr().err
