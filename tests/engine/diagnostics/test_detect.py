"""`python -m engine detect`: recordings replayed, scored, and limits chosen on some runs and reported on others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.config import DetectorsConfig
from engine.diagnostics.recordings import Recording, read_recording, replay
from engine.diagnostics.rule_config import AboveConfig
from engine.diagnostics.scorecard import choose, score, tally
from engine.errors import RunDirectoryError

SUCCESS, KL = "rollout/success", "policy/kl"


def recording(name: str, *, kl: list[float], success: list[float]) -> Recording:
    steps = [(step, {KL: one, SUCCESS: two}) for step, (one, two) in enumerate(zip(kl, success, strict=True), 1)]
    return Recording(name=name, steps=steps)


def written(directory: Path, source: Recording) -> Path:
    """The recording as a run directory; a last line is still being written."""
    directory.mkdir()
    lines = [event(1, "run_started", 0, total_steps=9, pid=1, device="cpu", model="tiny", parameters=1)]
    for seq, (step, metrics) in enumerate(source.steps, start=2):
        lines.append(event(seq, "step_completed", step, metrics=metrics, tokens=1, seconds=1.0))
    (directory / "events.jsonl").write_text("\n".join([*lines, '{"kind": "step_com']))
    return directory


def event(seq: int, kind: str, step: int, **fields: object) -> str:
    return json.dumps({"kind": kind, "seq": seq, "time": 1.0, "attempt": 1, "epoch": 0, "step": step, **fields})


# KL passes 0.3 at step 3 and success is gone from step 6 on
COLLAPSED = recording("collapsed", kl=[0.0, 0.1, 0.4, 0.5, *[0.6] * 6], success=[0.4, 0.4, 0.4, 0.0, 0.2, *[0.0] * 5])
HEALTHY = recording("healthy", kl=[0.0, 0.1, 0.2, 0.2, 0.1, 0.1, 0.1], success=[0.4] * 7)
RULE = AboveConfig(name="fast", metric=KL, limit=0.3, steps=1)
RULES = DetectorsConfig(rules=(RULE,))


def test_a_run_is_collapsed_from_the_step_after_which_success_never_came_back() -> None:
    assert (COLLAPSED.collapsed_at, HEALTHY.collapsed_at) == (6, None)


@pytest.mark.parametrize(
    ("success", "collapsed_at"),
    [
        ([0.4, 0.4, 0.4, 0.4, 0.0], None),  # one bad last step
        ([0.4, 0.0, 0.0, 0.0, 0.0], None),  # steps 2 to 5 are four
        ([0.4, 0.0, 0.0, 0.0, 0.0, 0.0], 2),  # steps 2 to 6 are five
        ([0.0, 0.0, 0.0, 0.0, 0.0, 0.06, 0.0, 0.0, 0.0, 0.0], None),  # 6% at step 6 ends the first five; four follow
        ([0.0, 0.0, 0.06, 0.04, 0.0, 0.0, 0.04, 0.0], 4),  # 4 to 8 are five
        ([0.4, 0.05, 0.05, 0.05, 0.05, 0.05], None),  # 5% is not below 5%
        ([0.0] * 9, None),  # it never was above: nothing was lost
        ([], None),
    ],
)
def test_a_collapse_is_at_least_five_steps_of_lost_success(success: list[float], collapsed_at: int | None) -> None:
    assert recording("run", kl=[0.0] * len(success), success=success).collapsed_at == collapsed_at


def test_a_recording_is_read_back_and_an_unfinished_line_is_left_out(tmp_path: Path) -> None:
    assert read_recording(written(tmp_path / "collapsed", COLLAPSED)) == COLLAPSED


def test_steps_that_a_later_attempt_did_again_count_once(tmp_path: Path) -> None:
    directory = written(tmp_path / "run", HEALTHY)
    lines = (directory / "events.jsonl").read_text().splitlines()[:-1]
    again = {"total_steps": 9, "pid": 1, "device": "cpu", "model": "tiny", "parameters": 1, "resumed_from": 2}
    lines += [event(9, "run_started", 2, **again)]
    lines += [event(10, "step_completed", 3, metrics={KL: 9.0}, tokens=1, seconds=1.0)]
    (directory / "events.jsonl").write_text("\n".join(lines))
    assert [step for step, _ in read_recording(directory).steps] == [1, 2, 3]
    assert read_recording(directory).steps[-1] == (3, {KL: 9.0})


def test_a_replay_says_what_the_rules_would_have_said() -> None:
    assert [(firing.step, firing.alert.rule) for firing in replay(COLLAPSED, RULES)] == [(3, "fast")]
    assert replay(HEALTHY, RULES) == []


def test_an_alert_before_the_collapse_is_a_hit_with_its_lead_and_one_after_it_is_late() -> None:
    late = recording("late", kl=[0.0, 0.0, 0.0, 0.9, 0.9, 0.9], success=[0.4, *[0.0] * 5])
    false = recording("false", kl=[0.9], success=[0.4])
    [found] = score(RULES, [COLLAPSED, late, HEALTHY, false])
    assert (found.collapsed, found.healthy) == (2, 2)
    assert (found.hits, found.leads, found.late, found.false_alarms) == (1, (3,), 1, 1)


def test_false_alarms_count_up_to_the_steps_at_which_runs_had_collapsed() -> None:
    # alerts of healthy runs at steps 3 and 20, collapses at steps 2, 10 and 30: 0, 1 and 2 alerts come before them
    found = tally("fast", 0.3, ends=[2, 10, 30, None, None, None], firsts=[1, None, 40, 3, 20, None])
    assert (found.hits, found.late, found.false_alarms, found.matched) == (1, 1, 2, 1.0)
    assert tally("fast", 0.3, ends=[None], firsts=[3]).matched is None
    assert tally("fast", 0.3, ends=[5], firsts=[3]).matched is None


def test_a_limit_is_chosen_for_hits_then_lead_without_false_alarms() -> None:
    # tried: 0.1 times 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5. Up to 0.15 the healthy run alarms (0.2); 0.2 and 0.3 both speak
    # at step 3, 0.5 at step 5. Of two that are equal the lower is taken.
    low = DetectorsConfig(rules=(RULE.model_copy(update={"limit": 0.1}),))
    assert choose(low, [COLLAPSED, HEALTHY]).rules[0].limit == pytest.approx(0.2)
    # with a false alarm allowed the earliest wins: 0.075 at step 2 and all below
    assert choose(low, [COLLAPSED, HEALTHY], false_alarms=1).rules[0].limit == pytest.approx(0.05)


def test_a_rule_that_no_limit_helps_keeps_its_own() -> None:
    assert choose(RULES, [HEALTHY]).rules[0].limit == 0.3


def test_detect_prints_each_run_and_a_table_over_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(written(tmp_path / one.name, one)) for one in (COLLAPSED, HEALTHY)]
    assert main(["detect", runs[0]]) == 0
    alone = capsys.readouterr().out
    assert "collapsed: 10 steps, collapsed at step 6" in alone
    assert "step     5  warn      kl_high" in alone
    assert "| rule |" not in alone
    assert main(["detect", *runs]) == 0
    assert "| kl_high | 0.1 | 1/1 | 1 | 0 | 0/1 |" in capsys.readouterr().out


def test_detect_takes_rules_from_a_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(written(tmp_path / "run", COLLAPSED))
    config = tmp_path / "config.toml"
    config.write_text(f'[[detectors.rules]]\nname = "fast"\nkind = "above"\nmetric = "{KL}"\nlimit = 0.45\nsteps = 1\n')
    assert main(["detect", run, "--config", str(config)]) == 0
    said = capsys.readouterr().out
    assert "step     4" in said and "kl_high" not in said


def test_detect_reports_on_other_runs_than_it_chose_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(written(tmp_path / name, one)) for name, one in (("a", COLLAPSED), ("b", HEALTHY), ("c", COLLAPSED))]
    assert main(["detect", runs[2], "--choose-on", *runs[:2]]) == 0
    said = capsys.readouterr().out
    assert "limits chosen on 2 runs" in said and "reported on 1 others" in said
    assert main(["detect", *runs[:2], "--choose-on", runs[1]]) == 2
    assert "b is both chosen on and reported on" in capsys.readouterr().err


def test_what_is_no_recording_is_refused_with_a_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", str(tmp_path)]) == 1
    assert "Give the directories of runs" in capsys.readouterr().err
    (tmp_path / "events.jsonl").write_text('{"kind": "poem"}\n{"kind": "poem"}\n')
    with pytest.raises(RunDirectoryError, match=r"Line 1 of .* is not an event"):
        read_recording(tmp_path)
