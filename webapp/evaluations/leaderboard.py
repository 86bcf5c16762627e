"""The leaderboard's tables: final evaluations of finished runs, ranked only among those that played the same thing."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from webapp.environments.models import EnvironmentVersion
from webapp.evaluations.models import Evaluation
from webapp.evaluations.run_facts import RunFacts, facts_of
from webapp.evaluations.ties import mark_ties
from webapp.rates import Rate
from webapp.runs.models import Run
from webapp.runs.settings_history import described, settings_histories
from webapp.runs.states import RunState

EVALUATION_FIELDS = ("low", "high", "mean_return", "faults", "trained_on")
RUN_FIELDS = ("colour", "preset", "fork_step", "ancestor_steps", "step", "forked_from__name")
PROTOCOL = ("episodes", "first seed", "temperature", "thinking", "context tokens")


@dataclass(slots=True)
class Entry:
    """One run's final evaluation on one environment. Tables have thousands, so what only the shown ones need is read
    for those: `evaluation`, `run` and what follows."""

    pk: int  # of the evaluation
    run_id: str
    run_name: str
    version: int | None  # of the environment; a run may have none
    tag: str
    successes: int
    episodes: int
    step: int
    problem_list: str | None  # key of the problems that were played, None if they were not recorded
    solved: bytes
    protocol: tuple[Any, ...]
    success: float
    rank: int = 0
    tied: bool = False  # not significantly different from the best
    p: float = 1.0  # of no difference to the best, adjusted for the number of rows
    shared_problems: int = 0  # that this and the best played and are compared on; 0 if taken as independent
    protocol_difference: str = ""  # from the ranked rows, where there is one
    evaluation: Evaluation | None = None  # its interval, return and faults
    run: Run | None = None  # its colour and lineage
    model: str = ""
    ended_as: str = ""  # how its run is shown
    changed_settings: Sequence[str] = ()  # while it was live

    @property
    def lineage_step(self) -> int:
        """The steps of the evaluated weights, with those of ancestors."""
        return self.step + (self.run.ancestor_steps if self.run else 0)

    @property
    def rate(self) -> Rate | None:
        """With its interval, of shown entries."""
        return Rate(self.success, self.evaluation.low, self.evaluation.high) if self.evaluation else None


@dataclass(slots=True)
class Table:
    """One environment as it was configured. `ranked` share a protocol; `other_protocols` say how theirs differs."""

    title: str
    anchor: str
    config: dict[str, Any]
    protocol: dict[str, Any] = field(default_factory=dict)
    ranked: list[Entry] = field(default_factory=list)
    other_protocols: list[Entry] = field(default_factory=list)
    most_rows: int = 100  # shown of each list; the best ones

    @property
    def shown(self) -> list[Entry]:
        return self.ranked[: self.most_rows]

    @property
    def shown_other_protocols(self) -> list[Entry]:
        return self.other_protocols[: self.most_rows]

    @property
    def hidden(self) -> int:
        shown = len(self.shown) + len(self.shown_other_protocols)
        return len(self.ranked) + len(self.other_protocols) - shown

    @property
    def compared_on(self) -> str:
        """How the rows are compared with the best."""
        counts = sorted({entry.shared_problems for entry in self.ranked[1:]})
        paired = [str(count) for count in counts if count]
        basis = f"on the {' or '.join(paired)} problems that both played" if paired else ""
        independent = "as independent episodes" if 0 in counts else ""
        both = "; others ".join(text for text in (basis, independent) if text)
        adjusted = f", p adjusted for {len(self.ranked) - 1} comparisons (Holm)" if len(self.ranked) > 2 else ""
        return f"compared with the best {both}{adjusted}" if both else ""

    @property
    def has_ties(self) -> bool:
        return any(entry.tied for entry in self.ranked[1:])


def tables() -> list[Table]:
    """A table per environment configuration, the one with most runs first."""
    rows = _final_rows()
    known = facts_of({row.run_id for row in rows})
    grouped: dict[str, list[Entry]] = {}
    for row in rows:
        facts = known[row.run_id]
        key = _configuration(facts.environments, row.environment)
        grouped.setdefault(key, []).append(_entry(row, facts))
    found = [_table(key, entries) for key, entries in grouped.items()]
    return sorted(found, key=lambda table: (-len(table.ranked), table.title))


def add_run_facts(shown: list[Table]) -> None:
    """What only the shown rows need of their runs."""
    entries = [entry for table in shown for entry in [*table.shown, *table.shown_other_protocols]]
    ids = {entry.run_id for entry in entries}
    facts = facts_of(ids)
    evaluations = Evaluation.objects.only(*EVALUATION_FIELDS).in_bulk([entry.pk for entry in entries])
    runs = Run.objects.select_related("forked_from").only(*RUN_FIELDS).in_bulk(ids)
    histories = settings_histories(ids)
    for entry in entries:
        entry.run, entry.evaluation = runs.get(entry.run_id), evaluations.get(entry.pk)
        entry.model = facts[entry.run_id].model
        entry.changed_settings = described(histories.get(entry.run_id, []))


class _FinalRow(NamedTuple):
    """What ranking needs of an evaluation: the same names as its fields."""

    pk: int
    run_id: str
    run_name: str
    version: int | None
    environment: str
    successes: int
    episodes: int
    step: int
    problem_list: str | None
    solved: bytes
    first_seed: int
    temperature: float


def _final_rows() -> list[_FinalRow]:
    rows = Evaluation.objects.filter(final=True, run__state=RunState.FINISHED, run__archived_at=None, episodes__gt=0)
    found = rows.order_by("step", "pk").values_list(
        "pk",
        "run_id",
        "run__name",
        "run__environment_version_id",
        "environment",
        "successes",
        "episodes",
        "step",
        "problem_list_id",
        "solved",
        "first_seed",
        "temperature",
    )
    return list(map(_FinalRow._make, found))


@lru_cache(maxsize=1024)  # many runs, few environments
def _configuration(text: str, tag: str) -> str:
    """What decides the problems and their words: the environment's configuration without its tag, as canonical JSON."""
    found = next((item for item in json.loads(text) if item.get("tag") == tag), {"tag": tag})
    if len(found) > 1:
        found = {name: value for name, value in found.items() if name != "tag"}
    return json.dumps(found, sort_keys=True)


