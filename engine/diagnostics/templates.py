"""Templates: nearly the same thought on different prompts, clustered and counted. No torch.

Mutual information says that thoughts ignore their prompt; templates show the texts that are shared. Similarity is of
words, by rapidfuzz's insertions and deletions, so the cost is that of one matrix over different texts.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

TEXTS = 512  # different texts compared; rarer ones count as no template
WORDS = 200  # words compared of each
FIRST_PRIVATE = 0xE000  # words become single characters, so that texts compare word by word
KEPT_TEXT = 2000  # characters
MOST_PROMPTS = 256  # different prompts of a step whose state is kept, and of each so many characters
STATE_TEXT = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """A thought, the prompt it followed, and its position: trajectory (group, member) and turn, from 0.

    `state` is what the environment showed there, for people to see.
    """

    text: str
    prompt: Hashable
    group: int = 0
    member: int = 0
    turn: int = 0
    environment: str = ""
    seed: int = 0
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One cluster over two prompts or more. `key` stays the same from step to step while the words nearly do."""

    key: str
    text: str  # its most frequent wording
    count: int
    prompts: int  # different prompts that it answered
    wordings: int
    example: dict[str, int]  # a trajectory and turn with that wording
    used_on: list[tuple[Thought, int]]  # of each prompt, most used first: the first thought there, and how many

    def summary(self) -> dict[str, Any]:
        return {
            "key": self.key, "text": self.text[:KEPT_TEXT], "count": self.count, "prompts": self.prompts,
            "wordings": self.wordings, "example": self.example,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Templates:
    """The templates of one step, the largest first."""

    thoughts: int
    found: list[Template]

    @property
    def share(self) -> float:
        return sum(one.count for one in self.found) / self.thoughts if self.thoughts else 0.0

    @property
    def largest(self) -> float:
        return max((one.count for one in self.found), default=0) / self.thoughts if self.thoughts else 0.0

    def to_metrics(self) -> dict[str, float]:
        """By the glossary's names."""
        return {"collapse/template_share": self.share, "collapse/largest_template": self.largest}

    def to_json(self, *, step: int, most: int = 50) -> dict[str, Any]:
        """What the run directory keeps of the step: at most `most` clusters, texts cut at 2,000 characters.

        `prompts` are the first 256 that they were used on, each with a turn at which it occurred and its state; a
        cluster's `used_on` refers to them by index.
        """
        index_of: dict[Hashable, int] = {}
        prompts: list[dict[str, Any]] = []
        clusters = []
        for one in self.found[:most]:
            for thought, _ in one.used_on:
                if thought.prompt not in index_of and len(prompts) < MOST_PROMPTS:
                    index_of[thought.prompt] = len(prompts)
                    prompts.append(_prompt(thought))
            used = [
                {"prompt": index_of[thought.prompt], "count": count, "member": thought.member}
                for thought, count in one.used_on
                if thought.prompt in index_of
            ]
            clusters.append({**one.summary(), "used_on": used})
        return {
            "step": step, "thoughts": self.thoughts, **self.to_metrics(), "prompts": prompts, "templates": clusters
        }  # fmt: skip


def find_templates(
    thoughts: Sequence[Thought], *, similarity: float = 0.92, known: Sequence[tuple[str, str]] = ()
) -> Templates:
    """Clusters of thoughts whose words are at least `similarity` alike and that occur on two prompts or more.

    `similarity` is 1 less the words to insert and delete over the words of both: one word changed of ten leaves 0.9. A
    cluster forms round its most frequent wording, the earliest where several are. Empty thoughts do not count. `known`
    are `(key, text)` of an earlier step's templates; a cluster like one of them takes over its key.
    """
    spoken = [thought for thought in thoughts if thought.text.split()]
    counts = Counter(" ".join(thought.text.split()) for thought in spoken)
    texts = [text for text, _ in counts.most_common(TEXTS)]
    by_text: dict[str, list[Thought]] = {text: [] for text in texts}
    for thought in spoken:
        if (text := " ".join(thought.text.split())) in by_text:
            by_text[text].append(thought)
    clusters = [[texts[i] for i in cluster] for cluster in _clusters(_likeness(texts, similarity))]
    keys = _keys([cluster[0] for cluster in clusters], known, similarity)
    found = [
        _template(key, cluster, [thought for text in cluster for thought in by_text[text]])
        for key, cluster in zip(keys, clusters, strict=True)
    ]
    shared = sorted((one for one in found if one.prompts > 1), key=lambda one: -one.count)
    return Templates(thoughts=len(spoken), found=shared)


def _template(key: str, wordings: list[str], members: list[Thought]) -> Template:
    first = members[0]
    met: dict[Hashable, Thought] = {}
    for member in members:
        met.setdefault(member.prompt, member)
    counts = Counter(member.prompt for member in members)
    return Template(
        key=key,
        text=wordings[0],
        count=len(members),
        prompts=len(met),
        wordings=len(wordings),
        example={"group": first.group, "member": first.member, "turn": first.turn},
        used_on=[(met[prompt], count) for prompt, count in counts.most_common()],
    )


def _prompt(thought: Thought) -> dict[str, Any]:
    return {
        "environment": thought.environment,
        "seed": thought.seed,
        "group": thought.group,
        "turn": thought.turn,
        "state": thought.state[:STATE_TEXT],
    }


def _clusters(alike: NDArray[np.bool_]) -> list[list[int]]:
    """Each text joins the first leader it is like; those that are like none lead. Leaders come first in a cluster."""
    free = np.ones(len(alike), dtype=bool)
    clusters = []
    for leader in range(len(alike)):
        if free[leader]:
            members = np.flatnonzero(alike[leader] & free).tolist()
            free[members] = False
            clusters.append([leader, *(member for member in members if member != leader)])
    return clusters


def _likeness(texts: Sequence[str], similarity: float, others: Sequence[str] | None = None) -> NDArray[np.bool_]:
    """(len(texts), len(others)) whether two texts are alike; `others` are the texts themselves when left out."""
    alphabet: dict[str, str] = {}
    rows = [_spelled(text, alphabet) for text in texts]
    columns = rows if others is None else [_spelled(text, alphabet) for text in others]
    if not rows or not columns:
        return np.zeros((len(rows), len(columns)), dtype=bool)
    scores = cdist(rows, columns, scorer=Indel.normalized_similarity, score_cutoff=similarity, dtype=np.float32)
    return np.asarray(scores >= similarity - 1e-6)


def _spelled(text: str, alphabet: dict[str, str]) -> str:
    """A text with one character for each of its words."""
    return "".join(alphabet.setdefault(word, chr(_code(len(alphabet)))) for word in text.split()[:WORDS])


def _code(number: int) -> int:
    """A code point above all surrogates; there are a million, more than any step has words."""
    return FIRST_PRIVATE + number


def _keys(texts: list[str], known: Sequence[tuple[str, str]], similarity: float) -> list[str]:
    """The key of the first known template that a text is like and no text before it took, else one of its own."""
    alike = _likeness(texts, similarity, [text for _, text in known])
    taken: set[str] = set()
    keys = []
    for row, text in zip(alike, texts, strict=True):
        old = next((known[i][0] for i in np.flatnonzero(row) if known[i][0] not in taken), None)
        keys.append(old or hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:10])
        taken.add(keys[-1])
    return keys
