"""Launching, stopping, resuming and extending sweeps, and their limits."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from engine.config import RunConfig
from engine.sweeps.plan import SweepPlan
from tests.webapp.sweeps.sweeping import BASE, KL, STEPS, a_sweep, end, finish, queued
from webapp.audit.models import AuditEntry
from webapp.environments.models import EnvironmentVersion
from webapp.quotas.models import UserQuota
from webapp.runs import queue
from webapp.runs.models import Run
from webapp.runs.services import request_stop, submit_run
from webapp.runs.states import RunState
from webapp.sweeps.advancing import advance, advance_all
from webapp.sweeps.drafts import draft
from webapp.sweeps.extending import extended
from webapp.sweeps.models import Priority, Sweep, SweepState
from webapp.sweeps.services import Refused, change, create, extend, resume, stop

pytestmark = pytest.mark.django_db


def test_a_sweep_queues_as_many_runs_as_its_limit_and_the_next_when_one_ends(user: User) -> None:
    sweep = a_sweep(user)
    assert sweep.planned.count() == 8
    first, second = queued(sweep)
    assert {first.owner, second.owner} == {user}
    advance_all()
    assert queued(sweep) == [first, second]
    end(first, RunState.FINISHED)
    advance_all()
    assert queued(sweep)[0] == second and len(queued(sweep)) == 2


def test_a_live_run_counts_against_the_limit(user: User) -> None:
    sweep = a_sweep(user, at_once=1)
    for state in (RunState.STARTING, RunState.RUNNING, RunState.PAUSED, RunState.LOST, RunState.STOPPING):
        Run.objects.filter(planned__sweep=sweep).update(state=state)
        advance(sweep.pk)
        assert Run.objects.filter(planned__sweep=sweep).count() == 1


def test_all_seeds_of_the_first_block_run_before_the_second(user: User) -> None:
    sweep = a_sweep(user, at_once=64)
    assert [run.config["seed"] for run in queued(sweep)] == [1] * 4 + [2] * 4


def test_a_run_has_the_configuration_of_its_point_and_the_reason_of_its_launch(user: User) -> None:
    sweep = a_sweep(user, at_once=64)
    row = sweep.planned.select_related("run").get(labels={"loss.kl_coefficient": "0.1", "steps": "6"}, seed=2)
    assert row.run is not None
    config = row.run.parsed_config()
    assert (config.loss.kl_coefficient, config.steps, config.seed) == (0.1, 6, 2)
    assert row.run.name == "kl and steps: 0.1, 6, seed 2"
    entry = AuditEntry.objects.get(run=row.run)
    assert (entry.action, entry.who, entry.detail) == ("sweep", "Starboard", {"sweep": "kl and steps"})


def test_a_sweep_that_trained_everything_has_finished(user: User) -> None:
    sweep = a_sweep(user)
    finish(sweep)
    sweep.refresh_from_db()
    assert sweep.state == SweepState.FINISHED and sweep.ended_at is not None
    assert Run.objects.filter(planned__sweep=sweep, state=RunState.FINISHED).count() == 8


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.CRASHED])
def test_a_failure_is_retried_as_often_as_the_budget_allows(user: User, state: RunState) -> None:
    sweep = a_sweep(user, at_once=1, retries=2, plan={"axes": [], "seeds": [1]})
    for attempt in (1, 2, 3):
        (run,) = queued(sweep)
        assert run.attempt == attempt
        end(run, state)
        advance_all()
    sweep.refresh_from_db()
    assert queued(sweep) == [] and sweep.state == SweepState.FINISHED
    assert sweep.planned.get().retries == 2


def test_a_run_that_its_user_stopped_is_not_started_again_by_the_sweep(user: User) -> None:
    sweep = a_sweep(user, at_once=1, plan={"axes": [], "seeds": [1]})
    request_stop(queued(sweep)[0], user)
    advance_all()
    sweep.refresh_from_db()
    assert queued(sweep) == [] and sweep.state == SweepState.FINISHED
    assert resume(sweep) == 1
    assert len(queued(sweep)) == 1 and sweep.state == SweepState.RUNNING


def test_stop_ends_queued_runs_and_launches_no_more(user: User) -> None:
    sweep = a_sweep(user)
    assert stop(sweep, user, runs=True)
    advance_all()
    assert queued(sweep) == [] and sweep.state == SweepState.STOPPED
    assert Run.objects.filter(planned__sweep=sweep, state=RunState.STOPPED).count() == 2
    assert not stop(sweep, user, runs=True)


def test_stop_may_leave_the_runs_that_there_are(user: User) -> None:
    sweep = a_sweep(user)
    assert stop(sweep, user, runs=False)
    end(queued(sweep)[0], RunState.FINISHED)
    advance_all()
    assert len(queued(sweep)) == 1


def test_resume_queues_stopped_and_planned_runs_and_none_that_finished(user: User) -> None:
    sweep = a_sweep(user, at_once=3)
    done, *others = queued(sweep)
    end(done, RunState.FINISHED)
    stop(sweep, user, runs=True)
    assert resume(sweep) == 2 + 5
    assert {run.pk for run in others} < {run.pk for run in queued(sweep)} and len(queued(sweep)) == 3
    finish(sweep)
    done.refresh_from_db()
    assert done.attempt == 1 and Run.objects.filter(planned__sweep=sweep).count() == 8


def test_a_failure_without_retries_left_is_resumed_once_more_are_allowed(user: User) -> None:
    sweep = a_sweep(user, at_once=1, retries=0, plan={"axes": [], "seeds": [1]})
    end(queued(sweep)[0], RunState.FAILED)
    advance_all()
    sweep.refresh_from_db()
    with pytest.raises(Refused, match="Allow more retries"):
        resume(sweep)
    change(sweep, at_once=1, retries=1, priority=Priority.NORMAL)
    assert resume(sweep) == 1 and len(queued(sweep)) == 1


def test_more_seeds_and_values_add_runs_and_repeat_none(user: User) -> None:
    sweep = a_sweep(user)
    finish(sweep)
    former = set(Run.objects.filter(planned__sweep=sweep).values_list("pk", flat=True))
    sweep.refresh_from_db()
    plan = {**sweep.plan, "seeds": [1, 2, 3], "axes": [{**KL, "values": [0.0, 0.1, 0.2]}, STEPS]}
    assert extend(sweep, lambda _: plan) == 3 * 2 * 3 - 8
    assert sweep.state == SweepState.RUNNING and sweep.parsed_plan().seeds == [1, 2, 3]
    finish(sweep)
    after = Run.objects.filter(planned__sweep=sweep)
    assert after.count() == 18 and former < set(after.values_list("pk", flat=True))
    assert not after.filter(attempt__gt=1).exists()


def test_more_draws_continue_those_that_there_are(user: User) -> None:
    rate = {"type": "range", "field": "optimizer.learning_rate", "low": 1e-4, "high": 1e-3, "scale": "log"}
    sweep = a_sweep(user, plan={"axes": [rate], "method": "sobol", "points": 3, "seeds": [1]})
    assert extend(sweep, lambda plan: {**plan.model_dump(), "points": 5}) == 2
    assert extend(sweep, SweepPlan.model_dump) == 0


def test_two_browsers_extend_a_sweep_at_the_same_time_and_both_seeds_are_trained(user: User, browser: Client) -> None:
    """The second one writes after the first has read the plan: the first plans again, over both."""
    sweep = a_sweep(user)
    meanwhile = [Sweep.objects.get(pk=sweep.pk)]

    def with_seed_3(plan: SweepPlan) -> dict[str, Any]:
        if meanwhile:
            assert extend(meanwhile.pop(), lambda plan: extended(plan, seeds=[4])) == 4
        return extended(plan, seeds=[3])

    assert extend(sweep, with_seed_3) == 4
    assert sweep.parsed_plan().seeds == [1, 2, 4, 3]
    assert sorted(sweep.planned.values_list("seed", flat=True)) == [1] * 4 + [2] * 4 + [3] * 4 + [4] * 4
    assert browser.get(f"/sweeps/{sweep.pk}/").status_code == 200


def test_a_sweep_that_cannot_go_on_stops_with_the_reason_and_holds_up_no_other(user: User) -> None:
    broken, sound = a_sweep(user, at_once=1), a_sweep(user, at_once=1)
    Sweep.objects.filter(pk=broken.pk).update(plan={"method": "unknown"})
    for sweep in (broken, sound):
        end(queued(sweep)[0], RunState.FINISHED)
    advance_all()
    broken.refresh_from_db()
    assert len(queued(sound)) == 1
    assert broken.state == SweepState.STOPPED and "could not be advanced" in broken.stopped_because


def test_an_extension_that_loses_runs_is_refused(user: User) -> None:
    sweep = a_sweep(user)
    with pytest.raises(Refused, match="4 runs of this sweep would no longer belong to it"):
        extend(sweep, lambda plan: {**plan.model_dump(), "seeds": [1]})
    assert sweep.planned.count() == 8


def test_a_deleted_run_is_planned_again(user: User) -> None:
    sweep = a_sweep(user, at_once=1, plan={"axes": [], "seeds": [1]})
    end(queued(sweep)[0], RunState.FINISHED)
    advance_all()
    Run.objects.filter(planned__sweep=sweep).delete()
    sweep.refresh_from_db()
    assert sweep.state == SweepState.FINISHED and resume(sweep) == 1 and len(queued(sweep)) == 1


def test_a_sweep_after_other_runs_waits_behind_those_that_are_queued_later(user: User) -> None:
    sweep = a_sweep(user, at_once=1, priority=Priority.LOW)
    single = submit_run(owner=user, config=RunConfig(), name="single")
    assert [run.name for run in queue.waiting()] == ["single", queued(sweep)[0].name]
    end(single, RunState.FINISHED)
    end(queued(sweep)[0], RunState.CRASHED)
    advance_all()
    assert queued(sweep)[0].priority == Priority.LOW


def test_a_run_that_cannot_be_launched_says_why_and_holds_up_no_other(user: User) -> None:
    sweep = a_sweep(user, at_once=64, plan={"axes": [STEPS], "seeds": [1]})
    Run.objects.all().delete()
    row = sweep.planned.all()[0]
    row.changes = {"model.start_from.run": "nowhere000", "model.start_from.step": 5}
    row.save()
    advance(sweep.pk)
    row.refresh_from_db()
    assert row.run is None and "nowhere000" in row.problem
    assert len(queued(sweep)) == 1


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        ({"axes": [{**KL, "values": [-1.0]}]}, "loss.kl_coefficient = -1: must be 0 or more, got -1.0"),
        ({"axes": [{**KL, "field": "model.path", "values": ["/nowhere"]}]}, "model.path = /nowhere: "),
        ({"axes": [{**KL, "field": "seed"}]}, "Axis 1, field: seed cannot be swept"),
        ({"axes": [KL, KL]}, "'loss.kl_coefficient' is used twice"),
        ({"seeds": list(range(20)), "axes": [{**KL, "values": list(range(30))}]}, "are 600 runs"),
        ({"seeds": []}, "Seeds: "),
    ],
)
def test_a_sweep_that_could_not_run_is_refused_before_launch(plan: dict[str, Any], problem: str) -> None:
    made = draft(BASE, plan)
    assert problem in " ".join(made.problems)
    with pytest.raises(Refused):
        create(made, base=BASE, owner=None)
    assert Sweep.objects.count() == 0


def test_an_action_budget_that_solves_no_problem_is_refused_under_its_axis(lake: EnvironmentVersion) -> None:
    EnvironmentVersion.objects.filter(pk=lake.pk).update(facts={"solutions": {"lengths": [6, 7], "unknown": 0}})
    base = RunConfig.model_validate({"environments": [lake.config]})
    made = draft(base, {"axes": [{"type": "values", "field": "environments.0.max_turns", "values": [1, 5]}]})
    assert len(made.problems) == 1
    assert made.problems[0].startswith("environments.0.max_turns = 1: environments.0: No problem can be solved")


def test_a_run_that_its_owner_s_quota_does_not_resume_says_why_and_is_tried_once(user: User) -> None:
    sweep = a_sweep(user, at_once=1, plan={"axes": [STEPS], "seeds": [1]})
    [run] = queued(sweep)
    Run.objects.filter(pk=run.pk).update(state="failed")
    UserQuota.objects.create(user=user, device_hours=0)
    advance(sweep.pk)
    row = sweep.planned.get(run=run)
    run.refresh_from_db()
    assert (run.state, row.again) == ("failed", False)
    assert "have used 0.0 of the 0 device hours" in row.problem
