"""Tokens that end a response: the model's own, with and without its weights, and the one that its template writes."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from engine.policies.loading import load_model, stop_token_ids, stop_token_ids_of
from engine.rollout.action_parser import parse_response
from engine.rollout.context_manager import ContextManager
from tests.engine.models import save_small_model, words

GEMMA_LIKE = (
    "{% for one in messages %}<start_of_turn>{{ 'model' if one.role == 'assistant' else one.role }}\n"
    "{{ one.content }}<end_of_turn>\n{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
BEFORE_THE_USER = (
    "{% for one in messages %}{% if one.role == 'user' %}<start_of_turn>user\n{{ one.content }}<model>"
    "{% else %}{{ one.content }}{% endif %}{% endfor %}"
)
BY_WORDS = "{% for one in messages %}{{ one.role }}: {{ one.content }}\n{% endfor %}"


def tokenizer_with(template: str) -> Any:
    """Texts end with `<eos>`, turns by what the template says."""
    tokenizer = deepcopy(words())
    marks = ["<end_of_turn>", "<start_of_turn>", "<model>"]
    tokenizer.add_special_tokens({"additional_special_tokens": marks, "eos_token": "<eos>"})
    tokenizer.chat_template = template
    return tokenizer


@pytest.mark.parametrize("separate", [True, False])
def test_a_models_files_tell_the_same_stop_tokens_as_the_model(tmp_path: Path, separate: bool) -> None:
    path = save_small_model(tmp_path)
    if not separate:
        (path / "generation_config.json").unlink()
    model, tokenizer = load_model(str(path))
    assert stop_token_ids_of(str(path)) == stop_token_ids(model)
    assert tokenizer.eos_token_id in ContextManager(tokenizer, think=True, stops=stop_token_ids(model)).stop_ids


def test_a_response_may_end_its_turn_by_another_token_than_the_one_that_ends_texts() -> None:
    tokenizer = tokenizer_with(GEMMA_LIKE)
    end, over = tokenizer.convert_tokens_to_ids(["<end_of_turn>", "<eos>"])
    context = ContextManager(tokenizer, think=True)
    assert (context.turn_end, context.stop_ids) == (end, {end, over})
    said = [*context.encode("go up</think><answer>Up</answer>"), end]
    assert context.response_text(said) == "<think>go up</think><answer>Up</answer>"
    assert parse_response(context.response_text(said), think=True, max_actions=1).well_formed
    # the mark is there once, whoever wrote it
    after = "\n<start_of_turn>user\nnext<end_of_turn>\n<start_of_turn>model\n<think>"
    assert context.text([end, *context.following("next", response=said)]) == f"<end_of_turn>{after}"
    assert context.text(list(context.following("next", response=said[:-1]))) == f"<end_of_turn>{after}"


def test_a_response_that_ended_its_text_gets_the_mark_of_a_turn_all_the_same() -> None:
    tokenizer = tokenizer_with(GEMMA_LIKE)
    context = ContextManager(tokenizer, think=True)
    said = [*context.encode("go up"), tokenizer.eos_token_id]
    assert context.response_text(said) == "<think>go up"
    assert context.text(list(context.following("next", response=said))).startswith("<end_of_turn>\n<start_of_turn>user")


def test_the_mark_of_the_next_speaker_ends_a_turn_where_the_template_has_no_other() -> None:
    tokenizer = tokenizer_with(BEFORE_THE_USER)
    context = ContextManager(tokenizer, think=True)
    assert context.text([context.turn_end]) == "<start_of_turn>"
    said = [*context.encode("go up"), context.turn_end]
    assert context.text(list(context.following("next", response=said))) == "user\nnext<model><think>"


def test_a_template_without_marks_ends_turns_as_texts() -> None:
    tokenizer = tokenizer_with(BY_WORDS)
    context = ContextManager(tokenizer, think=True)
    assert context.turn_end == tokenizer.eos_token_id
    said = [*context.encode("go up"), context.turn_end]
    assert context.text(list(context.following("next", response=said))).startswith("\nuser: next\n")


def test_a_models_stop_tokens_are_left_out_of_its_text() -> None:
    [digit] = words().encode("7", add_special_tokens=False)
    context = ContextManager(words(), think=True, stops=[digit])
    assert context.response_text([*context.encode("go up"), digit]) == "<think>go up"
