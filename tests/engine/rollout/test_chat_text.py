"""Rendered chats back into messages, for each family of marks, whole, cut off, or without special tokens."""

from __future__ import annotations

import pytest

from engine.rollout.chat_text import split_chat, without_padding

CHAT = [
    ("system", "Rules"),
    ("user", "a state"),
    ("assistant", "<think>go</think><answer>Up</answer>"),
    ("user", "next"),
]


def said(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in pairs]


@pytest.mark.parametrize(
    ("head", "end"),
    [
        ("<|im_start|>{role}\n", "<|im_end|>\n"),
        ("<|start_header_id|>{role}<|end_header_id|>\n\n", "<|eot_id|>"),
        ("<start_of_turn>{role}\n", "<end_of_turn>\n"),
        ("<|{role}|>\n", "<|end|>\n"),
        ("{role}\n", "\n"),
    ],
)
def test_each_family_of_marks_gives_the_messages_back(head: str, end: str) -> None:
    text = "".join(f"{head.format(role=role)}{content}{end}" for role, content in CHAT)
    assert split_chat(text + head.format(role="assistant")) == said(*CHAT)


def test_the_marks_of_instruct_models_have_no_names_for_roles() -> None:
    assert split_chat("<s>[INST] hi [/INST] hello</s>[INST] more [/INST] ") == said(
        ("user", "hi "), ("assistant", "hello"), ("user", "more ")
    )


def test_the_other_name_of_the_assistant_is_known() -> None:
    assert split_chat("<start_of_turn>user\nhi<end_of_turn>\n<start_of_turn>model\nyes<end_of_turn>")[1] == {
        "role": "assistant",
        "content": "yes",
    }


def test_a_response_that_goes_on_from_an_earlier_text_is_the_first_message() -> None:
    text = "<answer>Up</answer><|im_end|>\n<|im_start|>user\nReward 0<|im_end|>\n<|im_start|>assistant\n<answer>Down"
    assert split_chat(text, continued_role="assistant") == said(
        ("assistant", "<answer>Up</answer>"), ("user", "Reward 0"), ("assistant", "<answer>Down")
    )


def test_bare_roles_count_only_where_they_can_be_no_words_of_the_text() -> None:
    assert split_chat("I asked the\nuser\nand he said no", continued_role="assistant") == []
    assert split_chat("a list:\nuser\nname") == []
    assert split_chat("Up\nuser\nnow?\nassistant\nDown", continued_role="assistant") == said(
        ("assistant", "Up"), ("user", "now?"), ("assistant", "Down")
    )


def test_text_without_marks_has_no_messages() -> None:
    assert split_chat("2 + 2 =") == []
    assert split_chat("") == []


def test_padding_goes_and_words_stay() -> None:
    assert without_padding("<|endoftext|><|endoftext|>a <pad> b<|endoftext|>\n") == "a <pad> b"
