"""The leaderboard's tables: final evaluations of finished runs, ranked only among those that played the same thing."""

from __future__ import annotations

import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from webapp.environments.models import EnvironmentVersion
from webapp.evaluations.endings import endings_of
from webapp.evaluations.models import Evaluation
from webapp.evaluations.run_facts import RunFacts, facts_of
from webapp.evaluations.ties import Ties, ties
from webapp.projects.access import readable
from webapp.rates import Rate
from webapp.runs.models import Run
from webapp.runs.settings_history import described, settings_histories
from webapp.runs.states import RunState

EVALUATION_FIELDS = ("success", "low", "high", "mean_return", "faults", "trained_on")
OF_PARENT = ("forked_from__name", "forked_from__project")  # which decides whether its name may be read
RUN_FIELDS = ("name", "colour", "preset", "fork_step", "ancestor_steps", "step", *OF_PARENT)
PROTOCOL = ("episodes", "first seed", "temperature", "thinking", "context tokens")


class Result(NamedTuple):
    """What ranking needs of an evaluation: the same names as its fields."""

    pk: int
    run_id: str
    version: int | None  # of the environment; a run may have none
    environment: str
    successes: int
    episodes: int
    step: int
    problem_list: str | None  # key of the problems that were played, None if they were not recorded
    solved: bytes
    first_seed: int
    temperature: float


@dataclass(slots=True, kw_only=True)
class Entry:
    """A row that is shown: one run's final evaluation on one environment."""

    result: Result
    evaluation: Evaluation  # its interval, return and faults
    run: Run  # its name, colour and lineage
    model: str
    ended_as: str  # how its run is shown
    changed_settings: Sequence[str]  # while it was live
    rank: int = 0
    tied: bool = False  # not significantly different from the best
    p: float = 1.0  # of no difference to the best, adjusted for the number of rows
    shared_problems: int = 0  # that this and the best played and are compared on; 0 if taken as independent
    protocol_difference: str = ""  # from the ranked rows, where there is one

    @property
    def lineage_step(self) -> int:
        """The steps of the evaluated weights, with those of ancestors."""
        return self.result.step + self.run.ancestor_steps

    @property
    def rate(self) -> Rate:
        """With its interval."""
        return Rate(self.evaluation.success, self.evaluation.low, self.evaluation.high)


@dataclass(kw_only=True)
class Table:
    """One environment as it was configured. `ranked` share a protocol; `other_protocols` say how theirs differs. There
    may be thousands of both, best first; the rows that are shown are made by `show_rows`."""

    title: str
    anchor: str
    config: dict[str, Any]
    usual: tuple[Any, ...]
    ranked: list[Result]
    ranks: list[int]
    ties: Ties
    other_protocols: list[tuple[Result, tuple[Any, ...]]]
    shown: list[Entry] = field(default_factory=list)
    shown_other_protocols: list[Entry] = field(default_factory=list)

    @property
    def protocol(self) -> dict[str, Any]:
        return dict(zip(PROTOCOL, self.usual, strict=True))

    @property
    def hidden(self) -> int:
        shown = len(self.shown) + len(self.shown_other_protocols)
        return len(self.ranked) + len(self.other_protocols) - shown

    @property
    def compared_on(self) -> str:
        """How the rows are compared with the best."""
        counts = sorted(set(self.ties.shared[1:].tolist()))
        paired = [str(count) for count in counts if count]
        basis = f"on the {' or '.join(paired)} problems that both played" if paired else ""
        independent = "as independent episodes" if 0 in counts else ""
        both = "; others ".join(text for text in (basis, independent) if text)
        adjusted = f", p adjusted for {len(self.ranked) - 1} comparisons (Holm)" if len(self.ranked) > 2 else ""
        return f"compared with the best {both}{adjusted}" if both else ""

    @cached_property
    def has_ties(self) -> bool:
        return bool(self.ties.tied[1:].any())


def tables() -> list[Table]:
    """A table per environment configuration, the one with most runs first."""
    results = _results()
    known = facts_of({one.run_id for one in results})
    grouped: dict[str, dict[str, Result]] = defaultdict(dict)
    for one in results:  # a resumed run has several; its last counts
        grouped[_configuration(known[one.run_id].environments, one.environment)][one.run_id] = one
    found = [_table(key, list(by_run.values()), known) for key, by_run in grouped.items()]
    return sorted(found, key=lambda table: (-len(table.ranked), table.title))


