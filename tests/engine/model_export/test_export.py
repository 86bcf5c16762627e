"""`engine export`: a checkpoint becomes a directory that plain transformers loads, with a card that says where it is
from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from engine.__main__ import main
from engine.event_lines import line_of
from engine.events import CheckpointEvaluated, EvaluationCompleted, RunStarted
from engine.model_export.card import plain
from engine.model_export.held_out import counted, held_out_results
from engine.model_export.licence import licence_of
from engine.training.checkpoint import load_policy
from engine.training.session import EXIT_DONE, train
from tests.engine.models import save_small_model
from tests.engine.policies.vllm_builders import needs_vllm
from tests.engine.suites.suites import lakes
from tests.engine.training.test_runs import events_of, run_config

LORA = {"rank": 4, "alpha": 8.0}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model directory with the card of a downloaded model."""
    directory = save_small_model(tmp_path_factory.mktemp("models") / "base")
    (directory / "README.md").write_text("---\nlicense: mit\ntags: [chat]\n---\n\n# Base\n")
    return directory


@pytest.fixture(scope="module")
def run(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LoRA run with checkpoints after steps 1 and 2, where the learning rate makes the adapter matter."""
    directory = tmp_path_factory.mktemp("runs") / "calm-otter"
    config = run_config(
        base,
        steps=2,
        model={"path": str(base), "lora": LORA},
        optimizer={"learning_rate": 0.05},
        evaluation={"every": 1, "at_start": False, "episodes": 4, "final_episodes": 6},
        checkpoint={"every": 1},
    )
    assert train(config, directory) == EXIT_DONE
    return directory


def exported(*arguments: object) -> int:
    return main(["export", *map(str, arguments)])


@torch.no_grad()
def logits(model: Any) -> torch.Tensor:
    return model(torch.arange(20, 40)[None]).logits


def test_the_exported_model_is_the_trained_one_with_its_adapter_merged(run: Path, tmp_path: Path) -> None:
    assert exported(run, tmp_path / "out", "--step", 2) == 0
    config = run_config(Path("unused")).model_validate_json((run / "config.json").read_text())
    trained, tokenizer = load_policy(config, run / "checkpoints/step_2", device="cpu")
    untrained, _ = load_policy(config, None, device="cpu")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    torch.testing.assert_close(logits(model), logits(trained), atol=1e-4, rtol=0)
    assert (logits(model) - logits(untrained)).abs().max() > 0.01
    assert not [name for name in load_file(tmp_path / "out/model.safetensors") if "lora" in name]
    written = AutoTokenizer.from_pretrained(tmp_path / "out")
    messages = [{"role": "system", "content": "Play."}, {"role": "user", "content": "Go"}]
    assert written.apply_chat_template(messages) == tokenizer.apply_chat_template(messages)


def test_the_best_checkpoint_is_exported_unless_a_step_is_named(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Step 1 is given 4 of 4 and step 2 has what it has; with both at 4 of 4 the later one is the best."""
    copy = shutil.copytree(run, tmp_path / "calm-otter")
    one, two = (next(e for e in events_of(copy) if e.kind == "evaluation_completed" and e.step == s) for s in (1, 2))
    low = two.model_copy(update={"successes": 0, "success": 0.0})
    high = one.model_copy(update={"successes": 4, "success": 1.0, "low": 0.51, "high": 1.0})
    (copy / "events.jsonl").write_text(f"{high.model_dump_json()}\n{low.model_dump_json()}\n")
    assert exported(copy, tmp_path / "best") == 0
    assert "Step 1 of calm-otter, the best by held-out success" in capsys.readouterr().out
    card = (tmp_path / "best/README.md").read_text()
    assert "# calm-otter, step 1\n" in card
    assert "| FrozenLake | 4 | 1.000 | 0.510 to 1.000 | 1 | 0 |" in card
    assert exported(copy, tmp_path / "second", "--step", 2) == 0
    assert "# calm-otter, step 2\n" in (tmp_path / "second/README.md").read_text()
    assert exported(copy / "checkpoints/step_2", tmp_path / "same") == 0
    assert (tmp_path / "same/README.md").read_text() == (tmp_path / "second/README.md").read_text()


def test_the_card_has_run_base_settings_results_an_example_and_the_licence_of_the_base(
    run: Path, tmp_path: Path
) -> None:
    assert exported(run, tmp_path / "out", "--step", 2) == 0
    card = (tmp_path / "out/README.md").read_text()
    final = next(event for event in events_of(run) if event.kind == "evaluation_completed" and event.final)
    assert card.startswith('---\nlicense: "mit"\nlibrary_name: transformers\n')
    assert "the run calm-otter after 2\nof 2 steps" in card
    assert "| base model | base |" in card  # the folder's name, not where it is on this machine
    assert str(run.parent) not in card
    assert "| adapter | LoRA of rank 4, merged into the weights |" in card
    assert f"| FrozenLake | 6 | {final.success:.3f} | {final.low:.3f} to {final.high:.3f} | 1 |" in card
    assert "    [system]\n" in card and "    [user]\n" in card
    assert "That of the base model, base: mit." in card


def test_an_evaluation_on_a_suite_is_in_the_card_if_it_is_of_the_same_weights(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "suite.json").write_text(lakes(count=3, max_context_tokens=512).model_dump_json())
    for step in (1, 2):
        model = run / f"checkpoints/step_{step}"
        played = ["--suite", tmp_path / "suite.json", "--model", model, "--out", tmp_path / str(step), "--threads", 1]
        assert main(["evaluate", *map(str, played)]) == 0
    assert exported(run, tmp_path / "out", "--step", 2, "--evaluation", tmp_path / "2") == 0
    summary = json.loads((tmp_path / "2/summary.json").read_text())["items"][0]
    row = f"| lakes v1 | Lake | 3 | 3 | {summary['success']:.3f} | {summary['low']:.3f} to {summary['high']:.3f} |"
    assert row in (tmp_path / "out/README.md").read_text()
    assert exported(run, tmp_path / "other", "--step", 2, "--evaluation", tmp_path / "1") == 2
    assert "is the evaluation of another model" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_files_can_be_stored_in_half_precision(run: Path, tmp_path: Path) -> None:
    assert exported(run, tmp_path / "out", "--step", 2, "--dtype", "bfloat16") == 0
    stored = load_file(tmp_path / "out/model.safetensors")
    assert {weight.dtype for weight in stored.values()} == {torch.bfloat16}
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "out", dtype="auto").dtype == torch.bfloat16


