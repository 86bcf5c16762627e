"""Everything the run page is first drawn with. What comes later comes over the socket."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import QuerySet

from engine.metrics import GLOSSARY, OVERVIEW, SECTIONS
from webapp.alerts.rules import rules_of
from webapp.runs.drafts import as_toml, shell_command
from webapp.runs.forks import origin
from webapp.runs.health import HeldOut, health_of
from webapp.runs.live_settings import fields_with_values
from webapp.runs.models import Run
from webapp.runs.watching import watching_facts
from webapp.trajectories.models import Trajectory

HEALTH_STEPS = 400


@dataclass(frozen=True, slots=True)
class Tab:
    """A view of the run page: its key in the address, its word, and the template of what it holds."""

    key: str
    word: str
    template: str


TABS = (
    Tab("overview", "Overview", "runs/tabs/_overview.html"),
    Tab("collapse", "Collapse", "runs/tabs/_collapse.html"),
    Tab("filter", "Filter", "runs/tabs/_filter.html"),
    Tab("optimisation", "Optimisation", "runs/tabs/_charts.html"),
    Tab("rollouts", "Rollouts", "runs/tabs/_rollouts.html"),
    Tab("throughput", "Throughput", "runs/tabs/_charts.html"),
    Tab("config", "Config", "runs/tabs/_config.html"),
    Tab("log", "Log", "runs/tabs/_log.html"),
    Tab("checkpoints", "Checkpoints", "runs/tabs/_checkpoints.html"),
    Tab("control", "Control", "runs/tabs/_control.html"),
    Tab("alerts", "Alerts", "runs/tabs/_alerts.html"),
)


def run_page(run: Run) -> dict[str, Any]:
    config = run.parsed_config()
    return {
        "run": run,
        "live": run.live_state(),
        "health": health(run),
        "config": config,
        "toml": as_toml(config),
        "command": shell_command(f"runs/{run.pk}"),
        "live_fields": fields_with_values(run),
        "origin": origin(run),
        **rules_of(run),
        "alerts": run.alerts.count() + len(run.faults),
        "latest": latest_trajectories(run),
        "glossary": {name: asdict(metric) for name, metric in GLOSSARY.items()},
        "panels": [chart._asdict() for chart in OVERVIEW],
        "section_list": [section._asdict() for section in SECTIONS],
        "tabs": TABS,
        "watching": watching_facts(config),
        "tags": [environment.tag for environment in config.environments],
    }


def latest_trajectories(run: Run) -> QuerySet[Trajectory]:
    return run.trajectories.filter(split="train").order_by("-step", "group", "member")[:8]


def health(run: Run) -> dict[str, str]:
    judged = health_of(
        run.shown_as,
        recent_steps(run),
        list(run.alerts.values_list("severity", flat=True)[:5]),
        held_out=held_out(run),
        reason=run.state_reason,
        waits_for=run.wait_reason,
    )
    return {**asdict(judged), "icon": judged.icon}


def held_out(run: Run) -> list[HeldOut]:
    """Evaluations of the run's first environment, oldest first."""
    tag = run.config["environments"][0]["tag"]
    found = run.evaluations.filter(environment=tag).order_by("step", "final")
    return [HeldOut(*row) for row in found.values_list("success", "low", "high")]


def recent_steps(run: Run) -> list[dict[str, float]]:
    newest = run.steps.order_by("-step").values_list("metrics", flat=True)[:HEALTH_STEPS]
    return list(newest)[::-1]
