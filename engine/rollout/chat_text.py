"""Text as a model reads it, marks and all, back into the messages that it was rendered from. No torch.

It knows the marks of the usual chat templates, and the bare lines `user` and `assistant` that are left of ChatML where
a program decoded without special tokens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

Message = dict[str, str]
ROLES = {"model": "assistant", "ai": "assistant", "human": "user", "ipython": "tool", "developer": "system"}
_PADDING = re.compile(r"(?:<\|endoftext\|>|<\|end_of_text\|>|<pad>|<\|begin_of_text\|>|<bos>|<s>|<eos>|\[PAD\])+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """`head` begins a message and names its role, as `role` or by which group matched; `end` closes one."""

    head: re.Pattern[str]
    end: str

    def role(self, match: re.Match[str]) -> str:
        named = match.groupdict()
        role = (named.get("role") or next(name for name, text in named.items() if text)).lower()
        return ROLES.get(role, role)


FAMILIES = (
    Marks(head=re.compile(r"<\|im_start\|>[ ]?(?P<role>\w+)\n?"), end="<|im_end|>"),
    Marks(head=re.compile(r"<\|start_header_id\|>(?P<role>\w+)<\|end_header_id\|>\n{0,2}"), end="<|eot_id|>"),
    Marks(head=re.compile(r"<start_of_turn>(?P<role>\w+)\n?"), end="<end_of_turn>"),
    Marks(head=re.compile(r"(?P<user><｜User｜>)|(?P<assistant><｜Assistant｜>)"), end="<｜end▁of▁sentence｜>"),
    Marks(head=re.compile(r"<\|(?P<role>system|user|assistant|tool)\|>\n?"), end="<|end|>"),
    Marks(head=re.compile(r"(?P<user>\[INST\] ?)|(?P<assistant>\[/INST\] ?)"), end="</s>"),
)
_BARE = Marks(head=re.compile(r"(?:^|(?<=\n))(?P<role>system|user|assistant)\n"), end="\x00")


def split_chat(text: str, *, goes_on: str = "") -> list[Message]:
    """The messages of `text`, in order; none where it has no marks that are known.

    What stands before the first mark is a message of the role `goes_on`, where one is given: a response that began in an
    earlier text. A last message without words, which only asks for a response, is left out.
    """
    for marks in FAMILIES:
        if marks.head.search(text):
            return _cut(text, marks, goes_on)
    return _cut(text, _BARE, goes_on) if _is_bare(text, goes_on) else []


def without_padding(text: str) -> str:
    """`text` without the tokens that fill a batch or end a text, at both ends."""
    start = _PADDING.match(text)
    text = text[start.end() :] if start else text
    while found := re.search(rf"{_PADDING.pattern}\s*\Z", text):
        text = text[: found.start()]
    return text


def without_end(text: str) -> str:
    """A response without the mark that closes it."""
    for marks in FAMILIES:
        if text.rstrip().endswith(marks.end):
            return text.rstrip().removesuffix(marks.end)
    return text


def _is_bare(text: str, goes_on: str) -> bool:
    """Whether lines that are a role alone are marks: where a text begins with one, or a response is followed by a user's
    and another response."""
    roles = [match["role"] for match in _BARE.head.finditer(text)]
    if not goes_on:
        return bool(_BARE.head.match(text)) and "user" in roles
    return any(pair == ("user", "assistant") for pair in pairwise(roles))


def _cut(text: str, marks: Marks, goes_on: str) -> list[Message]:
    heads = list(marks.head.finditer(text))
    before = text[: heads[0].start()]
    found = [{"role": goes_on, "content": _inside(before, marks)}] if goes_on else []
    ends = [*(match.start() for match in heads[1:]), len(text)]
    for match, end in zip(heads, ends, strict=True):
        found.append({"role": marks.role(match), "content": _inside(text[match.end() : end], marks)})
    if found and not found[-1]["content"].strip():
        found.pop()
    return found


def _inside(text: str, marks: Marks) -> str:
    inside, closed, _ = text.partition(marks.end)
    return inside if closed else without_padding(text).removesuffix("\n")
