"""Lines of a trainer elsewhere: each on its own, once, metrics merged by step, and refused with a reason."""

from __future__ import annotations

import json

import pytest

from engine.events import EvaluationCompleted, GroupsFiltered, StepCompleted, TrajectoriesRecorded
from engine.foreign.lines import Batch, Position, Sender, read_batch
from engine.foreign.metric_lines import MOST_METRICS


def lines(*data: object) -> list[bytes]:
    return [json.dumps(one).encode() for one in data]


def line(seq: int, step: int, **metrics: object) -> dict[str, object]:
    return {"seq": seq, "step": step, "metrics": metrics}


def read(*data: object, position: Position | None = None) -> Batch:
    return read_batch(lines(*data), position or Position(started_at=100.0), now=107.0)


def test_a_line_is_a_step_with_the_seconds_since_the_start() -> None:
    batch = read({**line(1, 3, loss=0.5), "tokens": 40}, {**line(2, 4, loss=1), "time": 112.5})
    assert [
        (one.step, one.metrics, one.time, one.tokens, one.seconds)
        for one in batch.events
        if isinstance(one, StepCompleted)
    ] == [
        (3, {"loss": 0.5}, 107.0, 40, 7.0),
        (4, {"loss": 1.0}, 112.5, 40, 12.5),
    ]
    assert (batch.accepted, batch.position.seq) == (2, 2)


def test_lines_of_one_step_are_merged_also_across_batches() -> None:
    first = read(line(1, 3, a=1), line(2, 3, b=2))
    second = read(line(3, 3, b=3, c=4), position=first.position)
    merged = second.events[-1]
    assert isinstance(merged, StepCompleted)
    assert merged.metrics == {"a": 1, "b": 3, "c": 4}


def test_lines_that_arrived_before_change_nothing() -> None:
    position = read(line(1, 1, a=1), line(2, 2, a=2)).position
    again = read(line(1, 1, a=9), line(2, 2, a=9), line(3, 3, a=3), position=position)
    assert (again.duplicates, again.accepted, len(again.events)) == (2, 1, 1)


def test_a_gap_is_counted() -> None:
    batch = read(line(1, 1, a=1), line(5, 2, a=2))  # 2, 3 and 4 are missing
    assert (batch.gaps, batch.accepted) == (3, 2)


