"""What-ifs: the form, what is refused, one at a time per user, and the updates that the page receives."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from engine.reservations import is_reserved
from engine.rollout.trajectory_files import read_record, write_trajectory_file
from engine.what_if.request import EVENTS, TRAJECTORY
from tests.webapp.idempotency.test_forms import token_of
from tests.webapp.members.people import a_member
from webapp.jobs import JobState
from webapp.runs.models import Checkpoint, Run
from webapp.trajectories import services as trajectories
from webapp.trajectories.models import Trajectory
from webapp.whatif import services
from webapp.whatif.models import WhatIf, what_ifs_of
from webapp.whatif.origins import ForkedOrigin


def form_of(row: Trajectory) -> str:
    return f"/runs/{row.run_id}/what-ifs/of/{row.pk}/"


def submit(browser: Client, row: Trajectory, **fields: Any) -> Any:
    return browser.post(form_of(row), {"turn": "1", "edit": "nothing", **fields})


def test_the_form_has_the_turn_as_it_was_and_the_checkpoints(browser: Client, rows: list[Trajectory]) -> None:
    row = next(row for row in rows if row.turns >= 2)
    for step in (10, 20):
        Checkpoint.objects.create(run=row.run, step=step, path=f"checkpoints/step_{step}", bytes=1, reason="x", time=1)
    page = browser.get(f"{form_of(row)}?turn=2").content.decode()
    turn = trajectories.record(row)["turns"][1]
    assert "Turn 2 of" in page
    assert "checkpoint of step 20" in page and "reference model" in page
    assert '<option value="step_20" selected>' in page
    assert turn["prompt"].splitlines()[0].replace("<", "&lt;").replace(">", "&gt;") in page


def test_the_form_lists_what_may_be_written_where_actions_are_free_text(
    browser: Client, rows: list[Trajectory]
) -> None:
    row = rows[0]
    shop = {"kind": "webshop", "tag": row.environment, "parameters": {"num_products": 100}}
    Run.objects.filter(pk=row.run_id).update(config={**row.run.config, "environments": [shop]})
    page = browser.get(form_of(row)).content.decode()
    assert '<option value="search[]"></option>' in page
    assert "Free text, in this state such as" in page


def test_a_form_that_is_submitted_twice_makes_one_what_if_and_the_second_submission_is_not_refused(
    browser: Client, rows: list[Trajectory]
) -> None:
    fields = token_of(browser, form_of(rows[0]))
    first, second = (submit(browser, rows[0], **fields) for _ in range(2))
    made = WhatIf.objects.get()
    assert first["Location"] == second["Location"] == f"/runs/{made.run_id}/what-ifs/{made.pk}/"


def test_a_superseded_trajectory_is_forked_and_not_the_one_that_replaced_it(
    browser: Client, rows: list[Trajectory]
) -> None:
    former = rows[0]
    Trajectory.objects.filter(pk=former.pk).update(superseded=True)
    again = Trajectory.objects.get(pk=rows[1].pk)
    again.pk, again.group, again.member, again.seed = None, former.group, former.member, former.seed
    again.step, again.attempt, again.file = former.step, 2, "trajectories/train/step_1.2.jsonl.zst"
    again.save()
    assert browser.get(form_of(former)).status_code == 200
    submit(browser, former)
    made = WhatIf.objects.get()
    assert (made.original(), made.attempt) == (former, 1)
    assert list(what_ifs_of(former)) == [made]
    assert not what_ifs_of(again).exists()


def test_a_what_if_of_a_checkpoint_keeps_it_until_it_is_over(
    browser: Client, rows: list[Trajectory], django_capture_on_commit_callbacks: Any
) -> None:
    folder = rows[0].run.directory / "checkpoints"
    (folder / "step_10").mkdir(parents=True)
    gone = submit(browser, rows[0], checkpoint="step_20")
    assert "The checkpoint step_20 no longer exists" in gone.content.decode()
    submit(browser, rows[0], checkpoint="step_10")
    made = WhatIf.objects.get()
    assert is_reserved(folder / "step_10")
    with django_capture_on_commit_callbacks(execute=True):
        made.stop()
    assert not is_reserved(folder / "step_10")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"max_actions_per_turn": 3}, "; up to 3, with || between them."),
        ({"max_actions_per_turn": 1}, "."),
        ({"kind": "webshop", "parameters": {"num_products": 100}, "max_actions_per_turn": 1}, "."),
        ({"kind": "countdown", "max_actions_per_turn": 1}, "."),  # it has no separator
    ],
)
def test_the_form_says_how_several_actions_are_written_only_where_several_may_be(
    browser: Client, rows: list[Trajectory], fields: dict[str, Any], words: str
) -> None:
    row = rows[0]
    environment = {"kind": "frozen_lake", "tag": row.environment, **fields}
    Run.objects.filter(pk=row.run_id).update(config={**row.run.config, "environments": [environment]})
    page = browser.get(form_of(row)).content.decode()
    found = re.findall(r'field-help">(.*?) The thought is unchanged', page)
    [text] = [re.sub("<[^>]*>", "", one) for one in found]
    assert text.endswith(words)
    assert ("between them" in text) == ("between them" in words)


def test_a_recorded_action_of_several_lines_keeps_them(
    browser: Client, rows: list[Trajectory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A field of one line would lose them."""
    program = "a = 1\nprint(a)"
    record = trajectories.record(rows[0])
    record["turns"][0]["parsed"] = [program]
    monkeypatch.setattr(trajectories, "record", lambda row: record)
    page = browser.get(form_of(rows[0])).content.decode()
    assert re.search(rf'<textarea id="what-if-action"[^>]*>\n{re.escape(program)}</textarea>', page)


