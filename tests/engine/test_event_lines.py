"""Lines of `events.jsonl`: what is written is read back, and what has changed since is never taken for an event."""

from __future__ import annotations

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.event_lines import DamagedLine, line_of, parse_event, why_refused
from engine.events import PhaseChanged, StepCompleted

STEP = StepCompleted(step=3, metrics={"reward/mean": 0.25}, tokens=12, seconds=1.5).stamped(
    seq=7, time=1000.0, attempt=1, epoch=0
)


def test_a_line_is_the_event_with_its_checksum_as_the_last_field() -> None:
    line = line_of(STEP)
    fields = json.loads(line)
    text = STEP.model_dump_json().encode()
    assert list(fields)[-1] == "crc"
    assert fields["crc"] == f"{zlib.crc32(text):08x}"
    assert parse_event(line) == STEP


@given(bit=st.integers(0, 8 * (len(line_of(STEP)) - 1) - 1))
def test_no_bit_can_change_unseen(bit: int) -> None:
    """Of the event: a line without a checksum is accepted, so a flip in the name of that field changes nothing else."""
    line = bytearray(line_of(STEP))
    line[bit // 8] ^= 1 << bit % 8
    try:
        found = parse_event(bytes(line))
    except ValueError:
        return
    assert found.model_dump(exclude=set(found.model_extra or {})) == STEP.model_dump()


def test_a_line_that_another_program_wrote_needs_no_checksum() -> None:
    assert parse_event(STEP.model_dump_json()) == STEP


def test_fields_of_a_newer_version_are_kept() -> None:
    line = json.dumps({**json.loads(STEP.model_dump_json()), "watts": 250})
    assert parse_event(line).model_dump()["watts"] == 250


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"kind": "of_a_newer_version"}, "The event's kind 'of_a_newer_version' is not known to this version"),
        ({"step": 2**31}, "step: Input should be less than or equal to 2147483647"),
        ({"seq": 2**63}, "seq: Input should be less than or equal to 9223372036854775807"),
        ({"time": 1e20}, "time: Input should be less than or equal to 253402300799"),
        ({"tokens": 2**63}, "tokens: Input should be less than or equal to 9223372036854775807"),
        ({"metrics": {"reward/mean": float("nan")}}, "metrics.reward/mean: Input should be a finite number"),
        ({"seconds": float("inf")}, "seconds: Input should be a finite number"),
        ({"attempt": 0}, "a recorded event has a seq and an attempt"),
    ],
)
def test_numbers_that_no_table_holds_are_refused_with_their_field(change: dict[str, object], why: str) -> None:
    line = json.dumps({**json.loads(STEP.model_dump_json()), **change})
    with pytest.raises(ValueError) as refused:
        parse_event(line)
    assert why in why_refused(refused.value)


def test_why_a_line_is_refused_is_one_sentence() -> None:
    damaged = line_of(STEP).replace(b'"step":3', b'"step":4')
    with pytest.raises(DamagedLine) as changed:
        parse_event(damaged)
    assert why_refused(changed.value) == "The line has changed since it was written: its checksum does not match"
    with pytest.raises(ValueError) as torn:
        parse_event(line_of(STEP)[:30])
    assert why_refused(torn.value) == "The line is not complete JSON"


def test_text_with_half_a_surrogate_pair_is_refused() -> None:
    event = PhaseChanged(step=1, phase="loading", detail="half").stamped(seq=1, time=1.0, attempt=1, epoch=0)
    line = event.model_dump_json().replace("half", "\\ud800")
    with pytest.raises(ValueError, match="Invalid JSON"):
        parse_event(line)
