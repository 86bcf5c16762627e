"""Users, workers, engines and frozen writers act on a run in any order: hypothesis walks every move of its state.

`ALLOWED` is the table of `webapp.runs.states` once more, written from what each state means. A run that is trained
elsewhere is not in it: it only ends, which `tests/webapp/api` covers.
"""

from __future__ import annotations

import pytest
from django.db import transaction
from django.test import override_settings
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engine.config import RunConfig
from webapp.runs.models import Run
from webapp.runs.services import (
    archive,
    move,
    queue_again,
    request_checkpoint,
    request_pause,
    request_prune,
    request_resume,
    request_stop,
    submit_run,
    unarchive,
)
from webapp.runs.states import RunState
from workers import lease, turns

pytestmark = pytest.mark.django_db

ALLOWED = {
    "queued": "starting stopped failed",
    "starting": "queued running paused stalled lost stopping finished stopped failed crashed",
    "running": "queued paused stalled lost stopping finished stopped failed crashed",
    "paused": "queued running stalled lost stopping finished stopped failed crashed",
    "stalled": "queued running paused lost stopping finished stopped failed crashed",
    "lost": "queued running paused stalled stopping finished stopped failed crashed",
    "stopping": "finished stopped failed crashed",
    "stopped": "queued",
    "failed": "queued",
    "crashed": "queued",
    "finished": "",
}
PAIRS = {(source, target) for source, targets in ALLOWED.items() for target in targets.split()}

LIVE = {"starting", "running", "paused", "stalled", "lost", "stopping"}
ENDED = {"finished", "stopped", "failed", "crashed"}
SHOWN = st.sampled_from(["running", "paused", "stalled", "lost", "stopping"])
ENDINGS = st.sampled_from(sorted(ENDED))


