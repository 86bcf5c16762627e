"""What the Checkpoints tab requests: evaluations, and downloads that hold what they should and nothing else."""

from __future__ import annotations

import io
import tarfile

import pytest
from django.test import Client

from engine.events import EvaluationCompleted
from engine.statistics.proportions import wilson
from tests.builders.suites import suite_evaluation
from tests.webapp.runs.rows import a_run
from webapp.evaluations.models import EvaluationRequest
from webapp.runs.models import Checkpoint, Run, RunEvent
from workers.app import app

pytestmark = pytest.mark.django_db

WEIGHTS = bytes(range(256)) * 5000  # 1,280,000 bytes: more than is sent at once


@pytest.fixture
def run() -> Run:
    """With a checkpoint after step 4."""
    run = a_run()
    folder = run.directory / "checkpoints/step_4"
    (folder / "model").mkdir(parents=True)
    (folder / "model/model.safetensors").write_bytes(WEIGHTS)
    (folder / "model/config.json").write_text("{}")
    (folder / "learner.pt").write_text("the optimiser's state")
    Checkpoint.objects.create(
        run=run, step=4, path="checkpoints/step_4", bytes=9, reason="schedule", time=1_700_000_000
    )
    return run


def archive(browser: Client, run: Run, step: int = 4) -> tuple[tarfile.TarFile, int]:
    """The download, and the size that its header says."""
    answer = browser.get(f"/runs/{run.pk}/checkpoints/{step}/download/", headers={"Accept-Encoding": "gzip"})
    assert answer.status_code == 200
    content = answer.getvalue()
    assert len(content) == int(answer["Content-Length"])
    return tarfile.open(fileobj=io.BytesIO(content)), len(content)


def test_a_download_has_the_weights_and_the_configuration_and_its_size(browser: Client, run: Run) -> None:
    found, size = archive(browser, run)
    top = f"{run.pk}-step_4"
    assert found.getnames() == [
        f"{top}/{name}" for name in ("config.toml", "model/README.md", "model/config.json", "model/model.safetensors")
    ]
    member = found.extractfile(f"{top}/model/model.safetensors")
    config = found.extractfile(f"{top}/config.toml")
    assert member is not None
    assert config is not None
    assert member.read() == WEIGHTS
    assert b"[rollout]" in config.read()
    assert size % tarfile.BLOCKSIZE == 0


def test_the_model_card_of_a_download_has_what_the_checkpoint_achieved(browser: Client, run: Run) -> None:
    """On held-out problems of the run, and 3 of 4 on a suite; not what other checkpoints did."""
    fields = {
        "environment": "Lake", "episodes": 8, "mean_return": 0.5, "first_seed": 0, "temperature": 1.0, "seconds": 1.0,
    }  # fmt: skip
    for seq, (step, successes) in enumerate([(3, 2), (4, 6)], start=1):
        low, high = wilson(successes, 8)
        event = EvaluationCompleted(
            seq=seq, attempt=1, step=step, successes=successes, success=successes / 8, low=low, high=high, **fields
        )
        RunEvent.of(run, event).save()
        solved = ["1", "1", "1", "0"] if step == 4 else ["0"] * 4
        suite_evaluation({"Bandit": solved}, policy="checkpoint", run=run, run_name=run.name, step=step)
    opened = archive(browser, run)[0].extractfile(f"{run.pk}-step_4/model/README.md")
    assert opened is not None
    card = opened.read().decode()
    assert f"# {run.name}, step 4" in card
    assert "| Lake | 8 | 0.750 | 0.409 to 0.929 | 1 | 0 |" in card
    assert card.count("| Lake |") == 1
    assert "| bandits v1 | Bandit | 4 | 4 | 0.750 |" in card
    assert card.count("| Bandit |") == 1


def test_a_download_follows_no_link_out_of_the_checkpoint(browser: Client, run: Run) -> None:
    secret = run.directory.parent / "secret"
    secret.mkdir()
    (secret / "key").write_text("s3cret")
    model = run.directory / "checkpoints/step_4/model"
    (model / "link").symlink_to(secret / "key")
    (model / "folder").symlink_to(secret)
    (run.directory / "checkpoints/step_4/adapter").symlink_to(secret)
    names = archive(browser, run)[0].getnames()
    assert len(names) == 4
    assert not any("link" in name or "key" in name for name in names)
    Checkpoint.objects.create(run=run, step=5, path="../secret", bytes=1, reason="final", time=1.0)
    assert browser.get(f"/runs/{run.pk}/checkpoints/5/download/").status_code == 404


def test_a_checkpoint_that_is_not_there_cannot_be_downloaded(browser: Client, run: Run) -> None:
    assert browser.get(f"/runs/{run.pk}/checkpoints/7/download/").status_code == 404


def test_a_request_without_a_worker_is_refused_with_what_to_do(browser: Client, run: Run) -> None:
    answer = browser.post(f"/runs/{run.pk}/checkpoints/4/evaluate/")
    assert answer.status_code == 409
    assert "Start one with `python -m workers`" in answer.json()["error"]
    assert answer.json()["state"]["evaluation_requests"] == []


def test_an_accepted_request_is_shown_until_it_is_stopped(
    browser: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.evaluations.requests.is_alone", lambda: False)
    monkeypatch.setattr(app.control, "ping", lambda **_: [{"worker": {"ok": "pong"}}])
    path = f"/runs/{run.pk}/checkpoints/4/evaluate/"
    asked = browser.post(path).json()
    assert asked["state"]["evaluation_requests"] == [{"step": 4, "state": "queued", "message": "", "stopping": False}]
    assert run.audit.get().action == "evaluate"
    assert browser.post(path).status_code == 409
    assert browser.post(f"{path}stop/").json()["state"]["evaluation_requests"] == []
    assert EvaluationRequest.objects.get().message == "Stopped before it started."
    assert browser.post(f"{path}stop/").status_code == 409
