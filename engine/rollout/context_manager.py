"""ContextManager: from messages to token ids and back. It is about prompt context and is no `with` object.

Tokens in, tokens out: what was sampled is kept as ids and never encoded again. Only the words between two replies are
encoded, and where a chat template puts its marks is learned from the template itself, for any model.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

from engine.errors import ModelError
from engine.rollout import prompts
from engine.rollout.prompts import Message

_USER, _REPLY, _NEXT = "\u2063user-words\u2063", "\u2063reply-words\u2063", "\u2063next-words\u2063"


class Tokenizer(Protocol):
    """What is needed of a Hugging Face tokenizer."""

    eos_token_id: int
    eos_token: str

    def apply_chat_template(self, messages: list[Message], *, tokenize: bool, add_generation_prompt: bool) -> str: ...

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]: ...

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str: ...


class ContextManager:
    """Turns prompts into the ids that are appended to a trajectory, and reply ids into text."""

    def __init__(self, tokenizer: Tokenizer, *, think: bool) -> None:
        self.tokenizer = tokenizer
        self.opener = prompts.opener(think=think)
        self._after_reply, self._after_user = self._learn_template()
        self.encode = lru_cache(maxsize=65536)(self._encode)

    def first(self, system: str, user: str) -> tuple[int, ...]:
        """Ids of system prompt, first user message, the reply's header and its opener."""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        return self.encode(self._render(messages, generation=True) + self.opener)

    def following(self, user: str, *, reply_ended: bool) -> tuple[int, ...]:
        """Ids from the end of a reply to the start of the next one.

        A reply that ended has sampled its end-of-turn token already; one that was cut off gets it here, unsampled.
        """
        close = self._after_reply
        if reply_ended:
            close = close.removeprefix(self.tokenizer.eos_token)
        return self.encode(close + user + self._after_user + self.opener)

    def text(self, ids: list[int]) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    def reply_text(self, ids: list[int]) -> str:
        """Sampled ids as text, opener first, end-of-turn token left out."""
        if ids and ids[-1] == self.tokenizer.eos_token_id:
            ids = ids[:-1]
        return self.opener + self.text(ids)

    def says_nothing(self, ids: list[int]) -> bool:
        """Whether a reply is empty: no token at all, or special tokens and blanks alone."""
        return not self.tokenizer.decode(ids, skip_special_tokens=True).strip()

    def _encode(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))

    def _render(self, messages: list[Message], *, generation: bool) -> str:
        return self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=generation)

    def _learn_template(self) -> tuple[str, str]:
        """What the template writes between a reply and the next user message, and after that message."""
        messages = [
            {"role": "user", "content": _USER},
            {"role": "assistant", "content": _REPLY},
            {"role": "user", "content": _NEXT},
        ]
        try:
            text = self._render(messages, generation=True)
            after_reply, after_user = text.split(_REPLY)[1].split(_NEXT)
        except (ValueError, IndexError) as error:
            raise ModelError(
                f"The model's chat template cannot hold a conversation of several turns: {error}.",
                remedy="Use a model with a chat template, such as an instruct model.",
            ) from None
        return after_reply, after_user
