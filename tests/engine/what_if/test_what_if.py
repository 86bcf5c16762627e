"""A recorded trajectory forked at a turn: replayed exactly, edited, continued, or refused with the reason."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.config import build_config
from engine.rollout.trajectory_files import read_records, write_trajectory_file
from engine.training.session import EXIT_DONE, train
from engine.what_if.command import play_what_if
from engine.what_if.request import EVENTS, TRAJECTORY, WhatIfRequest

pytestmark = pytest.mark.slow
FILE = "trajectories/train/step_1.jsonl.zst"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A run of one step with the model that ships, and its trajectory with most turns."""

    run_dir: Path
    offset: int
    length: int
    record: dict[str, Any]

    @property
    def last(self) -> int:
        return len(self.record["turns"]) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    messages: list[dict[str, Any]]
    record: dict[str, Any] | None

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["kind"] == kind]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    run_dir = tmp_path_factory.mktemp("run")
    config = build_config(
        {
            "steps": 1,
            "threads": 1,
            "rollout": {"groups": 4, "group_size": 2},
            "diagnostics": {"every": 0},
            "evaluation": {"every": 0, "at_start": False, "final_episodes": 1},
        }
    )
    assert train(config, run_dir) == EXIT_DONE
    offset, length, record = max(read_records(run_dir / FILE), key=lambda found: len(found[2]["turns"]))
    assert len(record["turns"]) >= 3
    return Recorded(run_dir=run_dir, offset=offset, length=length, record=record)


def ask(recorded: Recorded, folder: Path, **changes: Any) -> Answer:
    location = {"run_dir": str(recorded.run_dir), "file": FILE, "offset": recorded.offset, "length": recorded.length}
    request = WhatIfRequest.model_validate({**location, "turn": 1, "device": "cpu", **changes})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "request.json").write_text(request.model_dump_json())
    status = play_what_if(folder / "request.json", folder)
    messages = [json.loads(line) for line in (folder / EVENTS).read_text().splitlines()]
    path = folder / TRAJECTORY
    record = next(iter(read_records(path)))[2] if path.exists() else None
    return Answer(status=status, messages=messages, record=record)


def deeds(record: dict[str, Any] | None, until: int) -> list[Any]:
    assert record is not None
    return [(turn["prompt"], turn["response"], turn["executed"], turn["reward"]) for turn in record["turns"][:until]]


def test_a_response_that_is_put_back_as_it_was_leads_where_it_led(recorded: Recorded, tmp_path: Path) -> None:
    last = recorded.record["turns"][-1]
    found = ask(recorded, tmp_path, turn=recorded.last, edit="response", text=last["response"])
    assert found.status == 0
    assert deeds(found.record, 99) == deeds(recorded.record, 99)
    assert found.record is not None and found.record["success"] == recorded.record["success"]


def test_a_fork_keeps_what_came_before_and_tells_what_it_samples_as_it_does(recorded: Recorded, tmp_path: Path) -> None:
    found = ask(recorded, tmp_path, turn=1, seed=5)
    assert found.record is not None
    assert deeds(found.record, 1) == deeds(recorded.record, 1)
    assert [message["kind"] for message in found.messages[:3]] == ["loading", "replayed", "prompt"]
    assert found.messages[-1]["kind"] == "finished"
    for event in found.of("turn"):
        text = "".join(message["text"] for message in found.of("text") if message["turn"] == event["turn"])
        assert text == event["response"] == found.record["turns"][event["turn"]]["response"]
    assert len(found.of("turn")) == len(found.record["turns"]) - 1
    assert found.record["what_if"] == {
        "of": recorded.record["id"], "turn": 1, "edit": "nothing", "text": "", "checkpoint": "", "temperature": 1.0,
        "seed": 5, "most_tokens": 4096, "most_seconds": 300.0, "prompts": [],
    }  # fmt: skip


def test_the_same_seed_continues_in_the_same_way(recorded: Recorded, tmp_path: Path) -> None:
    first, again, other = (ask(recorded, tmp_path / str(n), seed=seed) for n, seed in enumerate((3, 3, 4)))
    assert first.record == again.record
    assert deeds(first.record, 99) != deeds(other.record, 99)


def test_another_action_is_done_and_was_sampled_by_nobody(recorded: Recorded, tmp_path: Path) -> None:
    found = ask(recorded, tmp_path, turn=0, edit="action", text="Up || Left")
    assert found.record is not None
    turn = found.record["turns"][0]
    assert turn["parsed"] == ["Up", "Left"]
    assert turn["thought"] == recorded.record["turns"][0]["thought"]
    assert not any(found.record["tokens"]["sampled"][turn["response_start"] : turn["response_end"]])
    assert any(found.record["tokens"]["sampled"][turn["response_end"] :]) or len(found.record["turns"]) == 1


def test_another_prompt_is_what_the_model_reads(recorded: Recorded, tmp_path: Path) -> None:
    prompt = recorded.record["turns"][1]["prompt"].replace("Reward", "You got")
    found = ask(recorded, tmp_path, turn=1, edit="prompt", text=prompt)
    assert found.record is not None
    assert found.record["turns"][1]["prompt"] == prompt
    assert found.of("prompt")[0]["text"] == prompt


def test_a_checkpoint_of_the_run_continues_the_rollout(recorded: Recorded, tmp_path: Path) -> None:
    found = ask(recorded, tmp_path, checkpoint="step_1", temperature=0.0)
    assert (found.status, found.of("loading")[0]["checkpoint"]) == (0, "step_1")


