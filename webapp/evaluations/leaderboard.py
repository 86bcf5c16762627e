"""The leaderboard's tables: final evaluations of finished runs, ranked only among those that played the same thing."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from webapp.evaluations.models import Evaluation
from webapp.evaluations.run_facts import RunFacts, facts_of
from webapp.evaluations.ties import mark_ties
from webapp.runs.models import Run
from webapp.runs.settings_history import described, settings_histories
from webapp.runs.states import RunState

BAR = 200  # width of the drawn scale from 0 to 1
RUN_FIELDS = ("colour", "fork_step", "ancestor_steps", "step", "forked_from__name")
PROTOCOL = ("episodes", "first seed", "temperature", "thinking", "context tokens")


@dataclass(slots=True, kw_only=True)
class Entry:
    """One run's final evaluation on one environment."""

    run_id: str
    run_name: str
    preset: str
    model: str
    successes: int
    episodes: int
    low: float  # ends of the 95% interval of success
    high: float
    mean_return: float
    faults: int
    trained_on: int  # episodes whose problem the run had trained on
    step: int
    version: str  # name and number of the environment's version, empty for a run that has none
    tag: str
    protocol: tuple[Any, ...]
    problem_list: str | None  # key of the problems that were played, None if they were not recorded
    solved: bytes
    rank: int = 0
    tied: bool = False  # not significantly different from the best
    p: float = 1.0  # of no difference to the best, adjusted for the number of rows
    shared_problems: int = 0  # that this and the best played and are compared on; 0 if taken as independent
    ended_as: str = ""  # how its run is shown, of shown entries
    protocol_difference: str = ""  # from the ranked rows, where there is one
    run: Run | None = None  # of shown entries: its colour and lineage
    changed_settings: list[str] = field(default_factory=list)  # while it was live; of shown entries

    @property
    def success(self) -> float:
        return self.successes / self.episodes

    @property
    def lineage_step(self) -> int:
        """The steps of the evaluated weights, with those of ancestors."""
        return self.step + (self.run.ancestor_steps if self.run else 0)

    @property
    def percent(self) -> str:
        return percent(self.success)

    @property
    def percent_low(self) -> str:
        return percent(self.low)

    @property
    def percent_high(self) -> str:
        return percent(self.high)

    @property
    def bar_x(self) -> str:
        return f"{self.low * BAR:.1f}"

    @property
    def bar_width(self) -> str:
        return f"{(self.high - self.low) * BAR:.1f}"

    @property
    def point_x(self) -> str:
        return f"{min(max(self.success * BAR - 1.5, 0), BAR - 3):.1f}"


def percent(rate: float) -> str:
    """A rate in percent with one decimal, without the sign: 2,048 episodes have a standard error of about one point."""
    return f"{rate * 100:.1f}"


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
    known = facts_of({row["run_id"] for row in rows})
    grouped: dict[str, list[Entry]] = {}
    for row in rows:
        facts = known[row["run_id"]]
        key = _configuration(facts.environments, row["environment"])
        grouped.setdefault(key, []).append(_entry(row, facts))
    found = [_table(key, entries) for key, entries in grouped.items()]
    return sorted(found, key=lambda table: (-len(table.ranked), table.title))


def add_run_facts(shown: list[Table]) -> None:
    """What only the shown rows need of their runs."""
    entries = [entry for table in shown for entry in [*table.shown, *table.shown_other_protocols]]
    ids = {entry.run_id for entry in entries}
    runs = Run.objects.select_related("forked_from").only(*RUN_FIELDS).in_bulk(ids)
    histories = settings_histories(ids)
    for entry in entries:
        entry.run = runs.get(entry.run_id)
        entry.changed_settings = described(histories.get(entry.run_id, []))


def _final_rows() -> list[Mapping[str, Any]]:
    rows = Evaluation.objects.filter(final=True, run__state=RunState.FINISHED, run__archived_at=None, episodes__gt=0)
    found = rows.order_by("step", "pk").values(
        "run_id",
        "run__name",
        "run__preset",
        "run__environment_version__number",
        "run__environment_version__definition__name",
        "environment",
        "successes",
        "episodes",
        "low",
        "high",
        "mean_return",
        "faults",
        "trained_on",
        "first_seed",
        "temperature",
        "step",
        "problem_list_id",
        "solved",
    )
    return list(found)


@lru_cache(maxsize=1024)  # many runs, few environments
def _configuration(text: str, tag: str) -> str:
    """What decides the problems and their words: the environment's configuration without its tag, as canonical JSON."""
    found = next((item for item in json.loads(text) if item.get("tag") == tag), {"tag": tag})
    if len(found) > 1:
        found = {name: value for name, value in found.items() if name != "tag"}
    return json.dumps(found, sort_keys=True)


def _entry(row: Mapping[str, Any], facts: RunFacts) -> Entry:
    definition, number = row["run__environment_version__definition__name"], row["run__environment_version__number"]
    return Entry(
        run_id=row["run_id"],
        run_name=row["run__name"],
        preset=row["run__preset"],
        model=facts.model,
        successes=row["successes"],
        episodes=row["episodes"],
        low=row["low"],
        high=row["high"],
        mean_return=row["mean_return"],
        faults=row["faults"],
        trained_on=row["trained_on"],
        step=row["step"],
        version=f"{definition} v{number}" if definition else "",
        tag=row["environment"],
        problem_list=row["problem_list_id"],
        solved=bytes(row["solved"]),
        protocol=(row["episodes"], row["first_seed"], row["temperature"], facts.think, facts.context),
    )


def _table(key: str, entries: list[Entry]) -> Table:
    newest = list({entry.run_id: entry for entry in entries}.values())  # a resumed run has several; its last counts
    usual = Counter(entry.protocol for entry in newest).most_common(1)[0][0]
    ranked = sorted((entry for entry in newest if entry.protocol == usual), key=lambda entry: -entry.success)
    others = sorted((entry for entry in newest if entry.protocol != usual), key=lambda entry: -entry.success)
    _rank(ranked)
    for entry in others:
        entry.protocol_difference = protocol_difference(entry.protocol, usual)
    version = Counter(entry.version for entry in newest if entry.version).most_common(1)
    return Table(
        title=version[0][0] if version else newest[0].tag,
        anchor=f"t{zlib.crc32(key.encode())}",
        config=json.loads(key),
        protocol=dict(zip(PROTOCOL, usual, strict=True)),
        ranked=ranked,
        other_protocols=others,
    )


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
