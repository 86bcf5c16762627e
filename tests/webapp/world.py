"""A small installation for page tests: an environment, a token, a run with steps, an alert, a log and trajectories."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User

from engine.config import EnvironmentConfig, RunConfig
from engine.events import AlertRaised, RunFailed
from engine.rollout.trajectory_files import read_records, write_trajectory_file
from engine.suites.outcomes import OUTCOMES, write_outcomes
from engine.sweeps.plan import SweepPlan
from engine.sweeps.points import points_of
from engine.what_if.request import EVENTS, TRAJECTORY
from tests.builders.suites import document, outcomes_of, suite_evaluation, suite_version
from tests.webapp.runs.rows import fault
from webapp.accounts.models import Scope
from webapp.accounts.services import local_user
from webapp.accounts.tokens import new_token
from webapp.environments.models import EnvironmentDefinition, EnvironmentVersion, Preflight
from webapp.environments.services import define
from webapp.evaluations.models import Evaluation
from webapp.jobs import JobState
from webapp.launching.models import RolloutImport
from webapp.panels.models import PanelLayout
from webapp.reports.markdown import KINDS
from webapp.reports.models import Report
from webapp.runs.models import Alert, Checkpoint, Run, RunEvent, StepGroups, StepMetrics
from webapp.runs.services import submit_run
from webapp.runs.states import RunState
from webapp.suites.models import SuiteEvaluation
from webapp.sweeps.models import PlannedRun, Sweep, SweepState
from webapp.trajectories.models import Trajectory
from webapp.whatif.models import TRAJECTORY_KEY, WhatIf

FILE = "trajectories/train/step_1.jsonl.zst"
BOARD = {"type": "grid", "rows": 1, "columns": 2, "cells": [["start", "goal"]], "agent": [0, 0]}

ALERT_SEQ = 3
CHECKPOINT_STEP = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    user: User
    run: Run
    environment: EnvironmentDefinition
    trajectories: list[Trajectory]
    layout: PanelLayout
    what_if: WhatIf
    preflight: Preflight
    sweep: Sweep
    evaluation: SuiteEvaluation
    report: Report
    rollouts: RolloutImport


def make_world(*, name: str = "a run", text: str = "some text", texts: list[str] | None = None) -> World:
    """`name` is the name of run and environment, `text` every other text; there is one trajectory for each of
    `texts`."""
    user = local_user()
    new_token(user, name=name[:60], scopes=[Scope.READ], lifetime=timedelta(days=1))
    environment = define(name=name[:60], config=EnvironmentConfig(kind="bandit", instruction=text[:4000]), owner=user)
    config = RunConfig.model_validate({"environments": [environment.config], "steps": 3})
    run = submit_run(owner=user, config=config, name=name[:80], environment_version=environment)
    _report(run, text)
    trajectories = _record(run, texts or [text])
    layout = PanelLayout.objects.create(owner=user, name=name[:80], charts=[[f"env/{text[:200]}/success"]])
    what_if = _add_what_if(trajectories[0], text, parent=_add_what_if(trajectories[0], text))
    return World(
        user=user,
        run=run,
        environment=environment.definition,
        trajectories=trajectories,
        layout=layout,
        what_if=what_if,
        preflight=_add_preflight(environment, text),
        sweep=_add_sweep(run, name, text),
        evaluation=_add_evaluation(run, text),
        report=_add_report(run, trajectories[0], name, text),
        rollouts=_add_import(user, name, text),
    )


def _add_import(user: User, name: str, text: str) -> RolloutImport:
    """One that failed, with a rejected line."""
    return RolloutImport.objects.create(
        owner=user, name=name[:80], files=[text[:200]], bytes=2, lines=1, read=1, rejected=1, upload=uuid.uuid4().hex,
        errors=[[text[:200], 1, text]], state=JobState.FAILED, message=text,
    )  # fmt: skip


def _add_evaluation(run: Run, text: str) -> SuiteEvaluation:
    """One of the run's checkpoint that failed after the only episode of its suite, whose texts are `text`."""
    suite = document(
        "world", item=text[:60], problems=1, environment={"kind": "bandit", "instruction": text[:4000]}
    ).model_copy(update={"title": text[:80], "description": text[:2000]})
    evaluation = suite_evaluation(
        {suite.items[0].name: ["0"]}, version=suite_version(suite), owner=run.owner, run=run, run_name=run.name,
        step=CHECKPOINT_STEP, training_seed=1, policy="checkpoint", model=text[:500], state=JobState.FAILED,
        message=text, versions={text[:50]: text},
    )  # fmt: skip
    path = evaluation.folder / "trajectories" / "000000.jsonl.zst"
    write_trajectory_file(path, [trajectory_record(0, text)])
    [(offset, length, _)] = read_records(path)
    [outcome] = outcomes_of(suite, {suite.items[0].name: ["0"]})
    recorded = replace(
        outcome, error=text, stop=text, file="trajectories/000000.jsonl.zst", offset=offset, length=length
    )
    write_outcomes(evaluation.folder / OUTCOMES, [recorded])
    return evaluation


