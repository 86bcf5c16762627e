"""Actions of alert rules in the audit log, and forks that rules request.

A fork by a rule is an ordinary run for the remaining steps, from the last checkpoint before the first sign of trouble,
with the settings changed that the signs blame. A run has at most one, at most `checkpoint.restarts` of them follow one
another, and none follows two that ended by the same rule.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from django.db import IntegrityError

from engine.config import RunConfig
from engine.errors import CheckpointError, ConfigError
from engine.rescue import Remedy, remedies, with_remedies
from webapp.alerts.rescue import signs_between
from webapp.audit.models import DONE, AuditEntry
from webapp.audit.services import record
from webapp.runs.forks import forked_config, last_before, name_of
from webapp.runs.live_settings import current
from webapp.runs.models import ID_ALPHABET, Alert, Run
from webapp.runs.quotas import QuotaExceeded
from webapp.runs.services import submit_run

BY_RULE = "rule_"
FORK = BY_RULE + "fork"  # in the audit log of the run that was forked
LAUNCHED = BY_RULE + "launch"  # in that of the fork
ALIKE = 2  # rescues in a row that end by the same rule, after which there is no other
RECORDED = ("checkpoint", "pause", "stop")  # a fork is recorded with its result


def record_actions(run: Run, alerts: Iterable[Alert]) -> None:
    """One entry for each alert with an action."""
    for alert in alerts:
        if alert.action in RECORDED:
            record(run, None, BY_RULE + alert.action, rule=alert.rule, step=alert.step, severity=alert.severity)


def launch_fork(run: Run, *, before: int) -> str:
    """Launches the fork that a rule of `run` requested, from before step `before`; returns a sentence about the result.

    Both runs get an audit entry; if no fork is possible, it has the reason. Repeated calls return the same fork: a run
    can have only one, whose id is derived from the run's.
    """
    rule, generation = _requesting_rule(run), generation_of(run) + 1
    fork = Run.objects.filter(pk=fork_id_of(run)).first()
    if fork is None:
        found = last_before(run, before)
        if found is None:
            return _refused(run, rule, f"no checkpoint from before step {before} is left")
        if why := _why_not(run, generation, rule):
            return _refused(run, rule, why)
        signs = signs_between(run, since=before, until=run.total_steps)
        config = forked_config(run, found.step)
        changes = remedies(current(run), signs, start=found.step)
        why_launched = {"rule": rule, "generation": generation, "changes": _as_changes(changes)}
        try:
            fork = _launched(run, found.step, with_remedies(config, changes), why_launched)
        except (CheckpointError, ConfigError, QuotaExceeded) as error:
            return _refused(run, rule, str(error)[:300].rstrip("."))
    if not AuditEntry.objects.filter(run=run, action=FORK, outcome=DONE).exists():
        start = fork.config["model"]["start_from"]["step"]
        record(run, None, FORK, rule=rule, from_step=start, fork=fork.pk)
    return f"The fork is {fork.name}."


def _as_changes(changes: Iterable[Remedy]) -> dict[str, dict[str, Any]]:
    return {change.field: {"old": change.old, "new": change.new} for change in changes}


def _launched(run: Run, step: int, config: RunConfig, why: dict[str, Any]) -> Run:
    try:
        return submit_run(
            pk=fork_id_of(run),
            owner=run.owner,
            project=run.project,
            config=config,
            name=name_of(run, step),
            preset=run.preset,
            environment_version=run.environment_version,
            cloned_from=run,
            action=LAUNCHED,
            launched_because=why,
        )
    except IntegrityError:  # another worker was faster
        return Run.objects.get(pk=fork_id_of(run))


def fork_id_of(run: Run) -> str:
    """Deterministic, so that the database holds at most one."""
    digest = hashlib.sha256(f"the fork of {run.pk} by its rules".encode()).digest()
    return "".join(ID_ALPHABET[byte % len(ID_ALPHABET)] for byte in digest[:10])


def _refused(run: Run, rule: str, why: str) -> str:
    record(run, None, FORK, False, rule=rule, because=why)
    return f"No fork was launched: {why}."


def generation_of(run: Run) -> int:
    """The length of the chain of automatic forks that led to it; 0 for a run launched by a user."""
    launched = _launch_of(run)
    return int(launched.detail["generation"]) if launched is not None else 0


def _launch_of(run: Run) -> AuditEntry | None:
    return AuditEntry.objects.filter(run=run, action=LAUNCHED).first()


def _requesting_rule(run: Run) -> str:
    """Of the rules that requested a fork at the newest step, the one whose alert began first: the engine's choice."""
    requests = run.alerts.filter(action="fork").order_by("-seq")[:100]
    chosen = min(requests, key=lambda alert: (-alert.step, alert.since or 0), default=None)
    return chosen.rule if chosen is not None else ""


def _why_not(run: Run, generation: int, rule: str) -> str:
    if generation > run.restart_budget:
        led = f"{generation - 1} forks by rules led to this run, and " if generation > 1 else ""
        return f"{led}checkpoint.restarts allows {run.restart_budget or 'none'}"
    launched = _launch_of(run)
    if launched is not None and generation > ALIKE and rule and launched.detail["rule"] == rule:
        return f"the last {ALIKE} forks by rules both ended by {rule}, so another like them is unlikely to help"
    return ""