def test_values_that_are_not_finite_are_dropped_and_counted() -> None:
    text = b'{"seq": 1, "step": 1, "metrics": {"a": NaN, "b": "Infinity", "c": null, "d": 1e999, "e": 2}}'
    batch = read_batch([text], Position(), now=1.0)
    step = batch.events[0]
    assert isinstance(step, StepCompleted)
    assert step.metrics == {"e": 2.0}
    assert batch.dropped_values == 4
    huge = b'{"seq": 1, "step": 1, "metrics": {"a": 1' + b"0" * 400 + b"}}"
    assert read_batch([huge], Position(), now=1.0).dropped_values == 1


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1]", "a JSON list, not an object"),
        (b'{"seq": 2, "step": 2, "metrics": {}, "loss": 3}', "Field 'loss' is not allowed"),
        (b'{"seq": "2", "step": 2, "metrics": {}}', "seq is '2'"),
        (b'{"seq": 0, "step": 2, "metrics": {}}', "at least 1"),
        (b'{"seq": 2, "metrics": {}}', "step is 'None'"),
        (b'{"seq": 2, "step": -1, "metrics": {}}', "step is '-1'"),
        (b'{"seq": 2, "step": true, "metrics": {}}', "step is 'True'"),
        (b'{"seq": 2, "step": 0, "metrics": {}}', "after a line of step 1"),
        (b'{"seq": 2, "step": 2}', "this one has none"),
        (b'{"seq": 2, "step": 2, "metrics": [1]}', "must be an object of names"),
        (b'{"seq": 2, "step": 2, "metrics": {}, "groups": []}', "this one has metrics and groups"),
        (b'{"seq": 2, "step": 2, "groups": [{"returns": []}]}', "groups[0].returns: List should have at least 1 item"),
        (b'{"seq": 2, "step": 2, "groups": [{"returns": [1, "2"]}]}', "groups[0].returns[1]"),
        (b'{"seq": 2, "step": 2, "groups": [{"returns": [NaN]}]}', "finite number"),
        (b'{"seq": 2, "step": 2, "groups": [{"returns": [1], "successes": []}]}', "give one for each"),
        (b'{"seq": 2, "step": 2, "evaluation": {"episodes": 2, "successes": 3, "mean_return": 0}}', "3 successes of 2"),
        (b'{"seq": 2, "step": 2, "trajectories": []}', "trajectories: List should have at least 1 item"),
        (
            b'{"seq": 2, "step": 2, "trajectories": [{"messages": [{"role": "user"}]}]}',
            "messages[0].content: Field req",
        ),
        (b'{"seq": 2, "step": 2, "trajectories": [{"messages": [{"role": "user", "content": ""}]}]}', "no response"),
        (b'{"seq": 2, "step": 2, "split": "dev", "trajectories": [{"messages": []}]}', "trajectories[0].messages"),
        (b'{"seq": 2, "step": 2, "metrics": {"a": "high"}}', "The value of 'a' is 'high'"),
        (b'{"seq": 2, "step": 2, "metrics": {"a": true}}', "must be a number"),
        (b'{"seq": 2, "step": 2, "metrics": {"": 1}}', "1 to 200 printable"),
        (b'{"seq": 2, "step": 2, "metrics": {"a\\u0000b": 1}}', "1 to 200 printable"),
        (b'{"seq": 2, "step": 2, "metrics": {"\\ud800": 1}}', "1 to 200 printable"),
        (b'{"seq": 2, "step": 2, "metrics": {}, "time": "now"}', "seconds since the epoch"),
        (b'{"seq": 2, "step": 2, "metrics": {}, "tokens": -3}', "tokens is '-3'"),
    ],
)
def test_a_wrong_line_is_refused_with_the_reason_and_the_others_are_kept(bad: bytes, reason: str) -> None:
    (first,), (third,) = lines(line(1, 1, a=1)), lines(line(3, 3, a=3))
    batch = read_batch([first, bad, third], Position(), now=1.0)
    assert batch.accepted == 2
    [refused] = batch.rejected
    assert refused.line == 2
    assert reason in refused.reason


def test_a_step_has_a_limit_of_metrics() -> None:
    batch = read(line(1, 1, **{f"m{number}": 1 for number in range(MOST_METRICS)}), line(2, 1, one_more=1))
    assert "at most 2,000" in batch.rejected[0].reason
    assert batch.position.seq == 1


def test_names_of_a_trainer_become_ours_unless_ours_was_sent() -> None:
    sender = Sender(names={"actor/entropy": "policy/entropy"})
    both = lines(
        line(1, 1, **{"actor/entropy": 1.5, "x": 2}), line(2, 2, **{"actor/entropy": 1.5, "policy/entropy": 3})
    )
    batch = read_batch(both, Position(), now=1.0, sender=sender)
    assert [one.metrics for one in batch.events if isinstance(one, StepCompleted)] == [
        {"policy/entropy": 1.5, "x": 2.0},
        {"policy/entropy": 3.0},
    ]


