"""Any chat template that can hold a conversation works: without a system role, and with a thought that it opens."""

from __future__ import annotations

import pytest

from engine.errors import ModelError
from engine.rollout.context_manager import ContextManager
from tests.engine.chat_templates import (
    HIDES_THOUGHTS,
    SYSTEM_IN_USER,
    TEMPLATES,
    THINKING,
    WITHOUT_SYSTEM,
    tokenizer_of,
)

every_family = pytest.mark.parametrize("family", TEMPLATES)


@every_family
def test_the_system_prompt_is_shown_once_whether_the_template_has_that_role_or_not(family: str) -> None:
    context = ContextManager(tokenizer_of(family), think=True)
    text = context.text(list(context.first("Rules here.", "The state.")))
    assert text.count("Rules here.") == text.count("The state.") == 1
    assert text.index("Rules here.") < text.index("The state.")
    assert ("Rules here.\n\nThe state." in text) == (family in SYSTEM_IN_USER)


@every_family
@pytest.mark.parametrize("think", [True, False])
def test_a_prompt_opens_the_response_exactly_once(family: str, think: bool) -> None:
    context = ContextManager(tokenizer_of(family), think=think)
    said = [*context.encode("go up</think><answer>Up</answer>"), context.turn_end]
    for ids in (context.first("Rules.", "A state."), context.following("Next.", response=said)):
        text = context.text(list(ids))
        assert text.count("<think>") == think
        assert text.count("<answer>") == (not think)
        assert text.rstrip().endswith("<think>" if think else "<answer>")


@pytest.mark.parametrize("family", THINKING)
def test_a_thought_that_the_template_opens_is_part_of_the_response(family: str) -> None:
    context = ContextManager(tokenizer_of(family), think=True)
    assert context.text(list(context.first("Rules.", "A state."))).endswith("<think>\n")
    said = context.encode("go up</think><answer>Up</answer>")
    assert context.response_text(list(said)) == "<think>go up</think><answer>Up</answer>"


@every_family
def test_a_template_that_hides_earlier_thoughts_is_recognised(family: str) -> None:
    assert ContextManager(tokenizer_of(family), think=True).hides_thoughts == (family in HIDES_THOUGHTS)


def test_the_template_of_qwen3_hides_thoughts_of_earlier_turns_only() -> None:
    messages = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "<think>\nearly\n</think>\n\nUp"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "<think>\nlate\n</think>\n\nDown"},
    ]
    text = tokenizer_of("Qwen3").apply_chat_template(messages, tokenize=False)
    assert text == (
        "<|im_start|>user\none<|im_end|>\n<|im_start|>assistant\nUp<|im_end|>\n<|im_start|>user\ntwo<|im_end|>\n"
        "<|im_start|>assistant\n<think>\nlate\n</think>\n\nDown<|im_end|>\n"
    )


@every_family
def test_a_turn_continues_as_the_template_would_write_the_conversation(family: str) -> None:
    context = ContextManager(tokenizer_of(family), think=True)
    said = [*context.encode("fine"), context.turn_end]
    found = context.text([*context.first("Rules.", "A state."), *said, *context.following("Next.", response=said)])
    written = context.tokenizer.apply_chat_template(
        [
            *(
                [{"role": "user", "content": "Rules.\n\nA state."}]
                if family in WITHOUT_SYSTEM
                else [{"role": "system", "content": "Rules."}, {"role": "user", "content": "A state."}]
            ),
            {"role": "assistant", "content": "fine"},
            {"role": "user", "content": "Next."},
        ],
        tokenize=False,
        add_generation_prompt=True,
    )
    assert found.replace("<think>", "").replace("\n", "") == written.replace("<think>", "").replace("\n", "")


def test_a_template_that_refuses_a_second_turn_is_an_error_that_says_so() -> None:
    tokenizer = tokenizer_of("Qwen2.5")
    tokenizer.chat_template = "{% if messages | length > 2 %}{{ raise_exception('one turn only') }}{% endif %}x"
    with pytest.raises(ModelError, match="several turns: one turn only"):
        ContextManager(tokenizer, think=True)