def test_what_cannot_be_exported_is_refused_and_leaves_nothing(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes.txt").write_text("mine")
    damaged = shutil.copytree(run, tmp_path / "damaged")
    with (damaged / "checkpoints/step_2/model/model.safetensors").open("r+b") as weights:
        weights.seek(2000)
        weights.write(b"\0\1\2\3")
    cases = [
        ([run, tmp_path / "full"], "is not an empty directory"),
        ([run, tmp_path / "out", "--step", 7], "no checkpoint of step 7. Choose one of its steps 1, 2."),
        ([tmp_path / "full", tmp_path / "out"], "neither a run directory nor a checkpoint"),
        ([run / "checkpoints/step_1", tmp_path / "out", "--step", 1], "--step is for a run directory"),
        ([damaged, tmp_path / "out", "--step", 2], "is damaged"),
        ([run, tmp_path / "out", "--evaluation", tmp_path / "full"], "is not a finished evaluation"),
    ]
    for arguments, said in cases:
        assert exported(*arguments) != 0
        assert said in capsys.readouterr().err
        assert not (tmp_path / "out").exists()
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["notes.txt"]


def evaluated(step: int, success: float, *, episodes: int = 8, kind: Any = EvaluationCompleted) -> Any:
    return kind(
        step=step, environment="Lake", episodes=episodes, successes=round(success * episodes), success=success,
        low=0.0, high=1.0, mean_return=success, first_seed=0, temperature=1.0, seconds=1.0,
    )  # fmt: skip


def test_the_largest_evaluation_of_a_step_counts_and_steps_that_were_made_again_do_not() -> None:
    again = RunStarted(
        step=2, total_steps=9, resumed_from=2, pid=1, device="cpu", model="tiny", parameters=1, attempt=2
    )
    results = counted([
        evaluated(2, 0.25), evaluated(4, 1.0), again, evaluated(6, 0.5),
        evaluated(2, 0.75, episodes=16, kind=CheckpointEvaluated), evaluated(2, 0.5, kind=CheckpointEvaluated),
    ])  # fmt: skip
    assert {step: [one.success for one in found] for step, found in results.items()} == {2: [0.75], 6: [0.5]}


def test_a_damaged_line_of_the_record_is_passed_over(tmp_path: Path) -> None:
    whole = [line_of(evaluated(step, 0.5).stamped(seq=step, time=1.0, attempt=1, epoch=0)) for step in (1, 2)]
    (tmp_path / "events.jsonl").write_bytes(
        whole[0].replace(b'"successes":4', b'"successes":7') + b"{half\n" + whole[1]
    )
    assert list(held_out_results(tmp_path / "events.jsonl")) == [2]


def test_a_licence_is_that_of_the_models_own_card(tmp_path: Path) -> None:
    assert licence_of("tiny") == "apache-2.0"
    for text, licence in (
        ("---\nlicense: gemma\n---\n", "gemma"),
        ("---\nlanguage: en\nlicense: 'llama3.2'\n---\n# Model", "llama3.2"),
        ("# Model\nlicense: mit\n", ""),  # no front matter
        ("---\nlanguage: en\n---\nlicense: mit\n---\n", ""),
    ):
        (tmp_path / "config.json").write_text("{}")
        (tmp_path / "README.md").write_text(text)
        assert licence_of(str(tmp_path)) == licence
    assert licence_of("nobody/has-this-model") == ""


def test_text_of_users_has_no_meaning_in_a_card() -> None:
    assert plain("a | b\n# <script>*x*") == r"a \| b \# &lt;script&gt;\*x\*"


@pytest.mark.slow
@needs_vllm
def test_vllm_serves_the_exported_directory(tmp_path: Path) -> None:
    """Of the model that ships: vLLM's CPU build does not take the heads of the smaller one."""
    from engine.policies.vllm_engine import VllmEngine

    config = run_config(Path("tiny"), steps=1, model={"path": "tiny", "lora": LORA}, evaluation={"episodes": 1})
    assert train(config, tmp_path / "run") == EXIT_DONE
    assert exported(tmp_path / "run", tmp_path / "out") == 0
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    prompt = list(range(20, 40))
    with VllmEngine(str(tmp_path / "out"), max_context_tokens=128, rows=2) as engine:
        ids = greedy(engine, prompt, count=8)
    with torch.no_grad():
        expected = model.generate(torch.tensor([prompt]), max_new_tokens=8, do_sample=False, eos_token_id=None)
    assert ids == expected[0, len(prompt) :].tolist()


def greedy(engine: Any, prompt: list[int], *, count: int) -> list[int]:
    from engine.policies.vllm_sampler import VllmSampler

    sampler = VllmSampler(engine, rows=1, stop_ids=set(), temperature=0.0, seeds=[1])
    sampler.submit(0, prompt, max_tokens=count)
    responses: list[Any] = []
    while not responses:
        responses = sampler.advance() or []
    sampler.release(0)
    return list(responses[0].ids)
