"""The groups of a step, another filter's choice of them, and the templates found, as the page requests them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.webapp.runs.rows import a_run, report
from webapp.runs.models import Run, StepGroups, StepMetrics
from webapp.trajectories.models import Trajectory

pytestmark = pytest.mark.django_db


def add_groups(run: Run, step: int, *scores: float | None, kept: list[int] | None = None) -> StepGroups:
    """Groups of two members, the first without and the second with a return."""
    count = len(scores)
    detail = {
        "tags": ["Lake"], "groups": [2 * index for index in range(count)], "environments": [0] * count,
        "seeds": [70 + index for index in range(count)], "returns": [[0.0, 1.0]] * count, "stds": list(scores),
    }  # fmt: skip
    return StepGroups.objects.create(
        run=run, seq=step, step=step, threshold=1.0, scores=list(scores), kept=kept or [0], detail=detail
    )


def get(browser: Client, run: Run, path: str, **query: Any) -> Any:
    answer = browser.get(f"/runs/{run.pk}/{path}", query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_step_s_groups_have_their_returns_and_recorded_trajectories(browser: Client) -> None:
    run = a_run()
    add_groups(run, 3, 1.0, 0.5)
    member = Trajectory.objects.create(
        run=run, step=3, split="train", environment="Lake", kind="frozen_lake", group=2, member=1, seed=71,
        success=True, episode_return=1.0, score=1.0, turns=1, response_tokens=1, parse_failures=0, stop="success",
        file="s", offset=0, length=1,
    )  # fmt: skip
    data = get(browser, run, "groups/", step=3)
    assert (data["step"], data["kept"], data["threshold"]) == (3, [0], 1.0)
    assert data["groups"][1] == {
        "group": 2, "environment": "Lake", "seed": 71, "returns": [0.0, 1.0], "std": 0.5, "score": 0.5,
        "kept": False, "trajectories": [None, member.pk],
    }  # fmt: skip


def test_the_newest_step_is_the_default_and_a_step_between_two_gives_the_earlier(browser: Client) -> None:
    run = a_run()
    assert get(browser, run, "groups/")["step"] is None
    add_groups(run, 2, 1.0)
    add_groups(run, 6, 1.0)
    assert get(browser, run, "groups/")["step"] == 6
    assert get(browser, run, "groups/", step=5)["step"] == 2
    assert get(browser, run, "groups/", step=1)["step"] == 2


def test_another_filter_is_applied_to_the_engine_s_scores(browser: Client) -> None:
    run = a_run()
    # squares 16, 4, 1, 1 of 22: 0.9 of it less 0.01 is 19.79, which the first two hold; 0.7 is 15.39, which one holds
    add_groups(run, 1, 4.0, 2.0, 1.0, 1.0)
    data = get(browser, run, "groups/what-if/", type="top_p", value=0.9)
    assert (data["kept"], data["threshold"]) == ([0, 1], 2.0)
    assert get(browser, run, "groups/what-if/", type="top_p", value=0.7)["kept"] == [0]
    assert get(browser, run, "groups/what-if/", type="top_k", value=0.75)["kept"] == [0, 1, 2]
    assert get(browser, run, "groups/what-if/", type="top_k_absolute", value=1, largest=0)["kept"] == [2]


def test_the_run_s_filter_settings_are_those_in_force_at_the_step(browser: Client) -> None:
    """The filter of a run may change while it is live; this one started with none."""
    run = a_run()
    before, after = add_groups(run, 1, 4.0, 2.0, 1.0), add_groups(run, 2, 4.0, 2.0, 1.0)
    after.detail["filter"] = {"type": "top_k_absolute", "value": 2}
    after.save()
    assert get(browser, run, "groups/", step=before.step)["own"]["type"] == "none"
    assert get(browser, run, "groups/", step=after.step)["own"]["type"] == "top_k_absolute"
    assert get(browser, run, "groups/what-if/", step=1)["kept"] == [0, 1, 2]
    assert get(browser, run, "groups/what-if/", step=2)["kept"] == [0, 1]


def test_a_group_without_a_score_is_never_kept_and_does_not_affect_others(browser: Client) -> None:
    run = a_run()
    add_groups(run, 1, None, 0.0, 2.0)
    assert get(browser, run, "groups/what-if/", type="top_k_absolute", value=1)["kept"] == [2]
    assert get(browser, run, "groups/what-if/", type="none")["kept"] == [1, 2]


def test_the_kept_share_covers_all_steps_or_an_even_sample_of_a_long_run(browser: Client) -> None:
    run = a_run()
    for step in range(1, 4):
        add_groups(run, step, 1.0, 1.0, 0.0, None, kept=[0])
    data = get(browser, run, "groups/what-if/", type="top_k", value=0.67)["shares"]
    # of three candidates one was kept; 0.67 of three are two
    assert data == {"steps": [1, 2, 3], "kept": [1 / 3] * 3, "chosen": [2 / 3] * 3, "every": 1}
    StepGroups.objects.bulk_create(
        StepGroups(run=run, seq=step, step=step, threshold=0, scores=[1.0], kept=[0], detail={})
        for step in range(4, 1001)
    )
    data = get(browser, run, "groups/what-if/")["shares"]
    assert (data["every"], len(data["steps"]), data["steps"][-1]) == (3, 334, 1000)


@pytest.mark.parametrize(
    "query",
    [
        "type=best", "type=top_p&value=0", "type=top_p&value=nan", "type=top_p&value=2", "type=top_k&value=-1",
        "type=top_k_absolute&value=1e9", "type=min_p&largest=maybe", "type=top_p&epsilon=2", "step=-1", "step=x",
        "seed=1", "type=top_p&mode=all&mode=std",
    ],
)  # fmt: skip
def test_an_invalid_query_is_refused_with_the_allowed_values(browser: Client, query: str) -> None:
    run = a_run()
    add_groups(run, 1, 1.0)
    answer = browser.get(f"/runs/{run.pk}/groups/what-if/?{query}")
    assert answer.status_code == 400
    assert answer.json()["error"]


def found(step: int, *, text: str = "go up", count: int = 3) -> dict[str, Any]:
    prompt = {"environment": "Lake", "seed": 7, "group": 0, "turn": 0, "state": "P_G"}
    template = {
        "key": "abc", "text": text, "count": count, "prompts": 2, "wordings": 1,
        "example": {"group": 0, "member": 0, "turn": 0}, "used_on": [{"prompt": 0, "count": 2, "member": 0}],
    }  # fmt: skip
    return {"step": step, "thoughts": 8, "prompts": [prompt], "templates": [template]}


def write_templates(run: Run, step: int, **options: Any) -> Path:
    folder = run.directory / "templates"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step_{step}.json"
    path.write_text(json.dumps(found(step, **options)))
    return path


def with_templates() -> Run:
    """Templates of steps 1 and 3; step 2 had no diagnostics."""
    run = a_run()
    report(run, 0.5, 0.5, 0.5)
    for step in (1, 3):
        row = StepMetrics.objects.get(run=run, step=step)
        row.metrics["collapse/template_share"] = 0.5
        row.save()
        write_templates(run, step, count=step)
    return run


def test_templates_are_counted_over_the_requested_steps(browser: Client) -> None:
    data = get(browser, with_templates(), "templates/", steps="1,2,3,9")
    assert data["steps"] == [
        {"step": 1, "thoughts": 8, "counts": {"abc": [1, 2]}},
        {"step": 3, "thoughts": 8, "counts": {"abc": [3, 2]}},
    ]


def test_the_templates_of_a_step_list_all_texts_and_prompts(browser: Client) -> None:
    data = get(browser, with_templates(), "templates/", step=3)
    assert data["templates"][0]["text"] == "go up"
    assert data["prompts"][0]["state"] == "P_G"
    assert data["trajectories"] == {}


def test_a_file_left_by_an_earlier_attempt_does_not_count(browser: Client) -> None:
    run = with_templates()
    write_templates(run, 5)
    assert get(browser, run, "templates/", step=5) == {"step": None, "templates": []}


def test_a_lone_surrogate_loses_only_that_character(browser: Client) -> None:
    run = with_templates()
    write_templates(run, 3, text="go \ud800 up")
    assert get(browser, run, "templates/", step=3)["templates"][0]["text"] == "go ? up"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"step": 3}', "null", '{"step": "x", "templates": [[]]}'])
def test_a_damaged_file_counts_as_a_missing_step(browser: Client, content: str) -> None:
    run = with_templates()
    (run.directory / "templates/step_3.json").write_text(content)
    assert get(browser, run, "templates/", step=3)["step"] is None
    assert [one["step"] for one in get(browser, run, "templates/", steps="1,3")["steps"]] == [1]


def test_a_symlink_out_of_the_run_is_not_followed(browser: Client, tmp_path: Path) -> None:
    run = with_templates()
    outside = tmp_path / "step_3.json"
    outside.write_text(json.dumps(found(3, text="secret")))
    path = run.directory / "templates/step_3.json"
    path.unlink()
    path.symlink_to(outside)
    assert get(browser, run, "templates/", step=3)["step"] is None
