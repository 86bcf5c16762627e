"""ContextManager: from messages to token ids and back. It manages a prompt's context and is not a `with` object.

Sampled responses stay token ids and are never encoded again. Only the text between two responses is encoded, and what a
chat template adds there is found out by rendering the template, for any model.

Special tokens come from the template alone. Where a message contains the text of one, it is encoded as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Protocol

from jinja2 import TemplateError

from engine.errors import ModelError
from engine.rollout import prompts
from engine.rollout.action_parser import TAGS
from engine.rollout.prompts import Message
from engine.rollout.stop_strings import StopStrings

OPEN_THOUGHT = prompts.opener(think=True)
_OPEN_THOUGHT = re.compile(rf"{OPEN_THOUGHT}\s*\Z")
_PRIVATE_USE = range(0x100000, 0x10FFFE)  # characters of Unicode without a meaning
_SYSTEM = "\u2063system-words\u2063"
_THOUGHT = "\u2063thought-words\u2063"
_USER, _RESPONSE, _NEXT = "\u2063user-words\u2063", "\u2063response-words\u2063", "\u2063next-words\u2063"


class Tokenizer(Protocol):
    """The used part of a Hugging Face tokenizer."""

    eos_token_id: int
    eos_token: str

    @property
    def all_special_tokens(self) -> Sequence[str]: ...

    @property
    def added_tokens_decoder(self) -> Mapping[int, Any]: ...

    def apply_chat_template(self, messages: list[Message], *, tokenize: bool, add_generation_prompt: bool) -> str: ...

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]: ...

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str: ...


class ContextManager:
    """Turns prompts into the ids that are appended to a trajectory, and response ids into text.

    `turn_end` is the token with which the template ends a response. A response ends at any of `stop_ids`: that one,
    the tokenizer's end-of-sequence token, and `stops`, those of the model; and at a stop string, if there are any.
    """

    stop_strings: StopStrings | None = None

    def __init__(
        self, tokenizer: Tokenizer, *, think: bool, stops: Iterable[int] = (), stop_strings: Sequence[str] = ()
    ) -> None:
        self.tokenizer = tokenizer
        if stop_strings:
            self.stop_strings = StopStrings(stop_strings, self.text)
        self.opener = prompts.opener(think=think)
        self._special = _start_of_any(_special_texts(tokenizer))
        self.has_system_role = self._probe_system_role()
        self._after_response, self._after_user = self._probe_template()
        self.turn_end, self._after_end = self._find_turn_end()
        self.stop_ids = {self.turn_end, tokenizer.eos_token_id, *stops}
        self.encode = lru_cache(maxsize=65536)(self._encode)

    def first(self, system: str, user: str) -> tuple[int, ...]:
        """Ids of system prompt, first user message, the response's header and its opener."""
        (system, user), cut = self._cut(system, user)
        return self._encode_parts(self._opened(self._render(self._start(system, user), generation=True)), cut)

    def conversation(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Ids of a whole conversation, of system prompt, user and assistant in turns, to the start of the next
        response: as the template renders it."""
        texts, cut = self._cut(*(message["content"] for message in messages))
        system, user, *rest = texts
        shown = self._start(system, user)
        shown += [{"role": message["role"], "content": text} for message, text in zip(messages[2:], rest, strict=True)]
        return self._encode_parts(self._opened(self._render(shown, generation=True)), cut)

    def following(self, user: str, *, response: Sequence[int]) -> tuple[int, ...]:
        """Ids from the end of `response` to the start of the next one.

        A response that ended its turn has sampled the end token; one that was cut off gets it here, unsampled.
        """
        closed = bool(response) and response[-1] == self.turn_end
        close = self._after_end if closed else self._after_response
        (user,), cut = self._cut(user)
        return self._encode_parts(self._opened(close + user + self._after_user), cut)

    def encode_text(self, text: str) -> tuple[int, ...]:
        """Ids of `text`, none of them special."""
        (text,), cut = self._cut(text)
        return self._encode_parts(text, cut)

    def text(self, ids: list[int]) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    def response_text(self, ids: list[int]) -> str:
        """Sampled ids as text after the opener, without the end token."""
        if ids and ids[-1] in self.stop_ids:
            ids = ids[:-1]
        return self.opener + self.text(ids)

    def is_blank(self, ids: list[int]) -> bool:
        """Whether a response is empty: no tokens, or only special tokens and whitespace."""
        return not self.tokenizer.decode(ids, skip_special_tokens=True).strip()

    def _cut(self, *texts: str) -> tuple[Sequence[str], str]:
        """`texts` with a cut after the first character of each special token's text, and the character that marks a
        cut, which none of them has; empty if nothing was cut."""
        if not any(self._special.search(text) for text in texts):
            return texts, ""
        cut = next(mark for mark in map(chr, _PRIVATE_USE) if not any(mark in text for text in texts))
        return [self._special.sub(lambda match: match[0] + cut, text) for text in texts], cut

    def _encode_parts(self, text: str, cut: str) -> tuple[int, ...]:
        """The ids of the parts of `text`, each encoded by itself: no part contains the text that was cut."""
        if not cut:
            return self.encode(text)
        return tuple(chain.from_iterable(self.encode(part) for part in text.split(cut)))

    def _encode(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))

    def _render(self, messages: list[Message], *, generation: bool) -> str:
        return self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=generation)

    def _start(self, system: str, user: str) -> list[Message]:
        """The first messages; the system prompt is part of the user's where the template has no such role."""
        if not self.has_system_role:
            return [{"role": "user", "content": f"{system}\n\n{user}"}]
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]

    def _opened(self, prompt: str) -> str:
        """`prompt` with the opener, once: templates of reasoning models open the thought themselves."""
        if not (match := _OPEN_THOUGHT.search(prompt)):
            return prompt + self.opener
        return prompt if self.opener == OPEN_THOUGHT else prompt[: match.start()] + self.opener

    def _probe_system_role(self) -> bool:
        """Whether the template shows a system prompt: some refuse it (Gemma 2, Mistral 7B), others leave it out."""
        messages = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": _USER}]
        try:
            return _SYSTEM in self._render(messages, generation=True)
        except TemplateError:
            return False

    @property
    def opens_thought(self) -> bool:
        """Whether the template opens the thought itself."""
        return bool(_OPEN_THOUGHT.search(self._after_user))

    @property
    def hides_thoughts(self) -> bool:
        """Whether the template leaves the thoughts of earlier responses out, but not what follows them (Qwen3, R1
        distillations)."""
        text = self._render_second_turn(f"<think>\n{_THOUGHT}\n</think>\n\n{_RESPONSE}")
        return _RESPONSE in text and _THOUGHT not in text

    def _render_second_turn(self, response: str) -> str:
        messages = [
            {"role": "user", "content": _USER},
            {"role": "assistant", "content": response},
            {"role": "user", "content": _NEXT},
        ]
        return self._render(messages, generation=True)

    def _probe_template(self) -> tuple[str, str]:
        """The template's text between a response and the next user message, and after that message."""
        try:
            text = self._render_second_turn(_RESPONSE)
            after_response, after_user = text.split(_RESPONSE)[1].split(_NEXT)
        except (ValueError, IndexError, TemplateError) as error:
            raise ModelError(
                f"The model's chat template does not support a conversation of several turns: {error}.",
                remedy="Use a model with a chat template, such as an instruct model.",
            ) from None
        return after_response, after_user

    def _find_turn_end(self) -> tuple[int, str]:
        """The first special token after a response, and the template's text after it. If there is none, turns end with
        the end-of-sequence token."""
        for token in self._encode(self._after_response):
            text = self.tokenizer.decode([token], skip_special_tokens=True)
            if text.strip():
                break
            marker = self.text([token])
            if marker.strip():
                return token, self._after_response.partition(marker)[2]
        return self.tokenizer.eos_token_id, self._after_response


def _special_texts(tokenizer: Tokenizer) -> list[str]:
    """The texts of all special tokens, except for the tags of the response format, which prompts show."""
    added = (str(token) for token in tokenizer.added_tokens_decoder.values() if token.special)
    return sorted({*tokenizer.all_special_tokens, *added} - set(TAGS))


def _start_of_any(texts: Sequence[str]) -> re.Pattern[str]:
    """Matches the first character of each occurrence, overlapping ones too."""
    longer = [text for text in texts if len(text) > 1]
    if not longer:
        return re.compile(r"(?!)")
    first = "".join(sorted({re.escape(text[0]) for text in longer}))
    # the set of first characters is fast to search for; a tokenizer may have hundreds of special tokens
    return re.compile(f"(?=[{first}])(?=(?:{'|'.join(re.escape(text) for text in longer)})).", re.DOTALL)
