"""Alert rules over runs that are trained elsewhere: the same alerts as a recording of the same steps raises."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from engine.config import DetectorsConfig
from engine.diagnostics.recordings import Recording, replay
from webapp.alerts.models import Delivery, NotificationSettings
from webapp.runs import ingesting
from webapp.runs.models import Run
from workers.indexing import index

pytestmark = pytest.mark.django_db

# success rises to 0.6, then entropy is lost and success with it
STEPS = [{"rollout/success": 0.2 + 0.04 * step, "policy/entropy": 1.2, "optim/grad_norm": 0.3} for step in range(11)]
STEPS += [{"rollout/success": max(0.0, 0.6 - 0.1 * step), "policy/entropy": 0.1} for step in range(12)]


@pytest.fixture
def run(settings: Settings, tmp_path: object) -> Run:
    settings.RUNS_DIR = tmp_path
    user = User.objects.create_user("ada", email="ada@example.org")
    NotificationSettings.objects.create(user=user, email=user.email, email_on=True)
    options = {"source": "verl", "name": "far away", "environment": "Lake", "model": "", "steps": 0, "config": {}}
    return ingesting.create(user, **options)


def send(run: Run, first: int, last: int) -> None:
    lines = [
        json.dumps({"seq": step, "step": step, "metrics": STEPS[step - 1]}).encode() for step in range(first, last + 1)
    ]
    ingesting.receive(run, lines)
    index(run.pk)


def expected() -> list[tuple[int, str]]:
    recording = Recording(name="", steps=list(enumerate(STEPS, start=1)))
    return [(firing.step, firing.alert.rule) for firing in replay(recording, DetectorsConfig())]


def test_a_collapse_elsewhere_raises_the_alerts_that_its_recording_raises(run: Run) -> None:
    """However the lines come: one by one, in parts, or all that are left at the end."""
    for step in range(1, 14):
        send(run, step, step)
    send(run, 14, 20)
    send(run, 21, len(STEPS))
    assert run.owner is not None
    ingesting.finish(run, run.owner, succeeded=True, reason="")
    index(run.pk)
    raised = list(run.alerts.order_by("step", "seq").values_list("step", "rule"))
    assert {rule for _, rule in raised} >= {"entropy_low", "success_fell"}
    assert raised == sorted(expected(), key=lambda one: one[0])
    run.refresh_from_db()
    assert run.verdict["label"] in ("collapsed", "degraded")
    serious = run.alerts.exclude(severity="watch").count()
    assert Delivery.objects.filter(run=run, channel=f"email:{run.owner_id}").count() == serious


def test_a_step_is_read_when_the_next_one_begins(run: Run) -> None:
    """The rule `skipped_updates` has the limit 0 and fires at the first step above it."""
    skipped = {"rollout/success": 0.5, "optim/skipped_updates": 1.0}
    ingesting.receive(run, [json.dumps({"seq": 1, "step": 0, "metrics": skipped}).encode()])
    index(run.pk)
    assert not run.alerts.exists()  # more metrics of the step may come
    ingesting.receive(run, [b'{"seq": 2, "step": 1, "metrics": {"rollout/success": 0.5}}'])
    index(run.pk)
    assert list(run.alerts.values_list("step", "rule", "action")) == [(0, "skipped_updates", "notify")]
    index(run.pk)
    assert run.alerts.count() == 1


def test_held_out_success_that_falls_is_an_alert(run: Run) -> None:
    """200 of 256 and then 60 of 256: the 95% interval of the difference is far below 0."""
    lines = []
    for number, successes in enumerate((200, 200, 60), start=0):
        step, seq = 1 + number, 1 + 2 * number
        lines.append({"seq": seq, "step": step, "metrics": {"rollout/success": 0.5}})
        found = {"episodes": 256, "successes": successes, "mean_return": 0.0}
        lines.append({"seq": seq + 1, "step": step, "evaluation": found})
    lines.append({"seq": 7, "step": 4, "metrics": {"rollout/success": 0.5}})
    ingesting.receive(run, [json.dumps(one).encode() for one in lines])
    index(run.pk)
    assert list(run.alerts.values_list("step", "rule")) == [(3, "held_out_fell")]