def show_rows(tables: Sequence[Table], most: int) -> None:
    """Makes the best rows of each list, up to `most`, with what they show of their runs."""
    ranked = [(table, index, one) for table in tables for index, one in enumerate(table.ranked[:most])]
    others = [(table, *pair) for table in tables for pair in table.other_protocols[:most]]
    entries = _entries([*(one for _, _, one in ranked), *(one for _, one, _ in others)])
    for table, index, one in ranked:
        entry = entries[one.pk]
        entry.rank, entry.tied = table.ranks[index], bool(table.ties.tied[index])
        entry.p, entry.shared_problems = float(table.ties.p[index]), int(table.ties.shared[index])
        table.shown.append(entry)
    for table, one, protocol in others:
        entry = entries[one.pk]
        entry.protocol_difference = protocol_difference(protocol, table.usual)
        table.shown_other_protocols.append(entry)


def _entries(results: Sequence[Result]) -> dict[int, Entry]:
    ids = {one.run_id for one in results}
    facts, histories, endings = facts_of(ids), settings_histories(ids), endings_of(ids)
    evaluations = Evaluation.objects.only(*EVALUATION_FIELDS).in_bulk([one.pk for one in results])
    runs = Run.objects.select_related("forked_from").only(*RUN_FIELDS).in_bulk(ids)
    return {
        one.pk: Entry(
            result=one,
            evaluation=evaluations[one.pk],
            run=runs[one.run_id],
            model=facts[one.run_id].model,
            ended_as=endings.get(one.run_id, ""),
            changed_settings=described(histories.get(one.run_id, [])),
        )
        for one in results
        if one.pk in evaluations and one.run_id in runs  # they may just have been deleted
    }


def _results() -> list[Result]:
    ended = {"run__state": RunState.FINISHED, "run__archived_at": None}
    rows = readable(Evaluation.objects.filter(final=True, episodes__gt=0, **ended))
    found = rows.order_by("step", "pk").values_list(
        "pk",
        "run_id",
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
    return list(map(Result._make, found))


@lru_cache(maxsize=1024)  # many runs, few environments
def _configuration(text: str, tag: str) -> str:
    """What decides the problems and their words: the environment's configuration without its tag, as canonical JSON."""
    found = next((item for item in json.loads(text) if item.get("tag") == tag), {"tag": tag})
    if len(found) > 1:
        found = {name: value for name, value in found.items() if name != "tag"}
    return json.dumps(found, sort_keys=True)


def _table(key: str, newest: list[Result], known: Mapping[str, RunFacts]) -> Table:
    played = [(one, _protocol(one, known[one.run_id])) for one in newest]
    usual = Counter(protocol for _, protocol in played).most_common(1)[0][0]
    played.sort(key=lambda pair: -pair[0].successes / pair[0].episodes)
    ranked = [one for one, protocol in played if protocol == usual]
    others = [pair for pair in played if pair[1] != usual]
    version = Counter(one.version for one in newest if one.version is not None).most_common(1)
    return Table(
        title=_version_name(version[0][0]) if version else newest[0].environment,
        anchor=f"t{zlib.crc32(key.encode())}",
        config=json.loads(key),
        usual=usual,
        ranked=ranked,
        ranks=_ranks(ranked),
        ties=ties(ranked),
        other_protocols=others,
    )


def _protocol(one: Result, facts: RunFacts) -> tuple[Any, ...]:
    return one.episodes, one.first_seed, one.temperature, facts.think, facts.context


def _version_name(pk: int) -> str:
    return str(EnvironmentVersion.objects.select_related("definition").get(pk=pk))


def _ranks(ranked: Sequence[Result]) -> list[int]:
    """Equal rates share a rank."""
    rates = np.array([-one.successes / one.episodes for one in ranked])
    ranks: list[int] = (np.searchsorted(rates, rates) + 1).tolist()
    return ranks


def protocol_difference(protocol: tuple[Any, ...], usual: tuple[Any, ...]) -> str:
    """Describes the fields in which two protocols differ. Example: `episodes 128, not 256`."""
    pairs = zip(PROTOCOL, protocol, usual, strict=True)
    return "; ".join(f"{name} {mine}, not {its}" for name, mine, its in pairs if mine != its)