def test_an_edit_becomes_a_queued_row_with_the_key_of_its_original(browser: Client, rows: list[Trajectory]) -> None:
    row = rows[3]
    answer = submit(browser, row, edit="action", action="Left || Up", temperature="0.5", seed="9", response="unused")
    what_if = WhatIf.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/runs/{row.run_id}/what-ifs/{what_if.pk}/")
    assert (what_if.state, what_if.turn, what_if.edit, what_if.text) == ("queued", 0, "action", "Left || Up")
    assert (what_if.temperature, what_if.seed, what_if.owner) == (0.5, 9, User.objects.get(username="ada"))
    assert what_if.original() == row
    assert "Earlier what-ifs" in browser.get(form_of(row)).content.decode()


def test_line_endings_of_a_form_are_normalised(browser: Client, rows: list[Trajectory]) -> None:
    submit(browser, rows[0], edit="prompt", prompt="a\r\nb")
    assert WhatIf.objects.get().text == "a\nb"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"turn": "99"}, "choose one of these"),
        ({"edit": "everything"}, "edit"),
        ({"temperature": "hot"}, "&#x27;hot&#x27; is not a valid number"),
        ({"temperature": "9"}, "5 or less"),
        ({"seed": "1e999"}, "is not a valid number"),
        ({"seed": "-1"}, "0 or more"),
        ({"checkpoint": "../../etc"}, "checkpoint"),
        ({"edit": "response", "response": "a\0b"}, "NUL"),
        ({"edit": "response", "response": "x" * 60_000}, "50000 characters or fewer"),
    ],
)
def test_what_cannot_be_asked_is_said_on_the_form(
    browser: Client, rows: list[Trajectory], fields: dict[str, str], reason: str
) -> None:
    answer = submit(browser, rows[0], **fields)
    assert answer.status_code == 422
    assert reason in answer.content.decode()
    assert not WhatIf.objects.exists()


def test_each_user_has_one_what_if_at_a_time(browser: Client, rows: list[Trajectory]) -> None:
    submit(browser, rows[0])
    answer = submit(browser, rows[1])
    assert answer.status_code == 422
    assert "You already have a what-if in progress" in answer.content.decode()
    other = Client()
    other.force_login(a_member("grace"))
    assert submit(other, rows[1]).status_code == 302
    what_if = WhatIf.objects.order_by("pk")[0]
    assert browser.post(f"/runs/{what_if.run_id}/what-ifs/{what_if.pk}/stop/").status_code == 302
    what_if.refresh_from_db()
    assert (what_if.state, what_if.message) == ("stopped", "Stopped before it started.")
    assert submit(browser, rows[1]).status_code == 302


