"""Preview and manual play: the JSON behind the form."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from engine.config import EnvironmentConfig
from engine.rollout.prompts import first_prompt
from tests.hostile import HOSTILE
from tests.webapp.environments.test_pages import form_data
from webapp.environments.models import EnvironmentVersion

PREVIEW = "/environments/preview/"
PLAY = "/environments/play/"


def solved_by(version: EnvironmentVersion, seed: int) -> list[str]:
    """A shortest solution of the problem, one response per action."""
    from engine.environments import make_environment

    environment = make_environment(version.kind)
    environment.reset(seed=seed)
    names = environment.action_names()
    return [f"<think>go</think><answer>{names[action]}</answer>" for action in environment.solution() or []]


def test_the_preview_draws_first_states_and_shows_the_exact_prompt(browser: Client) -> None:
    answer = browser.post(PREVIEW, form_data(seed="7")).json()
    config = EnvironmentConfig.model_validate({"kind": "frozen_lake"})
    assert [state["seed"] for state in answer["states"]] == [7, 8, 9, 10]
    assert all(state["drawing"]["type"] == "grid" for state in answer["states"])
    assert answer["prompt"] == first_prompt(config, think=True, seed=7)


def test_the_preview_needs_no_name(browser: Client) -> None:
    assert browser.post(PREVIEW, form_data(name="")).json()["ok"] is True


def test_the_preview_plays_scripted_players(browser: Client) -> None:
    answer = browser.post(PREVIEW, form_data(part="baselines")).json()
    assert [(one["player"], one["episodes"]) for one in answer["baselines"]] == [("random", 64), ("scripted", 64)]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"max_turns": "0"}, "max_turns"),
        ({"parameters.size": "1"}, "parameters.size"),
        ({"kind": "os.system"}, "kind"),
        ({"part": "secrets"}, "part"),
        ({"seed": "-1"}, "seed"),
        ({"seed": "9" * 40}, "seed"),
        ({"version": "x"}, "version"),
    ],
)
def test_the_preview_names_the_invalid_field(browser: Client, changes: dict[str, str], field: str) -> None:
    answer = browser.post(PREVIEW, {**form_data(), **changes})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, [field])


def test_a_manual_episode_is_solved_by_its_solution(browser: Client, lake: EnvironmentVersion) -> None:
    responses = solved_by(lake, 3)[:5]
    answer = browser.post(PLAY, {"version": lake.pk, "seed": "3", "response": responses}).json()
    assert len(answer["turns"]) == len(responses)
    assert (answer["now"]["stop"], answer["now"]["success"], answer["now"]["total_reward"]) == ("success", True, 1.0)


def test_a_malformed_response_costs_the_penalty_and_executes_nothing(browser: Client, lake: EnvironmentVersion) -> None:
    answer = browser.post(
        PLAY, {"version": lake.pk, "seed": "3", "response": ["<think>x</think><answer>Fly</answer>"]}
    ).json()
    turn = answer["turns"][0]
    assert (turn["parse"], turn["executed"], turn["penalty"]) == ("unknown_action", [], -0.1)
    assert turn["answer"].startswith("Not understood.")
    assert answer["now"]["drawing"] == answer["first"]["drawing"]


def test_the_same_seed_and_responses_give_the_same_episode(browser: Client) -> None:
    sent: dict[str, Any] = form_data(
        **{"parameters.success_rate": "0.5"}, seed="4", response=["<think></think><answer>Up || Left</answer>"] * 3
    )
    assert browser.post(PLAY, sent).json() == browser.post(PLAY, sent).json()


def test_responses_after_the_end_are_ignored(browser: Client, lake: EnvironmentVersion) -> None:
    responses = ["<think></think><answer>Up</answer>"] * 30
    answer = browser.post(PLAY, {"version": lake.pk, "seed": "3", "response": responses}).json()
    assert len(answer["turns"]) <= 5
    assert answer["now"]["stop"] in {"max_turns", "terminated", "success"}


def test_hostile_responses_are_returned_unchanged(browser: Client, lake: EnvironmentVersion) -> None:
    for response in HOSTILE:
        if len(response) > 20_000 or "\ud800" in response:
            continue
        answer = browser.post(PLAY, {"version": lake.pk, "seed": "1", "response": [response]})
        assert answer["Content-Type"] == "application/json"
        assert answer.json()["turns"][0]["parse"] != "ok"


def test_an_overlong_response_is_refused(browser: Client, lake: EnvironmentVersion) -> None:
    answer = browser.post(PLAY, {"version": lake.pk, "response": ["x" * 20_001]})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["response"])


@pytest.mark.parametrize("address", [PREVIEW, PLAY])
def test_both_refuse_get_requests_and_anonymous_users(client: Client, browser: Client, address: str) -> None:
    assert browser.get(address).status_code == 405
    assert Client().post(address).status_code == 302