def _add_report(run: Run, trajectory: Trajectory, name: str, text: str) -> Report:
    """One with every kind of block."""
    comparison = f"/compare/?runs={run.pk},{trajectory.run_id}"
    blocks = [f"```{kind}\n{comparison}\n```" for kind in KINDS if kind != "trajectory"]
    blocks.append(f"```trajectory\n/runs/{run.pk}/trajectories/{trajectory.pk}/\n```")
    return Report.objects.create(owner=run.owner, title=name[:120], text="\n\n".join([text, *blocks]))


def _add_sweep(run: Run, name: str, text: str) -> Sweep:
    """One that was stopped, two by one, with the run as its first; the other could not be launched."""
    settings = [{"label": f"{text[:50]} {steps}", "changes": {"steps": steps}} for steps in (3, 4)]
    other = [{"label": text[:50], "changes": {"loss.kl_coefficient": 0.0}}]
    axes = [
        {"type": "settings", "name": name[:50], "settings": settings},
        {"type": "settings", "name": f"{name[:50]} too", "settings": other},
    ]
    plan = SweepPlan.model_validate({"axes": axes, "seeds": [1]})
    sweep = Sweep.objects.create(
        name=name[:80], owner=run.owner, environment_version=run.environment_version, config=run.config,
        plan=plan.model_dump(mode="json"), state=SweepState.STOPPED,
    )  # fmt: skip
    for order, point in enumerate(points_of(plan, run.config)):
        PlannedRun.objects.create(
            sweep=sweep, order=order, point_key=point.key, labels=dict(point.labels), changes=dict(point.changes),
            seed=1, run=None if order else run, problem=text if order else "",
        )  # fmt: skip
    return sweep


def _add_preflight(version: EnvironmentVersion, text: str) -> Preflight:
    """One that failed, with a report whose texts are `text`."""
    rollout = {"value": None, "success": False, "turns": 0, "malformed": 0, "stop": "fault", "error": text}
    problem = {
        "seed": 0, "identity": "0", "solution": "unknown", "length": None, "rollouts": [rollout], "mean": None,
        "variance": None, "difficulty": "hard",
    }  # fmt: skip
    report = {
        "player": "random", "rollouts": 1, "problems": [problem], "played": 1, "varied": 0.0, "mean": None,
        "shares": {"easy": 0.0, "mixed": 0.0, "hard": 1.0}, "success": 0.0, "variance_within": 0.0,
        "variance_total": 0.0, "budget": 1, "lengths": [], "over_budget": 0, "unknown_solutions": 1, "impossible": 0,
        "malformed": 0.0, "faults": 1, "errors": [text], "distinct": 1, "shared": 0,
        "verdict": {"level": "bad", "text": text},
    }  # fmt: skip
    return Preflight.objects.create(
        version=version, config=version.config, player="model", model=text[:500], problems=1, rollouts=1,
        state=JobState.FAILED, message=text, report=report,
    )  # fmt: skip


def _add_what_if(original: Trajectory, text: str, parent: WhatIf | None = None) -> WhatIf:
    """A what-if with events and a trajectory."""
    key = {name: getattr(original, name) for name in TRAJECTORY_KEY}
    what_if = WhatIf.objects.create(
        run=original.run, parent=parent, turn=0, edit="response", text=text, temperature=1.0, seed=1,
        state=JobState.FINISHED, message=text, remedy=text,
        summary={"turns": 1, "success": False, "episode_return": 0.0, "stop": text}, **key,
    )  # fmt: skip
    what_if.folder.mkdir(parents=True)
    events = [{"kind": "prompt", "turn": 0, "text": text}, {"kind": "refused", "message": text, "remedy": text}]
    (what_if.folder / EVENTS).write_text("".join(json.dumps(message) + "\n" for message in events))
    write_trajectory_file(what_if.folder / TRAJECTORY, [trajectory_record(0, text)])
    return what_if