def test_groups_are_an_event_and_the_metrics_that_rules_read() -> None:
    """Returns [0, 1] have the standard deviation sqrt(0.5) = 0.7071, and [1, 1] have 0: 0.3536 in the mean."""
    groups = [
        {"returns": [0, 1], "successes": [False, True], "seed": 7},
        {"returns": [1, 1], "successes": [True, True]},
    ]
    batch = read(line(1, 3, loss=2), {"seq": 2, "step": 3, "groups": groups})
    _, step, filtered = batch.events
    assert isinstance(step, StepCompleted)
    assert step.metrics == {
        "loss": 2.0,
        "reward/mean": 0.75,
        "reward/std": pytest.approx(0.4330, abs=1e-4),
        "reward/min": 0.0,
        "reward/max": 1.0,
        "reward/within_group_std": pytest.approx(0.3536, abs=1e-4),
        "rollout/zero_variance_share": 0.5,
        "rollout/success": 0.75,
        "rollout/solved_groups": 1.0,
        "rollout/failed_groups": 0.0,
        "rollout/mixed_groups": 1.0,
    }
    assert isinstance(filtered, GroupsFiltered)
    assert (filtered.tags, filtered.seeds, filtered.kept) == (["elsewhere"], [7, 0], [0, 1])


def test_an_evaluation_has_its_interval() -> None:
    """61 of 256: Wilson's 95% interval is 0.1902 to 0.2941."""
    found = {"episodes": 256, "successes": 61, "mean_return": 0.2, "environment": "lake"}
    [event] = read({"seq": 1, "step": 0, "evaluation": found}).events
    assert isinstance(event, EvaluationCompleted)
    assert (event.low, event.high) == (pytest.approx(0.190205, abs=1e-6), pytest.approx(0.294096, abs=1e-6))
    assert event.environment == "lake"


CHAT = [
    {"role": "system", "content": "Play."},
    {"role": "user", "content": "S . G"},
    {"role": "assistant", "content": "<think>go</think><answer>Right</answer>", "reward": 0.0, "tokens": 9},
    {"role": "user", "content": ". S G"},
    {"role": "assistant", "content": "right again", "actions": ["Right"], "reward": 1.0, "tokens": 3},
]


def test_trajectories_are_a_file_for_each_line_with_roles_actions_and_rewards() -> None:
    trajectories = [{"group": 4, "messages": CHAT, "advantage": 0.5}, {"group": 4, "messages": CHAT[:3], "return": 0}]
    batch = read(line(1, 9, loss=1), {"seq": 2, "step": 7, "trajectories": trajectories})  # of an earlier step
    [file] = batch.files
    recorded = batch.events[-1]
    assert isinstance(recorded, TrajectoriesRecorded)
    assert (file.path, recorded.path, recorded.count) == (*["trajectories/train/step_7_line_2.jsonl.zst"] * 2, 2)
    won, lost = file.records
    assert (won["return"], won["success"], won["advantage"], won["response_tokens"]) == (1.0, True, 0.5, 12)
    assert (lost["success"], lost["member"], lost["group"]) == (False, 1, 4)
    assert won["group_std"] == pytest.approx(0.7071, abs=1e-4)  # of 1 and 0
    first, second = won["turns"]
    assert (first["thought"], first["executed"], first["reward"], first["return_to_go"]) == ("go", ["Right"], 0.0, 1.0)
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert (second["executed"], second["reward"], second["parse"]) == (["Right"], 1.0, "ok")
    [frame] = first["frames"]  # the state that the next turn shows
    assert (frame["action"], frame["effective"], frame["observation"]) == ("Right", True, ". S G")
    assert won["initial"]["drawing"] == {"type": "text", "text": "S . G"}
    assert second["frames"] == []
    assert batch.position.step == 9


def test_a_member_that_a_line_has_twice_is_refused() -> None:
    twice = [{"group": 1, "member": 0, "messages": CHAT}] * 2
    batch = read({"seq": 1, "step": 1, "trajectories": twice})
    assert batch.rejected[0].reason == "trajectories[1] is member 0 of group 1, which the line had before."
    assert not batch.files


def test_a_reward_that_is_not_split_belongs_to_the_last_turn() -> None:
    plain = [{name: message[name] for name in ("role", "content")} for message in CHAT]
    batch = read({"seq": 1, "step": 1, "trajectories": [{"messages": plain, "return": 2.5}]})
    assert [turn["reward"] for turn in batch.files[0].records[0]["turns"]] == [0.0, 2.5]