def test_an_imported_or_removed_trajectory_is_not_forked(browser: Client, rows: list[Trajectory]) -> None:
    Trajectory.objects.filter(pk=rows[0].pk).update(removed=True)
    assert "removed" in submit(browser, rows[0]).content.decode()
    Run.objects.update(imported_from="old.jsonl")
    assert "there is no environment and no model" in submit(browser, rows[1]).content.decode()


@pytest.fixture
def what_if(rows: list[Trajectory]) -> WhatIf:
    row = rows[0]
    key = {name: getattr(row, name) for name in ("split", "step", "environment", "group", "member")}
    return WhatIf.objects.create(run=row.run, turn=0, edit="nothing", temperature=1.0, seed=1, state="running", **key)


def emit(what_if: WhatIf, *messages: dict[str, Any], unfinished: str = "") -> None:
    what_if.folder.mkdir(parents=True, exist_ok=True)
    with (what_if.folder / EVENTS).open("a") as file:
        file.write("".join(json.dumps(message) + "\n" for message in messages) + unfinished)


def test_the_page_receives_new_complete_events(browser: Client, what_if: WhatIf) -> None:
    path = f"/runs/{what_if.run_id}/what-ifs/{what_if.pk}/events.json"
    assert browser.get(path).json()["events"] == []
    emit(what_if, {"kind": "text", "turn": 0, "text": "go"}, unfinished='{"kind": "te')
    first = browser.get(path).json()
    # {"kind": "text", "turn": 0, "text": "go"} and its newline are 42 bytes
    assert first["events"] == [{"seq": 42, "kind": "text", "turn": 0, "text": "go"}]
    assert (first["state"]["live"], first["state"]["state"], first["last_seq"]) == (True, "running", 42)
    emit(what_if, unfinished='xt", "turn": 0, "text": " on"}\n')
    again = browser.get(f"{path}?after=42").json()
    assert [event["text"] for event in again["events"]] == [" on"]
    for inside_or_beyond in (7, 9999):  # no event ends there
        assert browser.get(f"{path}?after={inside_or_beyond}").json()["events"][0]["text"] == "go"
    assert browser.get(f"{path}?after=x").status_code == 400


