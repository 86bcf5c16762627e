"""The list's filters: read from the URL, applied to rows, written back into links."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef, Q, QuerySet

from webapp.runs.models import Alert
from webapp.trajectories.faults import KINDS, with_kind
from webapp.trajectories.models import Trajectory
from webapp.trajectories.named_runs import named_runs
from webapp.trajectories.search.indexes import matching
from webapp.trajectories.search.terms import Terms, read_terms

LARGEST_WHOLE = 2**31 - 1
LARGEST_SEED = 2**63 - 1
KEPT = {"kept": True, "dropped": False, "undecided": None}
SPLITS = ("train", "validation")
ANY_RULE = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The requested filters; an empty string means no filter. `problems` names values that were ignored."""

    values: dict[str, str]
    conditions: dict[str, Q]
    terms: Terms
    problems: list[str]
    run_ids: tuple[str, ...] = ()  # to search in; none for all

    def apply(self, rows: QuerySet[Trajectory]) -> QuerySet[Trajectory]:
        rows = self.apply_conditions(rows)
        return rows.filter(matching(self.terms, self.run_ids)) if self.terms else rows

    def apply_conditions(self, rows: QuerySet[Trajectory]) -> QuerySet[Trajectory]:
        """All but the words."""
        rows = rows.filter(*self.conditions.values())
        if "superseded" not in self.conditions:
            rows = rows.filter(superseded=False)
        if self.rule and len(self.run_ids) == 1:
            rows = rows.filter(step__in=_alerts_of(self.rule).filter(run=self.run_ids[0]).values("step"))
        elif self.rule:
            rows = rows.filter(Exists(_alerts_of(self.rule).filter(run=OuterRef("run"), step=OuterRef("step"))))
        return rows

    @property
    def active(self) -> bool:
        return bool(self.conditions or self.rule or self.terms)

    @property
    def whole_run(self) -> bool:
        """Whether they leave all rows of one run that a later attempt did not repeat."""
        return len(self.run_ids) == 1 and not self.active

    @property
    def rule(self) -> str:
        """The alert rule whose steps are requested."""
        return self.values.get("alert", "")

    def without(self, *names: str) -> Filters:
        """The same without the filters `names`."""
        values = {name: value for name, value in self.values.items() if name not in names}
        conditions = {name: condition for name, condition in self.conditions.items() if name not in names}
        return replace(self, values=values, conditions=conditions)

    def query(self, **changes: str) -> str:
        """The query string of these filters with `changes`; empty values are left out."""
        return urlencode({key: value for key, value in {**self.values, **changes}.items() if value})


def read_filters(query: Mapping[str, str], *, run_id: str = "") -> Filters:
    """For the list of one run; without a `run_id`, for the list of all runs, where `run` in the query selects some."""
    values = {name: query.get(name, "").strip() for name in NAMES}
    conditions: dict[str, Q] = {}
    terms = read_terms(values["q"])
    problems = [terms.problem] if terms.problem else []
    for name, condition in CONDITIONS.items():
        if not values[name]:
            continue
        try:
            conditions[name] = condition(values[name])
        except ValueError as error:
            problems.append(str(error))
    run_ids: tuple[str, ...] = (run_id,) if run_id else ()
    requested = "" if run_id else query.get("run", "").strip()
    if requested:
        named = named_runs(requested)
        run_ids = tuple(named.ids)
        conditions["run"] = Q(run__in=run_ids)
        problems += named.problems
    given = {name: value for name, value in {**values, "run": requested}.items() if value}
    return Filters(values=given, conditions=conditions, terms=terms, problems=problems, run_ids=run_ids)


Condition = Callable[[str], Q]


def _whole(what: str, lookup: str, *, largest: int = LARGEST_WHOLE) -> Condition:
    def condition(value: str) -> Q:
        if not (value.isascii() and value.isdigit() and len(value) < 20 and int(value) <= largest):
            raise ValueError(f"{what} {value!r} is not a whole number of 0 or more. It was ignored.")
        return Q(**{lookup: int(value)})

    return condition


def _number(what: str, lookup: str) -> Condition:
    def condition(value: str) -> Q:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise ValueError(f"{what} {value!r} is not a number. It was ignored.")
        return Q(**{lookup: number})

    return condition


def _choice(what: str, choices: Mapping[str, Q]) -> Condition:
    def condition(value: str) -> Q:
        if value not in choices:
            raise ValueError(f"{what} cannot be {value!r}. Choose one of: {', '.join(choices)}.")
        return choices[value]

    return condition


def _text(lookup: str) -> Condition:
    return lambda value: Q(**{lookup: value})


def _alerts_of(rule: str) -> QuerySet[Alert]:
    return Alert.objects.order_by() if rule == ANY_RULE else Alert.objects.order_by().filter(rule=rule)


CONDITIONS: dict[str, Condition] = {
    "step": _whole("The step", "step"),
    "step_low": _whole("The first step", "step__gte"),
    "step_high": _whole("The last step", "step__lte"),
    "group": _whole("The group", "group"),
    "seed": _whole("The seed", "seed", largest=LARGEST_SEED),
    "split": _choice("The split", {name: Q(split=name) for name in SPLITS}),
    "environment": _text("environment"),
    "success": _choice("Solved", {"yes": Q(success=True), "no": Q(success=False)}),
    "low": _number("The lowest return", "episode_return__gte"),
    "high": _number("The highest return", "episode_return__lte"),
    "adv_low": _number("The lowest advantage", "advantage__gte"),
    "adv_high": _number("The highest advantage", "advantage__lte"),
    "turns_low": _whole("The fewest turns", "turns__gte"),
    "turns_high": _whole("The most turns", "turns__lte"),
    "tokens_low": _whole("The fewest tokens", "response_tokens__gte"),
    "tokens_high": _whole("The most tokens", "response_tokens__lte"),
    "kept": _choice("The filter", {name: Q(kept=kept) for name, kept in KEPT.items() if kept is not None}
                    | {"undecided": Q(kept__isnull=True)}),
    "parse": _choice("Responses", {"failed": Q(parse_failures__gt=0), "ok": Q(parse_failures=0)}
                     | {"surplus": Q(surplus__gt=0)} | {kind: with_kind(kind) for kind in KINDS}),
    "stop": _text("stop"),
    "superseded": _choice("Superseded", {"only": Q(superseded=True), "include": Q()}),
}  # fmt: skip
NAMES = ("q", "alert", *CONDITIONS)