class OneRun(RuleBasedStateMachine):
    """`writers` are the epoch and attempt of each supervisor so far; all but the newest have been frozen or killed."""

    def __init__(self) -> None:
        super().__init__()
        self.savepoint = transaction.savepoint()
        self.writers: list[tuple[int, int]] = []

    @initialize()
    def a_user_launches_it(self) -> None:
        self.run = submit_run(owner=None, config=RunConfig.model_validate({}))
        self.before = self.row()

    def row(self) -> Run:
        return Run.objects.get(pk=self.run.pk)

    def teardown(self) -> None:
        transaction.savepoint_rollback(self.savepoint)

    # --- workers ---

    @rule()
    def a_worker_is_free(self) -> None:
        waits = self.before.state == "queued"
        unheld = self.before.state in LIVE and self.before.lease_expires is None
        taken = turns.claim(self.run.pk)
        assert (taken is not None) == (waits or unheld)
        if taken is not None:
            self.writers.append((taken[1], self.before.attempt))
            assert taken[1] == self.before.epoch + 1
            assert self.row().state == ("starting" if waits else self.before.state)

    @precondition(lambda self: self.before.state in LIVE and self.before.lease_expires is not None)
    @rule()
    def its_worker_lets_go(self) -> None:
        lease.release(self.run.pk, self.before.epoch)

    @precondition(lambda self: self.before.state in LIVE and self.before.lease_expires is not None)
    @rule()
    def its_worker_freezes_and_another_takes_over(self) -> None:
        Run.objects.filter(pk=self.run.pk).update(lease_holder="another-host 1 1 1")
        with override_settings(STARBOARD_LIMITS={"lease": 0.0}):
            taken = turns.claim(self.run.pk) or turns.claim(self.run.pk)  # once seen, then seen again
        assert taken == (self.run.pk, self.before.epoch + 1)
        self.writers.append((taken[1], self.before.attempt))

    # --- what supervisors write: the newest, or one that was frozen and wakes up ---

    @precondition(lambda self: self.writers)
    @rule(state=SHOWN, which=st.integers(0, 3))
    def a_supervisor_sees(self, state: str, which: int) -> None:
        epoch, _ = self.writer(which)
        moved = move(self.row(), RunState(state), epoch=epoch)
        assert moved == (epoch == self.before.epoch and (self.before.state, state) in PAIRS)

    @precondition(lambda self: self.writers)
    @rule(state=ENDINGS, which=st.integers(0, 3))
    def a_supervisor_has_seen_it_end(self, state: str, which: int) -> None:
        epoch, attempt = self.writer(which)
        moved = move(self.row(), RunState(state), epoch=epoch, attempt=attempt)
        newest = (epoch, attempt) == (self.before.epoch, self.before.attempt)
        assert moved == (newest and (self.before.state, state) in PAIRS)

    @precondition(lambda self: self.writers)
    @rule(which=st.integers(0, 3))
    def a_machine_restarts_under_it(self, which: int) -> None:
        epoch, attempt = self.writer(which)
        run = self.row()
        run.attempt = attempt  # as this supervisor knows it
        queued = queue_again(run, reason="The machine restarted.", epoch=epoch)
        newest = (epoch, attempt) == (self.before.epoch, self.before.attempt)
        assert queued == (newest and self.before.state in LIVE - {"stopping"})

    def writer(self, which: int) -> tuple[int, int]:
        return self.writers[-1 - which % len(self.writers)]

    # --- users ---

    @rule()
    def its_user_stops_it(self) -> None:
        stopped = request_stop(self.row())
        after = self.row()
        assert stopped == (self.before.state not in ENDED)
        if self.before.state == "queued":
            assert after.state == "stopped"
        elif stopped:
            assert (after.state, after.requested) == ("stopping", "stop")
            assert after.stop_requests == self.before.stop_requests + 1

    @rule()
    def its_sweep_prunes_it(self) -> None:
        request_prune(self.row(), "Below the median.")
        assert bool(self.row().pruned) == (self.before.state not in ENDED | {"stopping"} or bool(self.before.pruned))

    @rule()
    def its_user_pauses_it(self) -> None:
        if request_pause(self.row()):
            assert self.before.state in LIVE - {"stopping"} and self.row().requested == "pause"

    @rule()
    def its_user_resumes_it(self) -> None:
        resumed = request_resume(self.row())
        after = self.row()
        if self.before.state in {"stopped", "failed", "crashed"}:
            assert resumed and (after.state, after.attempt) == ("queued", self.before.attempt + 1)
        else:
            assert after.state == self.before.state

    @rule()
    def its_user_saves_a_checkpoint(self) -> None:
        assert request_checkpoint(self.row()) == (self.before.state in LIVE - {"stopping"})

    @rule()
    def its_user_archives_it(self) -> None:
        assert archive(self.row()) == (self.before.state in ENDED and self.before.archived_at is None)

    @rule()
    def its_user_restores_it(self) -> None:
        unarchive(self.row())

    # --- what always holds ---

    @invariant()
    def every_move_is_in_the_table(self) -> None:
        after = self.row()
        if (step := (self.before.state, after.state)) != (after.state, after.state):
            assert step in PAIRS
        assert after.epoch >= self.before.epoch and after.attempt >= self.before.attempt
        self.before = after

    @invariant()
    def an_ended_run_has_a_time_and_no_supervisor(self) -> None:
        assert (self.before.finished_at is not None) == (self.before.state in ENDED)
        if self.before.state not in LIVE:
            assert (self.before.lease_holder, self.before.lease_expires) == ("", None)

    @invariant()
    def only_an_ended_run_is_archived(self) -> None:
        assert self.before.archived_at is None or self.before.state in ENDED

    @invariant()
    def a_stop_is_requested_of_a_run_that_is_stopping_or_has_ended(self) -> None:
        if self.before.requested == "stop":
            assert self.before.state in ENDED | {"stopping"}


@pytest.mark.parametrize("source", ALLOWED)
def test_a_run_makes_the_moves_of_the_table_and_no_other(source: str) -> None:
    config = RunConfig.model_validate({}).model_dump(mode="json")
    for target in ALLOWED:
        run = Run.objects.create(name=f"{source} to {target}", config=config, state=source)
        moved = move(run, RunState(target))
        assert moved == ((source, target) in PAIRS)
        assert Run.objects.get(pk=run.pk).state == (target if moved else source)


def test_whatever_users_workers_and_frozen_writers_do_each_state_follows_from_the_table() -> None:
    often = settings(
        max_examples=50,
        stateful_step_count=30,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(OneRun, settings=often)