def test_a_symlink_in_its_directory_is_not_followed(browser: Client, what_if: WhatIf, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('{"kind": "text"}\n')
    what_if.folder.mkdir(parents=True)
    (what_if.folder / EVENTS).symlink_to(secret)
    path = f"/runs/{what_if.run_id}/what-ifs/{what_if.pk}"
    assert browser.get(f"{path}/events.json").json()["events"] == []
    write_trajectory_file(tmp_path / "other", [{"id": "secret"}])
    (what_if.folder / TRAJECTORY).symlink_to(tmp_path / "other")
    assert browser.get(f"{path}/data.json").status_code == 410


def test_its_trajectory_can_be_read_once_it_exists(browser: Client, what_if: WhatIf) -> None:
    path = f"/runs/{what_if.run_id}/what-ifs/{what_if.pk}/data.json"
    assert browser.get(path).status_code == 410
    write_trajectory_file(what_if.folder / TRAJECTORY, [{"id": "a", "turns": []}])
    assert browser.get(path).json() == {"id": "a", "turns": []}


def finish(what_if: WhatIf, row: Trajectory) -> WhatIf:
    """It finishes with the recording of `row`."""
    record = trajectories.record(row)
    write_trajectory_file(what_if.folder / TRAJECTORY, [record])
    summary = {"turns": len(record["turns"]), "success": record["success"], "episode_return": record["return"]}
    WhatIf.objects.filter(pk=what_if.pk).update(state=JobState.FINISHED, summary=summary)
    what_if.refresh_from_db()
    return what_if


def test_a_what_if_of_a_what_if_shows_the_chain(browser: Client, what_if: WhatIf, rows: list[Trajectory]) -> None:
    finish(what_if, next(row for row in rows if row.turns >= 2))
    path = f"/runs/{what_if.run_id}/what-ifs"
    form = browser.get(f"{path}/{what_if.pk}/fork/?turn=2").content.decode()
    assert "Turn 2 of" in form and "Back to the what-if" in form
    answer = browser.post(f"{path}/{what_if.pk}/fork/", {"turn": "2", "edit": "action", "action": "Left", "seed": "3"})
    child = WhatIf.objects.get(parent=what_if)
    assert (answer.status_code, answer["Location"]) == (302, f"{path}/{child.pk}/")
    assert (child.turn, child.text, child.seed, child.trajectory_key) == (1, "Left", 3, what_if.trajectory_key)
    page = browser.get(f"{path}/{child.pk}/").content.decode()
    chain = page[page.index('class="what-if-chain"') :].partition("</ol>")[0]
    links = [f"trajectories/{rows[0].pk}/", f"what-ifs/{what_if.pk}/", "at turn 1 (nothing)", "at turn 2 (action)"]
    assert sorted(links, key=chain.index) == links
    assert f'data-original="{path}/{what_if.pk}/data.json"' in page
    assert "What-ifs that fork this one" in browser.get(f"{path}/{what_if.pk}/").content.decode()
    assert "Earlier what-ifs" not in browser.get(form_of(rows[1])).content.decode()
    assert WhatIf.objects.filter(parent=None).get() == what_if  # the trajectory's own list contains only the first one


def test_a_what_if_of_a_what_if_passes_its_trajectory_to_the_engine(what_if: WhatIf, rows: list[Trajectory]) -> None:
    origin = ForkedOrigin(finish(what_if, rows[3]))
    fields = {"turn": 0, "edit": "nothing", "text": "", "checkpoint": "", "temperature": 1.0, "seed": 1}
    request = services.request_of(origin, fields)
    assert request.file == f"what_if/{what_if.pk}/{TRAJECTORY}"
    read = read_record(Path(request.run_dir) / request.file, request.offset, request.length)
    assert read == trajectories.record(rows[3])


def test_a_what_if_outlives_the_trajectory_that_it_forked(
    browser: Client, what_if: WhatIf, rows: list[Trajectory]
) -> None:
    finish(what_if, rows[0])
    path = f"/runs/{what_if.run_id}/what-ifs"
    assert browser.post(f"{path}/{what_if.pk}/fork/", {"turn": "1"}).status_code == 302
    child = WhatIf.objects.get(parent=what_if)
    Trajectory.objects.filter(pk=rows[0].pk).update(removed=True)
    assert "removed by the run's retention" in browser.get(f"{path}/{child.pk}/").content.decode()
    Trajectory.objects.all().delete()
    assert "a trajectory that no longer exists" in browser.get(f"{path}/{child.pk}/").content.decode()
    assert "Turn 1 of" in browser.get(f"{path}/{what_if.pk}/fork/").content.decode()
    what_if.run.delete()
    assert not WhatIf.objects.exists()


def test_a_what_if_without_a_trajectory_explains_why_it_cannot_be_forked(
    browser: Client, what_if: WhatIf, rows: list[Trajectory]
) -> None:
    path = f"/runs/{what_if.run_id}/what-ifs/{what_if.pk}/fork/"
    assert "This what-if is still in progress" in browser.get(path).content.decode()
    WhatIf.objects.update(state=JobState.FAILED)
    assert "This what-if has no trajectory, so" in browser.get(path).content.decode()
    finish(what_if, rows[0])
    (what_if.folder / TRAJECTORY).unlink()
    refused = browser.post(path, {"turn": "1"})
    assert (refused.status_code, "This what-if has no trajectory." in refused.content.decode()) == (422, True)
    finish(what_if, rows[0])
    assert "choose one of these" in browser.post(path, {"turn": "99"}).content.decode()


def test_a_what_if_is_not_found_under_another_run(browser: Client, what_if: WhatIf) -> None:
    assert browser.get(f"/runs/other/what-ifs/{what_if.pk}/").status_code == 404


def test_states_have_labels(what_if: WhatIf) -> None:
    assert all(JobState(state).label for state in JobState.values)
