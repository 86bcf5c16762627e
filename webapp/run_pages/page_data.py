"""The data of a run's page as it is first rendered. Later updates arrive over the socket."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Min

from engine.metrics import GLOSSARY, SECTIONS
from engine.verdict.format_changes import explain_format_changes
from engine.verdict.regimes import REGIMES
from engine.verdict.thresholds import RULES_VERSION
from webapp.alerts.rules import rules_of
from webapp.copies.models import copy_of
from webapp.exports.formats import FORMATS
from webapp.panels.presets import PRESETS
from webapp.projects.access import readable
from webapp.run_pages.chart_previews import chart_previews
from webapp.run_pages.settings_form import live_nodes
from webapp.run_pages.snapshot import run_snapshot
from webapp.run_pages.superseded import superseded_steps
from webapp.run_pages.tab_settings import watching_facts
from webapp.runs.config_file import as_toml, shell_command
from webapp.runs.forks import origin
from webapp.runs.ingesting import is_elsewhere, reported_config
from webapp.runs.lineage import lineage_facts
from webapp.runs.models import Run
from webapp.runs.verdicts import recorded_verdict, status_of
from webapp.trajectories.models import Trajectory


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab of the run's page: its key in the URL, its label, and its template."""

    key: str
    label: str
    template: str


MOST_FORKS = 20  # that are listed
MOST_PROBLEMS = 20  # of the record that are listed
LATEST = 8  # trajectories on the overview

TABS = (
    Tab("overview", "Overview", "run_pages/tabs/_overview.html"),
    Tab("collapse", "Collapse", "run_pages/tabs/_collapse.html"),
    Tab("filter", "Filter", "run_pages/tabs/_filter.html"),
    Tab("rollouts", "Rollouts", "run_pages/tabs/_rollouts.html"),
    Tab("panels", "Charts", "run_pages/tabs/_panels.html"),
    Tab("metrics", "All metrics", "run_pages/tabs/_metrics.html"),
    Tab("config", "Config", "run_pages/tabs/_config.html"),
    Tab("log", "Log", "run_pages/tabs/_log.html"),
    Tab("checkpoints", "Checkpoints", "run_pages/tabs/_checkpoints.html"),
    Tab("control", "Control", "run_pages/tabs/_control.html"),
    Tab("alerts", "Alerts", "run_pages/tabs/_alerts.html"),
)


def run_page(run: Run) -> dict[str, Any]:
    config = run.parsed_config()
    elsewhere = is_elsewhere(run)
    return {
        "run": run,
        "live": run_snapshot(run),
        "status": status_of(run),
        "verdict": recorded_verdict(run),
        "rules_version": RULES_VERSION,
        "format_rules": explain_format_changes(run.total_steps),
        "regimes": {key: text._asdict() for key, text in REGIMES.items()},
        "config": config,
        "elsewhere": elsewhere,
        "toml": reported_config(run) if elsewhere else as_toml(config),
        "command": shell_command(f"runs/{run.pk}"),
        "live_fields": live_nodes(run),
        "origin": origin(run),
        "copy": copy_of(run),
        "lineage": lineage_facts(run),
        "forks": readable(run.forks.order_by("fork_step", "created_at"))[:MOST_FORKS],
        **rules_of(run),
        "record_problems": run.record_problems.order_by("pk")[:MOST_PROBLEMS],
        "record_problem_count": run.record_problems.count(),
        "alerts": run.alerts.count() + len(run.faults),
        "superseded": superseded_steps(run),
        "latest": latest_trajectories(run),
        "glossary": {name: asdict(metric) for name, metric in GLOSSARY.items()},
        "panels": [{**asdict(preset), "charts": [one._asdict() for one in preset.charts]} for preset in PRESETS],
        "sections": [section._asdict() for section in SECTIONS],
        "tabs": TABS,
        "exports": FORMATS,
        "previews": chart_previews(run),
        "watching": watching_facts(config),
        "tags": [environment.tag for environment in config.environments],
    }


def latest_trajectories(run: Run) -> list[Trajectory]:
    """Of the newest recorded step, one of each group: members of one group all play the same problem."""
    rows = run.trajectories.filter(split="train")
    newest = rows.order_by("-step").values("step")[:1]
    firsts = rows.filter(step=newest).order_by("group").values("group").annotate(first=Min("pk")).values("first")
    return list(Trajectory.objects.filter(pk__in=[row["first"] for row in firsts[:LATEST]]).order_by("group"))
