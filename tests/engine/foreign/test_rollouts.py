"""Rollouts of RAGEN and verl: read line by line, split into turns, and made a run directory of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.event_lines import parse_event
from engine.foreign.rollouts import NoRollout, read_rollout
from engine.foreign.run_directory import Report, Source, as_log, import_rollouts
from engine.rollout.trajectory_files import read_records

MARKED = "<|im_start|>system\nRules<|im_end|>\n<|im_start|>user\nState A<|im_end|>\n<|im_start|>assistant\n<think>"
BARE = "system\nRules\nuser\nState A\nassistant\n"


def verl(*, score: Any = 1.0, step: int = 20, **changes: Any) -> str:
    """As `rollout_data_dir` has it."""
    base = {"input": BARE, "output": "<think>go</think><answer>Up</answer>", "gts": None, "score": score, "step": step}
    return json.dumps({**base, **changes})


def ragen(*, group: int = 0, env: int = 0, reward: float = 0.7, **metrics: Any) -> str:
    """As an evaluation is saved with the format jsonl: three turns, the second and third with their own rewards."""
    messages = [
        {"role": "user", "content": "State A"},
        {"role": "assistant", "content": "<think>a</think><answer>Up || Left</answer>"},
        {"role": "user", "content": "State B (reward: -0.2)"},
        {"role": "assistant", "content": "<answer>Down</answer>"},
        {"role": "user", "content": "State C (reward: 1.0)"},
        {"role": "assistant", "content": "<answer>Down</answer>"},
        {"role": "user", "content": "State D"},
    ]
    metadata = {"env_id": env, "group_id": group, "num_turns": 3, "total_reward": reward, "success": False, **metrics}
    return json.dumps({"custom_id": f"traj_{env}", "messages": messages, "metadata": metadata})


def imported(tmp_path: Path, *lines: str, name: str = "rollouts.jsonl", **options: Any) -> Report:
    return import_rollouts([Source(name=name, lines=lines)], tmp_path / "run", **options)


def records(tmp_path: Path, split: str, step: int) -> list[dict[str, Any]]:
    path = tmp_path / f"run/trajectories/{split}/step_{step}.jsonl.zst"
    return [record for _, _, record in read_records(path)]


def test_a_dump_without_special_tokens_gives_the_messages_of_its_prompt() -> None:
    found = read_rollout(verl())
    assert found.turns[0].given == [
        {"role": "system", "content": "Rules"},
        {"role": "user", "content": "State A"},
    ]
    assert (found.score, found.step, found.success) == (1.0, 20, True)


def test_the_opener_of_a_marked_prompt_belongs_to_the_response() -> None:
    found = read_rollout(verl(input=MARKED, output="go</think><answer>Up</answer><|im_end|>"))
    assert found.turns[0].response == "<think>go</think><answer>Up</answer>"
    assert len(found.turns[0].given) == 2


@pytest.mark.parametrize(
    "output",
    [
        "Up<|im_end|>\n<|im_start|>user\nState B<|im_end|>\n<|im_start|>assistant\nDown<|im_end|><|endoftext|>",
        "Up\nuser\nState B\nassistant\nDown",
    ],
)
def test_several_turns_in_one_text_are_split_by_their_marks(output: str) -> None:
    first, second = read_rollout(verl(output=output)).turns
    assert (first.response, second.response) == ("Up", "Down")
    assert second.given == [{"role": "user", "content": "State B"}]


def test_a_text_without_marks_is_one_turn() -> None:
    turns = read_rollout(verl(input="2 + 2 =", output="4, says the\nuser\nof sums")).turns
    assert [(turn.given[0]["content"], turn.response) for turn in turns] == [("2 + 2 =", "4, says the\nuser\nof sums")]


@pytest.mark.parametrize(
    ("changes", "success"),
    [
        ({"score": 1.0}, True),
        ({"score": 0.9}, False),
        ({"score": 5.0, "acc": False}, False),
        ({"score": 0.0, "acc": 1.0}, True),
        ({"score": None}, False),
    ],
)
def test_what_a_line_says_of_success_counts_before_its_score(changes: dict[str, Any], success: bool) -> None:
    assert read_rollout(verl(**changes)).success is success


def test_ragen_s_rewards_go_to_the_responses_they_are_of_and_the_first_has_the_rest() -> None:
    found = read_rollout(ragen(reward=0.7, **{"FrozenLake/success": 1.0}))
    # the total is 0.7, of which the second turn has -0.2 and the third 1.0: the first has -0.1
    assert [turn.reward for turn in found.turns] == pytest.approx([-0.1, -0.2, 1.0])
    assert (found.success, found.environment, found.group) == (True, "FrozenLake", "0")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[1]", "a JSON list"),
        ("{}", "none of the keys"),
        ('{"output": 3}', "no text under output"),
        ('{"messages": [{"role": "user", "content": "hi"}]}', "there is no response"),
        ('{"messages": "hi"}', "not a list of objects"),
        ("[" * 100_000, "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
    ],
)
def test_a_line_that_is_no_rollout_says_why(line: Any, reason: str) -> None:
    with pytest.raises(NoRollout, match=reason):
        read_rollout(line)


def test_numbers_that_are_none_are_left_out() -> None:
    found = read_rollout('{"output": "x", "score": NaN, "step": 1e99, "seed": -1, "acc": Infinity, "other": NaN}')
    assert (found.score, found.step, found.seed, found.success, found.facts) == (None, None, 0, False, {"seed": -1})


def test_lines_in_error_are_counted_and_listed_and_the_others_read(tmp_path: Path) -> None:
    report = imported(tmp_path, verl(), "", "{", verl(score=None), "[]")
    assert (report.rollouts, report.failed, report.unscored) == (2, 2, 1)
    assert [(name, number) for name, number, _ in report.errors] == [("rollouts.jsonl", 3), ("rollouts.jsonl", 5)]
    assert "line 3 of rollouts.jsonl: it is not JSON" in report.summary()
    assert as_log(report).count("\n") == 3


def test_equal_prompts_of_a_step_are_a_group(tmp_path: Path) -> None:
    lines = [verl(input="A", score=0), verl(input="B", score=1), verl(input="A", score=1), verl(input="A", step=21)]
    imported(tmp_path, *lines)
    found = records(tmp_path, "train", 20)
    assert [(r["group"], r["member"], r["return"]) for r in found] == [(0, 0, 0), (1, 0, 1), (0, 1, 1)]
    assert found[0]["group_std"] == pytest.approx(0.5**0.5)  # of 0 and 1, unbiased
    assert len(records(tmp_path, "train", 21)) == 1


def test_a_file_that_is_named_after_its_step_says_the_step(tmp_path: Path) -> None:
    line = json.dumps({"output": "x", "score": 1})
    assert imported(tmp_path, line, name="dumps/120.jsonl").steps == [120]


def test_a_run_directory_has_steps_and_an_end(tmp_path: Path) -> None:
    imported(tmp_path, verl(score=1), verl(score=0), verl(step=21, score=1))
    events = [parse_event(line) for line in (tmp_path / "run/events.jsonl").read_bytes().splitlines()]
    kinds = [event.kind for event in events]
    assert kinds == [
        "run_started", *["step_completed", "trajectories_recorded"] * 2, "verdict_updated", "run_finished",
    ]  # fmt: skip
    assert events[1].metrics["reward/mean"] == 0.5  # type: ignore[union-attr]
    assert events[1].metrics["rollout/zero_variance_share"] == 0.0  # type: ignore[union-attr]


def test_evaluations_of_ragen_are_held_out_unless_said_otherwise(tmp_path: Path) -> None:
    imported(tmp_path, ragen(env=0), ragen(env=1))
    found = records(tmp_path, "validation", 0)
    assert [(r["group"], r["member"]) for r in found] == [(0, 0), (0, 1)]
    turn = found[0]["turns"][0]
    assert (turn["executed"], turn["thought"], turn["parse"]) == (["Up", "Left"], "a", "ok")
    report = import_rollouts([Source(name="x", lines=[ragen()])], tmp_path / "other", split="train")
    assert report.rollouts == 1 and (tmp_path / "other/trajectories/train/step_0.jsonl.zst").exists()


def test_where_no_line_is_good_nothing_is_written(tmp_path: Path) -> None:
    report = imported(tmp_path, "{", "")
    assert (report.rollouts, report.failed) == (0, 1)
    assert not (tmp_path / "run").exists()
