"""Lines of metrics of a trainer elsewhere: each on its own, once, merged by step, and refused with a reason."""

from __future__ import annotations

import json

import pytest

from engine.foreign.lines import Batch, Position, read_batch
from engine.foreign.metric_lines import MOST_METRICS


def lines(*data: object) -> list[bytes]:
    return [json.dumps(one).encode() for one in data]


def line(seq: int, step: int, **metrics: object) -> dict[str, object]:
    return {"seq": seq, "step": step, "metrics": metrics}


def read(*data: object, position: Position | None = None) -> Batch:
    return read_batch(lines(*data), position or Position(started_at=100.0), now=107.0)


def test_a_line_is_a_step_with_the_seconds_since_the_start() -> None:
    batch = read({**line(1, 3, loss=0.5), "tokens": 40}, {**line(2, 4, loss=1), "time": 112.5})
    assert [(one.step, one.metrics, one.time, one.tokens, one.seconds) for one in batch.events] == [
        (3, {"loss": 0.5}, 107.0, 40, 7.0),
        (4, {"loss": 1.0}, 112.5, 40, 12.5),
    ]
    assert (batch.accepted, batch.position.seq) == (2, 2)


def test_lines_of_one_step_are_merged_also_across_batches() -> None:
    first = read(line(1, 3, a=1), line(2, 3, b=2))
    second = read(line(3, 3, b=3, c=4), position=first.position)
    assert second.events[-1].metrics == {"a": 1, "b": 3, "c": 4}


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
    assert batch.events[0].metrics == {"e": 2.0}
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
        (b'{"seq": 2, "step": 2, "metrics": {}, "loss": 3}', "no field 'loss'"),
        (b'{"seq": "2", "step": 2, "metrics": {}}', "seq is '2'"),
        (b'{"seq": 0, "step": 2, "metrics": {}}', "at least 1"),
        (b'{"seq": 2, "metrics": {}}', "step is 'None'"),
        (b'{"seq": 2, "step": -1, "metrics": {}}', "step is '-1'"),
        (b'{"seq": 2, "step": true, "metrics": {}}', "step is 'True'"),
        (b'{"seq": 2, "step": 0, "metrics": {}}', "after a line of step 1"),
        (b'{"seq": 2, "step": 2}', "metrics is missing"),
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
