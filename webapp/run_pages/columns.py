"""The columns of the list of runs: what each is called, by what it sorts, and the template of its cells.

A column is an entry in `FIXED`, and its cell a template of its key in `templates/run_pages/cells`, or a function from
what it sorts by to a text. Columns of metrics have keys such as `best:rollout/success` and need no entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, F, FloatField, IntegerField, OuterRef, Subquery, Sum, Value, When
from django.db.models.expressions import Combinable
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Lower, NullIf
from django.template.defaultfilters import filesizeformat

from engine.metrics import describe
from webapp.evaluations.models import Evaluation
from webapp.runs.models import Checkpoint, MetricName
from webapp.runs.states import RunState

KINDS = {"last": "last value", "best": "best value", "highest": "highest value", "lowest": "lowest value"}
MOST_COLUMNS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """`order` is what rows are sorted by, and what the seeds of a configuration have a mean of if it is `numeric`."""

    key: str
    label: str
    order: Combinable
    text: Callable[[Any], str] | None = None  # of the value of `order`; without it, the cell has a template
    css: str = ""
    numeric: bool = False
    right: bool = False  # aligned, as numbers are
    plain: str = ""  # the field whose values a folded configuration lists
    default: bool = True  # shown if the URL has no columns
    help: str = ""

    @property
    def template(self) -> str:
        return "" if self.text else f"run_pages/cells/{self.key}.html"


def number(value: float) -> str:
    return f"{value:.4g}"


def duration(seconds: float) -> str:
    """`45 s`, `12 min` or `3.4 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _held_out(value: str, *order: str) -> Subquery:
    rows = Evaluation.objects.filter(run=OuterRef("pk"), requested=False).order_by(*order)
    return Subquery(rows.values(value)[:1], output_field=FloatField())


def _metric(name: str, value: str) -> Subquery:
    rows = MetricName.objects.filter(run=OuterRef("pk"), name=name)
    return Subquery(rows.values(value)[:1], output_field=FloatField())


def _checkpoint_bytes() -> Subquery:
    rows = Checkpoint.objects.filter(run=OuterRef("pk")).order_by().values("run").annotate(total=Sum("bytes"))
    return Subquery(rows.values("total")[:1])


VERDICT = KeyTextTransform("label", "verdict")
STATES = Case(
    *(When(state=state, then=index) for index, state in enumerate(RunState)), output_field=IntegerField()
)  # in the order of a run's life

FIXED: dict[str, Column] = {
    column.key: column
    for column in (
        Column(key="state", plain="state", label="Status", order=STATES, css="run-state"),
        Column(key="name", plain="name", label="Name", order=Lower("name"), css="run-name"),
        Column(
            key="project",
            plain="project__name",
            label="Project",
            order=Lower("project__name"),
            css="run-wide",
            default=False,
        ),
        Column(key="health", label="Health", order=VERDICT, plain="verdict__label", css="run-health"),
        Column(
            key="environment",
            plain="listed__environment",
            label="Environment",
            order=Lower("listed__environment"),
            css="run-environment",
        ),
        Column(key="preset", plain="preset", label="Preset", order=Lower("preset"), css="run-wide"),
        Column(key="model", plain="listed__model", label="Model", order=Lower("listed__model"), css="mono run-wide"),
        Column(
            key="seed",
            plain="listed__seed",
            label="Seed",
            order=F("listed__seed"),
            text=str,
            css="num run-wide",
            right=True,
            default=False,
        ),
        Column(
            key="progress",
            label="Progress",
            order=Cast("step", FloatField()) / NullIf(Cast("total_steps", FloatField()), Value(0.0)),
            css="run-progress",
            numeric=True,
        ),
        Column(
            key="success",
            label="Success",
            order=_metric("rollout/success", "last"),
            css="run-success",
            numeric=True,
            help="Training success of the latest step",
        ),
        Column(
            key="held_out",
            label="Held-out",
            order=_held_out("success", "-step", "-final", "-pk"),
            css="num run-wide",
            numeric=True,
            right=True,
            help="Success of the latest evaluation on held-out problems",
        ),
        Column(
            key="best_held_out",
            label="Best held-out",
            order=_held_out("success", "-success"),
            text=number,
            css="num run-wide",
            numeric=True,
            right=True,
            default=False,
            help="Highest success of an evaluation on held-out problems",
        ),
        Column(
            key="held_out_return",
            label="Held-out return",
            order=_held_out("mean_return", "-step", "-final", "-pk"),
            text=number,
            css="num run-wide",
            numeric=True,
            right=True,
            default=False,
            help="Mean return of the latest evaluation on held-out problems",
        ),
        Column(
            key="time",
            label="Training time",
            order=F("seconds"),
            text=duration,
            css="num run-wide",
            right=True,
            default=False,
        ),
        Column(
            key="checkpoints",
            label="Checkpoints",
            order=_checkpoint_bytes(),
            text=filesizeformat,
            css="num run-wide",
            right=True,
            default=False,
            help="Size of the checkpoints on disk",
        ),
        Column(
            key="notes", label="Notes", order=Lower(NullIf("notes", Value(""))), css="run-wide run-notes", default=False
        ),
        Column(key="started", label="Started", order=F("started_at"), css="nowrap run-wide"),
        Column(key="owner", label="Owner", order=Lower("owner__username"), css="run-wide", default=False),
    )
}


def metric_column(kind: str, name: str) -> Column:
    entry = describe(name)
    value = "last" if kind == "last" else _extreme(kind, entry.better)
    return Column(
        key=f"{kind}:{name}",
        label=f"{entry.title}, {kind}",
        order=_metric(name, value),
        text=number,
        css="num run-metric",
        numeric=True,
        right=True,
        help=f"{name}: {KINDS[kind]}",
    )


def _extreme(kind: str, better: str | None) -> str:
    if kind == "best":
        return "lowest" if better == "lower" else "highest"
    return kind


def column_of(key: str) -> Column | None:
    kind, colon, name = key.partition(":")
    if colon and kind in KINDS and 0 < len(name) <= 300 and "\0" not in name:
        return metric_column(kind, name)
    return FIXED.get(key)


def columns_of(keys: Iterable[str], *, several_owners: bool) -> list[Column]:
    """The columns named, or the default ones if none is: with owners if runs have several."""
    found = [column for key in list(dict.fromkeys(keys))[:MOST_COLUMNS] if (column := column_of(key)) is not None]
    if not found:
        return [one for one in FIXED.values() if one.default or (one.key == "owner" and several_owners)]
    return found if any(one.key == "name" for one in found) else [FIXED["name"], *found]


def measured(columns: Iterable[Column]) -> dict[str, Any]:
    """What to annotate runs with for the cells that are made from it."""
    return {alias(column): column.order for column in columns if column.text}


def alias(column: Column) -> str:
    """A name that is safe in SQL, as keys are not."""
    return "value_" + column.key.encode().hex()
