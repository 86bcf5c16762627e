"""From rows to numbers, worked out by hand; and the files hold the rows."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from engine.__main__ import main
from engine.evaluation.output import write_parquet
from engine.evaluation.results import Result
from engine.evaluation.summary import summarise
from engine.statistics.pass_at_k import shown_k
from tests.engine.evaluation.chat_server import Answer, Asked, completion, serving


def result(seed: int, sample: int, success: bool | None, **changes: Any) -> Result:
    values: dict[str, Any] = {
        "environment": "Lake",
        "seed": seed,
        "sample": sample,
        "success": success,
        "raw_return": None if success is None else float(success),
        "turns": 2,
        "actions": 3,
        "tokens": 7,
        "prompt_tokens": 50,
        "parse_failures": 1,
        "stop": "success" if success else "max_turns",
        "seconds": 0.5,
        "model": "m",
        "temperature": 1.0,
        **changes,
    }
    return Result(**values)


def rows(*outcomes: str) -> list[Result]:
    """One prompt a word: `x` succeeded, `.` did not, `?` was not scored."""
    meaning = {"x": True, ".": False, "?": None}
    return [result(seed, i, meaning[sign]) for seed, word in enumerate(outcomes) for i, sign in enumerate(word)]


def test_a_table_worked_out_by_hand() -> None:
    summary = summarise(rows("xx..", "....", "xxxx"), samples=4)
    assert (summary.prompts, summary.episodes, summary.scored, summary.successes) == (3, 12, 12, 6)
    assert summary.success == 0.5
    # pass@2: 1 - C(2,2)/C(4,2) = 5/6, 0 and 1; pass@4: 1, 0, 1; pass^2: 1/6, 0, 1; pass^4: 0, 0, 1
    assert summary.pass_at == pytest.approx({1: 0.5, 2: (5 / 6 + 0 + 1) / 3, 4: 2 / 3})
    assert summary.pass_all == pytest.approx({1: 0.5, 2: (1 / 6 + 0 + 1) / 3, 4: 1 / 3})
    # means .5, 0, 1: sd .5, error .5/sqrt(3) = .288675, t(2) 4.302653: far beyond 0 and 1
    assert (summary.low, summary.high) == (0.0, 1.0) and summary.interval.startswith("t over prompts")
    # only the first prompt varies within: variance 1/3 over 4 samples; sqrt(1/12)/3
    assert summary.rerun_error == pytest.approx((1 / 12) ** 0.5 / 3)
    assert (summary.tokens, summary.prompt_tokens, summary.responses, summary.parse_failures) == (84, 600, 24, 12)
    assert summary.mean_return == 0.5 and summary.return_low == 0.0 and summary.return_high == 1.0
    assert summary.stops == {"max_turns": 6, "success": 6}


def test_what_has_no_score_is_left_out_of_rates_and_counted() -> None:
    summary = summarise(rows("x?", ".x", "??"), samples=2)
    assert (summary.episodes, summary.scored, summary.unscored, summary.successes) == (6, 3, 3, 2)
    assert summary.success == 2 / 3
    assert set(summary.pass_at.values()) == {None}


def test_nothing_scored_is_no_rate_at_all() -> None:
    summary = summarise(rows("?", "?"), samples=1)
    assert [summary.success, summary.low, summary.mean_return, summary.mean_turns] == [None] * 4


def test_one_unknown_count_makes_the_sum_unknown() -> None:
    assert summarise([result(1, 0, True), result(2, 0, True, tokens=None)], samples=1).tokens is None


def test_k_doubles_up_to_the_samples() -> None:
    assert [shown_k(samples) for samples in (1, 2, 6, 8)] == [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8]]


def test_a_parquet_file_holds_the_rows_whatever_they_lack(tmp_path: Path) -> None:
    several = [result(5, 0, None, tokens=None), result(2**52, 1, None, error="ü")]
    write_parquet(several, tmp_path / "rows.parquet")
    table = parquet.read_table(tmp_path / "rows.parquet")
    assert table.to_pylist() == [one.row() for one in several]
    assert str(table.schema.field("success").type) == "bool"


def test_the_three_files_and_the_printed_table_agree(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, seeds = tmp_path / "deep/out", tmp_path / "seeds.txt"
    seeds.write_text("1000000003\n1000000001\n")
    arguments = ["--model", "moves", "--seeds", str(seeds), "--samples", "2", "--temperature", "0", "0.7"]
    with serving() as server:
        assert main(["evaluate", str(lake), "--endpoint", server.address, *arguments, "--out", str(out)]) == 0
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert lines == parquet.read_table(out / "results.parquet").to_pylist()
    asked = [(line["temperature"], line["sample"], line["seed"]) for line in lines]
    assert asked == [(t, s, seed) for t in (0, 0.7) for s in (0, 1) for seed in (1_000_000_003, 1_000_000_001)]
    summary = json.loads((out / "summary.json").read_text())
    assert summary["complete"] and summary["seeds"] == [1_000_000_003, 1_000_000_001]
    assert (summary["model"], summary["endpoint"]) == ("moves", f"{server.address}/chat/completions")
    assert summary["environments"][0]["tag"] == "FrozenLake"
    printed = capsys.readouterr().out
    for one in summary["summaries"]:
        assert f"{one['success']:.3f}" in printed and f"{one['pass_at']['2']:.3f}" in printed
    assert "pass@2" in printed and "pass^2" in printed
    assert sorted(path.name for path in out.iterdir()) == ["results.jsonl", "results.parquet", "summary.json"]


def test_results_are_never_written_over(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "results.jsonl").write_text("precious")
    with serving() as server:
        arguments = ["--endpoint", server.address, "--model", "moves", "--out", str(tmp_path)]
        assert main(["evaluate", str(lake), *arguments]) == 2
    assert server.asked == [] and (tmp_path / "results.jsonl").read_text() == "precious"
    assert "already has results.jsonl" in capsys.readouterr().err


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupted_evaluation_keeps_what_was_played(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(asked: Asked, number: int) -> Answer:
        if number == 6:
            os.kill(os.getpid(), signal.SIGINT)
        return Answer(body=completion("no"), delay=0.3 if number >= 6 else 0.0)

    out = tmp_path / "out"
    with serving(interrupt) as server:
        arguments = ["--endpoint", server.address, "--model", "m", "--episodes", "4", "--concurrency", "1"]
        assert main(["evaluate", str(lake), *arguments, "--out", str(out)]) == 1
    stops = [json.loads(line)["stop"] for line in (out / "results.jsonl").read_text().splitlines()]
    assert len(stops) == 4 and "not_played" in stops
    assert "The evaluation was interrupted" in capsys.readouterr().err
