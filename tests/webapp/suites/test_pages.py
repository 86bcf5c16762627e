"""Pages of suites: what is played, the form, an evaluation with its episodes, and two of them side by side."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.test import Client

from engine.rollout.trajectory_files import read_records, write_trajectory_file
from engine.suites.outcomes import OUTCOMES, write_outcomes
from tests.builders.suites import document, outcomes_of, suite_evaluation, suite_version
from tests.webapp.world import trajectory_record
from webapp.jobs import JobState
from webapp.suites.models import SuiteEvaluation

pytestmark = pytest.mark.django_db
FILE = "trajectories/000000.jsonl.zst"


def played(solved: list[str], text: str = "a thought") -> SuiteEvaluation:
    """With a trajectory for each episode."""
    problems, samples = len(solved), len(solved[0])
    version = suite_version(document(f"arms-{problems}-{samples}", problems=problems, samples=samples))
    evaluation = suite_evaluation({"Bandit": solved}, version=version)
    outcomes = outcomes_of(evaluation.suite(), {"Bandit": solved})
    path = evaluation.folder / FILE
    write_trajectory_file(path, [trajectory_record(0, f"{text} {index}") for index in range(len(outcomes))])
    positions = [(offset, length) for offset, length, _ in read_records(path)]
    recorded = [
        replace(outcome, file=FILE, offset=offset, length=length)
        for outcome, (offset, length) in zip(outcomes, positions, strict=True)
    ]
    write_outcomes(evaluation.folder / OUTCOMES, recorded)
    return evaluation


def text_of(browser: Client, path: str) -> str:
    answer = browser.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def test_an_evaluation_shows_each_item_with_its_interval(browser: Client) -> None:
    evaluation = played(["10", "11", "00", "--"])
    page = text_of(browser, f"/evaluations/{evaluation.pk}/")
    assert "8 of 8 episodes" in page
    assert "<b>50.0%</b>" in page  # 3 of 6 scored
    assert "2 episodes without a score" in page
    assert evaluation.key in page and evaluation.weights in page
    assert browser.get(f"/evaluations/{evaluation.pk}/outcomes.parquet").status_code == 200


def test_episodes_are_listed_by_result_and_open_in_the_replay(browser: Client) -> None:
    evaluation = played(["10", "11", "00", "-0"])
    address = f"/evaluations/{evaluation.pk}/episodes/"
    assert "8 episodes of Bandit" in text_of(browser, address)
    assert "3 episodes of Bandit" in text_of(browser, f"{address}?result=solved")
    assert "1 episode of Bandit" in text_of(browser, f"{address}?result=not-scored")
    assert f'href="{address}0/1/1/"' in text_of(browser, f"{address}?result=solved")
    page = text_of(browser, f"{address}0/1/0/")
    assert f'data-url="{address}0/1/0/data.json"' in page
    assert f'href="{address}0/0/0/"' in page and f'href="{address}0/2/0/"' in page  # its neighbours
    record = browser.get(f"{address}0/1/0/data.json").json()
    assert record["turns"][0]["thought"] == "a thought 2"  # the third episode: problem 1, sample 0
    assert browser.get(f"{address}0/4/0/").status_code == 404
    assert browser.get(f"{address}1/0/0/data.json").status_code == 404


def test_a_lost_trajectory_file_is_said(browser: Client) -> None:
    evaluation = played(["1"])
    (evaluation.folder / FILE).unlink()
    answer = browser.get(f"/evaluations/{evaluation.pk}/episodes/0/0/0/data.json")
    assert (answer.status_code, "does not exist" in answer.json()["error"]["message"]) == (410, True)


def test_two_evaluations_of_a_problem_are_shown_side_by_side(browser: Client) -> None:
    first, other = played(["1", "0"], "one way"), played(["0", "0"], "another way")
    query = f"?first={first.pk}&other={other.pk}&item=0&problem=0&sample=0"
    page = text_of(browser, f"/evaluations/side-by-side/{query}")
    assert "one way 0" in page and "another way 0" in page
    assert "diverges at turn 1" in page
    assert f"/evaluations/side-by-side/?first={first.pk}&amp;other={other.pk}" in text_of(
        browser, f"/evaluations/{first.pk}/episodes/0/0/0/"
    )
    fewer = played(["1"])
    page = text_of(browser, f"/evaluations/side-by-side/?first={first.pk}&other={fewer.pk}&item=0&problem=1&sample=0")
    assert "Its suite does not have this problem." in page
    assert browser.get("/evaluations/side-by-side/?first=99&other=98").status_code == 404


def test_the_form_submits_and_says_what_is_wrong(browser: Client) -> None:
    version = suite_version()
    path = f"/suites/{version.suite.name}/evaluate/"
    answer = browser.post(path, {"policy": "directory", "directory": "/nowhere"})
    assert answer.status_code == 422
    assert "is not in a folder of models of this installation" in answer.content.decode()
    answer = browser.post(path, {"policy": "directory", "directory": "tiny"})
    made = SuiteEvaluation.objects.get()
    assert answer["Location"] == f"/evaluations/{made.pk}/"
    assert "Waits for a worker." in text_of(browser, answer["Location"])
    answer = browser.post(path, {"policy": "directory", "directory": "tiny"})
    assert (answer.status_code, f"evaluation {made.pk}" in answer.content.decode()) == (422, True)


def test_an_evaluation_is_stopped_resumed_and_evaluated_again(browser: Client) -> None:
    version = suite_version()
    browser.post(f"/suites/{version.suite.name}/evaluate/", {"policy": "directory", "directory": "tiny"})
    made = SuiteEvaluation.objects.get()
    control = f"/evaluations/{made.pk}/control/"
    for action, state in (("stop", JobState.STOPPED), ("resume", JobState.QUEUED)):
        assert browser.post(control, {"action": action}).status_code == 302
        made.refresh_from_db()
        assert made.state == state
    SuiteEvaluation.objects.filter(pk=made.pk).update(state=JobState.FINISHED)
    again = browser.post(control, {"action": "again"})
    assert again["Location"] == f"/evaluations/{SuiteEvaluation.objects.latest('pk').pk}/" != f"/evaluations/{made.pk}/"


def test_a_new_suite_is_written_as_a_definition(browser: Client) -> None:
    assert "[[items]]" in text_of(browser, "/suites/new/")
    text = 'name = "arms"\n[[items]]\nname = "Arms"\nenvironment = { kind = "bandit" }\ncount = 2\n'
    assert browser.post("/suites/new/", {"definition": text})["Location"] == "/suites/arms/"
    assert "not used yet" in text_of(browser, "/suites/arms/")
    assert "count = 2" in text_of(browser, "/suites/arms/edit/")
    assert "name = &quot;arms-2&quot;" in text_of(browser, "/suites/new/?from=arms")
    wrong = browser.post("/suites/arms/edit/", {"definition": text.replace("bandit", "bandits")})
    assert (wrong.status_code, "There is no environment kind" in wrong.content.decode()) == (422, True)
