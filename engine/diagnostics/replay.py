"""`python -m engine detect`: replays alert rules on recorded runs and prints the alerts. No torch."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.config import DetectorsConfig, read_config
from engine.diagnostics.recordings import Recording, read_recording, replay
from engine.diagnostics.scorecard import Score, choose, score
from engine.errors import ConfigError

EPILOG = """A run is collapsed when its training success stayed below 5% to the end, for at least 5 recorded steps. A
hit fires before that, and its lead is the number of steps in between; an alert in a run that did not collapse is a
false alarm. With --choose-on, limits are chosen on those runs and evaluated on the others: on the runs it was chosen on
a limit looks better than it is."""


def detect_main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m engine detect", description=__doc__, epilog=EPILOG)
    parser.add_argument("run_dirs", type=Path, nargs="+", metavar="RUN_DIR", help="recorded runs that are reported on")
    parser.add_argument("--config", type=Path, help="a config with the rules; default: the rules of a new run")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override one field")
    parser.add_argument(
        "--choose-on", type=Path, nargs="+", default=[], metavar="RUN_DIR", help="choose limits on these runs first"
    )
    parser.add_argument(
        "--false-alarms", type=int, default=0, metavar="N", help="how many a chosen limit may raise there; default 0"
    )
    options = parser.parse_args(argv)
    if options.set and not options.config:
        raise ConfigError("--set overrides a field of --config.", remedy="Give a config as well.")
    rules = read_config(options.config, options.set).detectors if options.config else DetectorsConfig()
    reported = _read(options.run_dirs)
    if options.choose_on:
        rules = _chosen(rules, options, reported)
    for recording in reported:
        _print(_timeline(recording, rules))
    if len(reported) > 1:
        _print(_table(score(rules, reported)))
    return 0


def _read(directories: Sequence[Path]) -> list[Recording]:
    return [read_recording(directory) for directory in directories]


def _chosen(rules: DetectorsConfig, options: argparse.Namespace, reported: Sequence[Recording]) -> DetectorsConfig:
    if both := {path.resolve() for path in options.choose_on} & {path.resolve() for path in options.run_dirs}:
        raise ConfigError(
            f"{min(both).name} is both chosen on and reported on.", remedy="Name each run on one side only."
        )
    chosen_on = _read(options.choose_on)
    chosen = choose(rules, chosen_on, false_alarms=options.false_alarms)
    _print(f"limits chosen on {len(chosen_on)} runs:\n{_table(score(chosen, chosen_on))}")
    _print(f"reported on {len(reported)} others:")
    return chosen


def _timeline(recording: Recording, rules: DetectorsConfig) -> str:
    end = recording.collapsed_at
    ending = f"collapsed at step {end}" if end is not None else "did not collapse"
    lines = [f"{recording.name}: {len(recording.steps)} steps, {ending}"]
    for firing in replay(recording, rules):
        alert = firing.alert
        lines.append(
            f"  step {firing.step:>5}  {alert.severity:<8}  {alert.rule:<20}  {alert.metric} {alert.value:.3g}"
        )
    return "\n".join(lines)


def _table(scores: Sequence[Score]) -> str:
    """As Markdown."""
    columns = ("rule", "limit", "hits", "median lead", "late", "false alarms", "before a collapse")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for one in scores:
        lead = f"{one.lead:g}" if one.leads else "–"
        matched = f"{one.matched:.1f}/{one.healthy}" if one.matched is not None else "–"
        lines.append(
            f"| {one.rule} | {one.limit:g} | {one.hits}/{one.collapsed} | {lead} | {one.late} "
            f"| {one.false_alarms}/{one.healthy} | {matched} |"
        )
    return "\n".join(lines)


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
