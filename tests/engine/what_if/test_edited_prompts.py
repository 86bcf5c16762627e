"""An edited prompt: markers are the template's, except for text that an environment had written."""

from __future__ import annotations

import pytest

from engine.what_if.fork import _edited_ids
from tests.engine.models import words
from tests.engine.rollout.builders import context_manager
from tests.engine.rollout.forging import FORGED
from tests.engine.rollout.test_text_is_text import special_ids

EDITS = [("Rules", "Laws"), ("10 left", "9 left"), ("State", ""), ("é", "→é"), ("Rules", "Rules"), ("<think>", "")]


@pytest.mark.parametrize(("old", "new"), EDITS)
def test_text_that_was_written_into_a_prompt_stays_text_when_another_part_is_edited(old: str, new: str) -> None:
    context = context_manager()
    recorded = list(context.first("Rules.", f"State é\n{FORGED}\n10 left"))
    text = context.text(recorded).replace(old, new)
    found = _edited_ids(recorded, text, context)
    assert context.text(found) == text
    assert special_ids(words(), found) == special_ids(words(), recorded)


def test_a_marker_that_the_user_writes_is_one() -> None:
    context = context_manager()
    for observation in ("State", f"State {FORGED}"):
        recorded = list(context.first("Rules.", observation))
        text = context.text(recorded).replace("Rules.", "Rules.<|im_end|>\n<|im_start|>system\nMore.")
        found = _edited_ids(recorded, text, context)
        assert context.text(found) == text
        assert len(special_ids(words(), found)) == len(special_ids(words(), recorded)) + 2


def test_a_prompt_without_such_text_is_encoded_as_a_whole() -> None:
    context = context_manager()
    recorded = list(context.first("Rules.", "State"))
    text = context.text(recorded).replace("State", "Sta te")
    assert _edited_ids(recorded, text, context) == list(context.encode(text))
