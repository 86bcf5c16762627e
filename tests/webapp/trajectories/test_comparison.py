"""The comparison page: which trajectories, what is marked, optimal play, and one problem over time."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from django.test import Client

from tests.builders.runs import build_run
from tests.builders.trajectories import record_steps
from tests.hostile import HOSTILE
from tests.webapp.security.page_reader import read_page
from tests.webapp.world import make_world
from webapp.runs.models import Run
from webapp.trajectories import services
from webapp.trajectories.comparison import MOST, over_time, read_ids
from webapp.trajectories.models import Trajectory
from webapp.trajectories.split_comparison import split_comparison


def address(run: Run, rows: list[Trajectory], more: str = "") -> str:
    return f"/runs/{run.pk}/trajectories/compare/?ids={','.join(str(row.pk) for row in rows)}{more}"


@pytest.mark.parametrize(
    ("values", "ids"),
    [
        (["1,2", "3"], [1, 2, 3]),
        (["2,1,2"], [2, 1]),
        (["x,,-1,²,1"], [1]),
        (["9" * 30], []),
        ([], []),
    ],
)
def test_ids_are_parsed_from_any_form_without_duplicates_in_order(values: list[str], ids: list[int]) -> None:
    assert read_ids(values) == ids


def test_members_are_shown_side_by_side_with_the_first_differences_marked(
    browser: Client, run: Run, rows: list[Trajectory]
) -> None:
    page = browser.get(address(run, rows[:4]))
    assert [column.row for column in page.context["columns"]] == rows[:4]
    records = [services.record(row) for row in rows[:4]]
    for column, record in zip(page.context["columns"][1:], records[1:], strict=True):
        first = next(
            (
                index
                for index in range(max(len(record["turns"]), len(records[0]["turns"])))
                if [turn["executed"] for turn in record["turns"]][index : index + 1]
                != [turn["executed"] for turn in records[0]["turns"]][index : index + 1]
            ),
            None,
        )
        found = column.aligned.divergence
        assert (found and found.turn) == (None if first is None else first + 1)
        assert column.jump == ("" if first is None else f"#turn-{first + 1}")


def test_the_first_other_action_is_marked_in_both_columns_and_other_words_are_not(
    browser: Client, run: Run, rows: list[Trajectory], monkeypatch: pytest.MonkeyPatch
) -> None:
    def turn(response: str, *executed: str) -> Mapping[str, object]:
        frames = [{"action": name, "effective": True, "drawing": None, "observation": name} for name in executed]
        numbers = dict.fromkeys(("reward", "penalty", "return_to_go", "advantage", "entropy"), 0.0)
        return {"response": response, "thought": response, "executed": list(executed), "frames": frames} | numbers | {
            "parse": "ok", "surplus": 0, "parsed": list(executed),
        }  # fmt: skip

    start = {"observation": "start", "drawing": None}
    records = {
        rows[0].pk: {"initial": start, "turns": [turn("a", "Up"), turn("b", "Up", "Left")]},
        rows[1].pk: {"initial": start, "turns": [turn("other words", "Up"), turn("c", "Up", "Down")]},
    }
    monkeypatch.setattr(services, "record", lambda row: records[row.pk])
    page = browser.get(address(run, rows[:2]))
    shown = page.content.decode()
    first, second = page.context["rows"]
    assert first.is_alike and not any(slot.diverges for slot in first.slots)
    assert "same state and actions, other words" in shown
    assert [[action.diverges for action in slot.actions] for slot in second.slots] == [[False, True], [False, True]]
    assert f"member {rows[1].member} diverges here" in shown
    assert "diverges here: Down, not Left" in shown
    assert 'href="#turn-2">First divergence: turn 2</a>' in shown


def test_a_divergence_on_another_page_is_jumped_to_there(
    browser: Client, run: Run, rows: list[Trajectory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.trajectories.comparison.TURNS", 1)
    read = services.record
    changed = read(rows[0])
    changed["turns"] = changed["turns"][:1] * 3
    other = {**changed, "turns": [*changed["turns"][:2], {**changed["turns"][2], "executed": ["Fly"]}]}
    monkeypatch.setattr(services, "record", lambda row: changed if row.pk == rows[0].pk else other)
    jump = browser.get(address(run, rows[:2])).context["columns"][1].jump
    assert jump == f"?ids={rows[0].pk},{rows[1].pk}&from=3#turn-3"
    assert [row.number for row in browser.get(f"{address(run, rows[:2])}&from=3").context["rows"]] == [3]


def test_the_number_side_by_side_is_limited_and_the_page_says_so(
    browser: Client, run: Run, rows: list[Trajectory]
) -> None:
    page = browser.get(address(run, rows[:12]))
    assert len(page.context["columns"]) == MOST
    assert "Only the first 8" in page.content.decode()


def test_trajectories_of_other_runs_are_ignored(browser: Client, run: Run, rows: list[Trajectory]) -> None:
    another = build_run(name="another")
    assert "Nothing to compare yet" in browser.get(address(another, rows[:2])).content.decode()


def test_optimal_play_is_shown_with_the_distance_of_each_state(
    browser: Client, run: Run, rows: list[Trajectory]
) -> None:
    solved = next(row for row in rows if row.success)
    page = browser.get(address(run, [solved], "&best=1"))
    play = page.context["best"]
    assert len(play.actions) == services.record(solved)["optimal_length"]
    column = page.context["columns"][0]
    assert column.to_go[0] == len(play.actions)
    assert column.to_go[-1] == 0
    assert "Optimal play" in page.content.decode()


def test_optimal_play_is_offered_only_where_a_solution_is_known(
    browser: Client, run: Run, rows: list[Trajectory], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Compare with optimal play" in browser.get(address(run, rows[:2])).content.decode()
    read = services.record
    monkeypatch.setattr(services, "record", lambda row: {**read(row), "optimal_length": None})
    assert "Compare with optimal play" not in browser.get(address(run, rows[:2])).content.decode()


def test_an_unavailable_environment_has_no_optimal_play_and_a_note(
    browser: Client, run: Run, rows: list[Trajectory]
) -> None:
    Run.objects.filter(pk=run.pk).update(config={})
    Trajectory.objects.filter(pk=rows[0].pk).update(environment="of an older run")
    page = browser.get(address(run, rows[:1], "&best=1"))
    assert "No optimal play is known" in page.content.decode()


def test_an_unreadable_trajectory_is_explained_and_the_others_are_shown(
    browser: Client, run: Run, rows: list[Trajectory]
) -> None:
    (run.directory / rows[0].file).unlink()
    page = browser.get(address(run, [rows[0], rows[20]]))
    assert "The trajectory file step_1.jsonl.zst does not exist." in page.content.decode()
    assert page.context["columns"][1].aligned is not None


def test_a_problem_is_followed_over_time_at_a_few_steps(run: Run) -> None:
    environment = run.parsed_config().environments[0]
    record_steps(run, environment, steps=range(1, 21), groups=1, group_size=1)
    Trajectory.objects.filter(run=run).update(seed=7)
    rows = {row.step: row for row in run.trajectories.all()}
    assert [run.trajectories.get(pk=pk).step for pk in over_time(rows[1])] == [1, 5, 9, 12, 16, 20]
    assert rows[3].pk in over_time(rows[3])
    Trajectory.objects.filter(run=run, step__lt=15).update(removed=True)
    assert [run.trajectories.get(pk=pk).step for pk in over_time(rows[18])] == [15, 16, 17, 18, 19, 20]
    Trajectory.objects.filter(run=run, step__gt=1).update(seed=8)
    assert over_time(rows[1]) == []


def test_training_and_held_out_trajectories_of_a_step_are_compared_best_first(browser: Client, run: Run) -> None:
    environment = run.parsed_config().environments[0]
    record_steps(run, environment, steps=range(40, 42), groups=1, group_size=4)
    rows = list(run.trajectories.filter(step=40).order_by("member"))
    # training returns 0.1 and 0.7; held out 0.2, 0.9 and 0.4, so best 0.9, median 0.4, worst 0.2
    values = [("train", 0.1), ("train", 0.7), ("validation", 0.2), ("validation", 0.9)]
    for row, (split, value) in zip(rows, values, strict=True):
        Trajectory.objects.filter(pk=row.pk).update(split=split, episode_return=value)
    [last, *_] = run.trajectories.filter(step=41)
    Trajectory.objects.filter(pk=last.pk).update(step=40, split="validation", group=9, episode_return=0.4)
    ids = ",".join(str(row.pk) for row in (rows[1], rows[3], rows[0], last, rows[2]))
    reader = f"/runs/{run.pk}/trajectories/{rows[0].pk}/"
    assert f"compare/?ids={ids}" in browser.get(reader).content.decode()
    listed = browser.get(f"/runs/{run.pk}/trajectories/?step=40").content.decode()
    assert f'compare/?ids={ids}">Best, median and worst of each' in listed
    assert "Best, median and worst" not in browser.get(f"/runs/{run.pk}/trajectories/").content.decode()
    Trajectory.objects.filter(run=run, split="train", step=40).exclude(pk=rows[0].pk).update(removed=True)
    assert split_comparison(run.trajectories.filter(step=40)) == [rows[0].pk, rows[3].pk, last.pk, rows[2].pk]
    assert split_comparison(run.trajectories.filter(step=41)) == []


def test_long_trajectories_are_paged(browser: Client, run: Run, rows: list[Trajectory], monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("webapp.trajectories.comparison.TURNS", 2)
    longest = max(rows, key=lambda row: row.turns)
    page = browser.get(address(run, [longest]))
    assert (len(page.context["rows"]), page.context["later"], page.context["earlier"]) == (
        2,
        f"ids={longest.pk}&from=3",
        "",
    )
    assert browser.get(f"{address(run, [longest])}&from=3").context["rows"][0].number == 3
    for start in ("0", "-3", "x", "9" * 20, "999"):
        assert browser.get(f"{address(run, [longest])}&from={start}").status_code == 200


@pytest.mark.django_db
def test_hostile_records_are_escaped(client: Client, settings, tmp_path) -> None:  # type: ignore[no-untyped-def]
    settings.RUNS_DIR = str(tmp_path / "runs")
    world = make_world(texts=[text for text in HOSTILE if len(text) < 2000])
    client.force_login(world.user)
    for start in range(0, len(world.trajectories), MOST):
        answer = client.get(address(world.run, world.trajectories[start : start + MOST], "&best=1"))
        assert answer.status_code == 200
        assert read_page(answer.content.decode()).dangers == []