def test_a_run_that_is_a_fork_continues_with_the_weights_that_it_began_with(recorded: Recorded, tmp_path: Path) -> None:
    fork = tmp_path / "runs" / "fork"
    shutil.copytree(recorded.run_dir, fork)
    start = fork / "start" / "parent" / "step_1"
    shutil.copytree(recorded.run_dir / "checkpoints" / "step_1", start)
    weights = load_file(start / "model" / "model.safetensors")
    weights["model.norm.weight"][0] = torch.nan  # so that it shows whether they are used
    save_file(weights, start / "model" / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((fork / "config.json").read_text())
    config["model"]["start_from"] = {"run": "parent", "step": 1}
    (fork / "config.json").write_text(json.dumps(config))
    found = ask(replace(recorded, run_dir=fork), tmp_path / "answer", turn=1)
    assert found.status != 0
    assert "logits are not finite" in found.messages[-1]["message"]


def test_a_limit_of_tokens_ends_it_and_keeps_the_turns_until_then(recorded: Recorded, tmp_path: Path) -> None:
    found = ask(recorded, tmp_path, turn=1, most_tokens=3)
    assert found.status == 0
    assert found.record is not None
    assert (found.record["stop"], len(found.record["turns"])) == ("limit", 1)
    assert found.messages[-1]["note"] == "Stopped at the limit of 3 tokens."


def as_recorded(recorded: Recorded, folder: Path, found: Answer) -> Recorded:
    """What came of `found`, which was asked in `folder`, as something to ask of; `folder` lies in the run's."""
    offset, length, record = next(iter(read_records(folder / TRAJECTORY)))
    assert found.record == record
    shutil.copytree(recorded.run_dir, folder / "run")
    shutil.copy(folder / TRAJECTORY, folder / "run" / FILE)
    return Recorded(run_dir=folder / "run", offset=offset, length=length, record=record)


def test_what_came_of_a_fork_is_forked_at_a_later_turn(recorded: Recorded, tmp_path: Path) -> None:
    """Its first response was written by hand and its second prompt was another; both stay as they were."""
    first = ask(recorded, tmp_path / "a", turn=0, edit="action", text="Nowhere")
    made = as_recorded(recorded, tmp_path / "a", first)
    assert made.last >= 1  # an action that does not exist ends nothing
    prompt = made.record["turns"][1]["prompt"].replace("Reward", "You got")
    second = ask(made, tmp_path / "b", turn=1, edit="prompt", text=prompt, seed=2)
    further = as_recorded(made, tmp_path / "b", second)
    third = ask(further, tmp_path / "c", turn=further.last, seed=8)
    assert third.status == 0 and third.record is not None
    assert deeds(third.record, further.last) == deeds(further.record, further.last)
    assert third.record["turns"][1]["prompt"] == prompt
    written = third.record["turns"][0]
    assert not any(third.record["tokens"]["sampled"][written["response_start"] : written["response_end"]])
    chain = third.record["what_if"]
    assert (chain["turn"], chain["after"]["turn"], chain["after"]["after"]["turn"]) == (further.last, 1, 0)
    assert "after" not in chain["after"]["after"]
    assert (chain["prompts"], chain["after"]["prompts"], chain["after"]["after"]["prompts"]) == ([1], [1], [])


def test_a_fork_before_another_prompt_reads_what_its_window_writes(recorded: Recorded, tmp_path: Path) -> None:
    prompt = recorded.record["turns"][1]["prompt"].replace("Reward", "You got")
    first = ask(recorded, tmp_path / "a", turn=1, edit="prompt", text=prompt)
    found = ask(as_recorded(recorded, tmp_path / "a", first), tmp_path / "b", turn=0, edit="action", text="Nowhere")
    assert found.record is not None
    assert "You got" not in found.record["turns"][1]["prompt"]
    assert found.record["what_if"]["prompts"] == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"turn": 77}, "there is no turn 78"),
        ({"checkpoint": "step_99"}, "The checkpoint step_99 no longer exists"),
        ({"edit": "response", "text": "word " * 500}, "at most 40 are allowed here"),
        ({"edit": "prompt", "text": ""}, "The prompt is empty"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    recorded: Recorded, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    found = ask(recorded, tmp_path, **changes)
    assert found.status == 1
    assert found.messages[-1]["kind"] == "refused"
    assert message in found.messages[-1]["message"]
    assert found.messages[-1]["remedy"]
    assert found.record is None


def tampered(recorded: Recorded, folder: Path, change: Any) -> Recorded:
    """The same run with another record in its file."""
    shutil.copytree(recorded.run_dir, folder)
    record = json.loads(json.dumps(recorded.record))
    change(record)
    write_trajectory_file(folder / FILE, [record])
    offset, length, _ = next(iter(read_records(folder / FILE)))
    return Recorded(run_dir=folder, offset=offset, length=length, record=record)


def set_frame(record: dict[str, Any], name: str, value: Any) -> None:
    turn = next(turn for turn in record["turns"] if turn["frames"])
    turn["frames"][0][name] = value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record["initial"].update(observation="elsewhere"), "The initial state differs"),
        (lambda record: set_frame(record, "observation", "elsewhere"), "led to a different state"),
        (lambda record: set_frame(record, "reward", 0.25), "had a reward of 0, not 0.25"),
        (lambda record: record["turns"][0]["executed"].append("Up"), "The actions executed in turn"),
        (lambda record: record["tokens"]["ids"].__setitem__(3, 1), "differs from the recorded one"),
        (lambda record: record["tokens"].update(ids=[]), "it was imported"),
        (lambda record: record.update(environment="Other"), "no environment 'Other'"),
    ],
)
def test_what_is_not_as_it_was_recorded_is_refused(
    recorded: Recorded, tmp_path: Path, change: Any, message: str
) -> None:
    found = ask(tampered(recorded, tmp_path / "run", change), tmp_path / "out", turn=recorded.last)
    assert found.status == 1
    assert message in found.messages[-1]["message"]
    assert not found.of("text")