def _entry(row: _FinalRow, facts: RunFacts) -> Entry:
    protocol = (row.episodes, row.first_seed, row.temperature, facts.think, facts.context)
    return Entry(*row[:10], protocol, row.successes / row.episodes)


def _table(key: str, entries: list[Entry]) -> Table:
    newest = list({entry.run_id: entry for entry in entries}.values())  # a resumed run has several; its last counts
    usual = Counter(entry.protocol for entry in newest).most_common(1)[0][0]
    ranked = sorted((entry for entry in newest if entry.protocol == usual), key=lambda entry: -entry.success)
    others = sorted((entry for entry in newest if entry.protocol != usual), key=lambda entry: -entry.success)
    _rank(ranked)
    for entry in others:
        entry.protocol_difference = protocol_difference(entry.protocol, usual)
    version = Counter(entry.version for entry in newest if entry.version is not None).most_common(1)
    return Table(
        title=_version_name(version[0][0]) if version else newest[0].tag,
        anchor=f"t{zlib.crc32(key.encode())}",
        config=json.loads(key),
        protocol=dict(zip(PROTOCOL, usual, strict=True)),
        ranked=ranked,
        other_protocols=others,
    )


def _version_name(pk: int) -> str:
    return str(EnvironmentVersion.objects.select_related("definition").get(pk=pk))


def _rank(ranked: list[Entry]) -> None:
    """Equal rates share a rank."""
    mark_ties(ranked)
    for index, entry in enumerate(ranked):
        same = index > 0 and ranked[index - 1].success == entry.success
        entry.rank = ranked[index - 1].rank if same else index + 1


def protocol_difference(protocol: tuple[Any, ...], usual: tuple[Any, ...]) -> str:
    """Describes the fields in which two protocols differ. Example: `episodes 128, not 256`."""
    pairs = zip(PROTOCOL, protocol, usual, strict=True)
    return "; ".join(f"{name} {mine}, not {its}" for name, mine, its in pairs if mine != its)
