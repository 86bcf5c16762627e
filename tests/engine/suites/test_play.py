"""A model plays a suite: the same results however it is cut, and no finished episode twice."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.errors import ConfigError, EndpointError, RunDirectoryError
from engine.rollout.trajectory_files import read_record
from engine.suites.outcomes import find_outcome, in_suite_order, read_columns, read_outcomes
from engine.suites.store import ABOUT, SUMMARY, Store
from tests.engine.evaluation.chat_server import Answer, Asked, serving
from tests.engine.suites.suites import lakes, play_at, play_locally, results


def test_every_problem_and_sample_has_an_outcome_with_its_trajectory(tmp_path: Path) -> None:
    suite = lakes(count=3, samples=2)
    summary = play_locally(suite, tmp_path)
    assert (summary.planned, summary.played, summary.scored) == (6, 6, 6)
    rows = in_suite_order(read_outcomes(tmp_path), suite)["Lake"]
    for index, row in enumerate(rows):
        for sample, outcome in enumerate(row):
            assert outcome is not None
            record = read_record(tmp_path / outcome.file, outcome.offset, outcome.length)
            assert (record["group"], record["member"], record["seed"]) == (index, sample, outcome.seed)
            assert (record["success"], record["return"]) == (outcome.success, outcome.episode_return)
            assert (len(record["turns"]), sum(record["tokens"]["sampled"])) == (outcome.turns, outcome.tokens)
    found = find_outcome(tmp_path, item="Lake", problem=suite.items[0].problems[1], sample=1)
    assert found == rows[1][1]
    assert read_columns(tmp_path, ["problem", "success"]).num_rows == 6
    assert json.loads((tmp_path / SUMMARY).read_text())["successes"] == summary.successes


def test_results_do_not_depend_on_which_episodes_are_sampled_together(tmp_path: Path) -> None:
    suite = lakes(count=5, samples=2, temperature=1.0)
    play_locally(suite, tmp_path / "whole")
    play_locally(suite, tmp_path / "in threes", at_once=3)
    assert results(tmp_path / "whole") == results(tmp_path / "in threes")
    assert len({outcome.tokens for outcome in results(tmp_path / "whole").values()}) > 1  # not all the same episode


def test_a_seed_that_starts_another_problem_than_the_suite_has_is_an_error(tmp_path: Path) -> None:
    suite = lakes()
    item = suite.items[0]
    swapped = item.model_copy(update={"seeds": [item.seeds[1], item.seeds[0], *item.seeds[2:]]})
    with pytest.raises(Exception, match="starts a different problem from the one in the suite"):
        play_locally(suite.model_copy(update={"items": [swapped]}), tmp_path)


def test_an_endpoint_that_dies_fails_the_evaluation_and_keeps_finished_episodes(tmp_path: Path) -> None:
    suite = lakes(count=6, samples=2)
    dying = serving(lambda asked, number: Answer(status=503) if number >= 7 else None)
    with dying as server, pytest.raises(EndpointError, match="does not respond"):
        play_at(server, suite, tmp_path, at_once=4)
    kept = {key for key, outcome in results(tmp_path).items() if outcome.scored}
    assert 0 < len(kept) < 12
    assert not (tmp_path / SUMMARY).exists()
    before = {key: outcome for key, outcome in results(tmp_path).items() if key in kept}

    asked: list[Asked] = []
    port = server.server_port  # the same endpoint again
    with serving(lambda one, number: asked.append(one), port=port) as server:
        summary = play_at(server, suite, tmp_path)
    assert (summary.played, summary.scored) == (12, 12)
    after = results(tmp_path)
    assert {key: after[key] for key in kept} == before
    first = [one for one in asked if len(one.payload["messages"]) == 2]
    assert len(first) == 12 - len(kept)  # first requests of episodes that were missing


def test_transient_failures_change_no_result(tmp_path: Path) -> None:
    suite = lakes(count=4)
    with serving() as server:
        play_at(server, suite, tmp_path / "calm")
    with serving(lambda asked, number: Answer(status=429) if number % 5 == 0 else None) as server:
        play_at(server, suite, tmp_path / "rough")
    assert results(tmp_path / "calm") == results(tmp_path / "rough")


@pytest.mark.usefixtures("ctrl_c")
def test_an_interruption_stores_what_is_over_and_the_next_session_plays_the_rest(tmp_path: Path) -> None:
    suite = lakes(count=24)

    def interrupt(asked: Asked, number: int) -> Answer | None:
        if number == 8:
            os.kill(os.getpid(), signal.SIGINT)
        return None

    with serving(interrupt) as server:
        with pytest.raises(Exception, match="interrupted"):
            play_at(server, suite, tmp_path, at_once=2)
        kept = results(tmp_path)
        assert 0 < len(kept) < 24
        assert play_at(server, suite, tmp_path).scored == 24
    assert {key: results(tmp_path)[key] for key in kept} == kept


def test_a_directory_has_one_evaluation_and_one_session(tmp_path: Path) -> None:
    suite = lakes(count=2)
    play_locally(suite, tmp_path)
    with pytest.raises(ConfigError, match="another suite, or with other samples"):
        play_locally(suite.with_samples(2), tmp_path)
    store = Store(tmp_path, suite)
    with pytest.raises(RunDirectoryError, match="in use by another evaluation"):
        Store(tmp_path, suite)
    store.close()


def test_the_command_plays_what_is_missing_and_reports_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    definition = tmp_path / "arms.toml"
    definition.write_text('[[items]]\nname = "Arms"\nenvironment = { kind = "bandit" }\ncount = 3\n')
    out = tmp_path / "out"
    command = ["evaluate", "--suite", str(definition), "--model", "tiny", "--threads", "1", "--out", str(out)]
    assert main([*command, "--samples", "2"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("arms v1: tiny\n") and "pass@2" in printed
    about = json.loads((out / ABOUT).read_text())
    assert (about["policy"]["kind"], len(about["weights"]), len(about["key"])) == ("directory", 64, 64)
    monkeypatch.setattr("engine.suites.command.evaluated_model", lambda *_: pytest.fail("nothing is missing"))
    assert main([*command, "--samples", "2"]) == 0
    assert capsys.readouterr().out == printed
    assert main(["evaluate", "--suite", "no-such", "--model", "tiny", "--out", str(out)]) == 2


def test_an_endpoint_that_is_still_starting_is_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    definition = tmp_path / "arms.toml"
    definition.write_text('[[items]]\nname = "Arms"\nenvironment = { kind = "bandit" }\ncount = 3\n')
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["evaluate", "--suite", str(definition), "--model", "m", "--endpoint", f"http://127.0.0.1:{port}/v1"]
    assert main([*command, "--out", str(tmp_path / "never"), "--retries", "1"]) == 1
    assert "No response in 2 attempts. Last error: the connection was refused" in capsys.readouterr().err
    begun = threading.Event()

    def start() -> None:
        begun.wait(1.0)
        with serving(port=port):
            begun.wait(60.0)

    starting = threading.Thread(target=start)
    starting.start()
    try:
        assert main([*command, "--out", str(tmp_path / "later")]) == 0
    finally:
        begun.set()
        starting.join()


def test_top_p_and_top_k_reach_the_sampler_and_the_endpoint(tmp_path: Path) -> None:
    free, narrow = lakes(count=4, temperature=5.0), lakes(count=4, temperature=5.0, top_k=1)
    play_locally(free, tmp_path / "free")
    play_locally(narrow, tmp_path / "narrow")
    play_locally(lakes(count=4, temperature=0.0), tmp_path / "greedy")
    assert results(tmp_path / "narrow") == results(tmp_path / "greedy") != results(tmp_path / "free")
    with serving() as server:
        play_at(server, lakes(count=2, top_p=0.9, top_k=20), tmp_path / "endpoint")
        play_at(server, lakes(count=2), tmp_path / "plain")
    first, last = server.asked[0].payload, server.asked[-1].payload
    assert (first["top_p"], first["top_k"]) == (0.9, 20)
    assert "top_p" not in last and "top_k" not in last


def test_conversations_end_one_after_another_and_what_is_over_survives_a_dead_endpoint(tmp_path: Path) -> None:
    suite = lakes(count=24)  # two turns each, unless a first one ends it
    # 12 requests: if all conversations were begun first, the endpoint would be gone before any second turn
    with (
        serving(lambda asked, number: Answer(status=503) if number >= 12 else None) as server,
        pytest.raises(EndpointError, match="does not respond"),
    ):
        play_at(server, suite, tmp_path)  # two requests at a time
    begun = [one for one in server.asked[:12] if len(one.payload["messages"]) == 2]
    assert len(begun) <= 8
    over = {key for key, outcome in results(tmp_path).items() if outcome.scored}
    assert len(over) >= len(begun) - 2  # all but those that were in progress
    with serving(port=server.server_port) as server:  # the same endpoint again
        play_at(server, suite, tmp_path)
    again = {one.payload["messages"][1]["content"] for one in server.asked}
    assert len(again) <= 24 - len(over)
