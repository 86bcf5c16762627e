"""Parses the text of a chat template back into the messages it was rendered from. No torch.

It knows the markers of common chat templates, and the bare lines `user` and `assistant` that remain of ChatML when a
program decodes without special tokens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

Message = dict[str, str]
ROLES = {"model": "assistant", "ai": "assistant", "human": "user", "ipython": "tool", "developer": "system"}
_PADDING = re.compile(r"(?:<\|endoftext\|>|<\|end_of_text\|>|<pad>|<\|begin_of_text\|>|<bos>|<s>|<eos>|\[PAD\])+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Markers:
    """`head` starts a message and names its role, in the group `role` or by which group matched; `end` ends it."""

    head: re.Pattern[str]
    end: str

    def role(self, match: re.Match[str]) -> str:
        named = match.groupdict()
        role = (named.get("role") or next(name for name, text in named.items() if text)).lower()
        return ROLES.get(role, role)


FAMILIES = (
    Markers(head=re.compile(r"<\|im_start\|>[ ]?(?P<role>\w+)\n?"), end="<|im_end|>"),
    Markers(head=re.compile(r"<\|start_header_id\|>(?P<role>\w+)<\|end_header_id\|>\n{0,2}"), end="<|eot_id|>"),
    Markers(head=re.compile(r"<start_of_turn>(?P<role>\w+)\n?"), end="<end_of_turn>"),
    Markers(head=re.compile(r"(?P<user><｜User｜>)|(?P<assistant><｜Assistant｜>)"), end="<｜end▁of▁sentence｜>"),
    Markers(head=re.compile(r"<\|(?P<role>system|user|assistant|tool)\|>\n?"), end="<|end|>"),
    Markers(head=re.compile(r"(?P<user>\[INST\] ?)|(?P<assistant>\[/INST\] ?)"), end="</s>"),
)
_BARE = Markers(head=re.compile(r"(?:^|(?<=\n))(?P<role>system|user|assistant)\n"), end="\x00")


def split_chat(text: str, *, continued_role: str = "") -> list[Message]:
    """The messages of `text`, in order; empty if it has no known markers.

    Text before the first marker is a message of the role `continued_role`, if one is given: a response that started in
    an earlier text. An empty last message, which only requests a response, is left out.
    """
    for markers in FAMILIES:
        if markers.head.search(text):
            return _cut(text, markers, continued_role)
    return _cut(text, _BARE, continued_role) if _is_bare(text, continued_role) else []


def without_padding(text: str) -> str:
    """`text` without padding and end-of-text tokens at both ends."""
    start = _PADDING.match(text)
    text = text[start.end() :] if start else text
    while found := re.search(rf"{_PADDING.pattern}\s*\Z", text):
        text = text[: found.start()]
    return text


def without_end(text: str) -> str:
    """A response without the marker that ends it."""
    for markers in FAMILIES:
        if text.rstrip().endswith(markers.end):
            return text.rstrip().removesuffix(markers.end)
    return text


def _is_bare(text: str, continued_role: str) -> bool:
    """Whether lines with only a role are markers: if a text starts with one, or a response is followed by a user's
    message and another response."""
    roles = [match["role"] for match in _BARE.head.finditer(text)]
    if not continued_role:
        return bool(_BARE.head.match(text)) and "user" in roles
    return any(pair == ("user", "assistant") for pair in pairwise(roles))


def _cut(text: str, markers: Markers, continued_role: str) -> list[Message]:
    heads = list(markers.head.finditer(text))
    before = text[: heads[0].start()]
    found = [{"role": continued_role, "content": _inside(before, markers)}] if continued_role else []
    ends = [*(match.start() for match in heads[1:]), len(text)]
    for match, end in zip(heads, ends, strict=True):
        found.append({"role": markers.role(match), "content": _inside(text[match.end() : end], markers)})
    if found and not found[-1]["content"].strip():
        found.pop()
    return found


def _inside(text: str, markers: Markers) -> str:
    inside, closed, _ = text.partition(markers.end)
    return inside if closed else without_padding(text).removesuffix("\n")