def _report(run: Run, text: str) -> None:
    """Two steps, an alert, an evaluation and a failure, as the bridge would write them."""
    tag = run.parsed_config().environments[0].tag
    Run.objects.filter(pk=run.pk).update(
        state=RunState.FAILED, state_reason=text, state_remedy=text, step=2, total_steps=3, last_seq=5, phase="update",
        restarts=1, faults=[fault(reason=text)],
    )  # fmt: skip
    for step in (1, 2):
        values: dict[str, float] = {"reward/mean": 0.5, "rollout/success": 0.25, f"env/{tag}/success": 0.25}
        StepMetrics.objects.create(
            run=run, seq=step, step=step, time=time.time(), tokens=100, seconds=1.0, metrics=values
        )
    alert = AlertRaised(
        seq=ALERT_SEQ, step=2, time=1.0, attempt=1, message=text, rule="entropy", severity="warn",
        metric="policy/entropy", value=0.5,
    )  # fmt: skip
    Alert.of(run, alert).save()
    RunEvent.of(run, alert).save()
    RunEvent.of(run, RunFailed(seq=5, step=2, time=2.0, attempt=1, error=text, message=text, remedy=text)).save()
    Evaluation.objects.create(
        run=run, step=2, time=2.0, environment=tag, episodes=10, successes=5, success=0.5, low=0.2, high=0.8,
        mean_return=0.5, first_seed=1, temperature=1.0, final=True,
    )  # fmt: skip
    _report_groups(run, tag)
    run.directory.mkdir(parents=True, exist_ok=True)
    _save_checkpoint(run)
    _find_templates(run, text)
    (run.directory / "engine.log").write_bytes(f"{text}\n".encode("utf-8", "backslashreplace"))
    run.refresh_from_db()


def _save_checkpoint(run: Run) -> None:
    path = f"checkpoints/step_{CHECKPOINT_STEP}"
    (run.directory / path / "model").mkdir(parents=True)
    (run.directory / path / "model/config.json").write_text("{}")
    Checkpoint.objects.create(run=run, step=CHECKPOINT_STEP, path=path, bytes=2, reason="final", time=2.0)


def _report_groups(run: Run, tag: str) -> None:
    detail = {
        "tags": [tag], "groups": [0, 1], "environments": [0, 0], "seeds": [7, 8], "returns": [[0.0, 1.0], [0.5, None]],
        "stds": [0.70710677, 0.0],
    }  # fmt: skip
    StepGroups.objects.create(
        run=run, seq=2, step=2, threshold=0.70710677, scores=[0.70710677, 0.0], kept=[0], detail=detail
    )


def _find_templates(run: Run, text: str) -> None:
    """For step 2, whose row has templates."""
    latest = StepMetrics.objects.get(run=run, step=2)
    latest.metrics["collapse/template_share"] = 1.0
    latest.save()
    prompts = [
        {"environment": text[:60], "seed": 7 + group, "group": group, "turn": 0, "state": text[:600]}
        for group in (0, 1)
    ]
    template = {
        "key": "0123456789", "text": text[:2000], "count": 2, "prompts": 2, "wordings": 1,
        "example": {"group": 0, "member": 0, "turn": 0},
        "used_on": [{"prompt": index, "count": 1, "member": 0} for index in (0, 1)],
    }  # fmt: skip
    folder = run.directory / "templates"
    folder.mkdir()
    found = {"step": 2, "thoughts": 2, "prompts": prompts, "templates": [template]}
    (folder / "step_2.json").write_text(json.dumps(found))


def _record(run: Run, texts: list[str]) -> list[Trajectory]:
    write_trajectory_file(run.directory / FILE, [trajectory_record(member, text) for member, text in enumerate(texts)])
    rows = []
    for offset, length, found in read_records(run.directory / FILE):
        row = Trajectory(
            run=run, step=1, split="train", environment="Bandit", kind="bandit", group=0, member=found["member"],
            seed=7, success=False, episode_return=0.0, score=0.0, advantage=0.0, group_std=0.0, kept=True, turns=1,
            response_tokens=1, parse_failures=0, stop="terminated", file=FILE, offset=offset, length=length,
        )  # fmt: skip
        row.save()
        rows.append(row)
    return rows


def trajectory_record(member: int, text: str) -> dict[str, Any]:
    """One turn whose prompt, response, thought, actions and observation all are `text`."""
    turn = {
        "index": 0, "prompt": text, "messages": [{"role": "user", "content": text}], "response": text,
        "prompt_start": 0, "response_start": 1, "response_end": 2,
        "thought": text, "parse": "ok", "parsed": [text], "surplus": 0, "executed": [text], "reward": 0.0,
        "penalty": 0.0, "return_to_go": 0.0, "advantage": 0.0, "entropy": 0.0, "logprob": 0.0, "info": {},
        "frames": [{"action": text, "reward": 0.0, "effective": True, "drawing": BOARD, "observation": text}],
    }  # fmt: skip
    tokens = {
        "ids": [1, 2], "text": [text, text], "sampled": [0, 1], "masked": [], "logprobs": [0.0, -1.0],
        "entropies": [0.0, 1.0], "advantages": [0.0, 0.5],
    }  # fmt: skip
    return {
        "id": f"train-1-0-{member}", "step": 1, "split": "train", "environment": "Bandit", "kind": "bandit",
        "group": 0, "member": member, "seed": 7, "success": False, "return": 0.0, "penalty": 0.0, "score": 0.0,
        "advantage": 0.0, "kept": True, "group_std": 0.0, "stop": "terminated", "optimal_length": None,
        "tokens": tokens, "initial": {"observation": text, "drawing": BOARD}, "turns": [turn],
    }  # fmt: skip
